"""``recassay check``: every numbered check over a folder of results."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from recassay.cli import _common, _options

if TYPE_CHECKING:
    from rich.console import RenderableType

    from recassay.report.checks import Answer


def check(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="A folder that recassay run, score -o or demo wrote.")
    ],
    fail_on: _options.FailOn = None,
    as_json: _options.AsJson = False,
) -> None:
    """What every check says of a folder of results: a finding, that all is well, or why it does not apply.

    Example: recassay check first --fail-on error
    """
    _common.known("--fail-on", fail_on or "warning", _options.SEVERITIES)
    from recassay.data.finding import severe
    from recassay.report.checks import answers
    from recassay.report.reading import read_results

    found = answers(read_results(folder))
    if as_json:
        from recassay._version import __version__

        _common.print_json({"recassay": __version__, "checks": [one.to_dict() for one in found]})
    else:
        _common.console().print(_table(found))
    if fail_on and any(severe(one["severity"], fail_on) for answer in found for one in answer.findings):
        raise typer.Exit(1)


def _table(found: list[Answer]) -> RenderableType:
    from rich import box
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    from recassay.report.wording import printable

    style = {"error": "bold red", "warning": "yellow", "info": "cyan"}
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for heading in ("check", "answer", "about"):
        table.add_column(heading, no_wrap=heading != "about")
    for one in found:
        if one.findings:
            for finding in one.findings:
                where = ", ".join(str(finding[key]) for key in ("system", "dataset", "design") if finding.get(key))
                told = printable(f"{finding['title']}{f' ({where})' if where else ''}: {finding['detail']}")
                table.add_row(one.check.code, Text(finding["severity"], style[finding["severity"]]), Text(told))
        else:
            told = one.check.title if one.said == "fine" else f"{one.check.title}: {one.why}"
            table.add_row(one.check.code, Text(one.said, "green" if one.said == "fine" else "dim"), Text(told))
    counts = [sum(one.said == said for one in found) for said in ("finding", "fine", "not applicable")]
    line = f"{len(found)} checks: {counts[0]} with findings, {counts[1]} fine, {counts[2]} not applicable"
    return Group(table, Text(f"\n{line}. More on one: recassay explain CODE"))
