"""``recassay compare``: which differences are real, and whether they are the same everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from recassay.cli import _common, _options
from recassay.cli._options import OUTPUT, STATISTICS, option

if TYPE_CHECKING:
    from recassay.data.score_set import ScoreSet
    from recassay.engine.decide import Decision

BY = ("dataset", "split", "seed", "design")
TABLES = ("text", "markdown", "csv", "latex")
INPUT, QUESTIONS = "Input", "Questions"


def compare(
    scores: Annotated[
        list[str],
        typer.Argument(
            metavar="SCORES",
            help="A folder of recassay run or score -o, or tables of scores per user: user, system, metrics.",
        ),
    ],
    metric: Annotated[
        list[str] | None, option("-m --metric", "A metric; repeat it.  [default: all]", INPUT, metavar="METRIC")
    ] = None,
    dataset: Annotated[
        list[str] | None, option("--dataset", "One of the data sets; repeat it.", INPUT, metavar="NAME")
    ] = None,
    split: Annotated[
        list[str] | None, option("--split", "One of the splits; repeat it.", INPUT, metavar="SPLIT")
    ] = None,
    design: Annotated[
        list[str] | None, option("--design", "One of the designs; repeat it.", INPUT, metavar="DESIGN")
    ] = None,
    columns: Annotated[
        str | None, option("--columns", "Column names, as user=uid,system=model.", INPUT, metavar="KEY=COLUMN,...")
    ] = None,
    smaller: Annotated[
        list[str] | None,
        option("--smaller", "A metric of your own under which less is better; repeat it.", INPUT, metavar="METRIC"),
    ] = None,
    baseline: Annotated[
        str | None,
        option("--baseline", "Compare all with this one.  [default: all pairs]", STATISTICS, metavar="SYSTEM"),
    ] = None,
    test: _options.Test = "permutation",
    correction: _options.Correction = "holm",
    effect: Annotated[
        str,
        option("--effect", "d_z, hedges, d_av, cliff, a12, rank_biserial or relative.", STATISTICS, metavar="EFFECT"),
    ] = "d_z",
    level: _options.Level = 0.95,
    resamples: Annotated[
        int | None,
        option("--resamples", "Resamples of a test.  [default: by its kind]", STATISTICS, metavar="N", min=1),
    ] = None,
    seed: _options.Seed = 0,
    by: Annotated[
        str | None,
        option(
            "--by",
            "Rank systems over dataset, split, seed or design.  [default: dataset, if there are several]",
            QUESTIONS,
            metavar="AXIS",
        ),
    ] = None,
    rope: Annotated[
        float,
        option("--rope", "A difference up to this is none for practical purposes.", QUESTIONS, metavar="DIFFERENCE"),
    ] = 0.01,
    power: Annotated[bool, option("--power", "How many users it takes to tell two systems apart.", QUESTIONS)] = False,
    wanted: Annotated[
        float | None,
        option("--wanted", "The difference worth finding.  [default: observed]", QUESTIONS, metavar="DIFFERENCE"),
    ] = None,
    sudden_death: Annotated[
        list[int] | None,
        option("--sudden-death", "Let runs of a study compete at this cut-off; repeat it.", QUESTIONS, metavar="AT"),
    ] = None,
    output: Annotated[
        Path | None,
        option("-o --output", "Write comparison.json, tables as CSV and exhibits here.", OUTPUT, metavar="FOLDER"),
    ] = None,
    table: _options.Table = "text",
    as_json: _options.AsJson = False,
    fail_on: _options.FailOn = None,
    threads: _options.Threads = None,
    quiet: _options.Quiet = False,
) -> None:
    """Test every pair of systems wherever they were judged, and say whether the verdict is the same everywhere.

    Example: recassay compare results --baseline popular --power
    """
    _common.known("--table", table, TABLES)
    _common.known("--fail-on", fail_on or "warning", _options.SEVERITIES)
    if by is not None:
        _common.known("--by", by, BY)
    _common.announce_compilation(quiet or as_json)
    from recassay.engine.decide import decide
    from recassay.engine.score_sets import read_all

    given = read_all(scores, columns=columns, metrics=metric or None, smaller=smaller or ())
    given = given.where(dataset=dataset, split=split, design=design)
    with _common.progress(quiet or as_json) as report:
        found = decide(
            given,
            baseline=baseline,
            test=test,
            correction=correction,
            effect=effect,
            level=level,
            resamples="auto" if resamples is None else resamples,
            seed=seed,
            by=by,
            rope=rope,
            power=power or wanted is not None,
            wanted=wanted,
            sudden_death=tuple(sudden_death or ()),
            threads=threads,
            progress=report,
        )
    _show(given, found, output, table, as_json)
    if fail_on and any(finding.at_least(fail_on) for finding in found.findings):  # type: ignore[arg-type]
        raise typer.Exit(1)


def _show(given: ScoreSet, found: Decision, output: Path | None, table: str, as_json: bool) -> None:
    from recassay.report import decision

    if output is not None:
        decision.write_decision(found, output)
    if as_json:
        _common.print_json(found.to_dict())
    elif table == "text":
        screen = _common.console()
        screen.print(decision.decision_text(given, found))
    else:
        typer.echo(decision.decision_table(given, found, table), nl=False)
    if output is not None:
        typer.echo(f"The comparison is in {output}", err=True)
