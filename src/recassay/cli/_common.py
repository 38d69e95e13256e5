"""Options and output that commands share."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console


def console(*, stderr: bool = False) -> Console:
    """Where tables go; wide enough for a table when it is not a terminal."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else 100
    return Console(stderr=stderr, width=width, highlight=False)


def print_json(document: Any) -> None:
    """Exactly one JSON document on standard output."""
    sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def command_line() -> str:
    """The command as it was given, to be given again; nothing where Python called it."""
    import shlex
    from pathlib import Path

    return shlex.join(["recassay", *sys.argv[1:]]) if Path(sys.argv[0]).stem == "recassay" else ""


def known(option: str, value: str, choices: Any, code: str = "U107") -> Any:
    """The value, if it is one of the choices."""
    if value not in choices:
        from recassay.errors import UsageError
        from recassay.spec import suggest

        raise UsageError(code, f"'{value}' is not known", where=option, hint=suggest(value, choices))
    return value


@contextmanager
def progress(quiet: bool) -> Iterator[Callable[[str, int, int], None] | None]:
    """A bar with rate and time left on standard error; nothing in pipes, in CI or when asked to be quiet."""
    from rich.console import Console

    screen = Console(stderr=True)
    if quiet or not screen.is_terminal or os.environ.get("CI"):
        yield None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=screen, transient=True) as bar:
        tasks: dict[str, Any] = {}

        def report(stage: str, done: int, of: int) -> None:
            if stage not in tasks:
                tasks[stage] = bar.add_task(stage, total=of)
            bar.update(tasks[stage], completed=done, total=of)

        yield report


def announce_compilation(quiet: bool) -> None:
    """Say once, before the first kernels are compiled, why the first run takes seconds longer."""
    import recassay.metrics

    if quiet or compiled(recassay.metrics.__path__[0]):
        return
    print("Compiling kernels for this machine; this happens once after installation.", file=sys.stderr)


def compiled(folder: str) -> bool:
    """Whether numba's cache of a package's kernels exists, beside the code or in the user's own folder."""
    from pathlib import Path

    places = [Path(folder) / "__pycache__"]
    if os.environ.get("NUMBA_CACHE_DIR"):
        places = [Path(os.environ["NUMBA_CACHE_DIR"])]
    elif not os.access(folder, os.W_OK):
        places = [Path.home() / ".cache" / "numba"]
    return any(next(place.rglob("*find_marks*.nbi"), None) is not None for place in places if place.is_dir())
