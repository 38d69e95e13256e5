# %% [markdown]
# # When the world changes
#
# Five systems on a stream in which everything changes once: each event first asks them, and then teaches them.

# %%
import polars as pl

import recassay as ra
from recassay.data.synthetic import change_points, drifting

pl.Config(tbl_rows=-1, tbl_hide_dataframe_shape=True, tbl_hide_column_data_types=True, float_precision=4)

# %% [markdown]
# A generated stream. At its middle items get another popularity and other topics, and users other tastes; who is busy
# when stays as it was.

# %%
events = 30_000
log = drifting(users=1_000, items=400, events=events, changes=1, seed=1)
print("everything changes at event", *change_points(events, 1))

# %% [markdown]
# Each event asks for ten items. What a user had is left out, and first events of users are learnt and not scored.

# %%
online = ra.models.incremental
models = {
    "ISGD": online.ISGD(factors=5, iterations=1, rate=0.1),
    "BPRMF": online.BPRMF(),
    "UKNN": online.UKNN(),
    "popular": online.StreamPopular(),
    "recent": online.Recent(),
}
played = {
    name: ra.play(model, log, ra.protocols.prequential(at=10), metrics="recall@10", name=name)
    for name, model in models.items()
}

# %% [markdown]
# One mean hides what happened:

# %%
rows = []
for name, stream in played.items():
    curve = stream.over_time("recall@10", window=2_000)
    before, after, end = curve.at(pl.Series([14_999, 17_500, 29_999]).to_numpy())
    rows.append(
        {"system": name, "mean": stream.outcomes.mean("recall@10"), "before": before, "after": after, "end": end}
    )
print(pl.DataFrame(rows))

# %% [markdown]
# Who was ahead of popularity, and since when is that sure? The bounds hold at every event: one may look at any time.

# %%
found = ra.compare_over_time(played, metric="recall@10", baseline="popular", window=2_000)
print(found.summary().select("a", "b", "difference", "low", "high", "p_adjusted", "decided", "for"))

# %% [markdown]
# Signed McNemar over windows says who was ahead when, at 1 %. `recent`, which looks at nobody's taste, is ahead of
# popularity just after the change and at no other time; and where no stretch is, neither was ahead.

# %%
longest = found.stretches.filter(pl.col("scored") > 1_000)
print(longest.select("a", "better", "from_event", "to_event", "strongest"))

# %% [markdown]
# Detectors see it without being told:

# %%
for name, stream in played.items():
    alarms = ra.drift.alarms(stream, "recall@10", [ra.drift.ADWIN(), ra.drift.PageHinkley()])
    told = [f"{alarm.detector} at {alarm.event:,} (since {alarm.since:,})" for alarm in alarms if alarm.worse]
    print(f"{name:8}", "; ".join(told[:3]) or "no rise of the loss")
