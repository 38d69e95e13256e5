"""``recassay stats``: statistics of a log."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from recassay.cli import _common, _options


def stats(
    log: _options.Log,
    columns: _options.Columns = None,
    input_format: _options.InputFormat = None,
    times: _options.Times = None,
    sequences: Annotated[
        str | None,
        typer.Option(
            "--sequences",
            metavar="RULE",
            help="Also describe the sequences that a rule makes: sessions(gap=28800).",
        ),
    ] = None,
    as_json: _options.AsJson = False,
) -> None:
    """Print statistics of a log: counts, density, concentration, time range, duplicates, sequences.

    Example: recassay stats ratings.csv --columns user=uid,item=iid
    """
    from recassay.data.read import read_interactions
    from recassay.data.stats import stats as compute

    read = read_interactions(log, columns=columns, format=input_format, times=times)
    _common.say_remarks(read)
    result = compute(read)
    if sequences is not None:
        from recassay.data.stats import sequence_stats
        from recassay.split.sequences import parse_rule

        result = replace(result, sequences=sequence_stats(parse_rule(sequences)(read)))
    if as_json:
        _common.print_json(result.to_dict())
        return
    from recassay.report.tables.stats import stats_table

    _common.console().print(stats_table(result))
