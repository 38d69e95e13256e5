"""First items given by hand, with users and times if known, that a system is to continue.

A seed need not be an item: it stands for all items that have the features in its row, such as a genre, or for all items
of the catalogue if its row has neither an item nor a feature.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.columnar.identity import id_keys
from recassay.columnar.vocabulary import Vocabulary, rows_in_table
from recassay.data.features import Features
from recassay.data.io.clean import as_ids
from recassay.data.io.columns import ITEM, POSITION, SEQUENCE, TIMESTAMP, USER, resolve, role_named
from recassay.data.io.read import read_table
from recassay.data.read import TableSource, read_memberships
from recassay.data.sequences import Histories, Sequences
from recassay.engine.sequences.predictors import Float, Int32, RowPredictor
from recassay.errors import InputError
from recassay.models.base.capabilities import SamplesNext
from recassay.naming.grammar import suggest
from recassay.threads import blocks

SET_BLOCK = 1 << 12  # items of a set whose rows of probabilities are computed together
SCALARS = (str, int, float, np.generic, date, type(None))  # of a list of seeds


@dataclass(frozen=True, eq=False)
class Seeds:
    """Seeds to continue: ``sequences`` of one item each, and ``table``, a row of ids and features for each seed.

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
    frame, feature_columns = _columns(_frame(seeds), items)
    if not frame.height:
        raise InputError("I361", "there are no seeds", hint=_such_as(train))
    codes, sets, labels = _fitting_items(frame, feature_columns, train, items)
    users, user_vocabulary = _users(frame, train)
    times: Any = None
    if TIMESTAMP in frame.columns:
        kind = np.int64 if frame[TIMESTAMP].dtype.is_integer() else np.float64
        times = frame[TIMESTAMP].to_numpy().astype(kind)
    ids = train.item_vocabulary.ids
    assert ids is not None, "ids of sequences are dense"
    names = pl.Series(labels, dtype=pl.String)
    made_up = names if ids.dtype == pl.String else pl.Series((id_keys(names) >> np.uint64(2)).astype(np.int64))
    vocabulary = Vocabulary(pl.concat([ids, made_up.cast(ids.dtype)]))
    offsets = np.arange(frame.height + 1)
    sequences = Sequences(offsets, codes, users, times, vocabulary, user_vocabulary, "seeds")
    if SEQUENCE not in frame.columns:
        frame = frame.with_columns(pl.Series(SEQUENCE, np.arange(frame.height)))
    given = [name for name in (SEQUENCE, ITEM, *feature_columns) if name in frame.columns]
    return Seeds(sequences, frame.select(given).rename({ITEM: "seed_item_id"}, strict=False), tuple(sets))


def _frame(seeds: Any) -> pl.DataFrame:
    """Return the given seeds as a table; names of columns of items and features are as they were given."""
    if isinstance(seeds, str | int):
        seeds = [seeds]
    try:
        if isinstance(seeds, list | tuple) and seeds:
            rows = [list(seed) if isinstance(seed, tuple | list) else [seed] for seed in seeds]
            strange = next((one for row in rows for one in row if not isinstance(one, SCALARS)), None)
            if strange is not None:
                raise TypeError(f"an object of type {type(strange).__name__} is neither an id nor a time")
            if all(isinstance(seed, tuple | list) for seed in seeds):
                return pl.DataFrame(rows, (ITEM, USER, TIMESTAMP)[: len(rows[0])], orient="row")
            return pl.DataFrame({ITEM: seeds})
        if isinstance(seeds, dict):
            return pl.DataFrame(seeds)
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError) as error:
        raise InputError("I108", f"the seeds cannot be read as a table: {error}") from None
    if isinstance(seeds, list | tuple):
        return pl.DataFrame({ITEM: pl.Series([], dtype=pl.String)})
    return read_table(seeds, "seeds")


def _columns(frame: pl.DataFrame, items: TableSource) -> tuple[pl.DataFrame, list[str]]:
    """Return the seeds with their item column, if any, as item_id, and which of their columns are features.

    Raise I201 if there are other columns and none of them is an item, and I361 if features are given in vain.
    """
    others = [name for name in frame.columns if name not in (SEQUENCE, USER, TIMESTAMP, POSITION)]
    known: tuple[str, ...] = ()
    if items is not None:
        known = items.columns if isinstance(items, Features) else tuple(read_table(items, "items").columns)
    features = [name for name in others if name in known and name != ITEM]
    if items is not None and not features:
        what = f"no column of the seeds ({', '.join(frame.columns)}) is a column of the items ({', '.join(known)})"
        raise InputError(
            "I361", what, hint="name the column of the seeds as in the table of items, or leave items= out"
        )
    rest = [name for name in others if name not in features]
    if not rest:
        return frame, features
    item = rest[0] if rest == ["column_1"] else resolve(rest, role_named("items"), {}, where="seeds")[ITEM]
    ids = frame[item]
    texts = ids.dtype == pl.String
    there = ids.is_not_null() & (ids != "") if texts else ids.is_not_null()
    cleaned = as_ids(ids.filter(there), "seeds")
    rows = pl.Series(np.flatnonzero(there.to_numpy()))
    values = pl.DataFrame({"row": rows, ITEM: cleaned}, schema_overrides={"row": pl.Int64})
    frame = frame.with_row_index("row").cast({"row": pl.Int64}).drop(item)
    return frame.join(values, on="row", how="left", maintain_order="left").drop("row"), features


