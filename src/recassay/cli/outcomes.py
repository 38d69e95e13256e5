"""``recassay check`` and ``recassay report``: the checks on a folder of results, its page, tables and figures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from recassay._version import __version__
from recassay.cli import _common, _options
from recassay.naming import choices

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
    from recassay.report.folder.results import read_results
    from recassay.results.finding import severe

    outcomes = run_checks(read_results(folder))
    rows = [outcome.to_dict() for outcome in outcomes]
    _common.show(as_json, lambda: {"recassay": __version__, "checks": rows}, lambda: _table(outcomes))
    if fail_on and any(severe(row["severity"], fail_on) for outcome in outcomes for row in outcome.findings):
        raise typer.Exit(1)


def _table(outcomes: list[CheckOutcome]) -> RenderableType:
    from rich.console import Group
    from rich.text import Text

    from recassay.report.tables.model import Cell, Column, ResultTable, Terminal

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


def report(
    folder: _options.ResultFolder,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="PATH", help="File or folder to write.  [default: FOLDER/report.html]"),
    ] = None,
    tables: Annotated[
        str | None,
        _options.choice("--tables", "Write the tables instead", choices.TableFileFormat, metavar="FORMAT"),
    ] = None,
    figures: Annotated[
        str | None,
        _options.choice(
            "--figures", "Write the figures to FOLDER/figures instead", choices.FigureFormat, metavar="FORMAT"
        ),
    ] = None,
    quiet: _options.Quiet = False,
) -> None:
    """Write the report page of a folder of results from its files; or its tables, or its figures.

    Tables go to standard output unless -o names a file.

    Example: recassay report first --tables latex -o first.tex
    """
    from recassay.report.folder.results import read_results

    if tables:
        from recassay.data.io import write_text
        from recassay.report.folder.results import tables as format_tables

        text = format_tables(read_results(folder), tables)
        typer.echo(text, nl=False) if output is None else write_text(text, output)
    if figures:
        from recassay.report.figures.export import write_figures
        from recassay.report.folder.page import figures_of

        with _common.progress(quiet) as progress:
            paths = write_figures(figures_of(read_results(folder), progress), output or folder / "figures", figures)
        _common.say(f"{len(paths):,} figures are in {output or folder / 'figures'}")
    if not tables and not figures:
        from recassay.study.store.results import write_report

        with _common.progress(quiet) as progress:
            target = write_report(folder, output, progress=progress)
        _common.say(f"Open {target} in a browser.")
