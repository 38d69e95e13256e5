"""First items given by hand, with users and times if known, that a system is to continue."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.columnar.vocabulary import Vocabulary, rows_in_table
from recassay.data.io import read_table
from recassay.data.io.roles import ITEM, TIMESTAMP, USER
from recassay.data.sequences import Sequences
from recassay.errors import InputError


def sequences_of_seeds(seeds: Any, train: Sequences) -> Sequences:
    """Return a sequence of one item for each seed, over the items of ``train``; raise I357 for an unknown item.

    ``seeds`` is an id, a list of ids, of (item, user) or of (item, user, time), or a table with item_id and optionally
    user_id and timestamp. Users that ``train`` does not have get codes after its own. A seed without a user gets a user
    of its own.

    >>> train = Sequences.from_frame(pl.DataFrame({"sequence_id": [1, 1], "user_id": ["ann"] * 2, "item_id": [*"ab"]}))
    >>> made = sequences_of_seeds([("b", "ann"), ("a", "bob")], train)
    >>> made.seeds.tolist(), made.users.tolist(), made.user_vocabulary.ids.to_list()
    ([1, 0], [0, 1], ['ann', 'bob'])
    """
    frame = _frame(seeds)
    ids, known_users = train.item_vocabulary.ids, train.user_vocabulary.ids
    assert ids is not None, "ids of sequences are dense"
    assert known_users is not None, "ids of sequences are dense"
    items: NDArray[Any] = rows_in_table(frame[ITEM], ids)
    if (items < 0).any() or not frame.height:
        shown = ", ".join(map(repr, frame[ITEM].filter(pl.Series(items < 0)).head(3)))
        what = f"{int((items < 0).sum()):,} of {frame.height:,} seeds are unknown items: {shown}"
        what = what if frame.height else "there are no seeds"
        hint = f"seeds are items of the training sequences, such as {', '.join(map(repr, ids.head(3)))}"
        raise InputError("I357", what, hint=hint)
    if USER in frame.columns:
        if (frame[USER].dtype == pl.String) != (known_users.dtype == pl.String):
            what = f"users of seeds are {frame[USER].dtype}, users of the training sequences {known_users.dtype}"
            raise InputError("I403", what, hint="give both as text or both as integers")
        users = np.array(rows_in_table(frame[USER], known_users))
        new = frame[USER].filter(pl.Series(users < 0)).unique(maintain_order=True)
        vocabulary = Vocabulary(pl.concat([known_users, new.cast(known_users.dtype)]))
        users[users < 0] = known_users.len() + rows_in_table(frame[USER].filter(pl.Series(users < 0)), new)
    else:
        names = [f"seed {number}" for number in range(frame.height)]
        new = pl.Series(names) if known_users.dtype == pl.String else -1 - pl.Series(np.arange(frame.height))
        vocabulary = Vocabulary(pl.concat([known_users, new.cast(known_users.dtype)]))
        users = known_users.len() + np.arange(frame.height)
    times: Any = None
    if TIMESTAMP in frame.columns:
        kind = np.int64 if frame[TIMESTAMP].dtype.is_integer() else np.float64
        times = frame[TIMESTAMP].to_numpy().astype(kind)
    offsets = np.arange(frame.height + 1)
    items = items.astype(np.int32)
    return Sequences(offsets, items, users.astype(np.int32), times, train.item_vocabulary, vocabulary, "seeds")


def _frame(seeds: Any) -> pl.DataFrame:
    """Return the given first items as a table with item_id and perhaps user_id and timestamp."""
    if isinstance(seeds, str | int):
        seeds = [seeds]
    if isinstance(seeds, list | tuple) and seeds:
        if all(isinstance(seed, tuple | list) for seed in seeds):
            names = (ITEM, USER, TIMESTAMP)[: len(seeds[0])]
            return pl.DataFrame([list(seed) for seed in seeds], names, orient="row")
        return pl.DataFrame({ITEM: seeds})
    if isinstance(seeds, dict):
        return pl.DataFrame(seeds)
    if isinstance(seeds, list | tuple):
        return pl.DataFrame({ITEM: pl.Series([], dtype=pl.String)})
    return read_table(seeds, "items")