def _fitting_items(
    frame: pl.DataFrame, features: list[str], train: Sequences, items: TableSource
) -> tuple[Int32, list[Int32], list[str]]:
    """Return the item code of each seed, the items of each set, and a name for each set.

    A seed that one item fits has the code of this item, so it is no set.
    """
    ids = train.item_vocabulary.ids
    assert ids is not None, "ids of sequences are dense"
    given = frame.select(name for name in (ITEM, *features) if name in frame.columns)
    members = {name: _members(name, items, train) for name in features}
    codes, sets, labels = np.empty(frame.height, np.int32), list[Int32](), list[str]()
    for row, number in _distinct(given) if given.width else [({}, np.arange(frame.height))]:
        fitting = np.arange(ids.len(), dtype=np.int32)
        for name, value in row.items():
            one = rows_in_table(pl.Series([value]), ids) if name == ITEM else members[name].get(str(value))
            fitting = np.intersect1d(fitting, [] if one is None else one).astype(np.int32)
        if not fitting.size:
            raise _no_item(row, number.size, frame.height, members, train)
        if fitting.size > 1:
            sets.append(fitting)
            labels.append(", ".join(f"{name}={value}" for name, value in row.items()) or "any item")
        codes[number] = fitting[0] if fitting.size == 1 else ids.len() + len(sets) - 1
    return codes, sets, labels


def _distinct(given: pl.DataFrame) -> list[tuple[dict[str, Any], NDArray[np.int64]]]:
    """Return the distinct rows of a table, without missing values, each with the numbers of its rows."""
    grouped = given.with_row_index("row").group_by(given.columns, maintain_order=True).agg("row")
    found = []
    for *values, numbers in grouped.iter_rows():
        row = {name: one for name, one in zip(given.columns, values, strict=True) if one not in (None, "")}
        found.append((row, np.array(numbers)))
    return found


def _members(name: str, items: TableSource, train: Sequences) -> dict[str, NDArray[np.intp]]:
    """Return the codes of the items that have each value of a column of features, by the value as text."""
    groups = read_memberships(items, name, "items")
    assert train.item_vocabulary.ids is not None, "ids of sequences are dense"
    return dict(zip(groups.names, groups.places(train.item_vocabulary.ids, "item"), strict=True))


def _no_item(
    row: dict[str, Any], alike: int, seeds: int, members: dict[str, dict[str, Any]], train: Sequences
) -> InputError:
    """Return the error for a seed that no item fits; ``alike`` of ``seeds`` seeds are like it."""
    name, value = next(iter(row.items()))
    if list(row) == [ITEM]:
        what, hint = f"{alike:,} of {seeds:,} seeds are unknown items: {value!r}", _such_as(train)
    else:
        asked = " and ".join(f"{name} {value!r}" for name, value in row.items())
        what = f"{alike:,} of {seeds:,} seeds have {asked}, which no item of the training sequences has"
        hint = suggest(str(value), list(members[name])) if name in members else _such_as(train)
    return InputError("I361", what, hint=hint)


def _such_as(train: Sequences) -> str:
    ids = train.item_vocabulary.ids
    assert ids is not None, "ids of sequences are dense"
    return f"seeds are items of the training sequences, such as {', '.join(map(repr, ids.head(3)))}"


def _users(frame: pl.DataFrame, train: Sequences) -> tuple[Int32, Vocabulary]:
    """Return the user code of each seed, and the vocabulary of users with those that ``train`` does not have."""
    known_users = train.user_vocabulary.ids
    assert known_users is not None, "ids of sequences are dense"
    if USER not in frame.columns:
        names = [f"seed {number}" for number in range(frame.height)]
        new = pl.Series(names) if known_users.dtype == pl.String else -1 - pl.Series(np.arange(frame.height))
        vocabulary = Vocabulary(pl.concat([known_users, new.cast(known_users.dtype)]))
        return (known_users.len() + np.arange(frame.height)).astype(np.int32), vocabulary
    if (frame[USER].dtype == pl.String) != (known_users.dtype == pl.String):
        what = f"users of seeds are {frame[USER].dtype}, users of the training sequences {known_users.dtype}"
        raise InputError("I403", what, hint="give both as text or both as integers")
    users = np.array(rows_in_table(frame[USER], known_users))
    new = frame[USER].filter(pl.Series(users < 0)).unique(maintain_order=True)
    vocabulary = Vocabulary(pl.concat([known_users, new.cast(known_users.dtype)]))
    users[users < 0] = known_users.len() + rows_in_table(frame[USER].filter(pl.Series(users < 0)), new)
    return users.astype(np.int32), vocabulary


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
        """Return whether the model reads the items of histories and nothing else."""
        return self.predictor.items_only

    def next_probabilities(self, histories: Histories) -> Float:
        """Return the probabilities (n, items) of the next item after each history."""
        n_items = self.predictor.vocabulary.size
        number = histories.items[histories.offsets[:-1]] - n_items
        table, single = np.empty((len(histories), n_items)), np.flatnonzero(number < 0)
        if single.size:
            table[single] = self.predictor.rows(histories.take(single))
        for row in np.flatnonzero(number >= 0):
            table[row] = self._mean(histories.take(np.array([row])), self.sets[number[row]])
        return table

    def _mean(self, history: Histories, members: Int32) -> Float:
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
