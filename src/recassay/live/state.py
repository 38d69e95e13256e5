"""The state of a live evaluation: one SQLite file, which also holds how far each source has been read.

Everything is written in one transaction per commit. So a process that is killed at any moment continues from its last
commit, and reads the sources again from there. Events are stored as columns, a chunk per commit, and deleted when
nothing needs them any more. The file is locked while it is open. Every row has a checksum, and an open file is read
whole once, so that a state that a disk has damaged is refused and never becomes a result.
"""

from __future__ import annotations

import io
import json
import sqlite3
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from recassay.data.io.manifest import recording
from recassay.errors import UsageError
from recassay.live.buckets import Period
from recassay.live.clock import BEGINNING, Mask
from recassay.live.events import EventBatch, contents
from recassay.live.sources import Arrival, Source

VERSION = 5  # of the tables below
TABLES = """
create table value (name text primary key, data blob not null, crc integer not null);
create table chunk (id integer primary key, log text not null, newest integer not null, data blob not null,
                    crc integer not null);
create index chunk_log on chunk (log, newest);
create table sums (store text, length integer, begin integer, arm text, segment text, data blob not null,
                   crc integer not null, primary key (store, length, begin, arm, segment)) without rowid;
create table aside (content text, reason text, n integer not null, crc integer not null,
                    primary key (content, reason)) without rowid;
"""
ROWS = {
    "value": "name, data",
    "chunk": "id, log, newest, data",
    "sums": "store, length, begin, arm, segment, data",
    "aside": "content, reason, n",
}  # the columns of each table that the checksum of a row covers
PAGE = 32_768  # bytes: chunks are megabytes, and pages of 4 KiB cost twice the processor time
CHECKPOINT = 4 << 20  # bytes of the write-ahead log after which it is copied to the file
PRAGMAS = {
    "page_size": PAGE, "locking_mode": "exclusive", "journal_mode": "wal", "synchronous": "normal",
    "wal_autocheckpoint": CHECKPOINT // PAGE, "journal_size_limit": CHECKPOINT, "auto_vacuum": "incremental",
}  # fmt: skip
FILE, LETTERS = "state.sqlite", "dead-letters.jsonl"
MOST_LETTERS = 64 << 20  # bytes of dead letters that are kept; later ones are only counted
IN_USE = "another recassay watch runs on this folder; stop it, or choose another folder with -o"
UNREADABLE = "update recassay, put a copy of the file back, or read the events again into another folder with -o"


def checksum(*row: str | bytes | float | None) -> int:
    """Return the CRC-32 of the values of a row.

    >>> checksum("a", 1) == checksum("a", 1) != checksum("a", 2)
    True
    """
    crc = 0
    for value in row:
        crc = zlib.crc32(value if isinstance(value, bytes) else f"{value!r},".encode(), crc)
    return crc


