"""Corrected metrics for a terminal: the estimate for the full ranking, next to the mean on sampled candidates."""

from __future__ import annotations

import polars as pl
from rich.console import Group, RenderableType
from rich.text import Text

from recassay.report.content import wording
from recassay.report.tables.model import Field, count, name, system, table
from recassay.report.tables.terminal import Terminal, words
from recassay.sampled.corrected import CorrectedMetrics


def corrected_table(corrected: CorrectedMetrics) -> RenderableType:
    """Return a row per metric, estimator and system: estimate, interval, sampled mean, number of users.

    >>> from recassay.report.tables.terminal import printed
    >>> from recassay.sampled.corrections import correct
    >>> corrected = correct([1, 1, 2, 5, 9, 40], pool=1_000, sample=99, metrics="mrr", interval=None)
    >>> print(printed(corrected_table(corrected), width=112))
    metric  estimator                  system    mean  sampled  n
    ─────────────────────────────────────────────────────────────
    mrr     bias_variance              run     0.1505   0.4727  6
            bias_variance(gamma=0.01)  run     0.1322   0.4727  6
    <BLANKLINE>
    Estimates for the full ranking of 1,000 candidates, from ranks among 99 candidates sampled without replacement.
    """
    bounded = any(corrected.means["low"].is_not_nan())
    between = Field("low high", f"{_level(corrected)} interval", wording.interval)
    fields = (
        name("metric"), name("estimator"), system(), Field("mean", "mean"), *([between] if bounded else []),
        Field("sampled", "sampled"), count("n"),
    )  # fmt: skip
    made = table(corrected.means.to_dicts(), fields, grouped=True)
    return Group(Terminal(made), Text(), words(_notes(corrected, bounded), "dim"))


def _level(corrected: CorrectedMetrics) -> str:
    return wording.level(corrected.scores(corrected.estimators[0]))


def _notes(corrected: CorrectedMetrics, bounded: bool) -> str:
    """Return notes on what was estimated, on the bias of intervals, and on what was left out.

    The bias is only noted with ``bounded``, that is, if intervals are shown. An estimator writes a metric as a sum of
    components, and leaves out those that the sampled ranks say too little about.
    """
    settings, pools = corrected.settings, corrected.estimates.pools
    pool = f"{pools[0]:,}" if pools.size == 1 else f"{pools[0]:,} to {pools[-1]:,}"
    how = "with" if settings["replace"] else "without"
    notes = [
        f"Estimates for the full ranking of {pool} candidates, from ranks among {settings['sample']:,} candidates "
        f"sampled {how} replacement."
    ]
    if bounded:
        method = wording.method(corrected.scores(corrected.estimators[0]), None)
        notes += [method, "The intervals do not include the bias of the estimators."]
    dropped = corrected.means.group_by("estimator", maintain_order=True).agg(pl.col("left_out").max())
    notes += [
        f"{estimator} dropped {count:,} components that the sample hardly determines."
        for estimator, count in dropped.iter_rows()
        if count
    ]
    return " ".join(notes)
