"""How long a model took: seconds per call, summarised by percentiles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


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
        """Return all fields, ready for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Timing:
        """Return the timing that :meth:`to_dict` wrote; null stands for an undefined number."""
        spent: list[dict[str, Any]] = [
            {k: float("nan") if v is None else v for k, v in content[kind].items()} for kind in KINDS
        ]
        return cls(CallTimes(**spent[0]), CallTimes(**spent[1]), content["machine"], content["threads"])


KINDS = ("recommend", "update")
