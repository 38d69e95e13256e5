"""``recassay run`` and ``recassay reproduce``: studies, and the claims of a paper."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recassay.cli import _common, _options
from recassay.cli._options import option
from recassay.errors import UsageError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from recassay.reproduction.run import Reproduction
    from recassay.study.store.results import Results


Data = Annotated[
    Path | None, option("--data", "Folder that holds the data by name.  [default: $RECASSAY_DATA]", metavar="FOLDER")
]
Jobs = Annotated[int | None, option("--jobs", "Number of threads; results do not depend on it.", metavar="N", min=1)]


def run(
    study: Annotated[Path, typer.Argument(metavar="STUDY", help="Study file (YAML).")],
    output: Annotated[
        Path,
        typer.Option(
            "-o", "--output", metavar="FOLDER", help="Folder for the results; an interrupted study resumes there."
        ),
    ],
    data: Data = None,
    quick: Annotated[bool, typer.Option("--quick", help="Run the small version that the study defines.")] = False,
    values: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Set a parameter of the study; may be repeated."),
    ] = None,
    jobs: Jobs = None,
    trust: Annotated[
        bool, typer.Option("--trust", help="Read pickled models of other packages from FOLDER: they can run any code.")
    ] = False,
    wait: Annotated[
        bool, typer.Option("--wait", help="Wait while another process uses FOLDER, instead of ending with an error.")
    ] = False,
    fail_on: _options.FailOn = None,
    why: Annotated[
        bool, typer.Option("--why", help="Say what has changed since the folder was written, and what is computed.")
    ] = False,
    times: Annotated[
        bool, typer.Option("--times", help="Also print how long systems took to fit and to recommend.")
    ] = False,
    as_json: _options.AsJson = False,
    quiet: _options.Quiet = False,
) -> None:
    """Run a study (data x split x models x designs x metrics) and write scores and comparisons to a folder.

    The exit status is 1 if a model or metric failed; the results of the others are kept. It is 2 if all models failed.

    Example: recassay run studies/first.yaml -o first --quick
    """
    from recassay.study.config.reading import parse_values
    from recassay.study.store import results as stored

    parameters = parse_values(values or ())
    request = stored.request(study, data=data, quick=quick, values=parameters)
    if why:
        _common.say("\n".join(stored.changes(output, request)) or "nothing has changed")
    if (found := stored.stored_results(output, request)) is not None:
        _common.say("Nothing has changed: these are the stored results.")
        _finish(found, as_json, times, fail_on)
        return
    from recassay.study.plan.parsing import read_plan

    read_plan(study, quick=quick, values=parameters)  # tells mistakes before all else is imported
    from recassay.study.run.study import run_study

    try:
        with _common.progress(quiet or as_json) as report:
            results = run_study(
                study,
                output,
                data=data,
                quick=quick,
                values=parameters,
                threads=jobs,
                trust=trust,
                wait=wait,
                progress=report,
            )
    except KeyboardInterrupt:
        command = _common.command_line() or "the same command"
        _common.say(f"Stopped. Finished work is kept in {output}; to resume, run:\n\n    {command}")
        raise typer.Exit(130) from None
    if why:
        _common.say("\n".join(results.work))
    _finish(results, as_json, times, fail_on)


def _finish(results: "Results", as_json: bool, times: bool, fail_on: str | None) -> None:
    """Print the results; exit with status 1 if a model failed, or a finding is at least as severe as ``fail_on``."""
    _show(results, as_json, times)
    if results.failures or (fail_on and results.at_least(fail_on)):
        raise typer.Exit(1)


def _show(results: "Results", as_json: bool, times: bool) -> None:
    if as_json:
        measured = {"times": list(results.times)} | ({"calls": list(results.calls)} if results.calls else {})
        _common.print_json(results.document() | (measured if times else {}))
    else:
        from rich.text import Text

        from recassay.report.content.grids import result_grids
        from recassay.report.tables.scores import calls_table, study_table, times_table
        from recassay.report.tables.verdict import findings_block, groups_text, verdict_block
        from recassay.results.group_scores import GroupScores
        from recassay.results.scores import population

        screen = _common.console()
        screen.print(verdict_block(results.verdict, result_grids(results.rows, results.comparisons)))
        if over := population(results.settings):
            screen.print(Text(f"Means are over {over}.\n"))
        screen.print(study_table(results.rows))
        by_column = {row["by"]: row for row in reversed(results.groups)}  # of the first place
        for row in by_column.values():
            screen.print(groups_text(GroupScores.from_dict(row)))
            if len(results.groups) > len(by_column):
                where = ", ".join(str(row[axis]) for axis in ("dataset", "split", "design"))
                screen.print(Text(f"These are the groups of {where}. The page has all groups.\n"))
        if times:
            screen.print(times_table(results.times))
            screen.print(calls_table(results.calls))
        screen.print(findings_block(results.findings, results.verdict, folder=results.folder))
        screen.print(Text(f"\nThe results are in {results.folder}"))
    if results.recomputed:
        shown = ", ".join(results.recomputed[:3]) + (", ..." if len(results.recomputed) > 3 else "")
        _common.say(f"Damaged and computed again: {len(results.recomputed):,} files ({shown})")
    for failure in results.failures:
        where = f"{failure['dataset']}, {failure['split']}"
        if failure.get("dry_run"):
            where = f"in the dry run of {where}, and was left out"
        else:
            where = f"on {where}, fold {failure['fold']}, seed {failure['seed']}"
        _common.say(f"\n{failure['system']} failed {where}:\n{failure['message']}")
    if results.failures:
        _common.say(f"\nTracebacks are in {results.folder / 'failures'}")


def reproduce(
    name: Annotated[
        str | None, typer.Argument(metavar="[PAPER]", help="Name of a paper (--list), or its YAML file.")
    ] = None,
    data: Data = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FOLDER", help="Folder for studies, which resume there, and results."),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Use small generated data: shows that everything works, and nothing else.")
    ] = False,
    jobs: Jobs = None,
    listed: Annotated[bool, typer.Option("--list", help="List the papers and their stored verdicts.")] = False,
    check: Annotated[
        bool,
        typer.Option("--check", help="Say which stored results are older than their claims; status 1 if any."),
    ] = False,
    as_json: _options.AsJson = False,
    quiet: _options.Quiet = False,
) -> None:
    """Run a paper's studies and print the verdict on each of its claims.

    Without a name, --list and --check take all papers.

    Example: recassay reproduce time-to-split --quick -o time-to-split
    """
    from recassay.reproduction.paper import find_paper
    from recassay.reproduction.run import RESULT
    from recassay.reproduction.run import reproduce as run

    if listed or check:
        _print_stored(name, check, as_json)
        return
    if name is None or output is None:
        lacks = "a paper" if name is None else "a folder for the results"
        raise UsageError(
            "U105", f"reproduce needs {lacks}", hint="recassay reproduce PAPER -o FOLDER; --list has names"
        )
    file = find_paper(name)
    tell = (lambda _: None) if quiet or as_json else (lambda source: _common.say(f"{file.name}: {source} ..."))
    found = run(file, output, data=data, quick=quick, threads=jobs, report=tell)
    _common.show(as_json, found.to_dict, lambda: _verdicts_table(found))
    if as_json:
        return
    if quick:
        typer.echo("These numbers are of generated data: they show that everything works, and nothing else.")
    _common.say(f"The results are in {output / RESULT}")


def _verdicts_table(results: "Reproduction") -> "RenderableType":
    """Return a table of the verdict on every claim with our number and the paper's."""
    from recassay.report.tables.model import Cell, Column, ResultTable, Terminal

    rows = []
    for verdict in results.verdicts:
        claim = results.file.paper.claims[verdict.name]
        added = " (added to the paper's claims)" if claim.added else ""
        rows.append(tuple(map(Cell, (verdict.word, claim.claim + added, verdict.ours, claim.of_paper))))
    columns = (Column("verdict", "name"), Column("claim", "name"), Column("ours"), Column("paper"))
    return Terminal(ResultTable(columns, tuple(rows), results.file.paper.title))


