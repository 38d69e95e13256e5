"""``recassay fit`` and ``recassay recommend``: fit a model on a fold or a log, and write what it recommends."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recassay.cli import _common, _options, _runs
from recassay.errors import UsageError, printable
from recassay.naming.grammar import Expression

if TYPE_CHECKING:
    from recassay.data.sequences import SequenceFold, Sequences

SUFFIX = ".npz"  # of files with fitted models

Source = Annotated[
    str, typer.Argument(metavar="FOLD", help="Folder of a fold, as recassay split writes it, or a log file.")
]
Items = Annotated[
    str | None,
    typer.Option("--items", metavar="FILE", help="Item features, for models that use them, and for seeds."),
]


def fit(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help='Model, such as "ALS(factors=64)" or mine.py:MyModel(); see recassay list models.',
            autocompletion=_options.complete_models,
        ),
    ],
    fold: Source,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE", help="File to write; its name ends in .npz.")
    ],
    columns: _options.Columns = None,
    items: Items = None,
    quiet: _options.Quiet = False,  # noqa: ARG001  (main reads it)
) -> None:
    """Fit a model on the training log of a fold, or on a whole log, and write the fitted model to a file.

    Example: recassay fit "PureSVD(factors=20)" folds/0 -o svd.npz
    """
    from recassay.data.io.archive import NotStorableError, save_archive

    if output.suffix != SUFFIX:
        hint = f"use a name that ends in {SUFFIX}"
        raise UsageError("U111", f"a fitted model is not written to '{output.name}'", where="-o", hint=hint)
    described, fitted = _fitted(model, _fold(fold, columns, items))
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        save_archive(output, {"model": str(described), "fitted": fitted})
    except NotStorableError as error:
        hint = f"recassay recommend {model!r} {fold} -o RUN fits and recommends in one step"
        raise UsageError("U123", f"the fitted model cannot be stored: {error}", where=model, hint=hint) from None
    _common.say(f"{described} is in {output}")


def recommend(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help='Model, such as "ALS(factors=64)", or a file that recassay fit wrote.',
            autocompletion=_options.complete_models,
        ),
    ],
    fold: Source,
    output: Annotated[
        Path,
        typer.Option(
            "-o",
            "--output",
            metavar="RUN",
            help="Run file to write: .parquet, .csv, .tsv or .trec; its name names the system.",
        ),
    ],
    length: Annotated[int, typer.Option("-k", "--length", metavar="N", min=1, help="Items in a list.")] = 100,
    columns: _options.Columns = None,
    items: Items = None,
    seeds: Annotated[
        str | None,
        typer.Option(
            "--seeds",
            metavar="FILE",
            help="What a model of sequences continues: a table with item_id, or with a feature of --items, and perhaps "
            "user_id, timestamp.",
        ),
    ] = None,
    sequences: Annotated[
        str, typer.Option("--sequences", metavar="RULE", help="With --seeds: what the sequences of the log are.")
    ] = _options.RULE,
    how: Annotated[
        str, typer.Option("--how", metavar="HOW", help="Of sequences: sample, argmax, beam, sample_without_repeats.")
    ] = "sample",
    as_json: _options.AsJson = False,
    quiet: _options.Quiet = False,  # noqa: ARG001  (main reads it)
) -> None:
    """Recommend to the test users of a fold, or to all users of a log, and write the lists as a run file.

    A model by name is fitted first. Items that a user has in training are not recommended. In a fold of sequences, a
    model of sequences continues the first item of each test sequence. With --seeds it continues the given first items
    instead, each for its user and from its time.

    Example: recassay recommend "PureSVD(factors=20)" folds/0 -o folds/0/runs/svd.parquet
    """
    _runs.refuse_unwritable(output)
    import numpy as np

    from recassay.data.fold import known_users
    from recassay.data.sequences import SequenceFold
    from recassay.models.base.model import recommend as listed
    from recassay.models.base.registry import load_fitted
    from recassay.split.sequences import parse_rule

    made = _fold(fold, columns, None if seeds else items)
    if seeds is not None or isinstance(made, SequenceFold):
        sequenced = made if isinstance(made, SequenceFold) else parse_rule(sequences)(made.train)
        _continue_seeds(model, sequenced, output, seeds=seeds, items=items, length=length, how=how, as_json=as_json)
        return
    fitted = load_fitted(Path(model))[1] if model.endswith(SUFFIX) else _fitted(model, made)[1]
    users = made.test.user_vocabulary.decode(np.unique(made.test.users))
    run = listed(fitted, users, length, output.name.partition(".")[0])
    output.parent.mkdir(parents=True, exist_ok=True)
    _runs.write_run(run, output)
    counts = {"output": str(output), "users": len(users), "lists": run.queries.len(), "rows": int(run.items.size)}
    if as_json:
        _common.print_json(counts)
    else:
        typer.echo(printable(f"{run!r}\n  file   {output}", keep="\n"))
        if without := users.filter(~users.is_in(run.queries.implode())).len():
            untrained = int((~known_users(made.train, users)).sum())
            why = " without training events" if without == untrained else ""
            _common.say(f"no list for {without:,} of {users.len():,} users{why}")


def _fold(source: str, columns: str | None, items: str | None) -> Any:
    """Return the fold in a folder; a log file becomes a fold whose users are all recommended to.

    ``items`` is the file of item features, if there is one.
    """

    from recassay.data.fold import Fold
    from recassay.data.fold_files import read_fold
    from recassay.data.read import read_interactions, read_items
    from recassay.data.sequences import SequenceFold

    if Path(source).is_dir():
        made: Any = read_fold(source)
    else:
        log = read_interactions(source, columns=columns)
        made = Fold(log, log, "global", {"split": "none"})
    return made if items is None or isinstance(made, SequenceFold) else replace(made, items=read_items(items))


def _fitted(text: str, fold: Any) -> tuple[Any, Any]:
    from recassay.models.base.capabilities import fitted_on_fold
    from recassay.models.base.registry import parse

    model = parse(text)
    return model, fitted_on_fold(model, fold)


def _continue_seeds(
    model: str,
    sequences: "Sequences | SequenceFold",
    output: Path,
    *,
    seeds: str | None,
    items: str | None,
    length: int,
    how: str,
    as_json: bool,
) -> None:
    """Fit a model on sequences, generate continuations of first items, and write them to ``output``.

    ``seeds`` is the file of first items, with columns item_id and optionally user_id and timestamp, or with columns of
    ``items``, the file of features. By default they are those of the test sequences of a fold. Each continuation has
    ``length`` items, generated ``how`` the protocol ``sequence`` says, such as ``sample``. Counts are printed, as JSON
    if ``as_json``.
    """
    from recassay.checks.base import format_count
    from recassay.engine.sequences.generate import generate
    from recassay.models.sequence import parse_any
    from recassay.protocols import parse as parse_protocol

    if output.suffix == _runs.TREC:
        hint = "use a name that ends in .parquet, .csv or .tsv"
        raise UsageError("U111", "a TREC file has no columns for generated sequences", where="-o", hint=hint)
    protocol = parse_protocol(str(Expression("sequence", {"k": length, "how": how})))
    name = output.name.partition(".")[0]
    begun = None if seeds is None else Path(seeds)
    (made,) = generate(parse_any(model), sequences, protocol, seeds=begun, items=items, name=name)
    frame = made.frame()
    output.parent.mkdir(parents=True, exist_ok=True)
    _runs.write_table(frame, output)
    counts = {"output": str(output), "seeds": len(made), "rows": frame.height}
    if as_json:
        _common.print_json(counts)
    else:
        sizes = f"{format_count(len(made), 'seed')}, {format_count(frame.height, 'item')}"
        _common.say(printable(f"{sizes}\n  file   {output}", keep="\n"))
