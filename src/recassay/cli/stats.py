"""``recassay stats``: what is in a log."""

from __future__ import annotations

from typing import Annotated

import typer

from recassay.cli import _common, _options


def stats(
    log: Annotated[str, typer.Argument(metavar="LOG", help="A log: Parquet, CSV, MovieLens, RecBole, UIRT, ...")],
    columns: Annotated[
        str | None, typer.Option("--columns", metavar="KEY=COLUMN,...", help="Column names, as user=uid,item=iid.")
    ] = None,
    input_format: Annotated[
        str | None, typer.Option("--format", metavar="FORMAT", help="Format, if it is not recognised.")
    ] = None,
    times: Annotated[
        str | None,
        typer.Option(
            "--times",
            metavar="KIND",
            help="What its times are: clock, global (an order of all events) or user (within each user).",
        ),
    ] = None,
    as_json: _options.AsJson = False,
) -> None:
    """Say what is in a log: counts, density, concentration, time range, duplicates.

    Example: recassay stats ratings.csv --columns user=uid,item=iid
    """
    from recassay.data.read import read_interactions
    from recassay.data.stats import stats as count

    found = count(read_interactions(log, columns=columns, format=input_format, times=times))
    if as_json:
        _common.print_json(found.to_dict())
        return
    from recassay.report.stats import stats_table

    _common.console().print(stats_table(found))
