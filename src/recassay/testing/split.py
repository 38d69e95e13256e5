"""Check a split of your own."""

from __future__ import annotations

import pickle
from typing import get_args

import polars as pl

from recassay.data.fold import Fold, Leakage
from recassay.data.interactions import Interactions
from recassay.errors import RecassayError
from recassay.split import Split, parse
from recassay.testing.promise import require
from recassay.testing.world import log_of_world

Parts = tuple[pl.DataFrame, ...]


def check_split(split: Split) -> None:
    """Raise AssertionError, with the reason, unless a split meets the requirements of all splits.

    Its name must parse back to an equal split, and it must survive pickling. Each fold must say what it leaks. No row
    may be invented or be in two parts of a fold, and rows in no part must be counted by reason. Neither the order of
    rows nor a second call may change the folds.
    """
    name, log = str(split), log_of_world()
    try:
        again = parse(name)
    except RecassayError as error:
        raise AssertionError(f"{name} does not read back: {error}") from error
    require(again == split, f"{name} reads back as {again!r}")
    require(_copied(split) == split, f"{name} is another split after pickling")
    require(split.leakage in get_args(Leakage), f"{name} must state its leakage as one of {get_args(Leakage)}")
    folds = split(log)
    for fold in folds:
        _check_parts(name, fold, log)
    shuffled = Interactions.from_frame(log.frame().sample(fraction=1.0, shuffle=True, seed=1))
    _check_same(folds, split(log), f"calling {name} again changes its folds")
    _check_same(folds, split(shuffled), f"the order of rows changes the folds of {name}")


def _copied(split: Split) -> Split:
    try:
        found: Split = pickle.loads(pickle.dumps(split))
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise AssertionError(f"{split} cannot be pickled, as tasks of a cluster need it: {error}") from error
    return found


def _check_parts(name: str, fold: Fold, log: Interactions) -> None:
    parts = [set(part.rows()) for part in _parts(fold)]
    for one in range(len(parts)):
        for other in range(one):
            both = parts[one] & parts[other]
            require(not both, f"{name} has {len(both)} rows in two parts of a fold, {next(iter(both), '')} for example")
    every = set(log.frame().rows())
    strange = set().union(*parts) - every
    require(not strange, f"{name} makes {len(strange)} rows that are not in the log")
    kept, removed = sum(map(len, parts)), sum(fold.removed.values())
    what = f"{name}: {kept} rows in the parts and {removed} counted as removed, of {len(log)}"
    require(kept + removed == len(log), what)
    require(bool(len(fold.test)) and bool(len(fold.train)), f"{name} makes a fold with an empty part")


def _check_same(folds: tuple[Fold, ...], others: tuple[Fold, ...], otherwise: str) -> None:
    same = len(folds) == len(others) and all(
        a.equals(b)
        for one, other in zip(folds, others, strict=True)
        for a, b in zip(_sorted(one), _sorted(other), strict=True)
    )
    require(same, otherwise)


def _parts(fold: Fold) -> Parts:
    parts = (fold.train, fold.test, *([fold.validation] if fold.validation is not None else []))
    return tuple(part.frame() for part in parts)


def _sorted(fold: Fold) -> Parts:
    return tuple(part.sort(part.columns) for part in _parts(fold))
