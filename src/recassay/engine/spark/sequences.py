"""Sequences of a log on Spark, as a Spark table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from recassay.data.io.roles import ITEM, TIMESTAMP, USER
from recassay.data.layout import stretch_of
from recassay.data.sequences import Sequences
from recassay.data.time_kind import TimeKind
from recassay.engine.spark.logs import Look, SparkLog
from recassay.engine.spark.session import told
from recassay.engine.spark.tables import WHOLE
from recassay.split.filters import added_up
from recassay.split.sessions import Sequencer

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SEQUENCE, POSITION = "sequence_id", "position"


@dataclass(frozen=True, eq=False)
class SparkSequences:
    """Sequences as a Spark table: sequence_id, user_id, item_id, position, and timestamp if there are times.

    A sequence has the id of its user and its number among those of the user, from 0, behind a dash: ``ann-0``.
    ``position`` counts its rows from 0. ``removed`` counts rows that are in no sequence, by reason.
    """

    frame: DataFrame
    count: int
    removed: Mapping[str, int]
    origin: str = ""
    kind: TimeKind | None = None

    def __len__(self) -> int:
        return self.count

    def here(self) -> Sequences:
        """The sequences in the memory of this machine, numbered by user, then time."""
        with told():
            frame = pl.DataFrame(self.frame.toArrow())
        number = pl.col(SEQUENCE).str.split("-").list.last().cast(pl.Int64)
        frame = frame.with_columns(pl.struct(USER, number.alias("number")).rank("dense").alias(SEQUENCE))
        found = Sequences.from_frame(frame, origin=self.origin, kind=self.kind)
        return replace(found, removed=self.removed)


def sequences(log: SparkLog, sequencer: Sequencer) -> SparkSequences:
    """The sequences that the users of a log have."""
    maker = Maker(sequencer)
    found = log.summed(maker.count)
    if found is None or not found.sequences:
        rows, users = (0, 0) if found is None else (found.rows, found.users)
        raise sequencer.none_made(rows, users, log.table.where)
    kind = log.table.kind
    schema = f"{SEQUENCE} string, {USER} {kind(USER)}, {ITEM} {kind(ITEM)}, {POSITION} bigint"
    if TIMESTAMP in log.table.columns:
        schema += f", {TIMESTAMP} {'bigint' if kind(TIMESTAMP) in WHOLE else 'double'}"
    made = log.by_user(maker.rows, schema)
    return SparkSequences(made, found.sequences, found.removed, log.table.where, log.times)


@dataclass(frozen=True)
class Made:
    """How many rows and users became how many sequences; it adds up over users."""

    rows: int
    users: int
    sequences: int
    removed: dict[str, int]

    def __add__(self, other: Made) -> Made:
        together = added_up(self.removed, other.removed)
        return Made(self.rows + other.rows, self.users + other.users, self.sequences + other.sequences, together)


@dataclass(frozen=True)
class Maker:
    """What is made of some users."""

    sequencer: Sequencer

    def count(self, look: Look) -> Made:
        """How many sequences there are."""
        made = self.sequencer.made(look.log)
        return Made(len(look.log), look.log.n_users, len(made), dict(made.removed))

    def rows(self, look: Look) -> pl.DataFrame | None:
        """The sequences as rows."""
        made = self.sequencer.made(look.log)
        if not len(made):
            return None
        first = np.append(True, made.users[1:] != made.users[:-1])  # of a user
        number = np.arange(len(made)) - np.flatnonzero(first)[np.cumsum(first) - 1]
        of = stretch_of(made.offsets)
        position = np.arange(of.size) - made.offsets[of]
        frame = made.frame().with_columns(
            pl.format("{}-{}", USER, pl.Series(number[of])).alias(SEQUENCE), pl.Series(POSITION, position)
        )
        return frame.select(one for one in (SEQUENCE, USER, ITEM, POSITION, TIMESTAMP) if one in frame.columns)