def _print_stored(name: str | None, check: bool, as_json: bool) -> None:
    """Print the verdicts of the stored results of one paper, or of all.

    With ``check`` also print what is outdated, and exit with status 1 if anything is.
    """
    from recassay.reproduction.paper import find_paper, paper_files
    from recassay.reproduction.run import is_outdated, read_reproduction

    files = [find_paper(name)] if name else [find_paper(str(path)) for path in paper_files()]
    rows: list[dict[str, Any]] = []
    for file in files:
        stored = (file.results / "lock.json").is_file()
        found = read_reproduction(file, file.results) if stored or (check and name) else None
        words = [] if found is None else [one.word for one in found.verdicts]
        counts = {word: words.count(word) for word in dict.fromkeys(words)}
        outdated = check and found is not None and is_outdated(found)
        rows.append({"paper": file.name, "title": file.paper.title, "verdicts": counts, "outdated": outdated})
    if as_json:
        _common.print_json({"papers": rows})
    else:
        for row in rows:
            counted = ", ".join(f"{n} {word}" for word, n in row["verdicts"].items()) or "no stored results"
            why = "\n    the sources or claims in its file changed" if row["outdated"] else ""
            typer.echo(f"{row['paper']}: {counted}{why}")
    if any(row["outdated"] for row in rows):
        raise typer.Exit(1)
