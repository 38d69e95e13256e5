"""``recassay rerank`` and ``recassay correct``: lists made more diverse, and metrics estimated from sampled ranks."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recassay.cli import _common, _options, _runs
from recassay.errors import UsageError

if TYPE_CHECKING:
    from recassay.models.rerank import Reranked

WEIGHT = "{lambda}"  # in the name of the output: the weight of diversity


def rerank(
    run: Annotated[
        str, typer.Argument(metavar="RUN", help="Run file with user_id, item_id, score and optionally rank.")
    ],
    output: Annotated[
        Path,
        typer.Option(
            "-o",
            "--output",
            metavar="OUT",
            help="Run file to write: .parquet, .csv, .tsv or .trec; {lambda} in its name stands for the weight.",
        ),
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
        str | None,
        typer.Option(
            "--lambda",
            metavar="SHARE...",
            help='Weight of diversity, 0 to 1; several, such as "0.2 0.5 0.8", write a file each.  [default: 0.5]',
        ),
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
    weights = _weights(weight, output)

    from recassay.models.rerank import runs

    parameters: dict[str, Any] = {"weight": weights[0], "places": places, "candidates": candidates}
    given = {name: value for name, value in parameters.items() if value is not None}
    reranker = replace(runs.METHODS.parse(method), **given)
    variants = [replace(reranker, weight=one) for one in weights[1:]]  # refused now if a weight cannot be used
    prepared = runs.PreparedRun.of(run, reranker, items=items, train=train, columns=columns)
    written: dict[Path, Reranked] = {}
    for one in [reranker, *variants]:
        path = output.with_name(output.name.replace(WEIGHT, repr(one.weight).removesuffix(".0")))
        written[path] = prepared.rerank(weight=one.weight, name=path.stem, threads=threads)
        _runs.write_run(written[path].run, path)
    from recassay.report.tables.summaries import findings_of, reranked_table

    found = [
        {**one.to_dict(), "findings": [each.to_dict() for each in findings_of(one)], "output": str(path)}
        for path, one in written.items()
    ]
    by_path = {str(path): one for path, one in written.items()}
    _common.show(as_json, lambda: found[0] if len(found) == 1 else {"runs": found}, lambda: reranked_table(by_path))


def _weights(text: str | None, output: Path) -> list[float | None]:
    """Return the weights of diversity in a text such as "0.2 0.5"; [None] without a text, for the default weight.

    Raise U102 for other texts, and U111 if the files of several weights would have the same name.
    """

    if text is None:
        return [None]
    words = text.replace(",", " ").split()
    try:
        weights: list[float | None] = list(dict.fromkeys(float(word) for word in words))
    except ValueError:
        weights = []
    if not weights:
        what = f"'{text}' is not a number or a list of numbers"
        raise UsageError("U102", what, where="--lambda", hint='--lambda 0.5, or --lambda "0.2 0.5 0.8"')
    if len(weights) > 1 and WEIGHT not in output.name:
        what = f"{len(weights)} weights would be written to one file"
        hint = f"-o '{output.stem}-{WEIGHT}{output.suffix}'"
        raise UsageError("U111", what, where="-o", hint=hint)
    return weights


def correct(
    ranks: Annotated[
        list[str],
        typer.Argument(
            metavar="RANKS",
            help="Files with user_id, rank (1 is best) and optionally pool; globs, or a folder. One file per system.",
        ),
    ],
    sample: Annotated[
        int,
        typer.Option("--sample", metavar="N", min=1, help="Number of sampled candidates, without the relevant item."),
    ],
    pool: Annotated[
        int | None,
        typer.Option(
            "--pool",
            metavar="N",
            min=1,
            help="Number of candidates to sample from, unless the files have a column pool.",
        ),
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "-m",
            "--metric",
            metavar="METRIC",
            help="Metrics; may be repeated, or quote several.  [default: hit@10 ndcg@10]",
            autocompletion=_options.complete_metrics,
        ),
    ] = None,
    estimator: Annotated[
        list[str] | None,
        typer.Option(
            "--estimator",
            metavar="ESTIMATOR",
            help="Estimators, see recassay list estimators.  [default: bias_variance, bias_variance(gamma=0.01)]",
        ),
    ] = None,
    by: Annotated[
        str, typer.Option("--by", metavar="METHOD", help="How candidates were sampled; only uniform is supported.")
    ] = "uniform",
    replace: Annotated[bool, typer.Option("--replace", help="Candidates were sampled with replacement.")] = False,
    clip: Annotated[
        bool, typer.Option("--clip", help="Clip the estimated values of sampled ranks to the range 0 to 1; adds bias.")
    ] = False,
    columns: Annotated[
        str | None,
        typer.Option("--columns", metavar=_options.COLUMNS, help="Column names, such as user=uid,rank=position."),
    ] = None,
    interval: _options.Interval = "bootstrap",
    level: _options.Level = 0.95,
    resamples: _options.Resamples = 10_000,
    seed: _options.Seed = 0,
    as_json: _options.AsJson = False,
    fail_on: _options.FailOn = None,
    threads: _options.Threads = None,
) -> None:
    """Estimate metrics of the full ranking from ranks among sampled candidates, with confidence intervals.

    Example: recassay correct sampled.csv --pool 3415 --sample 100 -m "hit@10 ndcg@10"
    """
    from recassay.sampled.corrections import DEFAULT, DEFAULT_METRICS
    from recassay.sampled.corrections import correct as estimate

    method: Any = by  # the function refuses other words with a hint
    corrected = estimate(
        ranks,
        sample=sample,
        pool=pool,
        metrics=metric or DEFAULT_METRICS,
        estimators=estimator or DEFAULT,
        replace=replace,
        by=method,
        clip=clip,
        columns=columns,
        interval=None if interval == "none" else interval,
        level=level,
        resamples=resamples,
        seed=seed,
        threads=threads,
    )
    if as_json:
        _common.print_json(corrected.to_dict())
    else:
        from recassay.report.tables.summaries import corrected_table
        from recassay.report.tables.verdict import findings_table

        screen = _common.console()
        screen.print(corrected_table(corrected))
        if len(corrected.systems) > 1:
            screen.print()
            screen.print(findings_table(corrected.scores(corrected.estimators[0]).with_findings(*corrected.findings)))
    _common.fail_on(fail_on, corrected.findings)
