"""``recassay check``: all checks on a folder of results."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from recassay.cli import _common, _options

if TYPE_CHECKING:
    from rich.console import RenderableType

    from recassay.report.folder.checks import CheckOutcome


def check(
    folder: _options.ResultFolder,
    fail_on: _options.FailOn = None,
    as_json: _options.AsJson = False,
) -> None:
    """Run all checks on a folder of results: each reports a finding, is fine, or does not apply.

    Example: recassay check first --fail-on error
    """
    from recassay.report.folder.checks import run_checks
    from recassay.report.folder.read import read_results
    from recassay.results.finding import severe

    outcomes = run_checks(read_results(folder))
    if as_json:
        from recassay._version import __version__

        _common.print_json({"recassay": __version__, "checks": [outcome.to_dict() for outcome in outcomes]})
    else:
        _common.console().print(_table(outcomes))
    if fail_on and any(severe(row["severity"], fail_on) for outcome in outcomes for row in outcome.findings):
        raise typer.Exit(1)


def _table(outcomes: list[CheckOutcome]) -> RenderableType:
    from rich import box
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    from recassay.errors import printable

    style = {"error": "bold red", "warning": "yellow", "info": "cyan"}
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for heading in ("check", "result", "detail"):
        table.add_column(heading, no_wrap=heading != "detail")
    for outcome in outcomes:
        code, title = outcome.check.code, outcome.check.title
        if outcome.findings:
            for finding in outcome.findings:
                where = ", ".join(str(finding[key]) for key in ("system", "dataset", "design") if finding.get(key))
                detail = printable(f"{finding['title']}{f' ({where})' if where else ''}: {finding['detail']}")
                table.add_row(code, Text(finding["severity"], style[finding["severity"]]), Text(detail))
        else:
            fine = outcome.outcome == "fine"
            table.add_row(
                code,
                Text(outcome.outcome, "green" if fine else "dim"),
                Text(title if fine else f"{title}: {outcome.why}"),
            )
    counts = [sum(outcome.outcome == kind for outcome in outcomes) for kind in ("finding", "fine", "not applicable")]
    line = f"{len(outcomes)} checks: {counts[0]} with findings, {counts[1]} fine, {counts[2]} not applicable"
    return Group(table, Text(f"\n{line}. Details: recassay explain CODE"))
