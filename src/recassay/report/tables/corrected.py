"""Corrected metrics for a terminal: the estimate for the full ranking, next to the mean on sampled candidates."""

from __future__ import annotations

from itertools import groupby

import polars as pl
from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.text import Text

from recassay.errors import printable
from recassay.report.content import wording
from recassay.report.tables.text import GAP, bare_table
from recassay.sampled.corrected import CorrectedMetrics

NAMES = ("metric", "estimator", "system")
SYSTEM_WIDTH = (12, 24)  # of a long name: desired minimum, and maximum


def corrected_table(corrected: CorrectedMetrics, *, width: int, digits: int = 4) -> RenderableType:
    """Return a row per metric, estimator and system: estimate, interval if it fits, sampled mean, number of users.

    >>> from rich.console import Console
    >>> from recassay.sampled.corrections import correct
    >>> corrected = correct([1, 1, 2, 5, 9, 40], pool=1_000, sample=99, metrics="mrr", interval=None)
    >>> Console(width=112).print(corrected_table(corrected, width=112))
    metric  estimator                  system    mean  sampled  n
    ─────────────────────────────────────────────────────────────
    mrr     bias_variance              run     0.1505   0.4727  6
            bias_variance(gamma=0.01)  run     0.1322   0.4727  6
    <BLANKLINE>
    Estimates for the full ranking of 1,000 candidates, from ranks among 99 candidates sampled without replacement.
    """
    bounded = any(corrected.means["low"].is_not_nan())
    columns = _fitted(_columns(corrected, bounded, digits), width)
    if bounded and _room(columns, width) < 0:
        bounded = False
        columns = _fitted(_columns(corrected, bounded, digits), width)
    table = bare_table()
    for heading in columns:
        if heading in NAMES:
            table.add_column(heading, overflow="fold")
        else:
            table.add_column(heading, justify="right", no_wrap=True, min_width=_width(heading, columns[heading]))
    rows = list(zip(*columns.values(), strict=True))
    for metric, group in groupby(rows, lambda row: row[0]):
        if metric != rows[0][0]:
            table.add_row()
        previous: tuple[str, ...] = ()
        for row in group:  # a name that repeats the row above is left out
            names = ("" if row[:upto] == previous[:upto] else row[upto - 1] for upto in (1, 2))
            table.add_row(*map(Text, (*names, *row[2:])))
            previous = row
    return Group(table, Text(), Text(_notes(corrected, bounded), style="dim"))


def _columns(corrected: CorrectedMetrics, bounded: bool, digits: int) -> dict[str, list[str]]:
    """Return the cells of each column as text, by heading; intervals are included if ``bounded``."""
    rows = corrected.means.to_dicts()
    level = wording.level(corrected.scores(corrected.estimators[0]))
    intervals = {f"{level} interval": [wording.interval(row["low"], row["high"], digits) for row in rows]}
    return {
        "metric": [row["metric"] for row in rows],
        "estimator": [row["estimator"] for row in rows],
        "system": [wording.shorten(printable(row["system"]), SYSTEM_WIDTH[1]) for row in rows],
        "mean": [wording.number(row["mean"], digits) for row in rows],
        **(intervals if bounded else {}),
        "sampled": [wording.number(row["sampled"], digits) for row in rows],
        "n": [f"{row['n']:,}" for row in rows],
    }


def _fitted(columns: dict[str, list[str]], width: int) -> dict[str, list[str]]:
    """Return columns that fit the width if possible: system names are shortened, then estimators wrapped."""
    for wrapped in (False, True):
        if wrapped:
            columns = columns | {"estimator": [name.replace("(", "\n(", 1) for name in columns["estimator"]]}
        system, room = _width("system", columns["system"]), _room(columns, width)
        longest = max(system + min(room, 0), min(system, SYSTEM_WIDTH[0]))
        fitted = columns | {"system": [wording.shorten(name, longest) for name in columns["system"]]}
        if _room(fitted, width) >= 0:
            break
    return fitted


def _room(columns: dict[str, list[str]], width: int) -> int:
    """Return the width of the terminal that the columns leave; it is negative if they do not fit."""
    return width - sum(_width(heading, cells) for heading, cells in columns.items()) - GAP * (len(columns) - 1)


def _width(heading: str, cells: list[str]) -> int:
    return max(cell_len(line) for cell in (heading, *cells) for line in cell.split("\n"))


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
        notes += [
            wording.method(corrected.scores(corrected.estimators[0]), None),
            "The intervals do not include the bias of the estimators.",
        ]
    dropped = corrected.means.group_by("estimator", maintain_order=True).agg(pl.col("left_out").max())
    notes += [
        f"{estimator} dropped {count:,} components that the sample hardly determines."
        for estimator, count in dropped.iter_rows()
        if count
    ]
    return " ".join(notes)
