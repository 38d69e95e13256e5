"""Tables of a study of streams: who is ahead in how many windows, for windows of several sizes and several levels."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from recassay.comparison.over_time.compare import OverTime, compare_over_time
from recassay.comparison.over_time.windows import How
from recassay.data.io.manifest import manifest_of
from recassay.data.io.parquet import read_parquet
from recassay.engine.lists.score_sets import FILE
from recassay.errors import UsageError
from recassay.reproduction.paper import OverTimeSource
from recassay.results.outcomes import EVENT, Outcomes

STREAM = ["dataset", "protocol", "seed"]  # columns of stored scores that tell streams apart


def over_time_tables(name: str, folder: Path, wanted: OverTimeSource) -> dict[str, pl.DataFrame]:
    """Return the tables of signed McNemar on the streams of a study by name; ``folder`` is that of the study.

    The table ``name`` has a row per stream, pair of systems, kind of window and level, as :func:`window_shares` says.
    ``NAME_tests`` has the test of each pair over all events at each level, with bounds of the difference, and
    ``NAME_curves`` the curve of signed McNemar at the first window and level. Metrics that are not 0 or 1 have no test
    in windows, so that streams with such values are left out.
    """
    shares, tests, curves = [], [], []
    for where, played in _streams(folder, wanted):
        about = [pl.lit(value).alias(key) for key, value in where.items()]
        for number, (how, level) in enumerate(itertools.product(_kinds(wanted), wanted.levels)):
            compared = compare_over_time(
                played, metric=wanted.metric, baseline=wanted.baseline, alpha=level, fewest=wanted.fewest,
                exact=wanted.exact, **how,
            )  # fmt: skip
            shares.append(window_shares(compared).with_columns(*about))
            if number < len(wanted.levels):
                tests.append(compared.summary().with_columns(*about, pl.lit(level).alias("level")))
            if number == 0:
                curves += [one.table.with_columns(*about) for one in compared.exhibits() if one.y == "mcnemar"]
    found = {name: shares, f"{name}_tests": tests, f"{name}_curves": curves}
    return {key: pl.concat(tables, how="diagonal_relaxed") for key, tables in found.items()}


def window_shares(compared: OverTime) -> pl.DataFrame:
    """Return a row per pair of systems: the shares of full windows in which one is above, and significantly above.

    The columns: ``a`` and ``b``, the systems; ``window``, what a window is, in words; ``level``; ``windows``, how many
    are full; ``a_above`` and ``b_above``, the shares of them in which the mean of one is higher; ``a_ahead`` and
    ``b_ahead``, those in which signed McNemar finds it better; and ``significant``, the share of those with different
    means in which it finds either better. Shares of no windows are null.

    >>> import numpy as np
    >>> a = Outcomes("a", np.arange(40), {"hit@1": np.array([1.0, 1, 1, 0] * 10)}, events=40)
    >>> b = Outcomes("b", np.arange(40), {"hit@1": np.array([0.0, 0, 0, 1] * 10)}, events=40)
    >>> found = window_shares(compare_over_time(a, b, metric="hit@1", window=24))
    >>> found.select("windows", "a_above", "a_ahead", "b_ahead", "significant").rows()
    [(17, 1.0, 0.0, 0.0, 0.0)]
    """
    full = compared.curve.filter(~pl.col("partial"))
    ahead_a, ahead_b = ((pl.col("better") == pl.col(one)).fill_null(value=False) for one in "ab")
    above_a, above_b = pl.col("mean_a") > pl.col("mean_b"), pl.col("mean_b") > pl.col("mean_a")
    counted = full.group_by("a", "b", maintain_order=True).agg(
        pl.len().alias("windows"),
        above_a.mean().alias("a_above"),
        above_b.mean().alias("b_above"),
        ahead_a.mean().alias("a_ahead"),
        ahead_b.mean().alias("b_ahead"),
        (ahead_a | ahead_b).filter(above_a | above_b).mean().alias("significant"),
    )
    pairs = pl.DataFrame({"a": [one.paired.a for one in compared.duels], "b": [one.paired.b for one in compared.duels]})
    about = [pl.lit(str(compared.windows)).alias("window"), pl.lit(compared.testing.alpha).alias("level")]
    found = pairs.with_columns(*about).join(counted, on=["a", "b"], how="left", maintain_order="left")
    return found.with_columns(pl.col("windows").fill_null(0))


def _kinds(wanted: OverTimeSource) -> list[dict[str, Any]]:
    """Return the options of each kind of window that is wanted: moving windows, then fading ones."""
    moving: How = "moving"
    fading: How = "fading"
    sizes = [{"how": moving, "window": size} for size in wanted.windows]
    return [*sizes, *({"how": fading, "fading": factor} for factor in wanted.fading)]


def _streams(folder: Path, wanted: OverTimeSource) -> Iterator[tuple[dict[str, Any], dict[str, Outcomes]]]:
    """Yield the streams of a study whose values are 0 or 1: where it is, and the outcomes of the wanted systems.

    Raise U263 if the study has none, or lacks the metric or a system.
    """
    manifest_of(folder).require_intact([folder / FILE])
    scores = read_parquet(folder / FILE).filter(pl.col("protocol").str.starts_with("prequential"))
    lacking = {wanted.metric} - set(scores.columns) or set(wanted.competitors) - set(scores["system"])
    if lacking or scores.is_empty():
        what = f"has no {min(lacking)}" if lacking else "has no streams"
        raise UsageError("U263", f"the study {wanted.of} {what}", hint="over_time is of a study of streams")
    scores = scores.filter(pl.col("system").is_in(wanted.competitors or scores["system"].unique()))
    for key, part in scores.partition_by(STREAM, as_dict=True, maintain_order=True).items():
        values = part[wanted.metric].drop_nulls().drop_nans()
        if not values.is_in([0.0, 1.0]).all():
            continue
        events = int(part["unit"].max()) + 1  # type: ignore[arg-type]  # later events were not scored
        yield (
            dict(zip(STREAM, key, strict=True)),
            {
                str(system): Outcomes.from_frame(
                    own.select(pl.col("unit").alias(EVENT), wanted.metric).drop_nulls().drop_nans().sort(EVENT),
                    str(system),
                    events=events,
                )
                for (system,), own in part.partition_by("system", as_dict=True, maintain_order=True).items()
            },
        )
