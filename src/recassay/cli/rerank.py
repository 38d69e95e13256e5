"""``recassay rerank``: reorder the lists of a run to make them more diverse."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from recassay.cli import _common, _options, _runs


def rerank(
    run: Annotated[
        str, typer.Argument(metavar="RUN", help="Run file with user_id, item_id, score and optionally rank.")
    ],
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="OUT", help="Run file to write: .parquet, .csv or .tsv.")
    ],
    method: Annotated[
        str,
        typer.Option(
            "--method",
            metavar="METHOD",
            help="mmr, dpp, xquad, calibrated, spad, longtail or shuffled, optionally with parameters: "
            "\"MMR(form='mean', distance='cosine')\".",
        ),
    ] = "mmr",
    weight: Annotated[
        float | None,
        typer.Option("--lambda", metavar="SHARE", help="Weight of diversity, 0 to 1.  [default: 0.5]"),
    ] = None,
    items: Annotated[
        str | None, typer.Option("--items", metavar="FILE", help="Item features: mmr, dpp, xquad, calibrated.")
    ] = None,
    train: Annotated[
        str | None,
        typer.Option("--train", metavar="LOG", help="Training log of the run: xquad, calibrated, spad, longtail."),
    ] = None,
    places: Annotated[
        int | None, typer.Option("--places", metavar="N", help="Number of top places to fill again.  [default: 20]")
    ] = None,
    candidates: Annotated[
        int | None,
        typer.Option("--candidates", metavar="N", help="Number of top items of a list to choose from.  [default: 100]"),
    ] = None,
    columns: _options.Columns = None,
    as_json: _options.AsJson = False,
    threads: _options.Threads = None,
) -> None:
    """Reorder the lists of a run to make them more diverse, and write them as a new run.

    Example: recassay rerank run.parquet --items items.csv --method mmr --lambda 0.5 -o diverse.parquet
    """
    _runs.refuse_unwritable(output)
    from dataclasses import replace

    from recassay.models.rerank import runs

    parameters: dict[str, Any] = {"weight": weight, "places": places, "candidates": candidates}
    given = {name: value for name, value in parameters.items() if value is not None}
    reranker = replace(runs.METHODS.parse(method), **given)
    name = output.name.partition(".")[0]
    reranked = runs.rerank(run, reranker, items=items, train=train, columns=columns, name=name, threads=threads)
    _runs.write_run(reranked.run, output)
    if as_json:
        _common.print_json({**reranked.to_dict(), "output": str(output)})
    else:
        from recassay.report.tables.reranked import reranked_table

        _common.console().print(reranked_table(reranked, str(output)))
