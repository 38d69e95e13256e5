"""``recassay reproduce``: run a paper's studies and say which of its claims hold."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from recassay.cli import _common, _options


def reproduce(
    name: Annotated[
        str | None, typer.Argument(metavar="[PAPER]", help="Name of a paper (--list), or its YAML file.")
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option("--data", metavar="FOLDER", help="Folder that holds the data by name.  [default: $RECASSAY_DATA]"),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FOLDER", help="Folder for studies, which resume there, and results."),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Use small generated data: shows that everything works, and nothing else.")
    ] = False,
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", metavar="N", min=1, help="Number of threads; results do not depend on it."),
    ] = None,
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
    from recassay.errors import UsageError
    from recassay.reproduction.page import verdicts_text
    from recassay.reproduction.paper import find_paper
    from recassay.reproduction.run import RESULT
    from recassay.reproduction.run import reproduce as run

    if listed or check:
        _stored(name, check, as_json)
        return
    if name is None or output is None:
        lacks = "a paper" if name is None else "a folder for the results"
        raise UsageError(
            "U105", f"reproduce needs {lacks}", hint="recassay reproduce PAPER -o FOLDER; --list has names"
        )
    file = find_paper(name)
    _common.announce_compilation(quiet or as_json)
    tell = (lambda _: None) if quiet or as_json else (lambda source: _common.say(f"{file.name}: {source} ..."))
    found = run(file, output, data=data, quick=quick, threads=jobs, report=tell)
    if as_json:
        _common.print_json(found.to_dict())
        return
    _common.console().print(verdicts_text(found))
    _common.say(f"The results are in {output / RESULT}")


def _stored(name: str | None, check: bool, as_json: bool) -> None:
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
