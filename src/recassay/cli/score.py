"""``recassay score``: judge run files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recassay.cli import _common, _options
from recassay.cli._options import OUTPUT, STATISTICS, option

if TYPE_CHECKING:
    from recassay.comparison.compare import Comparison
    from recassay.data.scores import Scores

DEFAULT_METRICS = "ndcg@10 recall@10 precision@10 mrr map hit@10"
INPUT, JUDGING = "Input", "Conventions"


def score(
    truth: Annotated[
        str, typer.Argument(metavar="TRUTH", help="Held-out relevant items: Parquet, CSV, TREC qrels, JSON, ...")
    ],
    runs: Annotated[
        list[str],
        typer.Argument(metavar="RUNS", help="Run files, globs, or a folder of them; the file names the system."),
    ],
    metric: Annotated[
        list[str] | None,
        option(
            "-m --metric",
            f"A metric; repeat it, or quote several.  [default: {DEFAULT_METRICS}]",
            JUDGING,
            metavar="METRIC",
        ),
    ] = None,
    train: Annotated[
        str | None, option("--train", "Training log, for novelty, seen items, propensities.", INPUT, metavar="LOG")
    ] = None,
    items: Annotated[str | None, option("--items", "Item features, for diversity.", INPUT, metavar="FILE")] = None,
    columns: Annotated[
        str | None,
        option(
            "--columns",
            "Column names of the runs, as user=uid,item=iid,score=pred, and of other tables that have them.",
            INPUT,
            metavar="KEY=COLUMN,...",
        ),
    ] = None,
    truth_columns: Annotated[
        str | None,
        option("--truth-columns", "Column names of the truth, if they differ.", INPUT, metavar="KEY=COLUMN,..."),
    ] = None,
    input_format: Annotated[
        str | None, option("--format", "Format of the run files, if it is not recognised.", INPUT, metavar="FORMAT")
    ] = None,
    profile: Annotated[
        str | None,
        option(
            "--profile", "Print what another library would; see recassay list profiles.", JUDGING, metavar="LIBRARY"
        ),
    ] = None,
    relevant_from: Annotated[
        float, option("--relevant-from", "An item is relevant from this gain.", JUDGING, metavar="GAIN")
    ] = 1.0,
    missing: Annotated[
        str | None,
        option("--missing", "A user without a list: zero, skip or error.  [default: zero]", JUDGING, metavar="POLICY"),
    ] = None,
    no_relevant: Annotated[
        str | None,
        option(
            "--no-relevant",
            "A user with nothing to find: undefined or zero.  [default: undefined]",
            JUDGING,
            metavar="POLICY",
        ),
    ] = None,
    order: Annotated[
        str | None,
        option(
            "--order", "given (rank, else score, else row), score or row.  [default: given]", JUDGING, metavar="ORDER"
        ),
    ] = None,
    ties: Annotated[
        str | None,
        option(
            "--ties",
            "id, id_descending, trec, row, ranx, expected, optimistic or pessimistic.  [default: id]",
            JUDGING,
            metavar="POLICY",
        ),
    ] = None,
    precision: Annotated[
        str | None,
        option("--precision", "Scores as double or single precision.  [default: double]", JUDGING, metavar="PRECISION"),
    ] = None,
    duplicates: Annotated[
        str | None,
        option(
            "--duplicates",
            "An item again in a list: first, last, keep or error.  [default: first]",
            JUDGING,
            metavar="POLICY",
        ),
    ] = None,
    nan: Annotated[str, option("--nan", "A NaN score: error or last.", JUDGING, metavar="POLICY")] = "error",
    negative: Annotated[
        str, option("--negative", "A negative gain: error or unjudged.", JUDGING, metavar="POLICY")
    ] = "error",
    baseline: Annotated[
        str | None, option("--baseline", "Compare every system with this one.", STATISTICS, metavar="SYSTEM")
    ] = None,
    test: _options.Test = "permutation",
    correction: _options.Correction = "holm",
    interval: _options.Interval = "bootstrap",
    level: _options.Level = 0.95,
    resamples: _options.Resamples = 10_000,
    seed: _options.Seed = 0,
    until: Annotated[
        float | None,
        option("--until", "Judge random users until means are known give or take this.", STATISTICS, metavar="WIDTH"),
    ] = None,
    strata: Annotated[
        int, option("--strata", "Draw them in so many strata by activity.", STATISTICS, metavar="N", min=1)
    ] = 1,
    memory: Annotated[
        str | None, option("--memory", "Judge run files in pieces, in about so much memory.", INPUT, metavar="SIZE")
    ] = None,
    engine: Annotated[
        str, option("--engine", "local: this machine; spark: the tasks of a cluster.", INPUT, metavar="ENGINE")
    ] = "local",
    work: Annotated[
        str | None,
        option("--work", "With spark, a folder for values that all nodes see: hdfs:///tmp.", INPUT, metavar="FOLDER"),
    ] = None,
    output: Annotated[
        Path | None,
        option(
            "-o --output",
            "Write report.html, scores.parquet, summary.json and findings.jsonl here.",
            OUTPUT,
            metavar="FOLDER",
        ),
    ] = None,
    table: _options.Table = "text",
    as_json: _options.AsJson = False,
    fail_on: _options.FailOn = None,
    threads: _options.Threads = None,
    quiet: _options.Quiet = False,
) -> None:
    """Judge run files against the truth: means with intervals, comparisons, and what is wrong with the files.

    Example: recassay score truth.parquet runs/ -m "ndcg@10 recall@20" --baseline popular
    """
    _common.known("--table", table, TABLES)
    _common.known("--fail-on", fail_on or "warning", _options.SEVERITIES)
    _common.known("--engine", engine, ("local", "spark"))
    quiet = quiet or as_json
    _common.announce_compilation(quiet)
    from recassay.engine.score import score as judge

    unjudged = _common.known("--negative", negative, ("error", "unjudged"))
    systems = _systems(runs, engine)
    _common.known("--baseline", baseline or next(iter(systems)), systems, code="U108")
    with _common.progress(quiet) as report:
        scores = judge(
            systems,
            truth,
            metric or DEFAULT_METRICS,
            train=train,
            items=items,
            columns=columns,
            truth_columns=truth_columns,
            format=input_format,
            nan=_common.known("--nan", nan, ("error", "last")),
            profile=profile,
            relevant_from=relevant_from,
            missing=missing,
            no_relevant=no_relevant,
            order=order,
            ties=ties,
            precision=precision,
            duplicates=duplicates,
            interval=None if interval == "none" else interval,
            level=level,
            resamples=resamples,
            seed=seed,
            until=until,
            strata=strata,
            memory=memory,
            engine=engine,
            work=work,
            negative=unjudged,
            threads=threads,
            progress=report,
        )
        comparison = None
        if len(systems) > 1 and scores.unit_metrics and until is None:  # a test is for a number of users set before
            from recassay.comparison.compare import compare

            comparison = compare(
                scores, baseline=baseline, test=test, correction=correction, level=level, seed=seed, threads=threads
            )  # fmt: skip
    _show(scores, comparison, truth, output, table, as_json)
    if fail_on and any(finding.at_least(fail_on) for finding in scores.findings):  # type: ignore[arg-type]
        raise typer.Exit(1)


def _systems(runs: list[str], engine: str) -> dict[str, Any]:
    """The runs by name: files here, or where Spark finds them."""
    if engine == "spark":
        from recassay.engine.spark.score import sources_of

        return sources_of(runs)
    from recassay.data.io import run_sources

    return dict(run_sources(runs))


TABLES = ("text", "markdown", "csv", "latex")


def _show(
    scores: Scores, comparison: Comparison | None, truth: str, output: Path | None, table: str, as_json: bool
) -> None:
    from recassay.report import table as tables
    from recassay.report.folder import document, write_results

    if output is not None:
        write_results(scores, comparison, output, {"dataset": Path(truth).stem}, command=_common.command_line())
    if as_json:
        _common.print_json(document(scores, comparison))
        return
    if table == "text":
        screen = _common.console()
        screen.print(tables.text_table(scores, comparison, width=screen.width))
        screen.print(tables.findings_table(scores))
    else:
        write = {"markdown": tables.to_markdown, "latex": tables.to_latex}
        typer.echo(tables.to_csv(scores) if table == "csv" else write[table](scores, comparison), nl=False)
    if "until" in scores.settings:
        typer.echo(_drawn(scores.settings["until"]), err=True)
    if output is not None:
        typer.echo(f"Results are in {output}", err=True)


def _drawn(until: Mapping[str, Any]) -> str:
    """How many users it took."""
    users, everyone = until["users"], until["of"]
    if users == everyone:
        return f"All {everyone:,} users were judged: the means are exact."
    width, level = f"{until['width']:g}", f"{100 * until['level']:g} %"
    return (
        f"{users:,} of {everyone:,} users were drawn: every mean is known give or take {width}. The intervals hold at "
        f"{level}, however often one looks."
    )
