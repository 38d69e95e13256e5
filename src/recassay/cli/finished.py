"""``recassay compare TABLE`` where the table holds finished scores: a mean per system and data set, and no users."""

from __future__ import annotations

from pathlib import Path

import typer

from recassay.cli import _common
from recassay.errors import UsageError


def compare_finished(
    source: str,
    *,
    metrics: list[str] | None,
    columns: str | None,
    smaller: list[str] | None,
    level: float,
    rope: float,
    seed: int,
    resamples: int | None,
    output: Path | None,
    table: str,
    as_json: bool,
) -> None:
    """Rank the systems of a table of means over its data sets, test their differences, and print the results.

    ``source`` is the table, with a row per system and data set, and ``columns`` names its columns. ``metrics`` are
    those to use (None: all), and ``smaller`` names metrics of which less is better. Means that differ by at most
    ``rope`` count as equal in the Bayesian test, which draws ``resamples`` samples. ``table`` is the format, text or
    csv. The results are also written to the folder ``output``, unless it is None.
    """
    from recassay.engine.finished.conclude import RESAMPLES, conclude
    from recassay.engine.finished.read import read_finished
    from recassay.report.content.csv_text import csv_text
    from recassay.report.tables import finished as tables

    given = read_finished(source, columns=columns, smaller=smaller or ())
    result = conclude(given, metrics=metrics, level=level, rope=rope, seed=seed, resamples=resamples or RESAMPLES)
    if output is not None:
        tables.write_conclusions(result, output)
    if as_json:
        _common.print_json(result.to_dict())
    elif table == "text":
        _common.console().print(tables.conclusions_text(result))
    elif table == "csv":
        typer.echo(csv_text(result.frame()), nl=False)
    else:
        raise UsageError(
            "U107", f"finished scores cannot be printed as {table}", hint="use --table csv or --table text"
        )
    if output is not None:
        _common.say(f"The conclusions are in {output}")


def refuse_options(source: str, **given: object) -> None:
    """Raise U105 if an option that needs values per user was given for a table of means.

    ``given`` are the values of such options by name; ``source`` is the table.
    """
    for option, value in given.items():
        if value:
            name = "--" + option.replace("_", "-")
            raise UsageError(
                "U105", f"{name} needs values per user, and {source} has one mean per system",
                hint="score the run files: recassay score TRUTH RUNS -m METRIC -o FOLDER",
            )  # fmt: skip
