"""Output functions and checks of option values that several commands share."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from recassay.cli._progress import progress
from recassay.errors import masked, printable

if TYPE_CHECKING:
    from rich.console import Console

    from recassay.data.interactions import Interactions

__all__ = [
    "announce_compilation",
    "command_line",
    "console",
    "is_compiled",
    "print_json",
    "progress",
    "refuse_unknown_baseline",
    "say",
    "say_remarks",
]

CONTROL = re.compile("[\x7f-\x9f\u2028\u2029]")  # those that json.dumps leaves as they are


def console(*, stderr: bool = False) -> Console:
    """Return a console for tables; it is 100 columns wide if the output is no terminal and ``COLUMNS`` is not set."""
    from recassay.cli._screen import Screen

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else 100
    return Screen(stderr=stderr, width=width, highlight=False)


def print_json(document: Any) -> None:
    """Print a single JSON document to standard output, with control characters as escapes."""
    ascii_only = not (sys.stdout.encoding or "utf-8").lower().startswith("utf")
    text = json.dumps(document, indent=2, ensure_ascii=ascii_only, allow_nan=False)
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
    import shlex
    from pathlib import Path

    return shlex.join(["recassay", *map(masked, sys.argv[1:])]) if Path(sys.argv[0]).stem == "recassay" else ""


def refuse_unknown_baseline(baseline: str | None, systems: Collection[str]) -> None:
    """Raise U108 if a baseline is given that is not one of the systems."""
    if baseline is not None and baseline not in systems:
        from recassay.errors import UsageError
        from recassay.naming.grammar import suggest

        raise UsageError("U108", f"'{baseline}' is not known", where="--baseline", hint=suggest(baseline, systems))


def announce_compilation(quiet: bool) -> None:
    """Print a note if compiled functions are not cached yet, because the first run then takes some seconds longer."""
    import recassay.metrics

    if quiet or is_compiled(recassay.metrics.__path__[0]):
        return
    kept = f", kept in {os.environ['NUMBA_CACHE_DIR']}" if "NUMBA_CACHE_DIR" in os.environ else ""
    print(f"Compiling kernels for this machine{kept}; this happens once after installation.", file=sys.stderr)


def is_compiled(folder: str) -> bool:
    """Return whether numba has cached the compiled functions of a package, in any of the places where it does so."""
    import tempfile
    from pathlib import Path

    places = [Path(folder) / "__pycache__"]
    if os.environ.get("NUMBA_CACHE_DIR"):
        places = [Path(os.environ["NUMBA_CACHE_DIR"])]
    elif not os.access(folder, os.W_OK):
        places = [Path.home() / ".cache" / "numba", *Path(tempfile.gettempdir()).glob("recassay-kernels-*")]
    return any(next(place.rglob("*find_marks*.nbi"), None) is not None for place in places if place.is_dir())
