"""What is in a log, as a table for people: a line for each thing counted, those that matter for a study first."""

from __future__ import annotations

import math
from collections.abc import Iterator

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from recassay.data.stats import Ratings, Stats, Times
from recassay.data.time_kind import KINDS

UNDEFINED = "undefined"


def stats_table(found: Stats) -> RenderableType:
    """A table of two columns: what was counted, and how much."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, show_header=False)
    table.add_column("what", no_wrap=True)
    table.add_column("how much", overflow="fold")
    for what, much in _lines(found):
        table.add_row(Text(what, style="bold"), Text(much))
    return table


def _lines(found: Stats) -> Iterator[tuple[str, str]]:
    yield "rows", f"{found.rows:,}"
    yield "users", f"{found.users:,}"
    yield "items", f"{found.items:,}"
    yield "pairs", f"{found.pairs:,} of user and item; {found.duplicates:,} rows repeat one of them"
    yield "density", f"{_percent(found.density)} of all pairs of a user and an item"
    profile = found.profile
    spread = f"{_number(profile.mean)} on average, median {_number(profile.median)}"
    yield "items of a user", f"{spread}, {_number(profile.min)} to {_number(profile.max)}"
    top = found.popularity
    shares = (("1 %", top.top_1_percent), ("10 %", top.top_10_percent), ("20 %", top.top_20_percent))
    yield "top items", ", ".join(f"{of} of items have {_percent(share)} of rows" for of, share in shares)
    yield "", f"Gini {_number(top.gini)}; {_percent(top.items_with_one_row)} of items have a single row"
    if found.times is None:
        yield "time", KINDS[None]
    else:
        yield from _times(found.times)
    if found.ratings is not None:
        yield from _ratings(found.ratings)


def _times(times: Times) -> Iterator[tuple[str, str]]:
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
            f"{_percent(times.tied)} of rows share their time with another row of their user; "
            f"the last item of {_percent(times.last_unclear)} of users is not determined"
        ),
    )


def _ratings(ratings: Ratings) -> Iterator[tuple[str, str]]:
    if ratings.counts is not None:
        shown = ", ".join(f"{value}: {count:,}" for value, count in ratings.counts.items()) or "none"
    else:
        shown = ", ".join(f"{name} {_number(value)}" for name, value in (ratings.quantiles or {}).items())
    yield "ratings", shown + _missing(ratings.missing)


def _missing(count: int) -> str:
    return f"; {count:,} missing" if count else ""


def _number(value: float) -> str:
    """A number with at most three decimals.

    >>> _number(32.0), _number(0.36061), _number(float("nan"))
    ('32', '0.361', 'undefined')
    """
    if math.isnan(value):
        return UNDEFINED
    return f"{value:,.0f}" if value == round(value) else f"{value:,.3f}".rstrip("0")


def _percent(share: float) -> str:
    """A share in percent, to two significant digits below 10 %.

    >>> _percent(0.4586), _percent(0.0456), _percent(0.00006), _percent(0.0)
    ('46 %', '4.6 %', '0.006 %', '0 %')
    """
    if math.isnan(share):
        return UNDEFINED
    return f"{100 * share:.0f} %" if share >= 0.0995 else f"{100 * share:.2g} %"
