"""``recassay report``: the page of a folder of results, its tables for a paper, and its figures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from recassay.cli import _common, _options


def report(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="A folder that recassay run, score -o or demo wrote.")
    ],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="PATH", help="Write here.  [default: FOLDER/report.html]"),
    ] = None,
    tables: Annotated[
        str | None,
        typer.Option("--tables", metavar="FORMAT", help="Write the tables instead: markdown, latex or csv."),
    ] = None,
    figures: Annotated[
        str | None,
        typer.Option("--figures", metavar="FORMAT", help="Write the figures instead, into FOLDER/figures: svg or png."),
    ] = None,
    quiet: _options.Quiet = False,
) -> None:
    """Write the page of a folder of results again, from its files alone; or its tables, or its figures.

    Tables go to standard output unless -o names a file.

    Example: recassay report first --tables latex -o first.tex
    """
    _common.known("--tables", tables or "csv", ("markdown", "latex", "csv"))
    _common.known("--figures", figures or "svg", ("svg", "png"))
    from recassay.report.reading import read_results

    if tables:
        from recassay.data.io import write_text
        from recassay.report.parts import tables as written

        text = written(read_results(folder), tables)
        typer.echo(text, nl=False) if output is None else write_text(text, output)
    if figures:
        from recassay.report.figures.export import write_figures
        from recassay.report.pages import figures_of

        with _common.progress(quiet) as told:
            made = write_figures(figures_of(read_results(folder), told), output or folder / "figures", figures)
        typer.echo(f"{len(made):,} figures are in {output or folder / 'figures'}", err=True)
    if not tables and not figures:
        from recassay.study.page import write_report

        with _common.progress(quiet) as told:
            target = write_report(folder, output, progress=told)
        typer.echo(f"Open {target} in a browser.", err=True)
