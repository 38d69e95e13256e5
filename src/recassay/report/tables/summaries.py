"""What ``recassay stats``, ``rerank``, ``correct`` and ``compare TABLE`` print: each a short summary."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
from rich.console import Group, RenderableType
from rich.text import Text

from recassay.checks import diagnose
from recassay.columnar.times import KINDS
from recassay.report.content import wording
from recassay.report.content.csv_text import write_tables
from recassay.report.tables.model import (
    Cell,
    Column,
    Field,
    ResultTable,
    Terminal,
    count,
    lines_table,
    name,
    system,
    table,
    words,
)
from recassay.results.finding import Finding
from recassay.stats.concentration import NATS

if TYPE_CHECKING:
    from recassay.data.stats import Distribution, RatingStats, SequenceStats, Stats, TimeStats
    from recassay.engine.finished.conclude import FinishedConclusions, FinishedRanking
    from recassay.models.rerank import Reranked
    from recassay.sampled.corrections import CorrectedMetrics

SHOWN = {"weight", "places", "candidates"}  # parameters that have a line or a place of their own
PROBLEMS = {
    "short": "lists with fewer items than places to fill",
    "few": "lists with fewer items than the requested number of candidates",
    "duplicate": "rows dropped because they repeat an item of their list",
    "bare": "rows whose item has no features: at maximum distance to all items, and without aspects",
    "shifted": "lists with negative scores, shifted to be non-negative",
    "without_profile": "users whose profile has no features: all features get the same weight",
    "without_liked": "users without liked items in training: their lists are unchanged",
}
MAX_RANKINGS = 6  # whose tables are printed


# --- the statistics of a log ---


def stats_table(stats: Stats) -> RenderableType:
    """Return a table with two columns: the name of a statistic and its value."""
    profile, top = stats.profile, stats.popularity
    shares = (("1 %", top.top_1_percent), ("10 %", top.top_10_percent), ("20 %", top.top_20_percent))
    lines = [
        ("rows", f"{stats.rows:,}"),
        ("users", f"{stats.users:,}"),
        ("items", f"{stats.items:,}"),
        ("pairs", f"{stats.pairs:,} distinct user-item pairs; {stats.duplicates:,} rows repeat a pair"),
        ("density", f"{_percent(stats.density)} of all possible user-item pairs"),
        ("items per user", _distribution(profile)),
        ("top items", ", ".join(f"{of} of items have {_percent(share)} of rows" for of, share in shares)),
        ("", f"Gini {_number(top.gini)}; {_percent(top.items_with_one_row)} of items have one row"),
        ("", f"entropy {_entropy(top.entropy)}"),
        *(_sequences(stats.sequences) if stats.sequences is not None else []),
        *(_times(stats.times) if stats.times is not None else [("time", KINDS[None])]),
        *([("ratings", _ratings(stats.ratings))] if stats.ratings is not None else []),
    ]
    return Terminal(lines_table(lines))


def _distribution(counts: Distribution) -> str:
    middle = f"mean {_number(counts.mean)}, median {_number(counts.median)}"
    return f"{middle}, range {_number(counts.min)} to {_number(counts.max)}"


def _sequences(sequences: SequenceStats) -> list[tuple[str, str]]:
    users = f"{sequences.sequences:,} of {sequences.users:,} users"
    return [
        ("sequences", f"{users}, with {sequences.rows:,} rows of {sequences.items:,} items"),
        ("", f"length: {_distribution(sequences.lengths)}"),
        ("", f"entropy of their items {_entropy(sequences.entropy)}"),
    ]


def _times(times: TimeStats) -> list[tuple[str, str]]:
    span = f"{times.first} to {times.last} ({times.unit}){_missing(times.missing)}" if times.first else "all missing"
    unclear = f"for {_percent(times.last_unclear)} of users the last item is ambiguous"
    tied = f"{_percent(times.tied)} of rows have the same time as another row of their user; {unclear}"
    return [("time", span), ("", KINDS[times.kind]), *([("", times.problem)] if times.problem else []), ("", tied)]


def _ratings(ratings: RatingStats) -> str:
    if ratings.counts is not None:
        shown = ", ".join(f"{value}: {count:,}" for value, count in ratings.counts.items()) or "none"
    else:
        shown = ", ".join(f"{name} {_number(value)}" for name, value in (ratings.quantiles or {}).items())
    return shown + _missing(ratings.missing)


def _missing(count: int) -> str:
    return f"; {count:,} missing" if count else ""


def _number(value: float) -> str:
    """Return a number as text with at most three decimals.

    >>> _number(32.0), _number(0.36061), _number(float("nan"))
    ('32', '0.361', 'undefined')
    """
    if math.isnan(value):
        return wording.UNDEFINED
    text = f"{value:,.0f}" if value == round(value) else f"{value:,.3f}"
    return text.rstrip("0") if "." in text and not text.endswith(".000") else text


def _entropy(bits: float) -> str:
    """Return an entropy in bits as text, in bits and in nats.

    >>> _entropy(9.738)
    '9.738 bits (6.75 nats)'
    """
    return wording.UNDEFINED if math.isnan(bits) else f"{_number(bits)} bits ({_number(bits * NATS)} nats)"


def _percent(share: float) -> str:
    """Return a share as text in percent, with two significant digits below 10 %.

    >>> _percent(0.4586), _percent(0.0456), _percent(0.00006), _percent(0.0)
    ('46 %', '4.6 %', '0.006 %', '0 %')
    """
    if math.isnan(share):
        return wording.UNDEFINED
    return f"{100 * share:.0f} %" if share >= 0.0995 else f"{100 * share:.2g} %"


# --- a re-ranked run ---


def findings_of(reranked: Reranked) -> tuple[Finding, ...]:
    """Return a warning (finding) if most items of a re-ranked run lack the features that the order depends on."""
    return diagnose("re-ranking", rows=reranked.run.items.size, bare=reranked.counts.get("bare", 0))


def reranked_table(written: Mapping[str, Reranked]) -> RenderableType:
    """Return a table of a method with its parameters, the rows that moved in each file, and the problems found.

    ``written`` maps each file to the run in it; all re-rank one run by one method, with different weights of diversity.

    >>> from recassay.report.tables.model import printed
    >>> from recassay.models.rerank import rerank
    >>> films = [{"item_id": "x", "genres": ["war"]}, {"item_id": "y", "genres": ["war"]}]
    >>> run = {"ann": {"x": 0.9, "y": 0.8, "z": 0.5}}
    >>> made = rerank(run, "MMR(weight=0.6, places=2)", items=films)
    >>> print(printed(reranked_table({"new.csv": made}), width=110))
    method    MMR(weight=0.6, places=2)
    with      norm=zscore_step, form=min, distance=jaccard, bare=distant
    places    the first 2, filled from 100 candidates
    lists     1
    moved     2 of 3 rows changed their position
    written   new.csv
    <BLANKLINE>
    few       1: lists with fewer items than the requested number of candidates
    bare      1: rows whose item has no features: at maximum distance to all items, and without aspects
    """
    reranked, single = next(iter(written.values())), len(written) == 1
    method, counts = reranked.method, reranked.counts
    own = {name: value for name, value in reranked.parameters.items() if name not in SHOWN}
    moved = {
        path: f"{one.counts['moved']:,} of {one.run.items.size:,} rows changed their position"
        for path, one in written.items()
    }
    problems = [(name, f"{counts[name]:,}: {meaning}") for name, meaning in PROBLEMS.items() if counts.get(name)]
    lines = [
        ("method", str(method) if single else method.name),
        *([("with", ", ".join(f"{name}={value}" for name, value in own.items()))] if own else []),
        ("places", f"the first {method.places}, filled from {method.candidates} candidates"),
        ("lists", f"{counts['lists']:,}"),
        *(line for path, text in moved.items() if single for line in (("moved", text), ("written", path))),
        *(("lambda", f"{written[path].method.weight:g}: {text}, {path}") for path, text in moved.items() if not single),
        *([("", "")] if problems else []),
        *problems,
        *((one.severity, f"{one.code}  {one.title}. {one.detail}") for one in findings_of(reranked)),
    ]
    return Terminal(lines_table(lines))


# --- corrected metrics ---


def corrected_table(corrected: CorrectedMetrics) -> RenderableType:
    """Return a row per metric, estimator and system: estimate, interval, sampled mean, number of users.

    >>> from recassay.report.tables.model import printed
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
    level = wording.level(corrected.scores(corrected.estimators[0]))
    between = Field("low high", f"{level} interval", wording.interval)
    fields = (
        name("metric"), name("estimator"), system(), Field("mean", "mean"), *([between] if bounded else []),
        Field("sampled", "sampled"), count("n"),
    )  # fmt: skip
    made = table(corrected.means.to_dicts(), fields, grouped=True)
    return Group(Terminal(made), Text(), words(_notes(corrected, bounded), "dim"))


