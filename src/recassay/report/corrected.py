"""Corrected sampled ranks for a terminal: what each system is estimated to be worth, beside what its sample said."""

from __future__ import annotations

from itertools import groupby

import polars as pl
from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from recassay.report import wording
from recassay.report.text import BARE, GAP
from recassay.sampled.corrected import Corrected

NAMES = ("metric", "estimator", "system")
SYSTEM_WIDTH = (12, 24)  # of a long name: what it should have, and what it never exceeds


def corrected_table(corrected: Corrected, *, width: int, digits: int = 4) -> RenderableType:
    """A row per metric, estimator and system: the estimate, its interval where the width allows, the sampled mean, n.

    >>> from rich.console import Console
    >>> from recassay.sampled.corrections import correct
    >>> found = correct([1, 1, 2, 5, 9, 40], pool=1_000, sample=99, metrics="mrr", interval=None)
    >>> Console(width=99).print(corrected_table(found, width=99))
    metric  estimator                  system    mean  sampled  n
    ─────────────────────────────────────────────────────────────
    mrr     bias_variance              run     0.1505   0.4727  6
            bias_variance(gamma=0.01)  run     0.1322   0.4727  6
    <BLANKLINE>
    Estimates for the whole ranking of 1,000 candidates, from ranks among 99 drawn without replacement.
    """
    bounded = any(corrected.means["low"].is_not_nan())
    columns = _fitted(_columns(corrected, bounded, digits), width)
    if bounded and _room(columns, width) < 0:
        bounded = False
        columns = _fitted(_columns(corrected, bounded, digits), width)
    table = Table(
        box=BARE, header_style="bold", border_style="dim", padding=(0, GAP - 1, 0, 0), pad_edge=False, show_edge=False
    )
    for heading in columns:
        if heading in NAMES:
            table.add_column(heading, overflow="fold")
        else:
            table.add_column(heading, justify="right", no_wrap=True, min_width=_width(heading, columns[heading]))
    rows = list(zip(*columns.values(), strict=True))
    for metric, group in groupby(rows, lambda row: row[0]):
        if metric != rows[0][0]:
            table.add_row()
        before: tuple[str, ...] = ()
        for row in group:  # what stands in the row above is not said again
            names = ("" if row[:upto] == before[:upto] else row[upto - 1] for upto in (1, 2))
            table.add_row(*map(Text, (*names, *row[2:])))
            before = row
    return Group(table, Text(), Text(_notes(corrected, bounded), style="dim"))


def _columns(corrected: Corrected, bounded: bool, digits: int) -> dict[str, list[str]]:
    """The cells below each heading."""
    rows = corrected.means.to_dicts()
    level = wording.level(corrected.scores(corrected.estimators[0]))
    intervals = {f"{level} interval": [wording.interval(row["low"], row["high"], digits) for row in rows]}
    return {
        "metric": [row["metric"] for row in rows],
        "estimator": [row["estimator"] for row in rows],
        "system": [wording.shorten(wording.printable(row["system"]), SYSTEM_WIDTH[1]) for row in rows],
        "mean": [wording.number(row["mean"], digits) for row in rows],
        **(intervals if bounded else {}),
        "sampled": [wording.number(row["sampled"], digits) for row in rows],
        "n": [f"{row['n']:,}" for row in rows],
    }


def _fitted(columns: dict[str, list[str]], width: int) -> dict[str, list[str]]:
    """The same with names of systems shortened, then those of estimators cut at their bracket, where the width asks."""
    for cut in (False, True):
        if cut:
            columns = columns | {"estimator": [name.replace("(", "\n(", 1) for name in columns["estimator"]]}
        system, room = _width("system", columns["system"]), _room(columns, width)
        longest = max(system + min(room, 0), min(system, SYSTEM_WIDTH[0]))
        fitted = columns | {"system": [wording.shorten(name, longest) for name in columns["system"]]}
        if _room(fitted, width) >= 0:
            break
    return fitted


def _room(columns: dict[str, list[str]], width: int) -> int:
    """What is left of the width."""
    return width - sum(_width(heading, cells) for heading, cells in columns.items()) - GAP * (len(columns) - 1)


def _width(heading: str, cells: list[str]) -> int:
    return max(cell_len(line) for cell in (heading, *cells) for line in cell.split("\n"))


def _notes(corrected: Corrected, bounded: bool) -> str:
    """What the numbers are, what the intervals do not know, and what an estimator had to leave out."""
    settings, pools = corrected.settings, corrected.answered.pools
    pool = f"{pools[0]:,}" if pools.size == 1 else f"{pools[0]:,} to {pools[-1]:,}"
    drawn = "with" if settings["replace"] else "without"
    notes = [
        f"Estimates for the whole ranking of {pool} candidates, from ranks among {settings['sample']:,} drawn {drawn} "
        "replacement."
    ]
    if bounded:
        notes += [wording.method(corrected.scores(corrected.estimators[0]), None), "Intervals know nothing of bias."]
    lost = corrected.means.group_by("estimator", maintain_order=True).agg(pl.col("left_out").max())
    notes += [
        f"{estimator} left out {many:,} directions of which the sample keeps too little."
        for estimator, many in lost.iter_rows()
        if many
    ]
    return " ".join(notes)
