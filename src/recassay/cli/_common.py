"""Output, progress and checks of option values that several commands share."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import typer

from recassay.errors import masked, printable
from recassay.threads import StageProgress

if TYPE_CHECKING:
    from rich.console import Console

    from recassay.comparison.compare import Comparison
    from recassay.data.interactions import Interactions
    from recassay.results.finding import Finding
    from recassay.results.scores import Scores

CONTROL = re.compile("[\x7f-\x9f\u2028\u2029]")  # those that json.dumps leaves as they are
MAX_STAGES = 4  # named in the last line of progress
MIN_SECONDS = 0.05  # shorter stages are not named
PARTS_OF_TEXT = "\n\u00a0\u202f\u2009"  # line ends, and the spaces of formatted numbers


def console(*, stderr: bool = False) -> Console:
    """Return a console that shows control characters in names as escapes, so that they never reach the terminal.

    It is 100 columns wide if the output is no terminal and ``COLUMNS`` is not set.

    >>> console().print("als\\x1b[2J wins")
    als\\x1b[2J wins
    """
    from rich.console import Console, ConsoleOptions, RenderableType  # late: rich takes 0.02 s
    from rich.segment import Segment

    class Screen(Console):
        def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
            for segment in super().render(renderable, options):
                plain = segment.control or segment.text.isprintable()
                yield segment if plain else Segment(printable(segment.text, keep=PARTS_OF_TEXT), segment.style)

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else 100
    return Screen(stderr=stderr, width=width, highlight=False)


def show(as_json: bool, document: Callable[[], Any], shown: Callable[[], Any]) -> None:
    """Print ``document()`` as JSON if ``as_json``, else ``shown()`` as rich shows it; the other is not called."""
    if as_json:
        print_json(document())
    else:
        console().print(shown())


def print_json(document: Any) -> None:
    """Print a single JSON document to standard output, with NaN as null and control characters as escapes."""
    from recassay.data.io.write import json_text  # late: help needs no NumPy

    ascii_only = not (sys.stdout.encoding or "utf-8").lower().startswith("utf")
    text = json_text(document, indent=2, ascii_only=ascii_only)
    sys.stdout.write(CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n")


def show_scores(
    scores: Scores, comparison: Comparison | None, where: dict[str, str], output: Path | None, table: str, as_json: bool
) -> None:
    """Print scores and their comparison, after writing them if there is an ``output`` folder.

    ``where`` has the data set and split of the scores. ``table`` is the format to print, such as text or latex, and
    ``as_json`` asks for one JSON document instead.
    """
    from recassay.report.content.grids import grids_of
    from recassay.report.folder import results
    from recassay.report.tables import scores as tables
    from recassay.report.tables.verdict import findings_table, groups_text, verdict_block

    if output is not None:
        results.write_results(scores, comparison, output, where, command=command_line())
    if as_json:
        print_json(results.document(scores, comparison, where))
        return
    if table == "text":
        screen, verdict = console(), None
        if len(scores.systems) > 1:
            verdict = results.verdict_of_scores(scores, comparison, where)
            screen.print(verdict_block(verdict, grids_of(scores, comparison), scores.unit))
        groups = (groups_text(groups, scores.unit) for groups in scores.groups)
        screen.print(tables.text_table(scores, comparison), *groups, sep="\n")
        screen.print(findings_table(scores, verdict))
    else:
        typer.echo(tables.score_table(scores, comparison, table), nl=False)
    if "within" in scores.settings:
        from recassay.results.scores import worded

        say(worded(_sample_note(scores.settings["within"]), scores.unit))
    if output is not None:
        say(f"Results are in {output}")


def _sample_note(record: Mapping[str, Any]) -> str:
    """Return a sentence on how many users were scored, if users were sampled until the means were accurate enough.

    ``record`` has: users drawn and in all, the wanted half-width, and the confidence level.
    """
    users, total = record["users"], record["of"]
    if users == total:
        return f"All {total:,} users were scored: the means are exact."
    width, level = f"{record['width']:g}", f"{100 * record['level']:g} %"
    return (
        f"{users:,} of {total:,} users were sampled: every mean is accurate to ±{width}. The intervals are valid at "
        f"{level} at any number of users."
    )


def say(text: str) -> None:
    """Print a line to standard error, without secrets of addresses; control characters in names become escapes."""
    print(printable(masked(text), keep="\n"), file=sys.stderr)


def say_remarks(log: Interactions) -> None:
    """Print the remarks on the file of a log (problems that its reader noted) to standard error."""
    for text in log.remarks.values():
        say(f"note: {text}.")


def command_line() -> str:
    """Return the command line without secrets of addresses; an empty string if the program is not ``recassay``."""
    return shlex.join(["recassay", *map(masked, sys.argv[1:])]) if Path(sys.argv[0]).stem == "recassay" else ""


def is_given(context: typer.Context, option: str) -> bool:
    """Return whether an option is on the command line or in its environment variable."""
    source = context.get_parameter_source(option)
    return source is not None and source.name != "DEFAULT"


def fail_on(severity: str | None, findings: Iterable[Finding]) -> None:
    """Exit with status 1 if a finding is at least as severe as ``--fail-on`` says."""
    if severity and any(finding.at_least(severity) for finding in findings):  # type: ignore[arg-type]
        raise typer.Exit(1)


@contextmanager
def progress(quiet: bool) -> Iterator[StageProgress | None]:
    """Show a bar per stage on standard error, and yield the function that updates it; at the end, say how long it took.

    Yield None, and show nothing, in pipes, in CI and if ``quiet``.
    """
    if quiet or os.environ.get("CI"):  # before rich is imported, which takes 0.02 s
        yield None
        return
    screen, begin = console(stderr=True), perf_counter()
    if not screen.is_terminal:
        yield None
        return
    from rich import progress as rich

    columns = (
        rich.TextColumn("{task.description}", markup=False), rich.BarColumn(), rich.MofNCompleteColumn(),
        rich.TextColumn("{task.fields[rate]}", style="dim"), rich.TimeElapsedColumn(), rich.TimeRemainingColumn(),
    )  # fmt: skip
    with rich.Progress(*columns, console=screen, transient=True) as bars:
        tasks: dict[str, Any] = {}

        def report(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(stage, total=total, rate="")
            speed = done / (bars.tasks[tasks[stage]].elapsed or 1e9)
            rate = "" if speed < 1e-6 else f"{speed:,.0f}/s" if speed >= 10 else f"{speed:.2g}/s"
            bars.update(tasks[stage], completed=done, total=total, rate=rate)

        yield report
    seconds = {task.description: task.finished_time or task.elapsed or 0.0 for task in bars.tasks}
    longest = sorted(seconds, key=lambda stage: -seconds[stage])[:MAX_STAGES]
    named = ", ".join(f"{stage} {seconds[stage]:,.1f} s" for stage in longest if seconds[stage] >= MIN_SECONDS)
    total = f"Done in {perf_counter() - begin:,.1f} s"
    screen.print(f"{total}: {named}." if named else f"{total}.", style="dim", markup=False)
