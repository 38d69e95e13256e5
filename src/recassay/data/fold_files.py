"""Folds as files: a folder with ``train.parquet``, ``truth.parquet`` and ``fold.json``, for programs of any language.

Every fold has a folder of its own, named by its number. The truth has the ratings of the test part as gains.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from recassay.data.fold import Fold
from recassay.data.interactions import Interactions
from recassay.data.io import make_folder, read_table, write_json, write_parquet
from recassay.data.read import read_interactions, read_truth
from recassay.data.sequence_files import is_sequence_fold, read_sequence_fold, write_sequence_fold
from recassay.data.sequences import SequenceFold
from recassay.errors import InputError
from recassay.naming.arguments import checks_types

TRAIN, TRUTH, VALIDATION, ABOUT = "train.parquet", "truth.parquet", "validation.parquet", "fold.json"


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
        return {"dataset": path.stem}
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
