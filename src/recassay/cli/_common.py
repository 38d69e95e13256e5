"""Options and output that commands share."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

from recassay.cli._progress import progress

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["announce_compilation", "command_line", "compiled", "console", "known", "print_json", "progress"]


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
