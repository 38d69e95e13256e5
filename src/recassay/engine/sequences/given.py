"""Data that users pass beside generated sequences, made ready for metrics.

They are item features, item similarities, and a primitive recommender (which gives obvious items).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.columnar.recoding import Recoding
from recassay.columnar.vocabulary import Vocabulary
from recassay.data.generated import Generated
from recassay.data.read import Columns, read_items
from recassay.data.sequences import SequenceFold
from recassay.engine.sequences.generate import generate
from recassay.engine.sequences.generated import generated_by_system
from recassay.errors import InputError, UsageError
from recassay.metrics.sequence.base import SequenceContext, SequenceMetric
from recassay.models.base.capabilities import CanFit, NextProbabilities
from recassay.models.sequence import parse as parse_model
from recassay.protocols.sequence import Sequence as SequenceProtocol

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

    ``items`` are features. ``similarities`` are a matrix over the items of the fold by ascending id, or a table of
    pairs. ``primitive`` gives the obvious items: a list of ids, the most obvious first, a recommender, or the sequences
    that one generated.
    """

    items: Any = None
    similarities: Any = None
    primitive: Any = None
    columns: Columns = None

    def used_by(self, metrics: Mapping[str, SequenceMetric]) -> GivenData:
        """Return the data without features, similarities or a primitive recommender that none of the metrics reads."""
        unused = {name: None for name in USED_BY if not _is_used(name, metrics)}
        return replace(self, **unused)

    def context(
        self, fold: SequenceFold, metrics: Mapping[str, SequenceMetric], *, threads: int | None
    ) -> SequenceContext:
        """Return the data in the form that metrics read; raise U231 for data that no metric uses."""
        _raise_if_unused(metrics, items=self.items, similarities=self.similarities, primitive=self.primitive)
        features = None if self.items is None else read_items(self.items, columns=self.columns)
        primitive = None
        if self.primitive is not None:
            primitive = primitive_items(self.primitive, fold, _length(metrics), threads=threads)
        return SequenceContext(fold, features, self.similarities, primitive, threads)


def primitive_items(
    primitive: Any, fold: SequenceFold, length: int, *, threads: int | None = None
) -> NDArray[np.int32]:
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
        return _codes(list(primitive), fold)
    raise _unusable(f"a {type(primitive).__name__} is neither a list of ids nor a recommender")


def _codes(ids: list[Any], fold: SequenceFold) -> NDArray[np.int32]:
    """Return the item codes of ids given by the user; -1 for an item that is in no sequence."""
    vocabulary = fold.train.item_vocabulary
    assert vocabulary.ids is not None, "ids of sequences are dense"
    theirs = vocabulary.ids.head(3).to_list()
    if not ids:
        raise _unusable("the list is empty")
    if not all(isinstance(one, str | int | np.integer) for one in ids):
        other = next(one for one in ids if not isinstance(one, str | int | np.integer))
        raise _unusable(f"its entries are not ids: one is {other!r}")
    given, codes = Vocabulary.dense(pl.Series(ids))
    items = Recoding.between(given, vocabulary.ids)(codes)
    if not (items >= 0).any():
        raise InputError(
            "I363",
            f"no item of the primitive list (such as {', '.join(map(repr, ids[:3]))}) is in the sequences "
            f"(such as {', '.join(map(repr, theirs))})",
            hint="give ids as they are in the log",
        )
    return items


def _unusable(why: str) -> InputError:
    return InputError(
        "I363",
        f"the primitive recommender cannot be used: {why}",
        hint="give a list of item ids, most obvious first; a sequence model; or what ra.sequences.generate returned",
    )


def _length(metrics: Mapping[str, SequenceMetric]) -> int:
    """Return how many obvious items per list the metrics read from the user's primitive recommender."""
    users = [metric for metric in metrics.values() if getattr(metric, PRIMITIVE, "") == GIVEN]
    return max(getattr(metric, "k_p", None) or metric.depth for metric in users)


def _is_used(name: str, metrics: Mapping[str, SequenceMetric]) -> bool:
    _, parameter, value = USED_BY[name]
    return any(getattr(metric, parameter, "") == value for metric in metrics.values())


def _raise_if_unused(chosen: Mapping[str, SequenceMetric], **given: Any) -> None:
    """Raise U231 for data that were ``given`` and that no chosen metric uses."""
    for name, one in given.items():
        metric, parameter, value = USED_BY[name]
        if one is None or _is_used(name, chosen):
            continue
        near = [heading for heading, one in chosen.items() if hasattr(one, parameter)]
        what = f"{name}= was given, but no metric uses it"
        if near:
            what += f": {near[0]} takes {parameter}={getattr(chosen[near[0]], parameter)!r}"
        cut = chosen[near[0]].k if near else max((one.k or 0 for one in chosen.values()), default=0) or 5
        raise UsageError("U231", what, where=", ".join(chosen), hint=f"{metric}({parameter}='{value}')@{cut}")
