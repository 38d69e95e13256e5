"""The command line: ``recassay split|fit|recommend|score|run|compare|report|...``.

This package imports nothing heavy at the top, so that help and usage errors appear at once. Of the commands only those
that the arguments name are imported, or all if they name none; each imports what it needs when it runs.
"""

import atexit
import codecs
import functools
import gc
import io
import os
import sys
import traceback
import warnings
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from recassay import _kernel_cache
from recassay._version import __version__
from recassay.errors import RecassayError, masked, names_no_file, out_of_memory, printable, unusable_file

# Module and function of every command, in the order of the help.
COMMANDS = {
    "demo": "demo.demo",
    "split": "logs.split",
    "fit": "recommend.fit",
    "recommend": "recommend.recommend",
    "score": "score.score",
    "run": "studies.run",
    "reproduce": "studies.reproduce",
    "compare": "compare.compare",
    "gate": "gate.gate",
    "history": "folders.history",
    "track": "folders.track",
    "check": "folders.check",
    "report": "folders.report",
    "stats": "logs.stats",
    "correct": "lists.correct",
    "rerank": "lists.rerank",
    "watch": "watch.watch",
    "warm": "demo.warm",
    "list": "explain.list_names",
    "explain": "explain.explain",
}


def build_app(names: Iterable[str] = COMMANDS) -> typer.Typer:
    """Return the command line with only the commands of these names; building the options of each takes time."""
    app = typer.Typer(
        name="recassay",
        help="Evaluate recommendation, search and any ranking: exact metrics, named conventions, intervals and checks.",
        no_args_is_help=True,
        rich_markup_mode="markdown",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(options)
    for name in names:
        module, function = COMMANDS[name].split(".")
        app.command(name)(getattr(import_module(f"recassay.cli.{module}"), function))
    return app


def _version(requested: bool) -> None:
    if requested:
        typer.echo(f"recassay {__version__}")
        raise typer.Exit


def options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_version, is_eager=True)
    ] = False,
    plugins: Annotated[
        list[Path] | None,
        typer.Option(
            "--plugin",
            help="Python file with your own metrics, models, splits or checks; may be repeated.",
            metavar="FILE.py",
            envvar="RECASSAY_PLUGINS",
        ),
    ] = None,
) -> None:
    """Evaluate recommendation, search and any ranking: exact metrics, named conventions, intervals and checks."""
    del version
    if plugins:
        from recassay.naming.registry import load_file

        for path in plugins:
            load_file(path, where=f"--plugin {path}")


PLAIN = {
    **dict.fromkeys("–—−─", "-"), "│": "|", "├": "|", "└": "`", "…": "...", "±": "+/-", "²": "^2", "·": "*", "→": "->",
    "≤": "<=", "≠": "!=", "∞": "inf", **dict.fromkeys("\u00a0\u202f\u2009", " "),
}  # fmt: skip


def spell(error: UnicodeError) -> tuple[str, int]:
    """Return what stands for a part of a text that an encoding lacks: dashes and lines as ASCII, the rest as escapes.

    A handler of errors for :mod:`codecs`.
    """
    if not isinstance(error, UnicodeEncodeError):
        raise error
    part = error.object[error.start : error.end]
    return "".join(PLAIN.get(one) or one.encode("ascii", "backslashreplace").decode() for one in part), error.end


def never_fail_to_encode() -> None:
    """Let standard output and standard error print every text, whatever their encoding."""
    codecs.register_error("recassay", spell)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="recassay")


def words() -> list[str]:
    """Return the words of the command line; while a shell completes a word, those that have been typed so far."""
    typed = os.environ.get("COMP_WORDS", os.environ.get("_TYPER_COMPLETE_ARGS", ""))
    return typed.split() if "_RECASSAY_COMPLETE" in os.environ else sys.argv


def note_compilation() -> None:
    """Say that kernels are compiled, because this run then takes some seconds longer."""
    kept = f", kept in {os.environ['NUMBA_CACHE_DIR']}" if "NUMBA_CACHE_DIR" in os.environ else ""
    typer.echo(f"Compiling kernels for this machine{kept}; this happens once after installation.", err=True)


def main() -> None:
    """Run the command line; errors of the user are printed with their code and exit with their status."""
    # Nearly all objects live to the end of the process. Looking for garbage after every 700 new ones would cost a sixth
    # of scoring a small file, and looking through all of them at exit a quarter.
    gc.set_threshold(200_000)
    atexit.register(gc.freeze)
    # An idle thread of OpenBLAS looks for work in a loop of 2**28 clock ticks before it sleeps, from NumPy's import on:
    # a sixth of scoring a small file. After 2**20 it is still awake for the next of several products.
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "20")
    warnings.formatwarning = lambda message, *_: f"note: {message}\n"
    never_fail_to_encode()
    silent = {"-q", "--quiet", "--json"} & set(words())
    _kernel_cache.announce = object if silent else functools.cache(note_compilation)
    try:
        try:
            # the program name is stated because completion would not find it in `python -m recassay`
            build_app([name for name in COMMANDS if name in words()] or COMMANDS)(prog_name="recassay")
        finally:
            sys.stdout.flush()  # here, where an error can still be reported
    except SystemExit as stop:
        if isinstance(stop.__context__, BrokenPipeError):  # click and rich end with 1 if a pipe is closed
            sys.exit(0)
        raise
    except RecassayError as error:
        _fail(error)
    except BrokenPipeError:  # the reader of the output has closed the pipe, as `| head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what Python flushes at its end
        sys.exit(0)
    except OSError as error:
        from recassay.data.io.write import is_full, unwritten

        if not is_full(error):
            if error.filename is None and not names_no_file(error):
                _report_bug()
            _fail(unusable_file(error))
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        _fail(unwritten(error, error.filename or "standard output"))
    except MemoryError as error:
        _fail(out_of_memory(error))
    except KeyboardInterrupt:
        typer.echo("Stopped. No incomplete file was left behind.", err=True)
        sys.exit(130)
    except Exception:
        _report_bug()


def _fail(error: RecassayError) -> NoReturn:
    """Print an error to standard error, and exit with its status."""
    typer.echo(error.for_shell(), err=True)
    sys.exit(error.exit_code)


def _report_bug() -> NoReturn:

    typer.echo(printable(masked(traceback.format_exc()), keep="\n"), err=True)
    typer.echo("This is a bug in recassay. Please report it with the lines above.", err=True)
    sys.exit(3)
