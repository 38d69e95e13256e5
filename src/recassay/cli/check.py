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
    from rich.console import Group
    from rich.text import Text

    from recassay.report.tables.model import Cell, Column, ResultTable
    from recassay.report.tables.terminal import Terminal

    rows = []
    for outcome in outcomes:
        code, title = outcome.check.code, outcome.check.title
        for finding in outcome.findings:
            where = ", ".join(str(finding[key]) for key in ("system", "dataset", "design") if finding.get(key))
            detail = f"{finding['title']}{f' ({where})' if where else ''}: {finding['detail']}"
            rows.append((Cell(code), Cell(finding["severity"], finding["severity"]), Cell(detail)))
        if not outcome.findings:
            fine = outcome.outcome == "fine"
            why = title if fine else f"{title}: {outcome.why}"
            rows.append((Cell(code), Cell(outcome.outcome, "fine" if fine else "dim"), Cell(why)))
    columns = tuple(Column(heading, "name") for heading in ("check", "result", "detail"))
    counts = [sum(outcome.outcome == kind for outcome in outcomes) for kind in ("finding", "fine", "not applicable")]
    line = f"{len(outcomes)} checks: {counts[0]} with findings, {counts[1]} fine, {counts[2]} not applicable"
    return Group(Terminal(ResultTable(columns, tuple(rows), gap=3)), Text(f"\n{line}. Details: recassay explain CODE"))
