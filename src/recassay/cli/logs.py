"""``recassay split`` and ``recassay stats``: a log divided into folds as files, and its statistics."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recassay.cli import _common, _options
from recassay.errors import UsageError, printable

if TYPE_CHECKING:
    from recassay.data.fold import Fold
    from recassay.data.interactions import Interactions
    from recassay.data.sequences import SequenceFold

DEFAULT_SPLIT = "random(test=0.2)"


def split(
    log: _options.Log,
    output: Annotated[
        Path,
        typer.Option(
            "-o", "--output", metavar="FOLDER", help="Folder to write; every fold gets a numbered folder in it."
        ),
    ],
    by: Annotated[
        str,
        typer.Option(
            "--split",
            metavar="SPLIT",
            help="How to divide: last(n=1), global_time(quantile=0.8), latest_sequences(test=0.2), ...; see recassay "
            "list splits and recassay list sequences.",
            autocompletion=_options.complete_splits,
        ),
    ] = DEFAULT_SPLIT,
    sequences: Annotated[
        str | None,
        typer.Option(
            "--sequences",
            metavar="RULE",
            help="With a split of sequences: what they are, such as sessions(gap=3600).  [default: ready_made]",
        ),
    ] = None,
    filters: Annotated[
        list[str] | None,
        typer.Option(
            "--filter",
            metavar="FILTER",
            help="Filter the log first, such as core(users=5, items=5); may be repeated.",
            autocompletion=_options.complete_splits,
        ),
    ] = None,
    items: Annotated[
        str | None, typer.Option("--items", metavar="FILE", help="Item features, for the filter featured.")
    ] = None,
    columns: _options.Columns = None,
    input_format: _options.InputFormat = None,
    times: _options.Times = None,
    as_json: _options.AsJson = False,
) -> None:
    """Divide a log into training logs and truths, as files that every program reads.

    With a split of sequences, they are training sequences, the first events of test sequences (seeds), and the truth.

    Example: recassay split ratings.csv -o folds --split "last(n=1)"
    """
    from recassay.data.fold_files import write_folds
    from recassay.data.read import read_interactions, read_items
    from recassay.data.sequences import SequenceFold
    from recassay.split import filters as known_filters

    divide = _splitter(by, sequences)
    made = read_interactions(log, columns=columns, format=input_format, times=times)
    _common.say_remarks(made)
    if filters:
        made = known_filters.apply(made, filters, None if items is None else read_items(items)).log
    folds: tuple[Fold | SequenceFold, ...] = divide(made)
    folders = write_folds(folds, output)
    if as_json:
        _common.print_json({"folds": [_described(*one) for one in zip(folds, folders, strict=True)]})
        return
    for fold, folder in zip(folds, folders, strict=True):
        typer.echo(printable(f"{folder}: {fold!r}".replace(f"fold {fold.number} of ", ""), keep="\n"))
    first = folders[0]
    model, answers, file = ("Popular", "lists", "a run file")
    if isinstance(folds[0], SequenceFold):
        model, answers, file = ("NGram", "sequences", "a file of them")
    typer.echo(
        f"\nFit a model and score its {answers}, or let another program write {file}:\n\n"
        f"recassay recommend {model} {first} -o {first / 'runs' / f'{model.lower()}.parquet'}\n"
        f"recassay score {first} {first / 'runs'}"
    )


def _splitter(text: str, rule: str | None) -> "Callable[[Interactions], tuple[Fold | SequenceFold, ...]]":
    """Return a function from a log to its folds; ``rule`` makes the sequences that a split of sequences divides."""
    from recassay.naming.grammar import parse as parse_expression
    from recassay.split import parse
    from recassay.split import sequences as of_sequences

    if parse_expression(text).name not in of_sequences.REGISTRY.kinds:
        if rule is not None:
            what, hint = f"{text} divides events, not sequences", "such as --split 'latest_sequences(test=0.2)'"
            raise UsageError("U102", what, where=f"--sequences {rule}", hint=hint)
        return lambda log: tuple(parse(text)(log))
    split, sequencer = of_sequences.parse_split(text), of_sequences.parse_rule(rule or _options.RULE)

    def divide(log: "Interactions") -> "tuple[SequenceFold, ...]":
        made = sequencer(log)
        return tuple(
            replace(one, how={**one.how, "sequences": str(sequencer)}, removed={**made.removed, **one.removed})
            for one in split(made)
        )

    return divide


def _described(fold: "Fold | SequenceFold", folder: Path) -> dict[str, Any]:
    parts = {"train": fold.train, "validation": getattr(fold, "validation", None), "test": fold.test}
    sizes = {name: len(part) for name, part in parts.items() if part is not None}
    return {"folder": str(folder), "number": fold.number, **sizes, "leakage": fold.leakage, "how": dict(fold.how)}


def stats(
    log: _options.Log,
    columns: _options.Columns = None,
    input_format: _options.InputFormat = None,
    times: _options.Times = None,
    sequences: Annotated[
        str | None,
        typer.Option(
            "--sequences", metavar="RULE", help="Also describe the sequences that a rule makes: sessions(gap=28800)."
        ),
    ] = None,
    as_json: _options.AsJson = False,
) -> None:
    """Print statistics of a log: counts, density, concentration, time range, duplicates, sequences.

    Example: recassay stats ratings.csv --columns user=uid,item=iid
    """
    from recassay.data.read import read_interactions
    from recassay.data.stats import stats as compute

    read = read_interactions(log, columns=columns, format=input_format, times=times)
    _common.say_remarks(read)
    result = compute(read)
    if sequences is not None:
        from recassay.data.stats import sequence_stats
        from recassay.split.sequences import parse_rule

        result = replace(result, sequences=sequence_stats(parse_rule(sequences)(read)))
    from recassay.report.tables.summaries import stats_table

    _common.show(as_json, result.to_dict, lambda: stats_table(result))
