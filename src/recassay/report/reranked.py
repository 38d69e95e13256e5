"""What became of a run that was re-ranked, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from recassay.models.rerank import Reranked

PROBLEMS = {
    "short": "lists with fewer items than places to fill",
    "few": "lists with fewer items than candidates asked for",
    "duplicate": "rows that repeated an item of their list, left out",
    "bare": "rows whose item has no features, far from all others, and of no aspect",
    "shifted": "lists with negative scores, moved up for the shares of their items",
    "without_profile": "users without a profile that has features: all features matter alike",
    "without_liked": "users who liked nothing in training: their lists stay as they are",
}


def reranked_table(found: Reranked, output: str = "") -> RenderableType:
    """The method, how much moved, and what was counted on the way.

    >>> from rich.console import Console
    >>> from recassay.models.rerank import rerank
    >>> films = [{"item_id": "x", "genres": ["war"]}, {"item_id": "y", "genres": ["war"]}]
    >>> run = {"ann": {"x": 0.9, "y": 0.8, "z": 0.5}}
    >>> Console(width=110).print(reranked_table(rerank(run, "MMR(weight=0.6, places=2)", items=films)))
    method  MMR(weight=0.6, places=2)
    places  the first 2, filled from 100 candidates
    lists   1
    moved   2 of 3 rows stand elsewhere than before
    <BLANKLINE>
    few     1: lists with fewer items than candidates asked for
    bare    1: rows whose item has no features, far from all others, and of no aspect
    """
    table = Table(box=box.SIMPLE, show_header=False, show_edge=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, text in _lines(found, output):
        table.add_row(Text(name), Text(text))
    return table


def _lines(found: Reranked, output: str) -> Iterator[tuple[str, str]]:
    how, counts = found.method, found.counts
    yield "method", str(how)
    yield "places", f"the first {how.places}, filled from {how.candidates} candidates"
    yield "lists", f"{counts['lists']:,}"
    yield "moved", f"{counts['moved']:,} of {found.run.items.size:,} rows stand elsewhere than before"
    if output:
        yield "written", output
    met = [(name, f"{counts[name]:,}: {what}") for name, what in PROBLEMS.items() if counts.get(name)]
    if met:
        yield "", ""
        yield from met
