"""``recassay run``: a whole study."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recassay.cli import _common, _options

if TYPE_CHECKING:
    from recassay.study.results import Results


def run(
    study: Annotated[Path, typer.Argument(metavar="STUDY", help="The study: a YAML file.")],
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FOLDER", help="Folder of the results; run again, it goes on.")
    ],
    data: Annotated[
        Path | None,
        typer.Option("--data", metavar="FOLDER", help="Where data sets lie by name.  [default: $RECASSAY_DATA]"),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="The small version that the study describes.")] = False,
    values: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Another value for a parameter of the study; repeat it."),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", metavar="N", min=1, help="Threads; the results are the same for any number."),
    ] = None,
    engine: Annotated[
        str,
        typer.Option(
            "--engine",
            metavar="ENGINE",
            help="local: this machine; spark: tasks of a cluster make the answers, each on --jobs threads (1).",
        ),
    ] = "local",
    fail_on: _options.FailOn = None,
    times: Annotated[bool, typer.Option("--times", help="How long systems took to fit and to answer, too.")] = False,
    as_json: _options.AsJson = False,
    quiet: _options.Quiet = False,
) -> None:
    """Run a study: data x split x models x designs x metrics, judged and compared, in a folder of results.

    The exit status is 1 if a model failed; the results of the others stay.

    Example: recassay run studies/first.yaml -o first --quick
    """
    _common.known("--fail-on", fail_on or "warning", _options.SEVERITIES)
    _common.known("--engine", engine, ("local", "spark"))
    _common.announce_compilation(quiet or as_json)
    from recassay.study.parameters import given
    from recassay.study.run import run_study

    asked = given(values or ())
    try:
        with _common.progress(quiet or as_json) as report:
            results = run_study(
                study, output, data=data, quick=quick, values=asked, threads=jobs, engine=engine, progress=report
            )
    except KeyboardInterrupt:
        again = _common.command_line() or "the same command"
        typer.echo(f"Stopped. What is done stays in {output}; this goes on where it was:\n\n    {again}", err=True)
        raise typer.Exit(130) from None
    _show(results, as_json, times)
    if results.failures or (fail_on and results.at_least(fail_on)):
        raise typer.Exit(1)


def _times(results: Results) -> dict[str, Any]:
    return {"times": list(results.times)} | ({"calls": list(results.calls)} if results.calls else {})


def _show(results: Results, as_json: bool, times: bool) -> None:
    if as_json:
        _common.print_json(results.document() | (_times(results) if times else {}))
    else:
        from rich.text import Text

        from recassay.report.study import study_findings, study_table
        from recassay.report.times import calls_table, times_table

        screen = _common.console()
        screen.print(study_table(results.rows))
        if times:
            screen.print(times_table(results.times))
            screen.print(calls_table(results.calls))
        screen.print(study_findings(results.findings))
        screen.print(Text(f"\nThe results are in {results.folder}"))
    for failure in results.failures:
        where = f"{failure['dataset']}, {failure['split']}, fold {failure['fold']}, seed {failure['seed']}"
        typer.echo(f"\n{failure['system']} failed on {where}:\n{failure['message']}", err=True)
    if results.failures:
        typer.echo(f"\nTracebacks are in {results.folder / 'failures'}", err=True)
