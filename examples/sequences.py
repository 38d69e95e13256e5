# %% [markdown]
# # Which system goes on as people do?
#
# A playlist, a trip, a lesson plan: the answer is a sequence, not a set. Systems are told how a sequence begins and
# generate what follows.

# %%
import polars as pl

import recassay as ra
from recassay.data.synthetic import log

pl.Config(tbl_rows=-1, tbl_hide_dataframe_shape=True, tbl_hide_column_data_types=True, float_precision=4)

# %% [markdown]
# Events without a pause of a week are a sequence; the latest fifth of them is the test.

# %%
made = ra.split.sessions(gap=7 * 24 * 3600)(log(users=300, items=60, events=4_000, seed=1))
fold = ra.split.latest_sequences(test=0.2)(made)[0]
print(len(fold.train), "sequences to learn from,", len(fold.test), "to go on with")

# %%
models = {
    "popular": ra.models.sequence.MostPopular(),
    "random": ra.models.sequence.Uniform(),
    "unigram": ra.models.sequence.Unigram(),
    "bigram": ra.models.sequence.NGram(),
}
ask = ra.protocols.sequence(k=5, seeds=3)
generated = {name: ra.sequences.generate(model, fold, ask, name=name) for name, model in models.items()}

# %% [markdown]
# Sequeval's eight metrics, each with an interval over test sequences:

# %%
scores = ra.sequences.score_sequences(fold, generated, ra.sequences.sequeval(5))
print(scores.summary().pivot("system", index="metric", values="mean"))

# %% [markdown]
# Is a difference more than luck?

# %%
compared = ra.compare(scores, baseline="random").frame()
print(compared.filter(metric="seq_precision@5").select("a", "b", "difference", "p_adjusted"))
