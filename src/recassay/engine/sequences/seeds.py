"""First items (seeds) that the user passes, with users and times if known, and that a system is to continue.

A seed need not be an item: it stands for all items that have the features in its row, such as a genre, or for all items
of the catalogue if its row has neither an item nor a feature.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np
import polars as pl

from recassay.arrays import Float, Int32
from recassay.columnar.identity import id_keys
from recassay.columnar.vocabulary import Vocabulary, rows_in_table
from recassay.data.features import Features
from recassay.data.io.clean import as_ids
from recassay.data.io.columns import ITEM, POSITION, SEQUENCE, TIMESTAMP, USER, resolve, role_named
from recassay.data.io.read import read_table
from recassay.data.read import TableSource, read_memberships
from recassay.data.sequences import Histories, Sequences
from recassay.engine.sequences.predictors import RowPredictor
from recassay.errors import InputError
from recassay.models.base.capabilities import SamplesNext
from recassay.naming.grammar import suggest
from recassay.threads import blocks

SET_BLOCK = 1 << 12  # items of a set whose rows of probabilities are computed together
# What Polars raises for objects that are no column.
UNREADABLE = (
    TypeError, ValueError, OverflowError, AttributeError, pl.exceptions.PolarsError, pl.exceptions.PanicException,
)  # fmt: skip
SCALARS = (str, int, float, np.generic, date, type(None))  # of a list of seeds


@dataclass(frozen=True, eq=False)
class Seeds:
    """First items to continue: ``sequences`` of one item each, and ``table``, a row of ids and features for each.

    The item code n + s, with n the number of items, stands for the items in ``sets[s]``.
    """

    sequences: Sequences
    table: pl.DataFrame
    sets: tuple[Int32, ...]


def read_seeds(seeds: Any, train: Sequences, items: TableSource = None) -> Seeds:
    """Return seeds over the items of ``train``; raise I361 for a seed that no item fits.

    ``seeds`` is an id, a list of ids, of (item, user) or of (item, user, time), or a table with some of item_id,
    user_id and timestamp, and with columns of ``items``, the table of item features. Users that ``train`` does not have
    get codes after its own. A seed without a user gets a user of its own.

    >>> train = Sequences.from_frame(pl.DataFrame({"sequence_id": [1, 1], "user_id": ["ann"] * 2, "item_id": [*"ab"]}))
    >>> made = read_seeds([("b", "ann"), ("a", "bob")], train).sequences
    >>> made.seeds.tolist(), made.users.tolist(), made.user_vocabulary.ids.to_list()
    ([1, 0], [0, 1], ['ann', 'bob'])
    >>> features = pl.DataFrame({"item_id": ["a", "b"], "genre": ["Jazz|Pop", "Pop"]})
    >>> [codes.tolist() for codes in read_seeds({"genre": ["Pop"]}, train, features).sets]
    [[0, 1]]
    """
    ids = train.item_vocabulary.stored_ids
    frame, features = _item_and_feature_columns(_seed_table(seeds), items)
    if not frame.height:
        raise InputError("I361", "there are no seeds", hint=_such_as(ids))
    codes, sets, labels = _fitting_items(frame, features, ids, items)
    users, user_vocabulary = _user_codes(frame, train)
    times: Any = None
    if TIMESTAMP in frame.columns:
        kind = np.int64 if frame[TIMESTAMP].dtype.is_integer() else np.float64
        times = frame[TIMESTAMP].to_numpy().astype(kind)
    names = pl.Series(labels, dtype=pl.String)
    made_up = names if ids.dtype == pl.String else pl.Series((id_keys(names) >> np.uint64(2)).astype(np.int64))
    sequences = Sequences(
        np.arange(frame.height + 1),
        codes,
        users,
        times,
        Vocabulary(pl.concat([ids, made_up.cast(ids.dtype)])),
        user_vocabulary,
        "seeds",
    )
    if SEQUENCE not in frame.columns:
        frame = frame.with_columns(pl.Series(SEQUENCE, np.arange(frame.height)))
    columns = [name for name in (SEQUENCE, ITEM, *features) if name in frame.columns]
    return Seeds(sequences, frame.select(columns).rename({ITEM: "seed_item_id"}, strict=False), tuple(sets))


def _seed_table(seeds: Any) -> pl.DataFrame:
    """Return the seeds as a table, with the names that the user gave to columns of items and features."""
    if isinstance(seeds, str | int):
        seeds = [seeds]
    try:
        if isinstance(seeds, list | tuple):
            rows = [seed if isinstance(seed, tuple | list) else [seed] for seed in seeds]
            strange = next((value for row in rows for value in row if not isinstance(value, SCALARS)), None)
            if strange is not None:
                raise TypeError(f"an object of type {type(strange).__name__} is neither an id nor a time")
            names = (ITEM, USER, TIMESTAMP)[: len(rows[0]) if rows else 0]
            columns = dict(zip(names, zip(*rows, strict=True), strict=True))
            return pl.DataFrame(columns) if rows else pl.DataFrame(schema={ITEM: pl.String})
        if isinstance(seeds, dict):
            return pl.DataFrame(seeds)
    except UNREADABLE as error:
        raise InputError("I108", f"the seeds cannot be read as a table: {error}") from None
    return read_table(seeds, "seeds")


def _item_and_feature_columns(frame: pl.DataFrame, items: TableSource) -> tuple[pl.DataFrame, list[str]]:
    """Return the seeds with their item column, if any, as item_id, and which of their columns are features.

    Raise I201 if there are other columns and none of them is an item, and I361 if there is a table ``items`` of
    features but no column of the seeds is one of them.
    """
    others = [name for name in frame.columns if name not in (SEQUENCE, USER, TIMESTAMP, POSITION)]
    known: tuple[str, ...] = ()
    if items is not None:
        known = items.columns if isinstance(items, Features) else tuple(read_table(items, "items").columns)
    features = [name for name in others if name in known and name != ITEM]
    if items is not None and not features:
        raise InputError(
            "I361",
            f"no column of the seeds ({', '.join(frame.columns)}) is a column of the items ({', '.join(known)})",
            hint="name the column of the seeds as in the table of items, or leave items= out",
        )
    rest = [name for name in others if name not in features]
    if not rest:
        return frame, features
    item = rest[0] if rest == ["column_1"] else resolve(rest, role_named("items"), {}, where="seeds")[ITEM]
    there = frame[item].is_not_null() & (frame[item].cast(pl.String) != "")
    ids = as_ids(frame[item].filter(there), "seeds")
    place = there.cum_sum().cast(pl.Int64) - 1  # of the id of a seed that has one
    return frame.drop(item).with_columns(ids.gather(place.set(~there, None)).alias(ITEM)), features


def _fitting_items(
    frame: pl.DataFrame, features: list[str], ids: pl.Series, items: TableSource
) -> tuple[Int32, list[Int32], list[str]]:
    """Return the item code of each seed, the items of each set, and a name for each set.

    A seed that one item fits has the code of this item, so it is no set.
    """
    columns = [name for name in (ITEM, *features) if name in frame.columns]
    members: dict[str, dict[str, Any]] = {}  # codes of items, by column of features and value as text
    for name in features:
        groups = read_memberships(items, name, "items")
        members[name] = dict(zip(groups.names, groups.places(ids, "item"), strict=True))
    codes, sets, labels = np.empty(frame.height, np.int32), list[Int32](), list[str]()
    alike = (
        frame.with_row_index("row").group_by(pl.lit(0).alias("every seed"), *columns, maintain_order=True).agg("row")
    )
    for seed in alike.iter_rows(named=True):
        number, row = np.array(seed["row"]), {name: seed[name] for name in columns if seed[name] not in (None, "")}
        fitting = np.arange(ids.len(), dtype=np.int32)
        for name, value in row.items():
            having = rows_in_table(pl.Series([value]), ids) if name == ITEM else members[name].get(str(value), [])
            fitting = np.intersect1d(fitting, having).astype(np.int32)
        if not fitting.size:
            raise _no_item_error(row, number.size, frame.height, members, ids)
        if fitting.size > 1:
            sets.append(fitting)
            labels.append(", ".join(f"{name}={value}" for name, value in row.items()) or "any item")
        codes[number] = fitting[0] if fitting.size == 1 else ids.len() + len(sets) - 1
    return codes, sets, labels


def _no_item_error(
    row: dict[str, Any], alike: int, seeds: int, members: dict[str, dict[str, Any]], ids: pl.Series
) -> InputError:
    """Return the error for a seed that no item fits.

    ``row`` holds the id or the features of the seed. ``alike`` is the number of such seeds among all ``seeds``.
    ``members`` has the known values of each feature, and ``ids`` the known items, for the hint.
    """
    name, value = next(iter(row.items()))
    what, hint = f"{alike:,} of {seeds:,} seeds are unknown items: {value!r}", _such_as(ids)
    if list(row) != [ITEM]:
        asked = " and ".join(f"{name} {value!r}" for name, value in row.items())
        what = f"{alike:,} of {seeds:,} seeds have {asked}, which no item of the training sequences has"
        hint = suggest(str(value), list(members[name])) if name in members else hint
    return InputError("I361", what, hint=hint)


def _such_as(ids: pl.Series) -> str:
    return f"seeds are items of the training sequences, such as {', '.join(map(repr, ids.head(3)))}"


def _user_codes(frame: pl.DataFrame, train: Sequences) -> tuple[Int32, Vocabulary]:
    """Return the user code of each seed, and the vocabulary of users with those that ``train`` does not have."""
    known = train.user_vocabulary.stored_ids
    if USER in frame.columns:
        users = frame[USER]
    else:
        texts = pl.Series([f"seed {number}" for number in range(frame.height)])
        users = texts if known.dtype == pl.String else (-1 - pl.Series(np.arange(frame.height))).cast(known.dtype)
    if (users.dtype == pl.String) != (known.dtype == pl.String):
        raise InputError(
            "I403",
            f"users of seeds are {users.dtype}, users of the training sequences {known.dtype}",
            hint="give both as text or both as integers",
        )
    new = users.filter(pl.Series(rows_in_table(users, known) < 0)).unique(maintain_order=True)
    ids = pl.concat([known, new.cast(known.dtype)])
    return rows_in_table(users, ids).astype(np.int32), Vocabulary(ids)


@dataclass(frozen=True, eq=False)
class SetSeeds:
    """A fitted model that can begin with sets of items: its probabilities are means over the items of the set.

    After a seed that stands for the items S and the generated items h, an item has the probability mean over s in S of
    P(item | s, h). All items of S have the same weight, and the user and the time are those of the seed.
    """

    predictor: RowPredictor
    sets: tuple[Int32, ...]

    @property
    def reads_items_only(self) -> bool:
        """Return whether predictions depend on the items of a history alone, not on its user or times."""
        return self.predictor.items_only

    def next_probabilities(self, histories: Histories) -> Float:
        """Return the probabilities (n, items) of the next item after each history."""
        n_items = self.predictor.vocabulary.size
        number = histories.items[histories.offsets[:-1]] - n_items
        table, single = np.empty((len(histories), n_items)), np.flatnonzero(number < 0)
        if single.size:
            table[single] = self.predictor.rows(histories.take(single))
        for row in np.flatnonzero(number >= 0):
            table[row] = self._mean_over_items(histories.take(np.array([row])), self.sets[number[row]])
        return table

    def _mean_over_items(self, history: Histories, members: Int32) -> Float:
        """Return the mean of the probabilities after a history whose first item is each of ``members`` in turn."""
        fitted = self.predictor.fitted
        if isinstance(fitted, SamplesNext) and history.items.size > fitted.memory:
            members = members[:1]  # the model no longer reads the first item
        total, width = np.zeros(self.predictor.vocabulary.size), history.items.size
        for begin, end in blocks(members.size, SET_BLOCK):
            some = history.take(np.zeros(end - begin, np.int64))
            items = some.items.copy()
            items[::width] = members[begin:end]
            total += self.predictor.rows(Histories(some.offsets, items, some.users, some.times)).sum(axis=0)
        return total / members.size
