"""``recassay rerank``: somebody's run in a more diverse order."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recassay.cli import _common, _options

if TYPE_CHECKING:
    from recassay.data.run import Run

SEPARATORS = {".csv": ",", ".tsv": "\t"}


def rerank(
    run: Annotated[str, typer.Argument(metavar="RUN", help="The run: user_id, item_id, score and perhaps rank.")],
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="OUT", help="The new run: a .parquet, .csv or .tsv file.")
    ],
    method: Annotated[
        str,
        typer.Option(
            "--method",
            metavar="METHOD",
            help="mmr, xquad or spad, perhaps with parameters: \"MMR(form='mean', distance='cosine')\".",
        ),
    ] = "mmr",
    weight: Annotated[
        float | None,
        typer.Option("--lambda", metavar="SHARE", help="How much diversity weighs, 0 to 1.  [default: 0.5]"),
    ] = None,
    items: Annotated[
        str | None, typer.Option("--items", metavar="FILE", help="Features of items; mmr and xquad need them.")
    ] = None,
    train: Annotated[
        str | None,
        typer.Option("--train", metavar="LOG", help="The log the lists were made from; xquad and spad need it."),
    ] = None,
    places: Annotated[
        int | None, typer.Option("--places", metavar="N", help="Places to fill anew.  [default: 20]")
    ] = None,
    candidates: Annotated[
        int | None,
        typer.Option("--candidates", metavar="N", help="Items of a list that may fill them.  [default: 100]"),
    ] = None,
    columns: Annotated[
        str | None, typer.Option("--columns", metavar="KEY=COLUMN,...", help="Column names, as user=uid,item=iid.")
    ] = None,
    as_json: _options.AsJson = False,
    threads: _options.Threads = None,
) -> None:
    """Put the lists of a run into a more diverse order, and write them as a new run.

    Example: recassay rerank run.parquet --items items.csv --method mmr --lambda 0.5 -o diverse.parquet
    """
    _refuse_unwritable(output)
    from dataclasses import replace

    from recassay.models.rerank import runs

    stated: dict[str, Any] = {"weight": weight, "places": places, "candidates": candidates}
    how = replace(runs.METHODS.parse(method), **{name: value for name, value in stated.items() if value is not None})
    name = output.name.partition(".")[0]
    found = runs.rerank(run, how, items=items, train=train, columns=columns, name=name, threads=threads)
    _write(found.run, output)
    if as_json:
        _common.print_json({**found.to_dict(), "output": str(output)})
    else:
        from recassay.report.reranked import reranked_table

        _common.console().print(reranked_table(found, str(output)))


def _refuse_unwritable(output: Path) -> None:
    """Before any work: a file of another kind."""
    if output.suffix not in (".parquet", *SEPARATORS):
        from recassay.errors import UsageError

        what = f"'{output.name}' is no kind of file that a run is written to"
        raise UsageError("U111", what, where="-o", hint="end it in .parquet, .csv or .tsv")


def _write(run: Run, output: Path) -> None:
    from recassay.data.io.write import write_parquet, write_text

    if output.suffix == ".parquet":
        write_parquet(run.frame(), output)
    else:
        write_text(run.frame().write_csv(separator=SEPARATORS[output.suffix]), output)
