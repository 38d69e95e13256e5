"""``recassay correct``: estimates of full-ranking metrics from ranks among sampled candidates."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from recassay.cli import _common, _completion, _options


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
            autocompletion=_completion.metrics,
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
        from recassay.report.tables.corrected import corrected_table
        from recassay.report.tables.verdict import findings_table

        screen = _common.console()
        screen.print(corrected_table(corrected))
        if len(corrected.systems) > 1:
            screen.print()
            screen.print(findings_table(corrected.scores(corrected.estimators[0]).with_findings(*corrected.findings)))
    if fail_on and any(finding.at_least(fail_on) for finding in corrected.findings):  # type: ignore[arg-type]
        raise typer.Exit(1)
