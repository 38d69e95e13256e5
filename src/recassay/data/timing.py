"""How long a model took: seconds per call, by their percentiles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Spent:
    """Seconds spent on one kind of call. The first call, which may have had something to compile, is in all of them.

    >>> spent = Spent.of([0.4, 0.1, 0.1, 0.2])
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
    def of(cls, seconds: NDArray[np.float64] | list[float]) -> Spent:
        """Of the seconds of each call, in order; no call at all is 0 calls, of NaN seconds each."""
        each = np.asarray(seconds, np.float64)
        if not each.size:
            return cls(0, 0.0, *[float("nan")] * 5)
        median, p95, p99 = np.percentile(each, [50, 95, 99]).tolist()
        return cls(each.size, float(each.sum()), float(each.mean()), median, p95, p99, float(each[0]))

    @property
    def per_second(self) -> float:
        """Calls per second."""
        return self.calls / self.total if self.total else float("nan")


@dataclass(frozen=True)
class Timing:
    """What answering took and what learning took, apart, and where: a monotonic clock around calls of the model."""

    recommend: Spent
    update: Spent
    machine: str = ""
    threads: int = 1

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Timing:
        """What :meth:`to_dict` made; a null is an undefined number."""
        spent: list[dict[str, Any]] = [
            {k: float("nan") if v is None else v for k, v in content[kind].items()} for kind in KINDS
        ]
        return cls(Spent(**spent[0]), Spent(**spent[1]), content["machine"], content["threads"])


KINDS = ("recommend", "update")
