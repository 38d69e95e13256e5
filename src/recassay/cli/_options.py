"""Options that several commands share, options that accept a fixed set of words, and completion of words in a shell."""

import json
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from recassay.errors import RecassayError, explanations
from recassay.naming import choices
from recassay.naming.grammar import require_known

STATISTICS, OUTPUT = "Uncertainty", "Output"
COLUMNS = "KEY=COLUMN,..."
SUMMARY = "summary.json"
Complete = Callable[[str], list[str]]
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
        autocompletion=complete_words(words),
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
    return lambda word: require_known(word, words, "U107", f"'{word}' is not known", where=option_name)


def listed(words: Sequence[str]) -> str:
    """Return words as a list in a sentence.

    >>> listed(["zero", "skip", "error"])
    'zero, skip or error'
    """
    return f"{', '.join(words[:-1])} or {words[-1]}" if len(words) > 1 else words[0]


# Completion in a shell: it starts a process each time, so a registry is imported where its names are asked for.
# Arguments before an option whose value is typed are in ``ctx.args``: the parser stops at the option.


def complete_words(known: Iterable[str]) -> Complete:
    """Return a function that takes the beginning of a word and returns the ``known`` words that begin with it."""
    known = list(known)
    return lambda incomplete: [word for word in known if word.startswith(incomplete)]


def complete_metrics(incomplete: str) -> list[str]:
    """Return the metrics that begin as typed; of several words in quotes the last one is completed.

    >>> complete_metrics("ndcg@10 rpr")
    ['ndcg@10 rprec']
    """
    from recassay.metrics.registry import METRICS

    done, blank, word = incomplete.rpartition(" ")
    names = (name if kind.cutoff == "none" else f"{name}@10" for name, kind in METRICS.kinds.items())
    return [f"{done}{blank}{name}" for name in names if name.startswith(word)]


def complete_named(*registries: str) -> Complete:
    """Return a function that completes the names in registries, which are imported when it is called.

    >>> complete_named("recassay.models:REGISTRY")("EA")
    ['EASE']
    """

    def complete(incomplete: str) -> list[str]:
        found = set[str]()
        for module, registry in (each.split(":") for each in registries):
            found |= getattr(import_module(module), registry).kinds.keys()
        return complete_words(sorted(found))(incomplete)

    return complete


complete_models = complete_named("recassay.models:REGISTRY")
complete_profiles = complete_named("recassay.profiles.base:PROFILES")
complete_splits = complete_named(
    "recassay.split:REGISTRY", "recassay.split.filters:REGISTRY", "recassay.split.sequences:REGISTRY"
)


def complete_everything(incomplete: str) -> list[str]:
    """Return the names and codes that ``recassay explain`` accepts and that begin with the text typed so far.

    These are metrics, models, splits, profiles and error codes.

    >>> complete_everything("U10")[:2]
    ['U101', 'U102']
    """
    known = [name.partition("@")[0] for name in complete_metrics(incomplete)]
    for complete in (complete_models, complete_splits, complete_profiles, complete_words(explanations())):
        known += complete(incomplete)
    return list(dict.fromkeys(known))


def complete_systems(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the names of the runs on the command line that begin with the text typed so far."""
    from recassay.data.io.sources import run_sources

    with suppress(RecassayError, OSError):
        return complete_words(dict(run_sources(ctx.params.get("runs") or ctx.args[1:])))(incomplete)
    return []


def complete_results(axis: str) -> Callable[[typer.Context, str], list[str]]:
    """Return a function that completes the values of one column in the folders of results on the command line.

    ``axis`` is the column: system, metric, dataset, split or design.
    """

    def complete(ctx: typer.Context, incomplete: str) -> list[str]:
        found = [str(row.get(axis)) for row in _rows(ctx.params.get("scores") or ctx.args)]
        return complete_words(dict.fromkeys(found))(incomplete)

    return complete


def _rows(folders: Iterable[str]) -> list[dict[str, Any]]:
    """Return the rows of the summaries of folders of results; folders that cannot be read are passed over."""
    rows: list[dict[str, Any]] = []
    for folder in folders:
        try:
            rows += json.loads((Path(folder) / SUMMARY).read_text(encoding="utf-8"))["rows"]
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return rows


# Options that several commands share.
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
TextOrMarkdown = Annotated[
    str, choice("--table", "Format of the output", ("text", "markdown"), OUTPUT, metavar="FORMAT")
]
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
