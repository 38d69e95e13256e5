"""``recassay compare``: significance of differences, and whether they agree across data sets and designs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recassay.cli import _common, _completion, _options
from recassay.cli._options import COLUMNS, OUTPUT, STATISTICS, choice, option
from recassay.naming import choices

if TYPE_CHECKING:
    from rich.console import Console

    from recassay.engine.decisions.decide import Decision
    from recassay.report.folder.read import ResultFolder
    from recassay.results.group_scores import GroupScores
    from recassay.results.score_set import ScoreSet

AXES = ("dataset", "split", "seed", "design")
INPUT, ANALYSES, DEATH = "Input", "Further analyses", "Sudden Death"


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
            autocompletion=_completion.result_values("metric"),
        ),
    ] = None,
    dataset: Annotated[
        list[str] | None,
        option(
            "--dataset",
            "Use only this data set; may be repeated.",
            INPUT,
            metavar="NAME",
            autocompletion=_completion.result_values("dataset"),
        ),
    ] = None,
    split: Annotated[
        list[str] | None,
        option(
            "--split",
            "Use only this split; may be repeated.",
            INPUT,
            metavar="SPLIT",
            autocompletion=_completion.result_values("split"),
        ),
    ] = None,
    design: Annotated[
        list[str] | None,
        option(
            "--design",
            "Use only this design; may be repeated.",
            INPUT,
            metavar="DESIGN",
            autocompletion=_completion.result_values("design"),
        ),
    ] = None,
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
            autocompletion=_completion.result_values("system"),
        ),
    ] = None,
    all_pairs: Annotated[
        bool, option("--all-pairs", "Compare all pairs, also if the folder has a baseline.", STATISTICS)
    ] = False,
    test: _options.Test = "permutation",
    correction: _options.Correction = "holm",
    effect: Annotated[
        choices.Effect,
        choice("--effect", "Effect size", choices.words(choices.Effect), STATISTICS),
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
        str, choice("--ties", "A user won by several", choices.words(choices.SuddenDeathTies), DEATH, metavar="RULE")
    ] = "share",
    users: Annotated[
        str, choice("--users", "Users to count", choices.words(choices.SuddenDeathUsers), DEATH, metavar="USERS")
    ] = "with_relevant",
    loop: Annotated[
        str,
        choice(
            "--loop",
            "Ranks that count",
            choices.words(choices.SuddenDeathLoop),
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
            autocompletion=_completion.result_values("system"),
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
    _common.announce_compilation(quiet or as_json)
    from recassay.cli.finished import compare_finished, refuse_options
    from recassay.comparison.rules import SuddenDeathOptions
    from recassay.engine.decisions.decide import decide
    from recassay.engine.finished.read import is_finished
    from recassay.engine.lists.score_sets import read_all

    if len(scores) == 1 and is_finished(scores[0]):
        refuse_options(scores[0], baseline=baseline, power=power or wanted, sudden_death=sudden_death, by=by)
        compare_finished(
            scores[0], metrics=metric, columns=columns, smaller=smaller, level=level, rope=rope, seed=seed,
            resamples=resamples, output=output, table=table, as_json=as_json,
        )  # fmt: skip
        return
    chosen = read_all(scores, columns=columns, metrics=metric or None, smaller=smaller or ())
    chosen = chosen.where(dataset=dataset, split=split, design=design)
    options = {"baseline": baseline, "test": test, "correction": correction, "level": level, "seed": seed}
    folder = _results(scores)
    testing = _testing(context, folder, options)
    if all_pairs:
        testing["baseline"] = None
    rules: dict[str, Any] = {"ties": ties, "users": users, "loop": loop, "competitors": tuple(competitor or ())}
    with _common.progress(quiet or as_json) as report:
        result = decide(
            chosen,
            **testing,
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
    form = "details" if details and table == "text" else table
    _show(chosen, result, output, form, as_json, folder, whole=not (dataset or split or design))
    if fail_on and any(finding.at_least(fail_on) for finding in result.findings):  # type: ignore[arg-type]
        raise typer.Exit(1)


def _results(sources: list[str]) -> ResultFolder | None:
    """Return the content of a folder of results; None unless ``sources``, the arguments of the command, are one."""
    from recassay.report.folder.read import SUMMARY, read_results

    return read_results(sources[0]) if len(sources) == 1 and (Path(sources[0]) / SUMMARY).is_file() else None


def _testing(context: typer.Context, folder: ResultFolder | None, options: dict[str, Any]) -> dict[str, Any]:
    """Return the options of the tests: those on the command line, else those of the folder, else the defaults.

    ``options`` are the options by name, with defaults filled in.
    """
    if folder is None:
        return options
    given = {name for name in options if (source := context.get_parameter_source(name)) and source.name != "DEFAULT"}
    own = folder.testing
    return {name: own[name] if name in own and name not in given else value for name, value in options.items()}


def _show(
    scores: ScoreSet, result: Decision, output: Path | None, table: str, as_json: bool, folder: ResultFolder | None, *,
    whole: bool,
) -> None:  # fmt: skip
    """Print a comparison; ``whole`` says that it is of all results of the folder, so that its means by group apply."""
    from recassay.report.tables import decision

    groups = () if folder is None or not whole else folder.groups
    if output is not None:
        decision.write_decision(result, output)
    if as_json:
        by_group = {"groups": [{"place": place, **one.to_dict()} for place, one in groups]} if groups else {}
        _common.print_json(decision.decision_document(result) | by_group)
    elif table in ("text", "details"):
        screen = _common.console()
        findings, path = ((), None) if folder is None else (folder.findings, folder.path)
        screen.print(decision.decision_text(scores, result, findings, folder=path, details=table == "details"))
        _show_groups(screen, groups, details=table == "details")
    else:
        typer.echo(decision.decision_table(scores, result, table), nl=False)
    if output is not None:
        _common.say(f"The comparison is in {output}")


def _show_groups(screen: Console, groups: tuple[tuple[str, GroupScores], ...], *, details: bool) -> None:
    """Print the means by group of users or items if ``details``; else only a line saying that the folder has them."""
    from rich.text import Text

    from recassay.report.tables.groups import groups_text

    if groups and not details:
        columns = ", ".join(dict.fromkeys(one.by for _, one in groups))
        screen.print(Text(f"The folder has means by group ({columns}): --details"))
    for place, one in groups if details else ():
        screen.print(*([Text(place)] if place else []), groups_text(one), sep="\n")
