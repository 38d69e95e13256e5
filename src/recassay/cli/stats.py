"""``recassay stats``: statistics of a log."""

from __future__ import annotations

from recassay.cli import _common, _options


def stats(
    log: _options.Log,
    columns: _options.Columns = None,
    input_format: _options.InputFormat = None,
    times: _options.Times = None,
    as_json: _options.AsJson = False,
) -> None:
    """Print statistics of a log: counts, density, concentration, time range, duplicates.

    Example: recassay stats ratings.csv --columns user=uid,item=iid
    """
    from recassay.data.read import read_interactions
    from recassay.data.stats import stats as compute

    result = compute(read_interactions(log, columns=columns, format=input_format, times=times))
    if as_json:
        _common.print_json(result.to_dict())
        return
    from recassay.report.tables.stats import stats_table

    _common.console().print(stats_table(result))
