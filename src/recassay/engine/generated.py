"""Generated sequences as a person hands them in: by system, checked against the fold, ready for kernels."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from recassay.data.generated import NOTHING, Generated
from recassay.data.sequences import SequenceFold
from recassay.errors import InputError, UsageError

Runs = Generated | Iterable[Generated]  # of one system, with one seed or several
Systems = Generated | Iterable[Runs] | Mapping[str, Runs]


def by_system(fold: SequenceFold, generated: Systems) -> dict[str, list[Generated]]:
    """What each system generated, once per seed; I361 where it cannot have been generated for this fold."""
    found: dict[str, list[Generated]] = {}
    for name, made in _named(generated):
        runs = found.setdefault(name, [])
        if made.seed in {one.seed for one in runs}:
            what = f"'{name}' generated twice with seed {made.seed}"
            raise UsageError("U109", what, hint="give systems names of their own: a dict of name to generated")
        runs.append(_fitting(fold, name, made))
    if not found:
        what = f"nothing was generated for the {len(fold.test):,} test sequences"
        raise InputError("I361", what, hint="ra.score_sequences(fold, [generated, ...])")
    return found


def _named(generated: Systems) -> Iterator[tuple[str, Generated]]:
    if isinstance(generated, Mapping):
        for name, runs in generated.items():
            yield from ((name, made) for made in _each(runs))
    else:
        for runs in [generated] if isinstance(generated, Generated) else generated:
            yield from ((made.name, made) for made in _each(runs))


def _each(runs: Runs) -> Iterable[Generated]:
    return [runs] if isinstance(runs, Generated) else runs


def _fitting(fold: SequenceFold, name: str, made: Generated) -> Generated:
    """The same under its name, laid out as kernels read it, after a look at every number."""
    items, n = np.asarray(made.items), len(fold.test)
    why = ""
    if items.ndim != 2 or items.shape[0] != n or not items.shape[1]:
        why = f"it has the shape {items.shape}, and there are {n:,} test sequences"
    elif made.chances.shape != items.shape or made.surprise.shape != (n,):
        why = f"items, chances and surprise have the shapes {items.shape}, {made.chances.shape}, {made.surprise.shape}"
    elif items.dtype.kind not in "iu" or items.min() < NOTHING or items.max() >= fold.n_items:
        why = f"an item is none of the {fold.n_items:,} of the fold"
    elif ((items[:, :-1] == NOTHING) & (items[:, 1:] != NOTHING)).any():
        why = "an item follows where a list had ended"
    elif (made.chances < 0).any() or (made.chances > 1).any() or (made.surprise < 0).any():
        why = "a chance is not between 0 and 1, or a surprise is negative"
    if why:
        raise InputError(
            "I361", f"what '{name}' generated does not fit the fold: {why}",
            hint="one row for each sequence of fold.test, in its order, with items as codes of the fold",
        )  # fmt: skip
    return dataclasses.replace(
        made,
        name=name,
        items=np.ascontiguousarray(items, np.int32),
        chances=np.ascontiguousarray(made.chances, np.float64),
        surprise=np.ascontiguousarray(made.surprise, np.float64),
    )
