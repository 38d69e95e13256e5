"""The command line: ``recassay score|run|compare|report|demo|stats|correct|rerank|list|explain``.

This package imports nothing heavy, so that help and mistakes answer at once; each command imports what it needs.
"""

from __future__ import annotations

import sys
import traceback

import typer

from recassay.cli import check, compare, correct, demo, explain, report, rerank, run, score, stats
from recassay.errors import RecassayError

app = typer.Typer(
    name="recassay",
    help="Judge recommender systems honestly: exact metrics, named conventions, uncertainty and caveats.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("demo")(demo.demo)
app.command("score")(score.score)
app.command("run")(run.run)
app.command("compare")(compare.compare)
app.command("check")(check.check)
app.command("report")(report.report)
app.command("stats")(stats.stats)
app.command("correct")(correct.correct)
app.command("rerank")(rerank.rerank)
app.command("list")(explain.list_names)
app.command("explain")(explain.explain)


def _version(asked: bool) -> None:
    if asked:
        from recassay._version import __version__

        typer.echo(f"recassay {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: bool = typer.Option(
        False, "--version", help="Print the version and stop.", callback=_version, is_eager=True
    ),
) -> None:
    """Judge recommender systems honestly: exact metrics, named conventions, uncertainty and caveats."""
    del version


def main() -> None:
    """Run the command line; mistakes of the user end with their code on standard error and exit status 2."""
    try:
        app()
    except RecassayError as error:
        typer.echo(str(error), err=True)
        sys.exit(error.exit_code)
    except BrokenPipeError:  # the reader of our output went away, as `| head` does
        sys.stderr.close()
        sys.exit(0)
    except KeyboardInterrupt:
        typer.echo("Stopped. Nothing half-written was left behind.", err=True)
        sys.exit(130)
    except Exception:
        traceback.print_exc()
        typer.echo("This is a mistake of recassay itself. Please report it with the lines above.", err=True)
        sys.exit(3)
