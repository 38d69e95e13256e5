"""``howto/what-recassay-notices.md``: mistakes in files, what recassay reports, and their effect on a mean."""

from __future__ import annotations

import sys
from itertools import groupby
from pathlib import Path
from typing import Any

TRAPS = Path(__file__).resolve().parents[2] / "tests" / "contract"

INTRODUCTION = """\
# What recassay notices

Files that look correct can give wrong numbers: a column that was not read, ids that lost their zeros, ranks read as
scores. This page lists what recassay reports about such files, and what no program can detect. Every row is a test of
a small file: the mistake in it, what recassay reports, and by how much the mistake changes the mean of {metric} in a
program without checks. Every row is one run; beside runs of other systems, findings
[C012](../reference/findings.md#c012), [C013](../reference/findings.md#c013) and [C019](../reference/findings.md#c019)
compare their values, their users and the lengths of their lists.

An [error](../reference/errors.md) stops, and no number is printed. A [finding](../reference/findings.md) is printed
below the table; with `--fail-on warning` it stops a pipeline ([judge in CI](judge-in-ci.md)). The correct file has no
findings.

{errors} of {all} rows end in an error, {findings} in a finding. {same} have the same meaning and the same numbers as the
correct file. {open} cannot be detected from the files; the table says why.

`--order row` states that the order of rows is meant, `--columns score=NAME` and `--truth-columns gain=NAME` name columns,
and `--relevant-from` is the smallest gain of a relevant item. [Score run files](score-run-files.md) has all options.
"""

HEADER = "| in the files | reported | change of the mean |\n| --- | --- | --- |"


def pages() -> dict[str, str]:
    """Return the text of the page by its path."""
    rows = [(trap, *_found(trap)) for trap in _traps()]
    known = [(trap.said, moved) for trap, _, moved in rows]
    counts = {
        "all": len(rows),
        "errors": sum(_is_error(said) for said, _ in known),
        "findings": sum(bool(said) and not _is_error(said) for said, _ in known),
        "same": sum(not said and _nothing(moved) for said, moved in known),
        "open": sum(not said and not _nothing(moved) for said, moved in known),
        "metric": "nDCG@10",
    }
    parts = [INTRODUCTION.format(**counts)]
    for topic, group in groupby(rows, key=lambda row: row[0].topic):
        parts += [f"\n## {topic}\n", HEADER]
        parts += [f"| {trap.title} | {said} | {_percent(moved)} |" for trap, said, moved in group]
    return {"howto/what-recassay-notices.md": "\n".join(parts)}


def _traps() -> Any:
    if str(TRAPS) not in sys.path:
        sys.path.insert(0, str(TRAPS))
    import traps

    return traps.TRAPS


def _found(trap: Any) -> tuple[str, float | None]:
    from traps.base import moved, outcome

    found = outcome(trap.case)
    if found.codes != trap.said:
        raise AssertionError(f"{trap.title}: {found.codes} is reported, not {trap.said}: {found.text}")
    return _said(trap), moved(trap, found)


def _said(trap: Any) -> str:
    codes = ", ".join(f"[{code}](../reference/{_page(code)}.md#{code.lower()})" for code in trap.said)
    return codes or f"nothing. {trap.why}"


def _page(code: str) -> str:
    return "errors" if _is_error((code,)) else "findings"


def _is_error(codes: tuple[str, ...]) -> bool:
    from recassay.errors import explanations

    return any(code in explanations() for code in codes)


def _nothing(moved: float | None) -> bool:
    return moved is not None and abs(moved) < 0.0005


def _percent(moved: float | None) -> str:
    if moved is None:
        return "no number"
    return "no value" if moved != moved else "0 %" if _nothing(moved) else f"{100 * moved:+.1f} %".replace("-", "−")
