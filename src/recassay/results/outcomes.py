"""The results of one system on a stream, event by event, and how long its model took."""

from __future__ import annotations

import functools
import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.columnar.identity import id_keys, value_keys
from recassay.data.io.parquet import parquet_metadata, read_parquet
from recassay.data.io.write import json_text, write_parquet
from recassay.data.nouns import wrong_noun
from recassay.errors import InputError
from recassay.naming.grammar import require_known
from recassay.shown import Displayable


@dataclass(frozen=True)
class CallTimes:
    """Seconds spent on one kind of call of a model: number of calls, sum, mean, percentiles and the first call.

    All numbers include the first call, which may have compiled something.

    >>> spent = CallTimes.of([0.4, 0.1, 0.1, 0.2])
    >>> round(spent.total, 3), round(spent.mean, 3), round(spent.median, 3), spent.first, round(spent.per_second, 1)
    (0.8, 0.2, 0.15, 0.4, 5.0)
    """

    calls: int
    total: float
    mean: float
    median: float
    p95: float
    p99: float
    first: float

    @classmethod
    def of(cls, seconds: NDArray[np.float64] | list[float]) -> CallTimes:
        """Return the summary of the ``seconds`` of each call, in the order of calls.

        Without calls, the number and the sum are 0 and all other numbers are NaN.
        """
        each = np.asarray(seconds, np.float64)
        if not each.size:
            return cls(0, 0.0, *[float("nan")] * 5)
        median, p95, p99 = np.percentile(each, [50, 95, 99]).tolist()
        return cls(each.size, float(each.sum()), float(each.mean()), median, p95, p99, float(each[0]))

    @property
    def per_second(self) -> float:
        """Return the number of calls per second."""
        return self.calls / self.total if self.total else float("nan")


