"""Sequences and other data as users pass them, checked against the fold and made ready for metrics.

Beside generated sequences, they are item features, item similarities, and a primitive recommender (which gives obvious
items).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from recassay.arrays import Int32
from recassay.columnar.vocabulary import rows_in_table
from recassay.data.fold_files import read_generated
from recassay.data.generated import Generated, why_no_items
from recassay.data.nouns import wrong_noun
from recassay.data.read import Columns, TableSource, read_items
from recassay.data.sequences import SequenceFold
from recassay.engine.sequences.generate import generate
from recassay.errors import InputError, UsageError
from recassay.metrics.sequence.base import SequenceContext, SequenceMetric
from recassay.models.base.capabilities import CanFit, NextProbabilities
from recassay.models.sequence import parse as parse_model
from recassay.protocols.ranking import Sequence as SequenceProtocol

Runs = Generated | Iterable[Generated]  # of one system, with one or several seeds
Systems = Generated | Iterable[Runs] | Mapping[str, Runs | TableSource]
GIVEN = "given"  # parameter value of a metric that uses an argument of the call
PRIMITIVE = "primitive"
# by argument of the call: a metric that uses it, and the parameter of metrics with the value that says so
USED_BY = {
    "items": ("seq_diversity", "similarity", "features"),
    "similarities": ("seq_diversity", "similarity", GIVEN),
    PRIMITIVE: ("seq_serendipity", PRIMITIVE, GIVEN),
}


@dataclass(frozen=True, eq=False)
class GivenData:
    """Data that a user passed beside generated sequences, not parsed yet.

    ``items`` are item features. ``similarities`` are a matrix over the items of the fold by ascending id, or a table of
    pairs. ``primitive`` gives the obvious items: a list of ids, the most obvious first, a recommender, or the sequences
    that a recommender generated. ``columns`` names the columns of ``items``.
    """

    items: Any = None
    similarities: Any = None
    primitive: Any = None
    columns: Columns = None

    def used_by(self, metrics: Mapping[str, SequenceMetric]) -> GivenData:
        """Return a copy without the data (features, similarities, obvious items) that none of the metrics reads."""
        return dataclasses.replace(self, **{name: None for name in USED_BY if not _is_used(name, metrics)})

    def context(
        self, fold: SequenceFold, metrics: Mapping[str, SequenceMetric], *, threads: int | None
    ) -> SequenceContext:
        """Return the data as metrics read them: features read from files, and obvious items as codes of the ``fold``.

        Raise U231 for data that none of the ``metrics`` reads.
        """
        for name in USED_BY:
            if getattr(self, name) is not None and not _is_used(name, metrics):
                raise _unused_data_error(name, metrics)
        features = None if self.items is None else read_items(self.items, columns=self.columns)
        primitive = None
        if self.primitive is not None:
            users = [metric for metric in metrics.values() if getattr(metric, PRIMITIVE, "") == GIVEN]
            length = max(getattr(metric, "k_p", None) or metric.depth for metric in users)
            primitive = primitive_items(self.primitive, fold, length, threads=threads)
        return SequenceContext(fold, features, self.similarities, primitive, threads)


def primitive_items(primitive: Any, fold: SequenceFold, length: int, *, threads: int | None = None) -> Int32:
    """Return the obvious items: one list for everyone (k), or a list for each test sequence (n, k); -1 for no item.

    ``primitive`` is what ``GivenData`` has. A recommender generates ``length`` items from the first item of each test
    sequence, as :func:`generate` does.
    """
    if isinstance(primitive, str):
        primitive = parse_model(primitive)
    if isinstance(primitive, tuple) and primitive and all(isinstance(one, Generated) for one in primitive):
        if len(primitive) > 1:
            raise _unusable(f"there are {len(primitive)} of them: sequences of one seed are needed")
        primitive = primitive[0]
    if isinstance(primitive, CanFit | NextProbabilities):
        (primitive,) = generate(primitive, fold, SequenceProtocol(k=length), name=PRIMITIVE, threads=threads)
    if isinstance(primitive, Generated):
        ((generated,),) = generated_by_system(fold, {PRIMITIVE: primitive}).values()
        if generated.k < length:
            raise _unusable(f"its sequences have {generated.k} items, but a metric needs {length}")
        return generated.items
    if isinstance(primitive, Sequence | np.ndarray | pl.Series) and not isinstance(primitive, bytes):
        return _item_codes(list(primitive), fold)
    raise _unusable(f"a {type(primitive).__name__} is neither a list of ids nor a recommender")


def _item_codes(ids: list[Any], fold: SequenceFold) -> Int32:
    """Return the item codes of ids given by the user; -1 for an item that is in no sequence."""
    known = fold.train.item_vocabulary.stored_ids
    if not ids:
        raise _unusable("the list is empty")
    if strange := [one for one in ids if not isinstance(one, str | int | np.integer)]:
        raise _unusable(f"its entries are not ids: one is {strange[0]!r}")
    codes = rows_in_table(pl.Series(ids), known).astype(np.int32)
    if not (codes >= 0).any():
        ours, theirs = (", ".join(map(repr, some)) for some in (ids[:3], known.head(3)))
        raise InputError(
            "I363",
            f"no item of the primitive list (such as {ours}) is in the sequences (such as {theirs})",
            hint="give ids as they are in the log",
        )
    return codes


def _unusable(why: str) -> InputError:
    return InputError(
        "I363",
        f"the primitive recommender cannot be used: {why}",
        hint="give a list of item ids, most obvious first; a sequence model; or what ra.sequences.generate returned",
    )


def _is_used(name: str, metrics: Mapping[str, SequenceMetric]) -> bool:
    _, parameter, value = USED_BY[name]
    return any(getattr(metric, parameter, "") == value for metric in metrics.values())


def _unused_data_error(name: str, chosen: Mapping[str, SequenceMetric]) -> UsageError:
    """Return the error for data that were given, by their ``name``, and that no chosen metric uses."""
    metric, parameter, value = USED_BY[name]
    near = [heading for heading, one in chosen.items() if hasattr(one, parameter)]
    what = f"{name}= was given, but no metric uses it"
    if near:
        what += f": {near[0]} takes {parameter}={getattr(chosen[near[0]], parameter)!r}"
    cut = chosen[near[0]].k if near else max((one.k or 0 for one in chosen.values()), default=0) or 5
    return UsageError("U231", what, where=", ".join(chosen), hint=f"{metric}({parameter}='{value}')@{cut}")


def generated_by_system(fold: SequenceFold, generated: Systems) -> dict[str, list[Generated]]:
    """Return the generated sequences of each system, one result per seed.

    Raise U124 if the arguments are not a fold of sequences and generated ones, I361 if these do not fit the fold.
    """
    require_sequence_fold(fold)
    by_system: dict[str, list[Generated]] = {}
    for name, run in _systems_with_names(generated, fold):
        runs = by_system.setdefault(name, [])
        if run.seed in {other.seed for other in runs}:
            raise UsageError(
                "U109",
                f"'{name}' generated twice with seed {run.seed}",
                hint="name the systems in a dict of name to generated sequences",
            )
        runs.append(_checked_sequences(fold, name, run))
    if not by_system:
        raise InputError(
            "I361",
            f"there are no generated sequences for the {len(fold.test):,} test sequences",
            hint="such as ra.sequences.score_sequences(fold, [generated, ...])",
        )
    return by_system


def require_sequence_fold(fold: object) -> None:
    """Raise U124 unless a value is a fold of sequences."""
    if not isinstance(fold, SequenceFold):
        raise wrong_noun(fold, "fold of sequences")


def _systems_with_names(generated: Systems, fold: SequenceFold) -> Iterator[tuple[str, Generated]]:
    """Yield (system's name, its generated sequences) for each system in ``generated``, a dict by name or a list.

    Sequences in a file or table are read, against the test sequences of ``fold``. Raise U124 for anything else.
    """
    if isinstance(generated, Mapping):
        named: Iterable[tuple[str | None, Any]] = generated.items()
    else:
        named = (
            (None, runs) for runs in ([generated] if isinstance(generated, Generated) else _checked_iterable(generated))
        )
    for name, runs in named:
        is_table = isinstance(runs, str | Path) or hasattr(runs, "columns")
        read = read_generated(runs, name, fold) if is_table and name is not None else runs
        for run in [read] if isinstance(read, Generated) else _checked_iterable(read):
            if not isinstance(run, Generated):
                raise wrong_noun(run, "generated sequences")
            yield run.name if name is None else name, run


def _checked_iterable(values: Iterable[Any]) -> Iterable[Any]:
    """Return the values; raise U124 if they are a text, or not iterable."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise wrong_noun(values, "generated sequences")
    return values


def _checked_sequences(fold: SequenceFold, name: str, run: Generated) -> Generated:
    """Return the generated sequences of a system, renamed ``name``, after a check of every number against the fold."""
    items, n = np.asarray(run.items), len(fold.test)
    why = why_no_items(items, (n, max([1, *items.shape[1:2]])), fold.n_items)
    if not why and (run.chances.shape != items.shape or run.surprise.shape != (n,)):
        why = f"items, chances and surprise have the shapes {items.shape}, {run.chances.shape}, {run.surprise.shape}"
    elif not why and ((run.chances < 0).any() or (run.chances > 1).any() or (run.surprise < 0).any()):
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
