"""Output, progress and checks of option values that several commands share."""

from __future__ import annotations

import os
import re
import shlex
import sys
import tempfile
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import typer

from recassay.errors import UsageError, masked, printable
from recassay.naming.grammar import suggest
from recassay.threads import StageProgress

if TYPE_CHECKING:
    from rich.console import Console

    from recassay.data.interactions import Interactions
    from recassay.results.finding import Finding

CONTROL = re.compile("[\x7f-\x9f\u2028\u2029]")  # those that json.dumps leaves as they are
MAX_STAGES = 4  # named in the last line of progress
MIN_SECONDS = 0.05  # shorter stages are not named


def console(*, stderr: bool = False) -> Console:
    """Return a console for tables; it is 100 columns wide if the output is no terminal and ``COLUMNS`` is not set."""
    from recassay.cli._screen import Screen

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else 100
    return Screen(stderr=stderr, width=width, highlight=False)


def print_json(document: Any) -> None:
    """Print a single JSON document to standard output, with NaN as null and control characters as escapes."""
    from recassay.data.io.write import json_text  # late: help needs no NumPy

    ascii_only = not (sys.stdout.encoding or "utf-8").lower().startswith("utf")
    text = json_text(document, indent=2, ascii_only=ascii_only)
    sys.stdout.write(CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n")


def say(text: str) -> None:
    """Print a line to standard error, without secrets of addresses; control characters in names become escapes."""
    print(printable(masked(text), keep="\n"), file=sys.stderr)


def say_remarks(log: Interactions) -> None:
    """Print what findings would say about the file of a log to standard error."""
    for text in log.remarks.values():
        say(f"note: {text}.")


def command_line() -> str:
    """Return the command line without secrets of addresses; an empty string if the program is not ``recassay``."""
    return shlex.join(["recassay", *map(masked, sys.argv[1:])]) if Path(sys.argv[0]).stem == "recassay" else ""


def is_given(context: typer.Context, option: str) -> bool:
    """Return whether an option is on the command line or in its environment variable."""
    source = context.get_parameter_source(option)
    return source is not None and source.name != "DEFAULT"


def refuse_unknown_baseline(baseline: str | None, systems: Collection[str]) -> None:
    """Raise U108 if a baseline is given that is not one of the systems."""
    if baseline is not None and baseline not in systems:
        raise UsageError("U108", f"'{baseline}' is not known", where="--baseline", hint=suggest(baseline, systems))


def fail_on(severity: str | None, findings: Iterable[Finding]) -> None:
    """Exit with status 1 if a finding is at least as severe as ``--fail-on`` says."""
    if severity and any(finding.at_least(severity) for finding in findings):  # type: ignore[arg-type]
        raise typer.Exit(1)


def announce_compilation(quiet: bool) -> None:
    """Print a note if compiled functions are not cached yet, because the first run then takes some seconds longer."""
    import recassay.metrics

    if quiet or is_compiled(recassay.metrics.__path__[0]):
        return
    kept = f", kept in {os.environ['NUMBA_CACHE_DIR']}" if "NUMBA_CACHE_DIR" in os.environ else ""
    print(f"Compiling kernels for this machine{kept}; this happens once after installation.", file=sys.stderr)


def is_compiled(folder: str) -> bool:
    """Return whether numba has cached the compiled functions of a package, in any of the places where it does so."""
    places = [Path(folder) / "__pycache__"]
    if os.environ.get("NUMBA_CACHE_DIR"):
        places = [Path(os.environ["NUMBA_CACHE_DIR"])]
    elif not os.access(folder, os.W_OK):
        places = [Path.home() / ".cache" / "numba", *Path(tempfile.gettempdir()).glob("recassay-kernels-*")]
    return any(next(place.rglob("*find_marks*.nbi"), None) is not None for place in places if place.is_dir())


@contextmanager
def progress(quiet: bool) -> Iterator[StageProgress | None]:
    """Show a bar per stage on standard error, and yield the function that updates it; at the end, say how long it took.

    Yield None, and show nothing, in pipes, in CI and if ``quiet``.
    """
    if quiet or os.environ.get("CI"):  # before rich is imported, which takes 0.02 s
        yield None
        return
    from recassay.cli._screen import Screen, progress_bars

    screen, begin = Screen(stderr=True, highlight=False), perf_counter()
    if not screen.is_terminal:
        yield None
        return
    with progress_bars(screen) as bars:
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