def _notes(corrected: CorrectedMetrics, bounded: bool) -> str:
    """Return notes on what was estimated, on the bias of intervals, and on what was left out.

    The bias is only noted with ``bounded``, that is, if intervals are shown. An estimator treats a metric as a sum of
    components, and leaves out components that the sampled ranks say too little about.
    """
    settings, pools = corrected.settings, corrected.estimates.pools
    pool = f"{pools[0]:,}" if pools.size == 1 else f"{pools[0]:,} to {pools[-1]:,}"
    how = f"{settings['sample']:,} candidates sampled {'with' if settings['replace'] else 'without'} replacement"
    method = wording.method(corrected.scores(corrected.estimators[0]), None) if bounded else ""
    dropped = corrected.means.group_by("estimator", maintain_order=True).agg(pl.col("left_out").max())
    notes = [
        f"Estimates for the full ranking of {pool} candidates, from ranks among {how}.",
        method,
        "The intervals do not include the bias of the estimators." if bounded else "",
        *(
            f"{estimator} dropped {count:,} components that the sample hardly determines." if count else ""
            for estimator, count in dropped.iter_rows()
        ),
    ]
    return " ".join(filter(None, notes))


# --- finished scores ---


def conclusions_text(conclusions: FinishedConclusions) -> RenderableType:
    """Return the conclusions as text: verdicts, what cannot be concluded, and the rank of each system under each rule.

    A rule, such as the mean rank, combines the scores on several data sets. There is a verdict per metric and setting;
    only the first ones are shown.
    """
    shown, more = conclusions.rankings[:MAX_RANKINGS], len(conclusions.rankings) - MAX_RANKINGS
    left_out = f"{more:,} more metrics or settings: name one with -m; -o writes all"
    names = ", ".join(conclusions.described[:8]) + (", ..." if len(conclusions.described) > 8 else "")
    described = f"Not ranked, because more is not simply better: {names}. Name one with -m to rank by it."
    cannot = [*conclusions.cannot, *([described] if names else [])]
    return Group(
        *(part for ranking in shown for part in (words(ranking.sentence(), "bold"), Text())),
        *([words(left_out, "dim"), Text()] if more > 0 else []),
        Text("What this table cannot say"),
        *(words(f"- {line}") for line in cannot),
        *(part for ranking in shown for part in (Text(), Terminal(_ranks_table(ranking)))),
    )


def _ranks_table(ranking: FinishedRanking) -> ResultTable:
    """Return a row per system with its rank under each rule that combines data sets, such as the mean rank.

    A last row has the share of resamples in which the winner is first.
    """
    places = [rule.places() for rule in ranking.winners]
    systems = ranking.ranking.systems if ranking.ranking is not None else ranking.table.systems
    rows = [(Cell(system), *(Cell(str(place[system])) for place in places)) for system in systems]
    if len(ranking.table.datasets) > 1:
        rows += [(), (Cell("winner first in"), *(Cell(f"{rule.share:.0%}") for rule in ranking.winners))]
    columns = (Column("system", "name"), *(Column(rule.rule) for rule in ranking.winners))
    return ResultTable(columns, tuple(rows), f"{ranking.name}: rank under each rule")


def write_conclusions(conclusions: FinishedConclusions, folder: str | Path) -> Path:
    """Write ``conclusions.json``, ``places.csv`` (ranks of systems) and the data of the chart; return the folder."""
    frames = {"places": conclusions.frame()}
    return write_tables(folder, "conclusions.json", conclusions.to_dict(), frames, [conclusions.exhibit()])
