"""``recassay correct``: metrics among all candidates from ranks among sampled ones."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from recassay.cli import _common, _options


def correct(
    ranks: Annotated[
        list[str],
        typer.Argument(
            metavar="RANKS",
            help="Files with user_id, rank (1 is best) and perhaps pool, globs, or a folder; one file is one system.",
        ),
    ],
    sample: Annotated[
        int, typer.Option("--sample", metavar="N", min=1, help="Candidates that were drawn beside the relevant item.")
    ],
    pool: Annotated[
        int | None,
        typer.Option(
            "--pool",
            metavar="N",
            min=1,
            help="Candidates they were drawn from, unless the files have a column pool.",
        ),
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "-m", "--metric", metavar="METRIC", help="A metric; repeat it, or quote several.  [default: hit@10 ndcg@10]"
        ),
    ] = None,
    estimator: Annotated[
        list[str] | None,
        typer.Option(
            "--estimator",
            metavar="ESTIMATOR",
            help="See recassay list estimators.  [default: bias_variance, bias_variance(gamma=0.01)]",
        ),
    ] = None,
    by: Annotated[str, typer.Option("--by", metavar="WAY", help="How candidates were drawn: uniform.")] = "uniform",
    replace: Annotated[bool, typer.Option("--replace", help="A candidate could be drawn twice.")] = False,
    clip: Annotated[bool, typer.Option("--clip", help="Move answers to sampled ranks into 0 to 1; adds bias.")] = False,
    columns: Annotated[
        str | None, typer.Option("--columns", metavar="KEY=COLUMN,...", help="Column names, as user=uid,rank=place.")
    ] = None,
    interval: _options.Interval = "bootstrap",
    level: _options.Level = 0.95,
    resamples: _options.Resamples = 10_000,
    seed: _options.Seed = 0,
    as_json: _options.AsJson = False,
    fail_on: _options.FailOn = None,
    threads: _options.Threads = None,
) -> None:
    """Estimate metrics of the full ranking from sampled ranks, and say how sure the order of systems is.

    Example: recassay correct sampled.csv --pool 3415 --sample 100 -m "hit@10 ndcg@10"
    """
    _common.known("--fail-on", fail_on or "warning", _options.SEVERITIES)
    from recassay.sampled.corrections import DEFAULT, DEFAULT_METRICS
    from recassay.sampled.corrections import correct as estimate

    way: Any = by  # whatever it is, it is refused with a hint
    found = estimate(
        ranks,
        sample=sample,
        pool=pool,
        metrics=metric or DEFAULT_METRICS,
        estimators=estimator or DEFAULT,
        replace=replace,
        by=way,
        clip=clip,
        columns=columns,
        interval=None if interval == "none" else interval,
        level=level,
        resamples=resamples,
        seed=seed,
        threads=threads,
    )
    if as_json:
        _common.print_json(found.to_dict())
    else:
        from recassay.report.corrected import corrected_table
        from recassay.report.text import findings_table

        screen = _common.console()
        screen.print(corrected_table(found, width=screen.width))
        if len(found.systems) > 1:
            screen.print()
            screen.print(findings_table(found.scores(found.estimators[0]).with_findings(*found.findings)))
    if fail_on and any(finding.at_least(fail_on) for finding in found.findings):  # type: ignore[arg-type]
        raise typer.Exit(1)
