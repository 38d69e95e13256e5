# %% [markdown]
# # At which sample size does the verdict hold?
#
# Ranking the true item against 100 sampled ones is another metric than ranking it against all, and often has another
# winner. The whole curve follows from one scoring pass.

# %%
import polars as pl

import recassay as ra
from recassay.data.synthetic import log

pl.Config(tbl_rows=-1, tbl_hide_dataframe_shape=True, tbl_hide_column_data_types=True, float_precision=4)

# %% [markdown]
# The last item of each user is the answer; the one before it is known when it is asked for.

# %%
fold = ra.split.last(n=1, validation=1)(log(users=800, items=400, events=16_000, seed=2))[0]
models = {
    "markov": ra.models.Markov(),
    "recent items": ra.models.RecentItemKNN(),
    "recent popularity": ra.models.RecentPopular(),
    "popularity": ra.models.Popular(),
}
runs = {name: ra.play(model, fold, ra.protocols.next_item(), name=name) for name, model in models.items()}

# %% [markdown]
# Every system at every size, exactly: no candidate is drawn. `tau_a` says how much of the order of the full ranking is
# left, `swaps` who changes places.

# %%
curve = ra.sampling_curve(runs, [5, 10, 20, 50, 100, 200], by=["uniform", "popularity"], metric="hit@10")
print(curve.table("hit@10").filter(by="uniform").drop("by", "replace", "agree"))

# %% [markdown]
# From which size on the order is that of the full ranking, for good (`null`: only with all candidates):

# %%
print(curve.stable)

# %% [markdown]
# Only sampled ranks are left, from somebody's paper? Then the full metric can be estimated from them, if need be.

# %%
ranks = [1, 1, 2, 3, 5, 9, 14, 40, 77]
found = ra.correct(ranks, pool=20_000, sample=100, metrics="hit@10")
print(found.means.select("estimator", "mean", "sampled"))
