"""The summary of a re-ranked run for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rich.console import RenderableType

from recassay.checks import diagnose
from recassay.models.rerank import Reranked
from recassay.report.tables.terminal import Terminal, lines_table
from recassay.results.finding import Finding

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


def findings_of(reranked: Reranked) -> tuple[Finding, ...]:
    """Return findings about a re-ranked run: most of its items lack the features that the order depends on."""
    return diagnose("re-ranking", rows=reranked.run.items.size, bare=reranked.counts.get("bare", 0))


def reranked_table(written: Mapping[str, Reranked]) -> RenderableType:
    """Return a table of a method with its parameters, the rows that moved in each file, and the problems found.

    ``written`` are re-ranked runs by file; all are of one run and one method, and differ in the weight of diversity.

    >>> from recassay.report.tables.terminal import printed
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
    return Terminal(lines_table(_lines(written)))


def _lines(written: Mapping[str, Reranked]) -> Iterator[tuple[str, str]]:
    reranked = next(iter(written.values()))
    method, counts = reranked.method, reranked.counts
    own = {name: value for name, value in reranked.parameters.items() if name not in SHOWN}
    yield "method", str(method) if len(written) == 1 else method.name
    if own:
        yield "with", ", ".join(f"{name}={value}" for name, value in own.items())
    yield "places", f"the first {method.places}, filled from {method.candidates} candidates"
    yield "lists", f"{counts['lists']:,}"
    for path, one in written.items():
        moved = f"{one.counts['moved']:,} of {one.run.items.size:,} rows changed their position"
        if len(written) == 1:
            yield from (("moved", moved), ("written", path))
        else:
            yield "lambda", f"{one.method.weight:g}: {moved}, {path}"
    problems = [(name, f"{counts[name]:,}: {meaning}") for name, meaning in PROBLEMS.items() if counts.get(name)]
    if problems:
        yield "", ""
        yield from problems
    for found in findings_of(reranked):
        yield found.severity, f"{found.code}  {found.title}. {found.detail}"
