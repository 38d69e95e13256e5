"""``recassay split``: divide a log into folds as files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recassay.cli import _common, _completion, _options
from recassay.errors import printable

if TYPE_CHECKING:
    from recassay.data.fold import Fold

DEFAULT_SPLIT = "random(test=0.2)"


def split(
    log: _options.Log,
    output: Annotated[
        Path,
        typer.Option(
            "-o", "--output", metavar="FOLDER", help="Folder to write; every fold gets a numbered folder in it."
        ),
    ],
    by: Annotated[
        str,
        typer.Option(
            "--split",
            metavar="SPLIT",
            help="How to divide: last(n=1), global_time(quantile=0.8), k_folds(k=5), ...; see recassay list splits.",
            autocompletion=_completion.splits,
        ),
    ] = DEFAULT_SPLIT,
    filters: Annotated[
        list[str] | None,
        typer.Option(
            "--filter",
            metavar="FILTER",
            help="Filter the log first, such as core(users=5, items=5); may be repeated.",
            autocompletion=_completion.splits,
        ),
    ] = None,
    items: Annotated[
        str | None, typer.Option("--items", metavar="FILE", help="Item features, for the filter featured.")
    ] = None,
    columns: _options.Columns = None,
    input_format: _options.InputFormat = None,
    times: _options.Times = None,
    as_json: _options.AsJson = False,
) -> None:
    """Divide a log into training logs and truths, as files that every program reads.

    Example: recassay split ratings.csv -o folds --split "last(n=1)"
    """
    from recassay.data.fold_files import write_folds
    from recassay.data.read import read_interactions, read_items
    from recassay.split import filters as known_filters
    from recassay.split import parse

    chosen = parse(by)
    made = read_interactions(log, columns=columns, format=input_format, times=times)
    _common.say_remarks(made)
    if filters:
        made = known_filters.apply(made, filters, None if items is None else read_items(items)).log
    folds = chosen(made)
    folders = write_folds(folds, output)
    if as_json:
        _common.print_json({"folds": [_described(*one) for one in zip(folds, folders, strict=True)]})
        return
    for fold, folder in zip(folds, folders, strict=True):
        typer.echo(printable(f"{folder}: {fold!r}".replace(f"fold {fold.number} of ", ""), keep="\n"))
    fold = folders[0]
    typer.echo(
        "\nFit a model and score its lists, or let another program write a run file:\n\n"
        f"recassay recommend Popular {fold} -o {fold / 'runs' / 'popular.parquet'}\n"
        f"recassay score {fold} {fold / 'runs'}"
    )


def _described(fold: Fold, folder: Path) -> dict[str, Any]:
    parts = {"train": fold.train, "validation": fold.validation, "test": fold.test}
    sizes = {name: len(part) for name, part in parts.items() if part is not None}
    return {"folder": str(folder), "number": fold.number, **sizes, "leakage": fold.leakage, "how": dict(fold.how)}
