"""Options that several commands share, and options that accept a fixed set of words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from recassay.cli import _completion
from recassay.errors import UsageError
from recassay.naming import choices
from recassay.naming.grammar import suggest

STATISTICS, OUTPUT = "Uncertainty", "Output"
COLUMNS = "KEY=COLUMN,..."
RULE = "ready_made"  # what sequences of a log are, unless another rule is named


def option(names: str, help_text: str, panel: str | None = None, **more: Any) -> Any:
    """Return a typer option; ``names`` such as "-o --output", ``panel`` the heading of the help it is shown under."""
    return typer.Option(*names.split(), help=help_text, rich_help_panel=panel, **more)


def choice(names: str, help_text: str, allowed: Any, panel: str | None = None, *, note: str = "", **more: Any) -> Any:
    """Return a typer option that accepts one of the ``allowed`` words; its help and its completion list them.

    Other words are refused with U107 and a suggestion, as the Python functions refuse them. A plain Enum would be
    refused by typer, without the code and the suggestion. ``note`` follows the words in the help.
    """
    words = allowed if isinstance(allowed, tuple) else choices.words(allowed)
    name = next(name for name in names.split() if name.startswith("--"))
    more = {"metavar": name.removeprefix("--").upper()} | more
    return option(
        names,
        f"{help_text}: {listed(words)}.{f'  {note}' if note else ''}",
        panel,
        parser=one_of(name, words),
        autocompletion=_completion.words(words),
        **more,
    )


def one_of(option_name: str, words: Sequence[str]) -> Callable[[str], str]:
    """Return a function that returns its argument if it is one of ``words``, and raises U107 otherwise.

    >>> one_of("--nan", ["error", "last"])("lats")
    Traceback (most recent call last):
    recassay.errors.UsageError: [U107] 'lats' is not known.
      Where: nan=...
      Try:   did you mean 'last'?
    """

    def parse(word: str) -> str:
        if word not in words:
            raise UsageError("U107", f"'{word}' is not known", where=option_name, hint=suggest(word, words))
        return word

    return parse


def listed(words: Sequence[str]) -> str:
    """Return words as a list in a sentence.

    >>> listed(["zero", "skip", "error"])
    'zero, skip or error'
    """
    return f"{', '.join(words[:-1])} or {words[-1]}" if len(words) > 1 else words[0]


Log = Annotated[str, typer.Argument(metavar="LOG", help="Log file: Parquet, CSV, MovieLens, RecBole, UIRT, ...")]
ResultFolder = Annotated[
    Path, typer.Argument(metavar="FOLDER", help="Folder written by recassay run, score -o or demo.")
]
Columns = Annotated[str | None, option("--columns", "Column names, such as user=uid,item=iid.", metavar=COLUMNS)]
InputFormat = Annotated[
    str | None, option("--format", "Format of the file, if it is not recognised.", metavar="FORMAT")
]
Times = Annotated[
    choices.TimeKind | None,
    choice(
        "--times",
        "Kind of the times",
        choices.TimeKind,
        note="global: an order of all events; user: an order within each user.",
        metavar="KIND",
    ),
]

Test = Annotated[choices.TestName, choice("--test", "Significance test", choices.TestName, STATISTICS)]
Correction = Annotated[
    choices.Correction,
    choice("--correction", "Correction for multiple tests", choices.Correction, STATISTICS, metavar="METHOD"),
]
Interval = Annotated[
    Literal[choices.IntervalMethod, "none"],
    choice(
        "--interval",
        "Confidence intervals",
        (*choices.words(choices.IntervalMethod), "none"),
        STATISTICS,
        metavar="METHOD",
    ),
]
Level = Annotated[float, option("--level", "Confidence level of intervals and tests.", STATISTICS, metavar="SHARE")]
Resamples = Annotated[int, option("--resamples", "Bootstrap resamples of an interval.", STATISTICS, metavar="N", min=1)]
Seed = Annotated[int, option("--seed", "Seed of all random numbers.", STATISTICS, metavar="N")]

Table = Annotated[str, choice("--table", "Format of the output", choices.TableFormat, OUTPUT, metavar="FORMAT")]
AsJson = Annotated[bool, option("--json", "Print one JSON document and nothing else.", OUTPUT)]
FailOn = Annotated[
    str | None,
    choice(
        "--fail-on",
        "Exit with status 1 if a finding has at least this severity",
        choices.Severity,
        OUTPUT,
        metavar="SEVERITY",
    ),
]
Threads = Annotated[
    int | None, option("--threads", "Number of threads; results do not depend on it.", OUTPUT, metavar="N", min=1)
]
Quiet = Annotated[bool, option("-q --quiet", "Show no progress.", OUTPUT)]
