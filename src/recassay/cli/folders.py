"""Commands on folders of results: ``check`` and ``report``, ``history`` over time, and ``track``, to a tracker."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from recassay._version import __version__
from recassay.cli import _common, _options
from recassay.cli._options import OUTPUT, choice, option
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


def _table(outcomes: "list[CheckOutcome]") -> "RenderableType":
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
        choice("--tables", "Write the tables instead", choices.TableFileFormat, metavar="FORMAT"),
    ] = None,
    figures: Annotated[
        str | None,
        choice("--figures", "Write the figures to FOLDER/figures instead", choices.FigureFormat, metavar="FORMAT"),
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


def history(
    folders: Annotated[
        list[Path],
        typer.Argument(metavar="FOLDERS", help="Folders of recassay run, score -o or gate -o; oldest first."),
    ],
    metric: Annotated[
        list[str] | None, option("-m --metric", "Metric to show; may be repeated.  [default: all]", metavar="METRIC")
    ] = None,
    system: Annotated[
        list[str] | None, option("--system", "System to show; may be repeated.  [default: all]", metavar="SYSTEM")
    ] = None,
    margin: Annotated[
        str, option("--margin", "What the last folder may lose: a share (0.5%) or a difference.", metavar="MARGIN")
    ] = "1%",
    output: Annotated[
        Path | None,
        option(
            "-o --output",
            "Write history.json, history.csv and a figure for each metric here.",
            OUTPUT,
            metavar="FOLDER",
        ),
    ] = None,
    table: _options.TextOrMarkdown = "text",
    as_json: _options.AsJson = False,
) -> None:
    """Show the results of several folders, such as weeks, as one table; compare the last two as recassay gate does.

    Example: recassay history week-1 week-2 week-3 -m ndcg@10 -o history
    """
    from recassay.report.folder.history import history_of, history_table

    found = history_of(folders, metrics=metric or (), systems=system or (), margin=margin)
    if output is not None:
        from recassay.data.io import make_folder, write_json, write_text
        from recassay.data.io.manifest import recording
        from recassay.report.content.csv_text import csv_text
        from recassay.report.figures.export import write_figures

        with recording(make_folder(output)):
            write_json(found.to_dict(), output / "history.json")
            write_text(csv_text(found.frame()), output / "history.csv")
            write_figures(found.exhibits(), output / "figures", "svg")
    if as_json:
        _common.print_json(found.to_dict())
    elif table == "markdown":
        from recassay.report.tables.formats import markdown

        typer.echo(markdown(history_table(found, grouped=False)), nl=False)
    else:
        from recassay.report.tables.gate import headline, sentence
        from recassay.report.tables.model import Terminal, words

        screen = _common.console()
        screen.print(Terminal(history_table(found)))
        screen.print()
        for name, gate in found.gates.items():
            screen.print(words(f"{found.folders[-1]} against {found.folders[-2]}, {name}: {headline(gate)}", "bold"))
            for criterion in gate.criteria:
                screen.print(words(f"  {criterion.verdict}: {sentence(criterion)}"))
        for name, why in found.refusals.items():
            screen.print(words(f"{found.folders[-1]} against {found.folders[-2]}, {name}: not compared, as {why}"))


def track(
    folder: _options.ResultFolder,
    to: Annotated[str, choice("--to", "Where results go", ("mlflow", "csv"), metavar="TRACKER")],
    uri: Annotated[
        str | None,
        option(
            "--uri",
            "Address of the MLflow server (default: $MLFLOW_TRACKING_URI), or the CSV file (default: results.csv).",
            metavar="URI|FILE",
        ),
    ] = None,
    experiment: Annotated[
        str, option("--experiment", "Name of the experiment in MLflow.", metavar="NAME")
    ] = "recassay",
) -> None:
    """Send a folder of results to MLflow, or add its rows to a CSV file; sending it twice changes nothing.

    Example: recassay track results --to mlflow --uri http://localhost:5000
    """
    from recassay.report.folder.track import mlflow_client, track_csv, track_mlflow

    if to == "csv":
        path = Path(uri or "results.csv")
        added = track_csv(folder, path)
        _common.say(f"{added:,} rows were added to {path}" if added else f"{path} has these results already")
        return
    run, is_new = track_mlflow(folder, mlflow_client(uri), experiment)
    _common.say(f"Run {run} of the experiment {experiment} {'has' if is_new else 'had'} these results")
