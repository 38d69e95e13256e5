"""Times that systems took to fit and to answer, stored once and separately from results.

Results are the same on every run, but times are not. A stored result keeps the time that it took when it was computed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import polars as pl

from recassay.data.io import write_json
from recassay.results.exhibit import Exhibit

NAME = "times.json"
TIMES = "cache/times"
FIT, ANSWER, JUDGE = "fit", "answer", "judge"  # timed steps
WITH_DIVERSITY = "judge with diversity"  # of generated sequences: the judge, and the metrics that compare items
CALLS = {"recommend": "query", "update": "update"}
PLACES = 3  # decimals of a second


@dataclass(frozen=True)
class Stopwatch:
    """A store of how many seconds each step of a study took, by the key of the step's result.

    ``threads`` is the number of threads to note with each time.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     clock = Stopwatch(Path(folder), threads=2)
    ...     with clock.timed("key"):
    ...         made = sum(range(100))
    ...     noted = clock.times("key")
    >>> sorted(noted), noted["threads"], noted["seconds"] < 60
    (['seconds', 'threads'], 2, True)
    """

    folder: Path
    threads: int
    can_read: Callable[[Path], bool] = Path.is_file  # whether a stored time is there, and not damaged

    def times(self, key: str) -> Mapping[str, Any]:
        """Return the stored seconds and threads of the step with this key; an empty mapping if there are none."""
        path = self._place(key)
        found: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8")) if self.can_read(path) else {}
        return found

    @contextmanager
    def timed(self, key: str, *, resumed: bool = False) -> Iterator[Callable[[], None]]:
        """Store the seconds that the block takes, unless it raises; yield a function that stores the time so far.

        ``key`` is the key of the step's result. If ``resumed``, the stored time of an earlier, interrupted part is
        added.
        """
        before = float(self.times(key).get("seconds", 0)) if resumed else 0.0
        begin = perf_counter()

        def note() -> None:
            seconds = round(before + perf_counter() - begin, PLACES)
            self.store(key, {"seconds": seconds, "threads": self.threads})

        yield note
        note()

    def store(self, key: str, times: Mapping[str, Any]) -> None:
        """Write how long the step with this key took (``times``, such as seconds and threads) as a JSON file."""
        self._place(key).parent.mkdir(parents=True, exist_ok=True)
        write_json(times, self._place(key))

    def _place(self, key: str) -> Path:
        return self.folder / f"{key}.json"


def times_exhibit(times: Iterable[Mapping[str, Any]]) -> Exhibit | None:
    """Return a bar chart of the mean seconds that each system took over folds and seeds; None if nothing was timed.

    ``times`` are rows as in :attr:`Results.times`.
    """
    rows = [row for row in times if row["system"] is not None]
    if not rows:
        return None
    places = {(row["dataset"], row["split"]) for row in rows}
    several = len({split for _, split in places}) > 1
    table = (
        pl.DataFrame(rows, infer_schema_length=None)
        .with_columns(data=pl.format("{}, {}", "dataset", "split") if several else pl.col("dataset"))
        .group_by("data", "system", "what", maintain_order=True)
        .agg(pl.col("seconds").mean())
    )
    return Exhibit(
        "times",
        "How long systems took",
        "Seconds to fit and to answer, mean over folds and seeds, of the run that computed the answers. They depend on "
        "the load of the machine, and are the only part of this page that differs between runs.",
        table,
        "system",
        "seconds",
        "what",
        facet="data" if len(places) > 1 else None,
        kind="bar",
    )


def calls_exhibit(calls: Sequence[Mapping[str, Any]]) -> Exhibit | None:
    """Return a bar chart of the times of queries and updates on streams, of the first seed; None if none was timed.

    ``calls`` are rows as in :attr:`Results.calls`.
    """
    rows = [
        {
            "system": row["system"],
            "data": row["dataset"],
            "what": CALLS[kind],
            "microseconds": 1e6 * row[kind]["mean"],
            **{f"{name} (us)": 1e6 * row[kind][name] for name in ("median", "p95", "p99", "first")},
            "calls": row[kind]["calls"],
            "per second": row[kind]["calls"] / row[kind]["total"],
            "machine": row["machine"],
        }
        for row in calls
        if row["seed"] == min(other["seed"] for other in calls)
        for kind in CALLS
        if row[kind]["calls"] and row[kind]["total"]
    ]
    if not rows:
        return None
    return Exhibit(
        "calls",
        "How long a query and an update took",
        "Mean microseconds per query and per update, on one thread; they depend on the load of the machine. The table "
        "has "
        "the median, the 95th and 99th percentile, and the first call, which all of them include.",
        pl.DataFrame(rows),
        "system",
        "microseconds",
        "what",
        facet="data" if len({row["data"] for row in rows}) > 1 else None,
        kind="bar",
    )
