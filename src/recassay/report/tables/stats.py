"""The table of statistics of a log for a terminal, those that matter most for a study first."""

from __future__ import annotations

import math
from collections.abc import Iterator

from rich.console import RenderableType

from recassay.columnar.time_kind import KINDS
from recassay.data.stats import RatingStats, SequenceStats, Stats, TimeStats
from recassay.report.tables.terminal import Terminal, lines_table
from recassay.stats.concentration import NATS

UNDEFINED = "undefined"


def stats_table(stats: Stats) -> RenderableType:
    """Return a table with two columns: the name of a statistic and its value."""
    return Terminal(lines_table(_lines(stats)))


def _lines(stats: Stats) -> Iterator[tuple[str, str]]:
    yield "rows", f"{stats.rows:,}"
    yield "users", f"{stats.users:,}"
    yield "items", f"{stats.items:,}"
    yield "pairs", f"{stats.pairs:,} distinct user-item pairs; {stats.duplicates:,} rows repeat a pair"
    yield "density", f"{_percent(stats.density)} of all possible user-item pairs"
    profile = stats.profile
    middle = f"mean {_number(profile.mean)}, median {_number(profile.median)}"
    yield "items per user", f"{middle}, range {_number(profile.min)} to {_number(profile.max)}"
    top = stats.popularity
    shares = (("1 %", top.top_1_percent), ("10 %", top.top_10_percent), ("20 %", top.top_20_percent))
    yield "top items", ", ".join(f"{of} of items have {_percent(share)} of rows" for of, share in shares)
    yield "", f"Gini {_number(top.gini)}; {_percent(top.items_with_one_row)} of items have one row"
    yield "", f"entropy {_entropy(top.entropy)}"
    if stats.sequences is not None:
        yield from _sequences(stats.sequences)
    if stats.times is None:
        yield "time", KINDS[None]
    else:
        yield from _times(stats.times)
    if stats.ratings is not None:
        yield from _ratings(stats.ratings)


def _sequences(sequences: SequenceStats) -> Iterator[tuple[str, str]]:
    shown = f"{sequences.sequences:,} of {sequences.users:,} users, with {sequences.rows:,} rows"
    yield "sequences", f"{shown} of {sequences.items:,} items"
    lengths = sequences.lengths
    middle = f"length: mean {_number(lengths.mean)}, median {_number(lengths.median)}"
    yield "", f"{middle}, range {_number(lengths.min)} to {_number(lengths.max)}"
    yield "", f"entropy of their items {_entropy(sequences.entropy)}"


def _times(times: TimeStats) -> Iterator[tuple[str, str]]:
    yield (
        "time",
        f"{times.first} to {times.last} ({times.unit}){_missing(times.missing)}" if times.first else "all missing",
    )
    yield "", KINDS[times.kind]
    if times.problem:
        yield "", times.problem
    yield (
        "",
        (
            f"{_percent(times.tied)} of rows have the same time as another row of their user; "
            f"for {_percent(times.last_unclear)} of users the last item is ambiguous"
        ),
    )


def _ratings(ratings: RatingStats) -> Iterator[tuple[str, str]]:
    if ratings.counts is not None:
        shown = ", ".join(f"{value}: {count:,}" for value, count in ratings.counts.items()) or "none"
    else:
        shown = ", ".join(f"{name} {_number(value)}" for name, value in (ratings.quantiles or {}).items())
    yield "ratings", shown + _missing(ratings.missing)


def _missing(count: int) -> str:
    return f"; {count:,} missing" if count else ""


def _number(value: float) -> str:
    """Return a number as text with at most three decimals.

    >>> _number(32.0), _number(0.36061), _number(float("nan"))
    ('32', '0.361', 'undefined')
    """
    if math.isnan(value):
        return UNDEFINED
    text = f"{value:,.0f}" if value == round(value) else f"{value:,.3f}"
    return text.rstrip("0") if "." in text and not text.endswith(".000") else text


def _entropy(bits: float) -> str:
    """Return an entropy in bits as text, in bits and in nats.

    >>> _entropy(9.738)
    '9.738 bits (6.75 nats)'
    """
    return UNDEFINED if math.isnan(bits) else f"{_number(bits)} bits ({_number(bits * NATS)} nats)"


def _percent(share: float) -> str:
    """Return a share as text in percent, with two significant digits below 10 %.

    >>> _percent(0.4586), _percent(0.0456), _percent(0.00006), _percent(0.0)
    ('46 %', '4.6 %', '0.006 %', '0 %')
    """
    if math.isnan(share):
        return UNDEFINED
    return f"{100 * share:.0f} %" if share >= 0.0995 else f"{100 * share:.2g} %"