class StateFile:
    """The open state file of a folder; without a folder, the state is in memory only."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        if folder is not None:
            with recording(folder):  # the folder is of recassay from now on
                pass
        self.path = ":memory:" if self.folder is None else str(self.folder / FILE)
        self.db = sqlite3.connect(self.path, isolation_level=None, timeout=0.2, check_same_thread=False)
        self.db.create_function("checksum", -1, checksum)
        try:
            for name, value in PRAGMAS.items():
                self.db.execute(f"pragma {name} = {value}")
            self.db.execute("begin exclusive")
            self.begun = self._prepare()
            self.db.execute("commit")
        except sqlite3.DatabaseError as error:
            self.db.close()
            in_use = getattr(error, "sqlite_errorcode", None) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
            raise UsageError(
                "U237" if in_use else "U253", f"the state cannot be {'opened' if in_use else 'read'}: {error}",
                where=self.path, hint=IN_USE if in_use else UNREADABLE,
            ) from None  # fmt: skip
        self.letters = self._open_letters()

    def _prepare(self) -> bool:
        """Create the tables of a new file; return whether the file already had a state.

        Raise DatabaseError for a state of another version, and for one that is damaged.
        """
        version = self.db.execute("pragma user_version").fetchone()[0]
        if version not in (0, VERSION):
            raise sqlite3.DatabaseError(f"it has version {version}, and this recassay reads {VERSION}")
        if version == 0:
            for statement in TABLES.split(";"):
                self.db.execute(statement)
        self.db.execute(f"pragma user_version = {VERSION}")  # fails for a file that cannot be written
        (structure,) = self.db.execute("pragma integrity_check(1)").fetchone()
        if structure != "ok":
            raise sqlite3.DatabaseError(f"it is damaged: {structure}")
        for table, columns in ROWS.items():
            (n,) = self.db.execute(f"select count(*) from {table} where crc is not checksum({columns})").fetchone()
            if n:
                raise sqlite3.DatabaseError(
                    f"it is damaged: {n:,} rows of {table} have another checksum than was stored"
                )
        return bool(version)

    def _open_letters(self) -> io.BufferedRandom | None:
        """Return the open file of dead letters (refused or late events), cut to its length at the last commit.

        Without a folder the result is None.
        """
        if self.folder is None:
            return None
        path = self.folder / LETTERS
        path.touch()
        letters = path.open("r+b")
        letters.truncate(self.read("letters", 0))
        letters.seek(0, io.SEEK_END)
        return letters

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Write all changes within the context to disk at its end; none of them if an exception is raised."""
        self.db.execute("begin immediate")
        try:
            yield
            if self.letters is not None:
                self.letters.flush()
                self.write("letters", self.letters.tell())
            self.db.execute("commit")
        except BaseException:
            self.db.rollback()
            raise

    def close(self) -> None:
        """Close the file; a transaction that was not ended is undone."""
        self.db.close()
        if self.letters is not None:
            self.letters.close()

    def _store(self, table: str, rows: Iterable[tuple[Any, ...]]) -> None:
        """Store rows in a table, in place of rows with the same key, each with its checksum."""
        marks = ", ".join("?" for _ in ROWS[table].split(","))
        self.db.executemany(
            f"insert or replace into {table} values ({marks}, ?)", ((*row, checksum(*row)) for row in rows)
        )

    def write(self, name: str, value: bytes | str | int) -> None:
        """Store a value under a name."""
        self._store("value", [(name, value)])

    def read(self, name: str, default: Any = None) -> Any:
        """Return the value that :meth:`write` stored under a name, or ``default`` if there is none."""
        row = self.db.execute("select data from value where name = ?", (name,)).fetchone()
        return default if row is None else row[0]

    def append(self, log: str, frame: pl.DataFrame) -> None:
        """Append a table to the stored tables of the name ``log``."""
        if frame.height:
            newest = frame["time"].max() if "time" in frame.columns else 0
            buffer = io.BytesIO()
            frame.write_ipc(buffer, compression="lz4")
            (last,) = self.db.execute("select coalesce(max(id), 0) from chunk").fetchone()
            self._store("chunk", [(last + 1, log, newest, buffer.getvalue())])

    def log(self, log: str) -> Iterator[pl.DataFrame]:
        """Yield the tables that were appended under the name ``log``, in order."""
        for (data,) in self.db.execute("select data from chunk where log = ? order by id", (log,)):
            yield pl.read_ipc(io.BytesIO(data))

    def trim(self, log: str, before: int) -> None:
        """Delete the tables under the name ``log`` whose times are all earlier than ``before`` (microseconds)."""
        self.db.execute("delete from chunk where log = ? and newest < ?", (log, before))

    def log_bytes(self, log: str) -> int:
        """Return the size in bytes of the tables under the name ``log``."""
        return int(
            self.db.execute("select coalesce(sum(length(data)), 0) from chunk where log = ?", (log,)).fetchone()[0]
        )

    def write_sums(self, store: str, dropped: Iterable[Period], changed: Iterable[tuple[Period, bytes]]) -> None:
        """Under the name ``store``, delete sums of the periods ``dropped``, and store those of ``changed``."""
        self.db.executemany(
            "delete from sums where store = ? and length = ? and begin = ? and arm = ? and segment = ?",
            ((store, *period) for period in dropped),
        )
        self._store("sums", ((store, *period, data) for period, data in changed))

    def sums(self, store: str) -> Iterator[tuple[Period, bytes]]:
        """Yield the periods stored under a name, each with its sums as bytes."""
        rows = self.db.execute("select length, begin, arm, segment, data from sums where store = ?", (store,))
        yield from ((Period(*row[:4]), row[4]) for row in rows)

    def set_aside(self, rows: Iterable[tuple[str, str]]) -> None:
        """Store events that were excluded as late or future-dated, so that a later evaluation can exclude them too.

        ``rows`` are pairs of the event as text and the reason.
        """
        self.db.executemany(
            "insert into aside values (?1, ?2, 1, checksum(?1, ?2, 1)) "
            "on conflict (content, reason) do update set n = n + 1, crc = checksum(content, reason, n + 1)",
            rows,
        )

    def aside(self) -> dict[str, dict[str, int]]:
        """Return ``{excluded event as text: {reason: number of deliveries}}``, as :meth:`set_aside` recorded them."""
        aside: dict[str, dict[str, int]] = {}
        for content, reason, n in self.db.execute("select content, reason, n from aside"):
            aside.setdefault(content, {})[reason] = n
        return aside

    def write_letters(self, letters: Iterable[Mapping[str, Any]]) -> int:
        """Append dead letters (refused or late events) to their file; return how many did not fit."""
        if self.letters is None:
            return 0
        dropped = 0
        for letter in letters:
            if self.letters.tell() > MOST_LETTERS:
                dropped += 1
            else:
                self.letters.write(json.dumps(letter, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
        return dropped


class Journal:
    """The deliveries that another live evaluation excluded as late or future-dated; its state is in ``folder``.

    A queue may deliver an event twice: once on time, and once late. ``fates`` says, for each event of the journal, what
    becomes of its next deliveries: some are future-dated, then some accepted, then the others late. As deliveries of
    one event are equal, this order gives the results of that evaluation for any order of the archive. Raise U253 if the
    folder has no state.
    """

    def __init__(self, folder: str | Path) -> None:
        if not (Path(folder) / FILE).is_file():
            raise UsageError("U253", f"there is no {FILE}", where=str(folder), hint="give the folder of a live watch")
        state = StateFile(Path(folder))
        try:
            self.aside = state.aside()
        finally:
            state.close()
        self.times = np.unique(np.array([json.loads(content)["time"] for content in self.aside], np.int64))
        self.fates: dict[str, Iterator[str]] = {}

    def count(
        self, sources: Iterable[Source], read: Callable[[Arrival], EventBatch], positions: Mapping[str, Any],
        newest: Mapping[str, int], done: Mapping[str, Mapping[str, int]],
    ) -> int:  # fmt: skip
        """Count the deliveries that ``sources`` have after ``positions``; the replay then reads the sources again.

        ``newest`` is the latest time of each partition before, and ``done`` has the deliveries that the replay set
        aside before an interruption. Return how far an accepted event is behind an earlier one of its partition, in
        microseconds. Raise U254 for a source that cannot be read twice.
        """
        copies: Counter[str] = Counter()
        distances: dict[str, int] = {}  # of events of the journal
        disorder = 0
        for source in sources:
            if source.follow:
                source.close()
                raise UsageError(
                    "U254", "a replay with a journal reads events twice, and a stream or standard input only once",
                    where=source.name, hint="write the events to a file first",
                )  # fmt: skip
            (name,) = source.start(positions)
            latest = newest.get(name, BEGINNING)
            while arrivals := source.poll(0.0):
                for events in (read(arrival).events for arrival in arrivals):
                    named, times = self._named(events), events["time"].to_numpy()
                    moving = times.copy()
                    moving[[row for row, content in named if "future" in self.aside[content]]] = BEGINNING
                    reached = np.maximum.accumulate(np.append(latest, moving))
                    latest, behind = int(reached[-1]), reached[1:] - times
                    for row, content in named:
                        copies[content] += 1
                        distances[content] = max(distances.get(content, 0), int(behind[row]))
                        behind[row] = 0
                    disorder = max(disorder, int(behind.max(initial=0)))
            source.close()
        for content, reasons in self.aside.items():
            future, late = (reasons.get(name, 0) - done.get(content, {}).get(name, 0) for name in ("future", "late"))
            accepted = copies[content] - future - late
            self.fates[content] = chain(repeat("future", future), repeat("accepted", accepted), repeat("late", late))
            disorder = max(disorder, distances[content] if accepted > 0 else 0)
        return disorder

    def masks(self, events: pl.DataFrame) -> tuple[Mask, Mask, Mask]:
        """Return masks of the events of the next batch that are late, that are future-dated, and that move no clock.

        Copies of a future-dated event move no clock, so the order of the archive does not matter.
        """
        late, future, unmoving = (np.zeros(events.height, np.bool_) for _ in range(3))
        for row, content in self._named(events):
            fate, was_future = next(self.fates[content], "accepted"), "future" in self.aside[content]
            late[row], future[row], unmoving[row] = fate == "late", fate == "future", was_future
        return late, future, unmoving

    def _named(self, events: pl.DataFrame) -> list[tuple[int, str]]:
        """Return (row, event as text) for each event that is in the journal."""
        rows = np.flatnonzero(np.isin(events["time"].to_numpy(), self.times))
        pairs = zip(rows.tolist(), contents(events[rows]), strict=True)
        return [(row, content) for row, content in pairs if content in self.aside]