@dataclass(frozen=True)
class Timing:
    """How long the ``recommend`` and ``update`` calls of a model took on a stream, and on which machine."""

    recommend: CallTimes
    update: CallTimes
    machine: str = ""
    threads: int = 1

    def to_dict(self) -> dict[str, Any]:
        """Return all fields (numbers of seconds, and the machine), ready for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Timing:
        """Return the timing that :meth:`to_dict` wrote; null stands for an undefined number."""
        spent: list[dict[str, Any]] = [
            {name: math.nan if value is None else value for name, value in content[kind].items()}
            for kind in ("recommend", "update")
        ]
        return cls(CallTimes(**spent[0]), CallTimes(**spent[1]), content["machine"], content["threads"])


EVENT, USER, TIME = "event", "user_id", "timestamp"
ABOUT = "recassay outcomes"  # key in the metadata of a Parquet file, for what is no column


@dataclass(frozen=True)
class CatalogueValues:
    """A metric of the lists of many events together, such as coverage: over all scored events, and along the stream.

    ``values`` are over the last ``window`` scored events up to each of ``at`` (numbers of events).
    """

    whole: float
    window: int
    at: tuple[int, ...]
    values: tuple[float, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Outcomes(Displayable):
    """The results of a system on a stream: a row per scored event with its value under each metric, its user and time.

    ``event`` is the position of each event in the stream, from 0, and ``events`` the length of the stream; events that
    were not scored have no row. A value is NaN where its metric is undefined. ``counts`` says how many events were
    scored, and how many were not, by reason; ``settings`` how the stream was played. ``timing`` is how long this run
    took, and the fingerprint leaves it out. ``catalogue`` has the metrics that describe many lists together.

    >>> made = Outcomes("Popular", np.array([1, 3, 4]), {"recall@2": np.array([0.0, 1.0, 0.0])}, events=6)
    >>> len(made), made.metrics, round(made.mean("recall@2"), 4)
    (3, ('recall@2',), 0.3333)
    >>> made.frame().rows()
    [(1, 0.0), (3, 1.0), (4, 0.0)]
    >>> Outcomes.from_frame(made.frame(), "Popular", events=6).fingerprint == made.fingerprint
    True
    """

    system: str
    event: NDArray[np.int64]
    values: Mapping[str, NDArray[np.float64]]
    users: pl.Series | None = None
    times: pl.Series | None = None
    events: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    timing: Timing | None = field(default=None, repr=False)
    catalogue: Mapping[str, CatalogueValues] = field(default_factory=dict)

    def __post_init__(self) -> None:
        where = f"outcomes of {self.system}"
        parts = {**self.values, "users": self.users, "times": self.times}
        other = {name: len(part) for name, part in parts.items() if part is not None and len(part) != len(self)}
        backwards = np.flatnonzero(self.event[1:] <= self.event[:-1])
        if other:
            name, size = next(iter(other.items()))
            what = f"{len(self):,} events were scored, and there are {size:,} {name}"
            hint = "give a row for every scored event"
        elif backwards.size:
            before, after = self.event[backwards[0] : backwards[0] + 2]
            what = f"scored events are not in the order of the stream: {after:,} comes after {before:,}"
            hint = "sort the rows by event, each of them once"
        elif len(self) and not 0 <= self.event[0] <= self.event[-1] < self.events:
            what = f"events {self.event[0]:,} to {self.event[-1]:,} were scored, and the stream has {self.events:,}"
            hint = "count events from 0, and give events= all of them"
        else:
            return
        raise InputError("I381", what, where=where, hint=hint)

    def __len__(self) -> int:
        return int(self.event.size)

    @property
    def metrics(self) -> tuple[str, ...]:
        """Return the names of the metrics, which are the columns of values."""
        return tuple(self.values)

    def of(self, metric: str) -> NDArray[np.float64]:
        """Return the value of every scored event under a metric; NaN where it is undefined."""
        require_known(metric, self.values, "U101", f"'{metric}' was not scored")
        return self.values[metric]

    def losses(self, metric: str) -> NDArray[np.float64]:
        """Return a loss for every scored event: 1 minus the metric's value, or the value itself if it is an error.

        >>> Outcomes("mine", np.arange(2), {"rr@10": np.array([0.25, 1.0])}, events=2).losses("rr@10").tolist()
        [0.75, 0.0]
        """
        return self.of(metric) if is_error(metric) else 1 - self.of(metric)

    def mean(self, metric: str) -> float:
        """Return the mean of a metric over the scored events for which it is defined."""
        values = self.of(metric)
        defined = values[~np.isnan(values)]
        return float(defined.mean()) if defined.size else float("nan")

    def frame(self) -> pl.DataFrame:
        """Return a row per scored event: event, user_id and timestamp if there are any, and a column per metric."""
        about = {EVENT: self.event, USER: self.users, TIME: self.times}
        return pl.DataFrame({**{name: part for name, part in about.items() if part is not None}, **self.values})

    @classmethod
    def from_frame(cls, frame: pl.DataFrame, system: str, *, events: int, **about: Any) -> Outcomes:
        """Return outcomes from a table as :meth:`frame` returns it.

        All columns except event, user_id and timestamp are metrics. ``events`` is the length of the stream, and
        ``about`` are other fields of the outcomes.
        """
        if EVENT not in frame.columns:
            raise InputError(
                "I201",
                f"outcomes of a stream have no column {EVENT}: there are {', '.join(frame.columns)}",
                where=system,
                hint="event is the number of each row in the stream, from 0",
            )
        users, times = (frame[name] if name in frame.columns else None for name in (USER, TIME))
        metrics = [name for name in frame.columns if name not in (EVENT, USER, TIME)]
        values = {name: frame[name].cast(pl.Float64).fill_null(float("nan")).to_numpy() for name in metrics}
        return cls(system, frame[EVENT].cast(pl.Int64).to_numpy(), values, users, times, events, **about)

    def write(self, path: str | Path, metadata: Mapping[str, str] | None = None) -> None:
        """Write everything to one Parquet file; ``metadata`` is added to the file's key-value metadata."""
        about = {
            "system": self.system, "events": self.events, "counts": self.counts, "settings": self.settings,
            "timing": None if self.timing is None else self.timing.to_dict(), **self._about_catalogue(),
        }  # fmt: skip
        write_parquet(self.frame(), path, {**(metadata or {}), ABOUT: json_text(about)})

    @classmethod
    def read(cls, path: str | Path) -> Outcomes:
        """Return the outcomes in a file that :meth:`write` wrote."""
        if not Path(path).is_file():
            raise InputError("I101", f"there is no file {Path(path).name}", where=str(path), hint="check the path")
        content = parquet_metadata(path).get(ABOUT)
        if content is None:
            raise InputError(
                "I381",
                f"{Path(path).name} is a table that does not say which system and stream it is about",
                where=str(path),
                hint="Outcomes.from_frame(table, system, events=...)",
            )
        about = json.loads(content)
        timing = about.pop("timing")
        about["catalogue"] = {
            heading: CatalogueValues(one["whole"], one["window"], tuple(one["at"]), tuple(one["values"]))
            for heading, one in about.get("catalogue", {}).items()
        }
        return cls.from_frame(read_parquet(path), timing=timing and Timing.from_dict(timing), **about)

    def _about_catalogue(self) -> dict[str, Any]:
        """Return the metrics of the catalogue as plain values; an empty dict if there are none."""
        return (
            {"catalogue": {heading: asdict(one) for heading, one in self.catalogue.items()}} if self.catalogue else {}
        )

    @functools.cached_property
    def fingerprint(self) -> str:
        """Return a digest (checksum) of everything but the timing."""
        about = {
            "counts": dict(sorted(self.counts.items())), "settings": dict(sorted(self.settings.items())),
            "system": self.system, "events": self.events, "metrics": self.metrics, **self._about_catalogue(),
        }  # fmt: skip
        digest = hashlib.blake2b(json_text(about).encode(), digest_size=16)
        for part in (self.event, *self.values.values()):
            digest.update(part.tobytes())
        for column, keys in ((self.users, id_keys), (self.times, value_keys)):
            digest.update(b"none" if column is None else keys(column).tobytes())
        return digest.hexdigest()


@runtime_checkable
class Played(Protocol):
    """A protocol for objects that hold the results of a system on a stream of events."""

    @property
    def outcomes(self) -> Outcomes:
        """Return the outcomes of the system: its values under each metric, event by event."""


def outcomes_of(one: Outcomes | Played) -> Outcomes:
    """Return the outcomes in a result on a stream; outcomes are returned as they are. Raise U124 for anything else."""
    if isinstance(one, Outcomes):
        return one
    if not isinstance(found := getattr(one, "outcomes", None), Outcomes):
        raise wrong_noun(one, "played stream")
    return found


def is_error(metric: str) -> bool:
    """Return whether a metric is an error, such as rmse, so that lower values are better."""
    return metric in ("mae", "rmse") or metric.endswith("_error")
