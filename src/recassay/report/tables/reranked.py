"""Summary of a re-ranked run for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from recassay.models.rerank import Reranked

PROBLEMS = {
    "short": "lists with fewer items than places to fill",
    "few": "lists with fewer items than the requested number of candidates",
    "duplicate": "rows dropped because they repeat an item of their list",
    "bare": "rows whose item has no features: at maximum distance to all items, and without aspects",
    "shifted": "lists with negative scores, shifted to be non-negative",
    "without_profile": "users whose profile has no features: all features get the same weight",
    "without_liked": "users without liked items in training: their lists are unchanged",
}


def reranked_table(reranked: Reranked, output: str = "") -> RenderableType:
    """Return a table of the method, the number of rows that moved, and the problems met.

    >>> from rich.console import Console
    >>> from recassay.models.rerank import rerank
    >>> films = [{"item_id": "x", "genres": ["war"]}, {"item_id": "y", "genres": ["war"]}]
    >>> run = {"ann": {"x": 0.9, "y": 0.8, "z": 0.5}}
    >>> Console(width=110).print(reranked_table(rerank(run, "MMR(weight=0.6, places=2)", items=films)))
    method  MMR(weight=0.6, places=2)
    places  the first 2, filled from 100 candidates
    lists   1
    moved   2 of 3 rows changed their position
    <BLANKLINE>
    few     1: lists with fewer items than the requested number of candidates
    bare    1: rows whose item has no features: at maximum distance to all items, and without aspects
    """
    table = Table(box=box.SIMPLE, show_header=False, show_edge=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, text in _lines(reranked, output):
        table.add_row(Text(name), Text(text))
    return table


def _lines(reranked: Reranked, output: str) -> Iterator[tuple[str, str]]:
    method, counts = reranked.method, reranked.counts
    yield "method", str(method)
    yield "places", f"the first {method.places}, filled from {method.candidates} candidates"
    yield "lists", f"{counts['lists']:,}"
    yield "moved", f"{counts['moved']:,} of {reranked.run.items.size:,} rows changed their position"
    if output:
        yield "written", output
    problems = [(name, f"{counts[name]:,}: {meaning}") for name, meaning in PROBLEMS.items() if counts.get(name)]
    if problems:
        yield "", ""
        yield from problems
