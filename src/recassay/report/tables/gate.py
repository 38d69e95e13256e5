"""A gate's verdict for a terminal, for a pull request (Markdown), and for the test page of a CI server (JUnit XML)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

from rich.console import Group, RenderableType
from rich.text import Text

from recassay.comparison.gate import Criterion, Gate
from recassay.data.io import write_json, write_text
from recassay.errors import printable
from recassay.report.content import wording
from recassay.report.tables.formats import escape_markdown, markdown
from recassay.report.tables.model import Field, ResultTable, Terminal, count, name, table, words
from recassay.report.tables.verdict import findings_table
from recassay.results.scores import worded

STYLES = {"pass": "fine", "fail": "error", "undecided": "warning", "suspicious": "error"}
DOCUMENT, COMMENT, TESTS = "gate.json", "gate.md", "gate.xml"


def headline(gate: Gate) -> str:
    """Return the verdict of the gate as a sentence that names the criteria, or suspicions, that decided it."""
    at = [one for one in gate.criteria if one.verdict == gate.verdict]
    named = wording.series(list(dict.fromkeys(one.name for one in at))) if at else ""
    needed = [one.needed for one in at]
    known = [number for number in needed if number is not None]
    users = f"; about {max(known):,} users would decide" if needed and len(known) == len(needed) else ""
    sentences = {
        "pass": f"Pass. Every criterion holds with {wording.percent(gate.level)} confidence.",
        "fail": f"Fail. The candidate does not keep what is required: {named}.",
        "undecided": f"Undecided. The users are too few to say whether the candidate keeps {named}{users}.",
        "suspicious": "Suspicious. Look at the candidate before you believe its numbers.",
    }
    return worded(sentences[gate.verdict], gate.scores.unit)


def sentence(criterion: Criterion) -> str:
    """Return a sentence that says whether the candidate passes a criterion of the gate, with its numbers."""
    limit = not criterion.rule.startswith("loses")
    against = "" if limit else f", the baseline {wording.number(criterion.against)}"
    bounds = wording.interval(criterion.low, criterion.high)
    text = f"{criterion.name} {criterion.rule}: the candidate has {wording.number(criterion.candidate)}{against}"
    if bounds != wording.NOTHING:
        allowed = "" if limit else f"; {wording.difference(criterion.allowed)} is allowed"
        text += f"; difference {wording.difference(criterion.difference)}, bounds {bounds}{allowed}"
    needed = f"; about {criterion.needed:,} users would decide" if criterion.needed else ""
    return f"{text}{needed}{f'; {criterion.why}' if criterion.why else ''}"


def gate_table(gate: Gate) -> ResultTable:
    """Return a table with a row per criterion of the gate: verdict, numbers, and what is required."""
    rows = [{**row, "group": row["group"] or "all"} for row in gate.to_dict()["criteria"]]
    fields = [
        name("verdict"),
        name("metric"),
        *([name("group", worded("users", gate.scores.unit))] if any(one.group for one in gate.criteria) else []),
        Field("candidate", "candidate"),
        Field("against", "against"),
        Field("difference", "difference", wording.difference),
        Field("low high", "bounds", wording.interval),
        Field("at_least allowed rule", "required", _required),
        count("users", "n"),
    ]
    note = f"Each bound of a difference holds with {wording.percent(gate.level)} confidence (one-sided, Student's t)."
    return table(rows, fields, title=headline(gate), notes=(*gate.suspicions, note))


def _required(at_least: bool, allowed: float, rule: str) -> str:
    """Return the bound on the difference as text, with the percentage in ``rule`` if it has one.

    >>> _required(True, -0.0055, "loses at most 2 %")
    '≥ -0.0055 (2 %)'
    """
    share = rule.removeprefix("loses at most ") if rule.endswith("%") else ""
    return f"{'≥' if at_least else '≤'} {wording.difference(allowed)}{f' ({share})' if share else ''}"


def gate_text(gate: Gate) -> RenderableType:
    """Return the verdict, the reasons if it is suspicious, the criteria and the findings, for a terminal."""
    made = gate_table(gate)
    reasons = [words(f"  {text}") for text in gate.suspicions]
    shown = Terminal(replace(made, title="", notes=made.notes[-1:]))
    return Group(
        words(headline(gate), STYLES[gate.verdict]), *reasons, Text(), shown, Text(), findings_table(gate.scores)
    )


def gate_markdown(gate: Gate) -> str:
    """Return the verdict, the reasons if it is suspicious, and the criteria as Markdown."""
    made = gate_table(gate)
    reasons = "".join(f"- {escape_markdown(text)}\n" for text in gate.suspicions)
    rows = markdown(replace(made, title="", notes=made.notes[-1:]))
    return "\n".join(filter(None, [f"**{escape_markdown(headline(gate))}**\n", reasons, rows]))


def junit(gate: Gate, *, undecided_passes: bool = False) -> str:
    """Return the criteria of a gate as test cases of a JUnit file, with one more that fails if a result is suspicious.

    With ``undecided_passes`` a criterion that more data must decide is not a failure.
    """
    unit = gate.scores.unit
    cases = [(f"{one.name} {one.rule}", one.verdict, worded(sentence(one), unit)) for one in gate.criteria]
    cases.append(("nothing suspicious", "suspicious" if gate.suspicions else "pass", "\n".join(gate.suspicions)))
    passing = ("pass", "undecided") if undecided_passes else ("pass",)
    failed = sum(verdict not in passing for _, verdict, _ in cases)
    skipped = sum(verdict == "undecided" for _, verdict, _ in cases) if undecided_passes else 0
    suite = ElementTree.Element(
        "testsuite", name="recassay gate", tests=str(len(cases)), failures=str(failed), skipped=str(skipped)
    )
    for title, verdict, text in cases:
        case = ElementTree.SubElement(suite, "testcase", classname="recassay.gate", name=printable(title))
        if verdict != "pass":
            kind = "failure" if verdict not in passing else "skipped"
            ElementTree.SubElement(case, kind, message=printable(text), type=verdict)
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def write_gate(gate: Gate, folder: Path, *, undecided_passes: bool = False) -> None:
    """Write ``gate.json``, ``gate.md`` and ``gate.xml`` into a folder of results."""
    from recassay.data.io.manifest import recording

    with recording(folder):
        write_json(gate.to_dict(), folder / DOCUMENT)
        write_text(gate_markdown(gate), folder / COMMENT)
        write_text(junit(gate, undecided_passes=undecided_passes), folder / TESTS)
