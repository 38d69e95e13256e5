"""How long systems took to fit and to answer: noted when it happened, once, and apart from results.

Results are the same on every run, and times are not. What is taken from the shelf keeps the time of when it was made.
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

from recassay.data.exhibit import Exhibit
from recassay.data.io import write_json

NAME = "times.json"
TIMES = "cache/times"
FIT, ANSWER, JUDGE = "fit", "answer", "judge"  # what takes time
CALLS = {"recommend": "question", "update": "update"}
PLACES = 3  # decimals of a second


@dataclass(frozen=True)
class Clock:
    """Notes how long pieces of a study took, each below a folder under the key of what was made.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     clock = Clock(Path(folder), threads=2)
    ...     with clock.timed("key"):
    ...         made = sum(range(100))
    ...     noted = clock.noted("key")
    >>> sorted(noted), noted["threads"], noted["seconds"] < 60
    (['seconds', 'threads'], 2, True)
    """

    folder: Path
    threads: int

    def noted(self, key: str) -> Mapping[str, Any]:
        """How long it took, in seconds, and on how many threads; nothing if that is not known."""
        path = self._place(key)
        found: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
        return found

    @contextmanager
    def timed(self, key: str, *, goes_on: bool = False) -> Iterator[Callable[[], None]]:
        """Note how long what is inside takes, if it ends well; what is yielded notes how long it took so far.

        ``goes_on``: part of it was done before, and what was noted then counts too.
        """
        before = float(self.noted(key).get("seconds", 0)) if goes_on else 0.0
        begin = perf_counter()

        def note() -> None:
            seconds = round(before + perf_counter() - begin, PLACES)
            self.keep(key, {"seconds": seconds, "threads": self.threads})

        yield note
        note()

    def keep(self, key: str, times: Mapping[str, Any]) -> None:
        """Note times that were taken elsewhere."""
        self._place(key).parent.mkdir(parents=True, exist_ok=True)
        write_json(times, self._place(key))

    def _place(self, key: str) -> Path:
        return self.folder / f"{key}.json"


def times_exhibit(times: Iterable[Mapping[str, Any]]) -> Exhibit | None:
    """Seconds of systems, mean over folds and seeds, as bars; None if nothing was timed."""
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
        "Seconds to fit and to answer, mean over folds and seeds, of the run that made the answers, whatever else its "
        "machine did: the one part of this page that another run does not repeat.",
        table,
        "system",
        "seconds",
        "what",
        facet="data" if len(places) > 1 else None,
        kind="bar",
        log_y=True,
    )


def calls_exhibit(calls: Sequence[Mapping[str, Any]]) -> Exhibit | None:
    """What questions and updates of systems on streams took, of the first seed of each; None where none was timed."""
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
        "How long a question and an update took",
        "Mean microseconds of asking for one event and of learning one, on one thread, whatever else the machine did; "
        "the table has median, 95th and 99th percentile, and the first call, which is in all of them.",
        pl.DataFrame(rows),
        "system",
        "microseconds",
        "what",
        facet="data" if len({row["data"] for row in rows}) > 1 else None,
        kind="bar",
        log_y=True,
    )
