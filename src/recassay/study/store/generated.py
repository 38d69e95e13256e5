"""Conversion of generated sequences to tables with item ids, and back: one row per test sequence and seed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from recassay.columnar.vocabulary import Vocabulary, rows_in_table
from recassay.data.generated import NOTHING, Generated


def generated_frame(runs: Sequence[Generated], vocabulary: Vocabulary, first: int = 0) -> pl.DataFrame:
    """Return a table of generated sequences, a row per test sequence and seed, with item ids in place of codes.

    ``runs`` are the sequences of one system, one per seed, and ``vocabulary`` has the ids of the items. The columns are
    seed, sequence (numbered from ``first``), items (a list of k), chances (their k probabilities), and surprise.
    Positions after the end of a short list are null, and so are probabilities that a system does not have.

    >>> made = Generated("mine", np.array([[1, -1]], np.int32), np.array([[0.5, np.nan]]), np.array([2.0]), seed=7)
    >>> frame = generated_frame([made], Vocabulary(pl.Series(["a", "b"])))
    >>> [list(value) if hasattr(value, "__len__") else value for value in frame.row(0)]
    [7, 0, ['b', None], [0.5, None], 2.0]
    >>> generated_from(frame, "mine", Vocabulary(pl.Series(["a", "b"])))[0].items.tolist()
    [[1, -1]]
    """
    assert vocabulary.ids is not None, "ids of sequences are dense"
    parts = []
    for made in runs:
        codes = made.items.ravel()
        items = vocabulary.ids.gather(pl.Series(codes).replace(NOTHING, None))
        columns = {
            "seed": np.full(len(made), made.seed),
            "sequence": np.arange(first, first + len(made)),
            "items": items.reshape(made.items.shape),
            "chances": pl.Series(made.chances.ravel()).fill_nan(None).reshape(made.items.shape),
            "surprise": pl.Series(made.surprise).fill_nan(None),
        }
        parts.append(pl.DataFrame(columns))
    return pl.concat(parts)


def generated_from(frame: pl.DataFrame, name: str, vocabulary: Vocabulary) -> tuple[Generated, ...]:
    """Return the generated sequences in a table of :func:`generated_frame`, one :class:`Generated` per seed."""
    assert vocabulary.ids is not None, "ids of sequences are dense"
    found = []
    for part in frame.partition_by("seed", maintain_order=True):
        items, ids = part["items"].explode(), vocabulary.ids
        codes = np.full(items.len(), NOTHING, np.int32)
        there = items.is_not_null().to_numpy()
        codes[there] = rows_in_table(items.drop_nulls(), ids)
        chances = part["chances"].explode().to_numpy()
        surprise = part["surprise"].to_numpy()
        shape = part.height, codes.size // part.height
        seed = int(part["seed"][0])
        found.append(Generated(name, codes.reshape(shape), np.array(chances).reshape(shape), np.array(surprise), seed))
    return tuple(found)
