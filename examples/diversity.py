# %% [markdown]
# # Everybody plays at home once, and away once
#
# Three ways to diversify the lists of one system. Each is close to what one metric of diversity measures, so each wins
# somewhere. Sudden Death asks the users: who is the first to show them something relevant?

# %%
from dataclasses import replace

import polars as pl

import recassay as ra
from recassay.data.synthetic import item_features, log

pl.Config(tbl_rows=-1, tbl_cols=-1, tbl_hide_dataframe_shape=True, tbl_hide_column_data_types=True)
pl.Config(tbl_width_chars=120, fmt_str_lengths=40, float_precision=4)

# %% [markdown]
# A generated log with items of some topics, the features. A fold carries them to whatever needs them.

# %%
items = ra.read_items(item_features(items=300, seed=1))
fold = ra.split.random(test=0.2, seed=7)(log(users=600, items=300, events=15_000, seed=1))[0]
fold = replace(fold, items=items)
ask = ra.protocols.ranking(bins=0)

# %% [markdown]
# How much should diversity weigh? Asked of validation data, by one criterion: the most of what a method is made for,
# at a loss of at most 2 % of nDCG.

# %%
svd = ra.models.PureSVD(factors=20)
inner = ra.split.random(test=0.2, seed=8)(fold.train)[0]
run, truth = ra.play(svd, inner, ask), ask.truth(inner)
homes = {
    "MMR": "ild@10",
    "xQuAD": "alpha_ndcg@10",
    "SPAD": "alpha_ndcg(aspects='subprofiles')@10",
}
chosen = {}
for method, home in homes.items():
    found = ra.choose_weight(run, method, truth, home, keep="ndcg@10", loss=0.02, items=items, train=inner.train)
    chosen[method] = found.weight
    print(f"{method:5} {found.weight:.1f}   {found.criterion}")

# %% [markdown]
# A re-ranker is a model that wraps another one.

# %%
models = {
    "svd": svd,
    "MMR": ra.models.MMR(svd, weight=chosen["MMR"]),
    "xQuAD": ra.models.XQuAD(svd, weight=chosen["xQuAD"]),
    "SPAD": ra.models.SPAD(svd, weight=chosen["SPAD"]),
}
trial = ra.experiments.trial(models, fold, ask)
runs, truth = dict(trial.runs), ask.truth(fold)

# %% [markdown]
# Every system under every metric. `home` says whose objective a metric is close to; the numbers are ranks.

# %%
metrics = ["precision@10", "mrr@10", "hit@10", *homes.values()]
scores = ra.score(runs, truth, metrics, items=items, train=fold.train, interval=None)
contest = ra.sudden_death(runs, truth, at=20)
table = ra.home_and_away(scores, contest.scores(), objectives={name: name for name in homes})
print(table.ranks())

# %% [markdown]
# Who wins the users, and is it sure? Pairs are tested by McNemar, with Holm over all of them.

# %%
print(contest.summary().select("system", "sudden_death", "low", "high", "outright", "hit"))
print(contest.compare().frame().select("a", "b", "difference", "low", "high", "p_adjusted"))

# %% [markdown]
# With so few users none of it is sure. A duel does not hang on who else competes.

# %%
print(contest.duels().filter(pl.col("against") == "svd"))

# %% [markdown]
# What diversity costs: every re-ranker with every weight, seen from the system as it was. The share of weights that
# gain on both, or pay for one with the other, and the area under each curve:

# %%
points, quadrants, areas = ra.experiments.trade_off(accuracy="precision@10", diversity="ild@10")(trial)
print(quadrants.table.pivot("quadrant", index="system", values="share of weights"))
print(areas.table.select("system", "hypervolume"))
