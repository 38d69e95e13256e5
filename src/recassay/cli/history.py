"""``recassay history`` and ``recassay track``: results over time, and results sent to a tracker."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from recassay.cli import _common, _options
from recassay.cli._options import OUTPUT, choice, option


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
