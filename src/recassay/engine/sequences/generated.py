"""Generated sequences as users pass them: grouped by system, checked against the fold, and in arrays for metrics."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from recassay.data.fold_files import read_generated
from recassay.data.generated import NOTHING, Generated
from recassay.data.nouns import wrong_noun
from recassay.data.read import TableSource
from recassay.data.sequences import SequenceFold
from recassay.errors import InputError, UsageError

Runs = Generated | Iterable[Generated]  # of one system, with one or several seeds
Systems = Generated | Iterable[Runs] | Mapping[str, Runs | TableSource]


def generated_by_system(fold: SequenceFold, generated: Systems) -> dict[str, list[Generated]]:
    """Return the generated sequences of each system, one result per seed.

    Raise U124 if the arguments are not a fold of sequences and generated ones, I361 if these do not fit the fold.
    """
    require_sequence_fold(fold)
    found: dict[str, list[Generated]] = {}
    for name, run in _named(generated, fold):
        runs = found.setdefault(name, [])
        if run.seed in {other.seed for other in runs}:
            what = f"'{name}' generated twice with seed {run.seed}"
            raise UsageError("U109", what, hint="name the systems in a dict of name to generated sequences")
        runs.append(_checked(fold, name, run))
    if not found:
        what = f"there are no generated sequences for the {len(fold.test):,} test sequences"
        raise InputError("I361", what, hint="such as ra.sequences.score_sequences(fold, [generated, ...])")
    return found


def require_sequence_fold(fold: object) -> None:
    """Raise U124 unless a value is a fold of sequences."""
    if not isinstance(fold, SequenceFold):
        raise wrong_noun(fold, "fold of sequences")


def _named(generated: Systems, fold: SequenceFold) -> Iterator[tuple[str, Generated]]:
    if isinstance(generated, Mapping):
        for name, runs in generated.items():
            is_table = isinstance(runs, str | Path) or hasattr(runs, "columns")
            yield from ((name, run) for run in _as_runs(read_generated(runs, name, fold) if is_table else runs))
    else:
        for runs in [generated] if isinstance(generated, Generated) else _iterated(generated):
            yield from ((run.name, run) for run in _as_runs(runs))


def _as_runs(runs: Any) -> Iterator[Generated]:
    for run in [runs] if isinstance(runs, Generated) else _iterated(runs):
        if not isinstance(run, Generated):
            raise wrong_noun(run, "generated sequences")
        yield run


def _iterated(values: Iterable[Any]) -> Iterable[Any]:
    """Return the values; raise U124 if they are a text, or nothing that has several values."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise wrong_noun(values, "generated sequences")
    return values


def _checked(fold: SequenceFold, name: str, run: Generated) -> Generated:
    """Return generated sequences under a name, in arrays that kernels can read, after a check of every number."""
    items, n = np.asarray(run.items), len(fold.test)
    why = ""
    if items.ndim != 2 or items.shape[0] != n or not items.shape[1]:
        why = f"its items have the shape {items.shape}, but there are {n:,} test sequences"
    elif run.chances.shape != items.shape or run.surprise.shape != (n,):
        why = f"items, chances and surprise have the shapes {items.shape}, {run.chances.shape}, {run.surprise.shape}"
    elif items.dtype.kind not in "iu" or items.min() < NOTHING or items.max() >= fold.n_items:
        why = f"an item code is not among the {fold.n_items:,} of the fold"
    elif ((items[:, :-1] == NOTHING) & (items[:, 1:] != NOTHING)).any():
        why = "an item follows the end of a list"
    elif (run.chances < 0).any() or (run.chances > 1).any() or (run.surprise < 0).any():
        why = "a chance is not between 0 and 1, or a surprise is negative"
    if why:
        raise InputError(
            "I361", f"the generated sequences of '{name}' do not fit the fold: {why}",
            hint="give one row per sequence of fold.test, in its order, with item codes of the fold",
        )  # fmt: skip
    return dataclasses.replace(
        run,
        name=name,
        items=np.ascontiguousarray(items, np.int32),
        chances=np.ascontiguousarray(run.chances, np.float64),
        surprise=np.ascontiguousarray(run.surprise, np.float64),
    )
