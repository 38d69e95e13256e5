"""``recassay report``: the report page of a folder of results, its tables for papers, and its figures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from recassay.cli import _common, _options
from recassay.naming import choices


def report(
    folder: _options.ResultFolder,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="PATH", help="File or folder to write.  [default: FOLDER/report.html]"),
    ] = None,
    tables: Annotated[
        str | None,
        _options.choice(
            "--tables", "Write the tables instead", choices.words(choices.TableFileFormat), metavar="FORMAT"
        ),
    ] = None,
    figures: Annotated[
        str | None,
        _options.choice(
            "--figures",
            "Write the figures to FOLDER/figures instead",
            choices.words(choices.FigureFormat),
            metavar="FORMAT",
        ),
    ] = None,
    quiet: _options.Quiet = False,
) -> None:
    """Write the report page of a folder of results from its files; or its tables, or its figures.

    Tables go to standard output unless -o names a file.

    Example: recassay report first --tables latex -o first.tex
    """
    from recassay.report.folder.read import read_results

    if tables:
        from recassay.data.io import write_text
        from recassay.report.folder.tables import tables as format_tables

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
