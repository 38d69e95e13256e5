"""Sequences of a log on Spark, as a Spark table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from recassay.backends.spark.logs import SparkLog, UserRows
from recassay.backends.spark.session import translate_errors
from recassay.backends.spark.tables import WHOLE
from recassay.columnar.layout import row_groups
from recassay.columnar.time_kind import TimeKind
from recassay.data.io.columns import ITEM, TIMESTAMP, USER
from recassay.data.sequences import Sequences
from recassay.split.filters import add_counts
from recassay.split.sessions import Sequencer

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SEQUENCE, POSITION = "sequence_id", "position"


@dataclass(frozen=True, eq=False)
class SparkSequences:
    """Sequences as a Spark table: sequence_id, user_id, item_id, position, and timestamp if there are times.

    The id of a sequence is the id of its user, a dash, and its number among the sequences of the user, from 0:
    ``ann-0``. ``position`` counts its rows from 0. ``removed`` counts rows that are in no sequence, by reason.
    """

    frame: DataFrame
    count: int
    removed: Mapping[str, int]
    origin: str = ""
    kind: TimeKind | None = None

    def __len__(self) -> int:
        return self.count

    def here(self) -> Sequences:
        """Load the sequences into the memory of this machine and return them, numbered by user, then time."""
        with translate_errors():
            frame = pl.DataFrame(self.frame.toArrow())
        number = pl.col(SEQUENCE).str.split("-").list.last().cast(pl.Int64)
        frame = frame.with_columns(pl.struct(USER, number.alias("number")).rank("dense").alias(SEQUENCE))
        found = Sequences.from_frame(frame, origin=self.origin, kind=self.kind)
        return replace(found, removed=self.removed)


def sequences(log: SparkLog, sequencer: Sequencer) -> SparkSequences:
    """Return the sequences that a rule makes of a log; raise an error if there are none."""
    maker = Maker(sequencer)
    found = log.summed(maker.count)
    if found is None or not found.sequences:
        rows, users = (0, 0) if found is None else (found.rows, found.users)
        raise sequencer.none_made(rows, users, log.table.where)
    kind = log.table.kind
    schema = f"{SEQUENCE} string, {USER} {kind(USER)}, {ITEM} {kind(ITEM)}, {POSITION} bigint"
    if TIMESTAMP in log.table.columns:
        schema += f", {TIMESTAMP} {'bigint' if kind(TIMESTAMP) in WHOLE else 'double'}"
    made = log.map_users(maker.rows, schema)
    return SparkSequences(made, found.sequences, found.removed, log.table.where, log.times)


@dataclass(frozen=True)
class SequenceTotals:
    """The number of rows, users and sequences, and of removed rows by reason; totals of different users add up."""

    rows: int
    users: int
    sequences: int
    removed: dict[str, int]

    def __add__(self, other: SequenceTotals) -> SequenceTotals:
        together = add_counts(self.removed, other.removed)
        return SequenceTotals(
            self.rows + other.rows, self.users + other.users, self.sequences + other.sequences, together
        )


@dataclass(frozen=True)
class Maker:
    """A rule that makes sequences, such as sessions, with methods for tasks that apply it to some users at a time."""

    sequencer: Sequencer

    def count(self, look: UserRows) -> SequenceTotals:
        """Return the numbers of rows, users and sequences of some users."""
        made = self.sequencer.sequences_of(look.log)
        return SequenceTotals(len(look.log), look.log.n_users, len(made), dict(made.removed))

    def rows(self, look: UserRows) -> pl.DataFrame | None:
        """Return the sequences of some users as a table with a row per item; None if there are none."""
        made = self.sequencer.sequences_of(look.log)
        if not len(made):
            return None
        first = np.append(True, made.users[1:] != made.users[:-1])  # sequence of its user
        number = np.arange(len(made)) - np.flatnonzero(first)[np.cumsum(first) - 1]
        of = row_groups(made.offsets)
        position = np.arange(of.size) - made.offsets[of]
        frame = made.frame().with_columns(
            pl.format("{}-{}", USER, pl.Series(number[of])).alias(SEQUENCE), pl.Series(POSITION, position)
        )
        return frame.select(one for one in (SEQUENCE, USER, ITEM, POSITION, TIMESTAMP) if one in frame.columns)
