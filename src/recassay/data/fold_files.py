"""Folds as files: a folder with ``train.parquet``, ``truth.parquet`` and ``fold.json``, for programs of any language.

Every fold has a folder of its own, named by its number. The truth has the ratings of the test part as gains.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.columnar.layout import ranges
from recassay.columnar.vocabulary import Vocabulary, rows_in_table
from recassay.data.fold import Fold
from recassay.data.generated import NOTHING, Generated
from recassay.data.interactions import Interactions
from recassay.data.io import make_folder, write_json, write_parquet
from recassay.data.io.columns import ITEM, POSITION, PROBABILITY, SEQUENCE, SURPRISE
from recassay.data.io.lake import address_name, is_address
from recassay.data.io.read import read_table
from recassay.data.read import read_interactions, read_truth
from recassay.data.sequences import SequenceFold, Sequences
from recassay.errors import InputError
from recassay.naming.arguments import checks_types

TRAIN, VALIDATION, TRUTH = "train.parquet", "validation.parquet", "truth.parquet"
SEEDS, ITEMS, ABOUT = "seeds.parquet", "items.parquet", "fold.json"
ROLE = "sequences"


def write_sequence_fold(fold: SequenceFold, folder: Path) -> Path:
    """Write the parts of a fold, its items, and how it was made, to files in a folder; return the folder."""
    target, test = make_folder(folder), _rows(fold.test)
    write_parquet(_rows(fold.train), target / TRAIN)
    write_parquet(test.filter(pl.col(POSITION) == 0), target / SEEDS)
    write_parquet(test.filter(pl.col(POSITION) > 0), target / TRUTH)
    write_parquet(pl.DataFrame({ITEM: fold.train.item_vocabulary.ids}), target / ITEMS)
    about = {"times": fold.train.kind, "dates": fold.train.dates, "number": fold.number}
    write_json({**about, "how": dict(fold.how), "removed": dict(fold.removed)}, target / ABOUT)
    return target


def _rows(sequences: Sequences) -> pl.DataFrame:
    """Return a row per event, with its position in its sequence, from 0."""
    return sequences.frame().with_columns(pl.Series(POSITION, ranges(0, sequences.lengths)))


def is_sequence_fold(folder: str | Path) -> bool:
    """Return whether a folder holds a fold of sequences."""
    return all((Path(folder) / name).is_file() for name in (TRAIN, SEEDS, TRUTH))


def read_sequence_fold(folder: str | Path) -> SequenceFold:
    """Return the fold of sequences in a folder; raise I351 if its files contradict each other.

    >>> import tempfile
    >>> made = Sequences.from_frame(pl.DataFrame({"sequence_id": [1, 1, 1, 2, 2], "item_id": [*"babca"]}))
    >>> fold = SequenceFold(made.take(np.array([0])), made.take(np.array([1])), {"split": "by hand"})
    >>> with tempfile.TemporaryDirectory() as name:
    ...     again = read_sequence_fold(write_sequence_fold(fold, Path(name)))
    >>> again.fingerprint == fold.fingerprint, again.n_items
    (True, 3)
    """
    source = Path(folder)
    about: dict[str, Any] = json.loads((source / ABOUT).read_text("utf-8")) if (source / ABOUT).is_file() else {}
    train, seeds, truth = (read_table(source / name, ROLE) for name in (TRAIN, SEEDS, TRUTH))
    n_train, n_test = train[SEQUENCE].n_unique(), seeds.height
    numbers = pl.int_range(n_test, eager=True)
    if not all(part[SEQUENCE].unique().sort().cast(pl.Int64).equals(numbers) for part in (seeds, truth)):
        raise InputError(
            "I351",
            f"the {n_test:,} test sequences are not numbered 0 to {n_test - 1:,}, each with items in {TRUTH}",
            where=str(source),
            hint="recassay split LOG -o DIR --split SPLIT writes a fold",
        )
    parts = [train.with_columns(pl.col(SEQUENCE).rank("dense").cast(pl.Int64) - 1)]
    parts += [part.with_columns(pl.col(SEQUENCE).cast(pl.Int64) + n_train) for part in (seeds, truth)]
    whole = Sequences.from_frame(pl.concat(parts, how="diagonal_relaxed"), origin=str(source), kind=about.get("times"))
    if len(whole) != n_train + n_test:
        raise InputError(
            "I351",
            f"{n_train + n_test - len(whole):,} training sequences have a single row",
            where=str(source),
            hint="remove them: a sequence has two rows or more",
        )
    if (source / ITEMS).is_file():
        whole = _over_items(whole, read_table(source / ITEMS, "items")[ITEM])
    whole = replace(whole, dates=about.get("dates", False))
    of_train = np.arange(len(whole)) < n_train
    how = about.get("how", {"split": "given"})
    return SequenceFold(
        whole.take(of_train), whole.take(~of_train), how, about.get("removed", {}), about.get("number", 0)
    )


def _over_items(sequences: Sequences, ids: pl.Series) -> Sequences:
    """Return the sequences over a catalogue of items, some of which occur in none of them."""
    vocabulary, _ = Vocabulary.dense(ids)
    codes = _codes(sequences.item_vocabulary.decode(np.arange(sequences.n_items, dtype=np.int32)), vocabulary)
    if (codes < 0).any():
        raise InputError(
            "I351",
            f"{int((codes < 0).sum()):,} items of the sequences are not in {ITEMS}",
            where=sequences.origin,
            hint="it lists every item that may be generated",
        )
    return replace(sequences, items=codes[sequences.items], item_vocabulary=vocabulary)


def _codes(ids: pl.Series, vocabulary: Vocabulary) -> NDArray[np.int32]:
    return np.asarray(rows_in_table(ids, vocabulary.stored_ids), np.int32)


def read_generated(
    source: object,
    name: str,
    fold: SequenceFold,
    *,
    columns: str | Mapping[str, str] | None = None,
    format: str | None = None,
) -> Generated:
    """Return generated sequences from a table with a row per item: sequence_id, position, item_id.

    The number of a sequence is its position among the test sequences of the fold, from 0. Rows may be in any order,
    because positions order them. ``probability`` is optional. So is ``surprise``, the same in all rows of a sequence:
    the sum of -log2 P over the items of the true sequence. Sequences without a row are empty. Raise I361 for rows that
    do not fit the fold.

    >>> made = Sequences.from_frame(pl.DataFrame({"sequence_id": [1, 1, 1, 2, 2], "item_id": [*"babca"]}))
    >>> rows = {"sequence_id": [1, 0, 1], "position": [2, 1, 1], "item_id": [*"cba"]}
    >>> read_generated(rows, "mine", SequenceFold(made, made)).items.tolist()
    [[1, -1], [0, 2]]
    """
    frame, n = read_table(source, ROLE, columns=columns, format=format), len(fold.test)
    frame = frame.sort(SEQUENCE, POSITION)
    item_codes = _codes(frame[ITEM], fold.test.item_vocabulary)
    if misfit := _misfit(frame, item_codes, fold):
        raise InputError(
            "I361",
            f"the generated sequences of '{name}' do not fit the fold: {misfit[0]}",
            where=str(source) if isinstance(source, str | Path) else "",
            hint=misfit[1],
        )
    row = frame[SEQUENCE].to_numpy()
    place = ranges(0, np.bincount(row, minlength=n))
    shape = n, int(place.max()) + 1
    items, chances, surprise = np.full(shape, NOTHING, np.int32), np.full(shape, np.nan), np.full(n, np.nan)
    items[row, place] = item_codes
    if PROBABILITY in frame.columns:
        chances[row, place] = frame[PROBABILITY].to_numpy()
    if SURPRISE in frame.columns:
        surprise[row] = frame[SURPRISE].to_numpy()
    return Generated(name, items, chances, surprise, 0, begun=fold.test)


def _misfit(frame: pl.DataFrame, item_codes: NDArray[np.int32], fold: SequenceFold) -> tuple[str, str] | None:
    """Return why rows of generated items do not fit a fold, and what to do; None if they fit.

    ``item_codes`` are the codes of the items of the rows, -1 for one that the fold does not have.
    """
    numbers, n = frame[SEQUENCE], len(fold.test)
    outside = frame.filter(numbers.is_null() | ~numbers.is_between(0, n - 1))
    if outside.height:
        return (
            f"{outside.height:,} of {frame.height:,} rows have a sequence_id, such as {outside[SEQUENCE][0]}, that is "
            f"not among 0 to {n - 1:,}",
            "number the sequences as in seeds.parquet",
        )
    repeated = frame.filter(frame[POSITION].is_null() | frame.select(SEQUENCE, POSITION).is_duplicated())
    if repeated.height:
        return (
            f"sequence {repeated[SEQUENCE][0]} has a position that is missing or twice there",
            "number the generated items of a sequence 1, 2, 3, ...",
        )
    unknown, known = frame.filter(pl.Series(item_codes < 0)), fold.test.item_vocabulary.stored_ids
    if unknown.height:
        return (
            f"{unknown.height:,} of {frame.height:,} rows have an item that is in no sequence: {unknown[ITEM][0]!r}",
            f"generate items of items.parquet, with ids of the same type, such as {known[0]!r}",
        )
    if SURPRISE in frame.columns and frame.select(SEQUENCE, SURPRISE).n_unique() > numbers.n_unique():
        return "surprise differs between rows of one sequence", "it is a number of the whole true sequence"
    return None


def write_folds(folds: Iterable[Fold | SequenceFold], folder: str | Path) -> list[Path]:
    """Write every fold into a folder named by its number; return these folders."""
    return [write_fold(fold, Path(folder) / str(fold.number)) for fold in folds]


def write_fold(fold: Fold | SequenceFold, folder: Path) -> Path:
    """Write the parts of a fold, and how it was made, to files in a folder; return the folder."""
    if isinstance(fold, SequenceFold):
        return write_sequence_fold(fold, folder)
    target = make_folder(folder)
    write_parquet(fold.train.frame(), target / TRAIN)
    write_parquet(read_truth(fold).frame(), target / TRUTH)
    if fold.validation is not None:
        write_parquet(fold.validation.frame(), target / VALIDATION)
    log = {"log": Path(fold.train.origin).stem} if fold.train.origin else {}
    about = {**log, "leakage": fold.leakage, "times": fold.train.times, "rated": fold.test.ratings is not None}
    write_json({**about, "number": fold.number, "how": dict(fold.how), "removed": dict(fold.removed)}, target / ABOUT)
    return target


def identity_of(truth: str | Path) -> dict[str, str]:
    """Return the names of the data set and of the split of a truth file, from the file about its fold.

    Without such a file beside it, the data set has the name of the truth file, and the split is not known.
    """
    path = Path(truth)
    about = path.with_name(ABOUT)
    if path.name != TRUTH or not about.is_file():
        return {"dataset": address_name(str(truth)) if is_address(str(truth)) else path.stem}
    known = json.loads(about.read_text("utf-8"))
    split = known.get("how", {}).get("split")
    return {"dataset": known.get("log", path.stem), **({"split": split} if split else {})}


def no_fold_error(folder: Path) -> InputError:
    """Return the error for a folder that holds no fold itself."""
    held = folds_in(folder)
    hint = f"give one of its folds, such as {held[0]}" if held else "recassay split LOG -o DIR writes folds"
    return InputError("I109", f"{folder.name} has no {TRAIN} and {TRUTH}", where=str(folder), hint=hint)


def is_fold(folder: str | Path) -> bool:
    """Return whether a folder holds a fold: at least a training log and a truth."""
    return (Path(folder) / TRAIN).is_file() and (Path(folder) / TRUTH).is_file()


def folds_in(folder: str | Path) -> list[Path]:
    """Return the folders in a folder that hold a fold; none if it is no folder."""
    return sorted(path for path in Path(folder).iterdir() if is_fold(path)) if Path(folder).is_dir() else []


@checks_types
def read_fold(folder: str | Path) -> Fold | SequenceFold:
    """Return the fold stored in a folder, over the users and items of its files; raise I109 if there is none.

    A folder with ``seeds.parquet`` has a fold of sequences.

    >>> import tempfile
    >>> log = read_interactions([("ann", "x"), ("ann", "y"), ("bob", "y"), ("bob", "z")])
    >>> made = Fold(log.take(np.array([0, 2])), log.take(np.array([1, 3])), "global", {"split": "by hand"}, number=7)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     again = read_fold(write_folds([made], folder)[0])
    >>> again.number, again.train.frame().equals(made.train.frame()), again.test.frame().equals(made.test.frame())
    (7, True, True)
    """
    source = Path(folder)
    if not is_fold(source):
        raise no_fold_error(source)
    if is_sequence_fold(source):
        return read_sequence_fold(source)
    about: dict[str, Any] = json.loads((source / ABOUT).read_text("utf-8")) if (source / ABOUT).is_file() else {}
    train = read_interactions(source / TRAIN, times=about.get("times"))
    truth = read_table(source / TRUTH, "truth")
    rated = about.get("rated", train.ratings is not None)
    truth = truth.rename({"gain": "rating"}, strict=False) if rated else truth.select("user_id", "item_id")
    validation = [read_table(source / VALIDATION, "log")] if (source / VALIDATION).is_file() else []
    parts = [train.frame(), truth, *validation]
    sizes = np.cumsum([0, *(part.height for part in parts)])
    whole = Interactions.from_frame(pl.concat(parts, how="diagonal_relaxed"), origin=str(source), times=train.times)
    rows = [whole.take(np.arange(begin, end)) for begin, end in pairwise(sizes)]
    return Fold(
        rows[0],
        replace(rows[1], timestamps=None, times=None, ratings=rows[1].ratings if rated else None),
        about.get("leakage", "global"),
        about.get("how", {"split": "given"}),
        rows[2] if validation else None,
        about.get("removed", {}),
        about.get("number", 0),
    )
