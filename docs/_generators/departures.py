"""``explanation/departures.md``: every departure from a paper, as the class or function that differs declares it."""

from __future__ import annotations

from recassay.naming.departures import PAPERS
from recassay.report.departures import Declared
from recassay.report.listing import departures

TITLES = {
    "target-sets": "Statistical biases",
    "sampled-metrics": "Sampled metrics",
    "sequeval": "Sequeval",
    "prequential": "Prequential evaluation",
    "sudden-death": "Sudden Death and diversification",
}

INTRODUCTION = """\
# Where recassay departs from the papers, and why

recassay brings together five published ways to evaluate recommenders. Where a default of recassay differs from what a
paper says, the class that differs declares it in one sentence. This page lists these sentences, and `recassay explain
NAME` prints those of a name. The last column is the text that gives the paper's own form; where it is empty, there is no
such form, and the sentence says why. Studies in `studies/` run the paper's form next to ours where there is one.
"""

HEADER = "| name | what differs, and why | the paper's form |\n| --- | --- | --- |"


def pages() -> dict[str, str]:
    """Return the text of the page by its path."""
    every = departures()
    parts = [INTRODUCTION]
    for paper, title in TITLES.items():
        rows = [_row(one) for one in sorted(every, key=_order) if one.departure.paper == paper]
        if rows:
            parts.append(f"## {title}\n\n{PAPERS[paper]}.\n\n{HEADER}\n" + "\n".join(rows) + "\n")
    return {"explanation/departures.md": "\n".join(parts)}


def _order(one: Declared) -> tuple[str, str]:
    return one.kind, one.name


def _row(one: Declared) -> str:
    literal = f"`{one.departure.literal}`" if one.departure.literal else ""
    cells = (f"{one.kind} `{one.name}`", one.departure.sentence, literal)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
