"""``recassay compare``: significance of differences, and whether they agree across data sets and designs."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recassay.cli import _common, _options
from recassay.cli._options import COLUMNS, OUTPUT, STATISTICS, choice, option
from recassay.errors import UsageError
from recassay.naming import choices

if TYPE_CHECKING:
    from recassay.engine.decisions.decide import Decision
    from recassay.report.folder.results import ResultFolder
    from recassay.results.group_scores import GroupScores
    from recassay.results.score_set import ScoreSet

AXES = ("dataset", "split", "seed", "design")
INPUT, ANALYSES, DEATH = "Input", "Further analyses", "Sudden Death"


def only(axis: str, noun: str, metavar: str) -> Any:
    """Return the option ``--AXIS``, which restricts a comparison to some data sets, splits or designs.

    ``noun`` is the word for a value of the axis in the help.
    """
    what, complete = f"Use only this {noun}; may be repeated.", _options.complete_results(axis)
    return option(f"--{axis}", what, INPUT, metavar=metavar, autocompletion=complete)


def compare(
    context: typer.Context,
    scores: Annotated[
        list[str],
        typer.Argument(
            metavar="SCORES",
            help="Folders written by recassay run or score -o, tables of scores per user (user, system, metrics), or "
            "one table of finished scores (system, dataset, metrics). Systems scored on one truth are joined.",
        ),
    ],
    metric: Annotated[
        list[str] | None,
        option(
            "-m --metric",
            "Metric to compare; may be repeated.  [default: all]",
            INPUT,
            metavar="METRIC",
            autocompletion=_options.complete_results("metric"),
        ),
    ] = None,
    dataset: Annotated[list[str] | None, only("dataset", "data set", "NAME")] = None,
    split: Annotated[list[str] | None, only("split", "split", "SPLIT")] = None,
    design: Annotated[list[str] | None, only("design", "design", "DESIGN")] = None,
    columns: Annotated[
        str | None, option("--columns", "Column names, such as user=uid,system=model.", INPUT, metavar=COLUMNS)
    ] = None,
    smaller: Annotated[
        list[str] | None,
        option("--smaller", "Your own metric for which lower is better; may be repeated.", INPUT, metavar="METRIC"),
    ] = None,
    baseline: Annotated[
        str | None,
        option(
            "--baseline",
            "Compare all systems with this one.  [default: that of the folder, else all pairs]",
            STATISTICS,
            metavar="SYSTEM",
            autocompletion=_options.complete_results("system"),
        ),
    ] = None,
    all_pairs: Annotated[
        bool, option("--all-pairs", "Compare all pairs, also if the folder has a baseline.", STATISTICS)
    ] = False,
    test: _options.Test = "permutation",
    correction: _options.Correction = "holm",
    effect: Annotated[
        choices.Effect,
        choice("--effect", "Effect size", choices.Effect, STATISTICS),
    ] = "d_z",
    level: _options.Level = 0.95,
    resamples: Annotated[
        int | None,
        option("--resamples", "Resamples of a test.  [default: depends on the test]", STATISTICS, metavar="N", min=1),
    ] = None,
    seed: _options.Seed = 0,
    by: Annotated[
        str | None,
        choice(
            "--by",
            "Rank systems across",
            AXES,
            ANALYSES,
            note="[default: dataset, if there are several]",
            metavar="AXIS",
        ),
    ] = None,
    rope: Annotated[
        float,
        option(
            "--rope",
            "Differences up to this are practically equivalent (Bayesian test).",
            ANALYSES,
            metavar="DIFFERENCE",
        ),
    ] = 0.01,
    power: Annotated[
        bool, option("--power", "Report the number of users needed to detect a difference.", ANALYSES)
    ] = False,
    wanted: Annotated[
        float | None,
        option("--wanted", "Difference to detect.  [default: the observed one]", ANALYSES, metavar="DIFFERENCE"),
    ] = None,
    sudden_death: Annotated[
        list[int] | None,
        option(
            "--sudden-death",
            "Cut-off of Sudden Death: who shows a user the first relevant item? May be repeated.",
            DEATH,
            metavar="AT",
        ),
    ] = None,
    ties: Annotated[
        str, choice("--ties", "A user won by several", choices.SuddenDeathTies, DEATH, metavar="RULE")
    ] = "share",
    users: Annotated[
        str, choice("--users", "Users to count", choices.SuddenDeathUsers, DEATH, metavar="USERS")
    ] = "with_relevant",
    loop: Annotated[
        str,
        choice(
            "--loop",
            "Ranks that count",
            choices.SuddenDeathLoop,
            DEATH,
            note="printed: one less, as in the published listing.",
            metavar="RANKS",
        ),
    ] = "whole",
    competitor: Annotated[
        list[str] | None,
        option(
            "--competitor",
            "System that competes; may be repeated.  [default: all]",
            DEATH,
            metavar="SYSTEM",
            autocompletion=_options.complete_results("system"),
        ),
    ] = None,
    details: Annotated[
        bool, option("--details", "Print every pair, ranking and order of systems, not one screen.", OUTPUT)
    ] = False,
    output: Annotated[
        Path | None,
        option(
            "-o --output", "Write comparison.json, CSV tables and exhibits to this folder.", OUTPUT, metavar="FOLDER"
        ),
    ] = None,
    table: _options.Table = "text",
    as_json: _options.AsJson = False,
    fail_on: _options.FailOn = None,
    threads: _options.Threads = None,
    quiet: _options.Quiet = False,
) -> None:
    """Test every pair of systems on all data sets, splits and designs, and report whether the results agree.

    Example: recassay compare results --baseline popular --power
    """
    from recassay.comparison.rules import SuddenDeathOptions
    from recassay.engine.decisions.decide import decide
    from recassay.engine.finished.read import is_finished
    from recassay.engine.lists.score_sets import read_all

    if len(scores) == 1 and is_finished(scores[0]):
        _refuse(scores[0], baseline=baseline, power=power or wanted, sudden_death=sudden_death, by=by)
        chance = {"level": level, "rope": rope, "seed": seed} | ({"resamples": resamples} if resamples else {})
        _conclude(scores[0], {"columns": columns, "smaller": smaller or ()}, metric, chance, output, table, as_json)
        return
    chosen = read_all(scores, columns=columns, metrics=metric or None, smaller=smaller or ())
    chosen = chosen.where(dataset=dataset, split=split, design=design)
    testing = {"baseline": baseline, "test": test, "correction": correction, "level": level, "seed": seed}
    folder = _results(scores)
    if folder is not None:  # its options hold where the command line has none
        stored = {name: value for name, value in folder.testing.items() if not _common.is_given(context, name)}
        testing |= {name: stored[name] for name in testing.keys() & stored.keys()}
    if all_pairs:
        testing["baseline"] = None
    rules: dict[str, Any] = {"ties": ties, "users": users, "loop": loop, "competitors": tuple(competitor or ())}
    with _common.progress(quiet or as_json) as report:
        result = decide(
            chosen,
            **testing,  # type: ignore[arg-type]
            effect=effect,
            resamples="auto" if resamples is None else resamples,
            by=by,
            rope=rope,
            power=power or wanted is not None,
            wanted=wanted,
            sudden_death=SuddenDeathOptions(tuple(sudden_death or ()), **rules),
            threads=threads,
            progress=report,
        )
    if folder is not None and folder.verdict is not None:
        result = replace(result, verdict=result.verdict.with_rechecks_of(folder.verdict))
    groups = () if folder is None or dataset or split or design else folder.groups  # which are of all results
    _show(chosen, result, output, table, as_json, folder, groups, details=details)
    _common.fail_on(fail_on, result.findings)


def _results(sources: list[str]) -> "ResultFolder | None":
    """Return the content of a folder of results; None unless ``sources``, the arguments of the command, are one."""
    from recassay.report.folder.results import SUMMARY, read_results

    return read_results(sources[0]) if len(sources) == 1 and (Path(sources[0]) / SUMMARY).is_file() else None


def _show(
    scores: "ScoreSet",
    result: "Decision",
    output: Path | None,
    table: str,
    as_json: bool,
    folder: "ResultFolder | None",
    groups: "tuple[tuple[str, GroupScores], ...]",
    *,
    details: bool,
) -> None:
    """Print a comparison, and write it if there is an ``output`` folder.

    With ``details`` the means by group follow; else a line says that the folder has them.
    """
    from recassay.report.tables import compared

    if output is not None:
        compared.write_decision(result, output)
    if as_json:
        by_group = {"groups": [{"place": place, **one.to_dict()} for place, one in groups]} if groups else {}
        _common.print_json(compared.decision_document(result) | by_group)
    elif table == "text":
        from rich.text import Text

        from recassay.report.tables.verdict import groups_text

        screen = _common.console()
        findings, path = ((), None) if folder is None else (folder.findings, folder.path)
        screen.print(compared.decision_text(scores, result, findings, folder=path, details=details))
        if groups and not details:
            columns = ", ".join(dict.fromkeys(one.by for _, one in groups))
            screen.print(Text(f"The folder has means by group ({columns}): --details"))
        for place, one in groups if details else ():
            screen.print(*([Text(place)] if place else []), groups_text(one, result.unit), sep="\n")
    else:
        typer.echo(compared.decision_table(scores, result, table), nl=False)
    if output is not None:
        _common.say(f"The comparison is in {output}")


def _conclude(
    source: str,
    reading: dict[str, Any],
    metrics: list[str] | None,
    chance: dict[str, Any],
    output: Path | None,
    table: str,
    as_json: bool,
) -> None:
    """Rank the systems of a table of means over its data sets, test their differences, and print the results.

    ``source`` is a table with a row per system and data set, ``reading`` says how to read it, and ``chance`` are
    options of the tests. The results are also written to the folder ``output``, unless it is None.
    """
    from recassay.engine.finished.conclude import conclude
    from recassay.engine.finished.read import read_finished
    from recassay.report.content.csv_text import csv_text
    from recassay.report.tables import summaries

    result = conclude(read_finished(source, **reading), metrics=metrics, **chance)
    if output is not None:
        summaries.write_conclusions(result, output)
    if as_json:
        _common.print_json(result.to_dict())
    elif table == "text":
        _common.console().print(summaries.conclusions_text(result))
    elif table == "csv":
        typer.echo(csv_text(result.frame()), nl=False)
    else:
        raise UsageError(
            "U107", f"finished scores cannot be printed as {table}", hint="use --table csv or --table text"
        )
    if output is not None:
        _common.say(f"The conclusions are in {output}")


def _refuse(source: str, **given: object) -> None:
    """Raise U105 if an option that needs values per user was given for a table of means.

    ``given`` maps the names of such options to their values (None if not given); ``source`` is the table.
    """
    for name in (name for name, value in given.items() if value):
        raise UsageError(
            "U105", f"--{name.replace('_', '-')} needs values per user, and {source} has one mean per system",
            hint="score the run files: recassay score TRUTH RUNS -m METRIC -o FOLDER",
        )  # fmt: skip
