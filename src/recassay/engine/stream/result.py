"""What a system did on a stream: outcomes of every copy of it, and what can be asked of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from recassay.comparison.over_time import Curve, over_time
from recassay.data.finding import Finding
from recassay.data.outcomes import Outcomes
from recassay.diagnose import Streamed, Watched, diagnose
from recassay.drift import Alarm
from recassay.engine.stream.values import ERROR
from recassay.errors import InputError, UsageError


@dataclass(frozen=True, eq=False)
class Stream:
    """Outcomes of a system on a stream: of one copy, or of each of several (``folds`` of the protocol).

    ``lists`` has a row for every recommended item (event, rank, item_id) if lists were to be kept. ``raised`` are the
    alarms of each copy, if a detector watched (``detector`` of the protocol).
    """

    copies: tuple[Outcomes, ...]
    lists: pl.DataFrame | None = None
    raised: tuple[tuple[Alarm, ...], ...] = ()

    @property
    def name(self) -> str:
        """The system."""
        return self.copies[0].system

    @property
    def outcomes(self) -> Outcomes:
        """The outcomes of the one copy."""
        if len(self.copies) > 1:
            what = f"{self.name} was played in {len(self.copies)} copies, each with outcomes of its own"
            raise UsageError("U192", what, where="Stream.outcomes", hint="take one: stream.copies[0]")
        return self.copies[0]

    @property
    def alarms(self) -> tuple[Alarm, ...]:
        """Of the one copy: what the detector said while it was played."""
        return self.raised[self.copies.index(self.outcomes)] if self.raised else ()

    def findings(self) -> list[Finding]:
        """What the alarms of each copy say of it (V001), and whether many events were left out (C014, C015)."""
        metric = self.copies[0].metrics[0]
        alarmed = zip(self.copies, self.raised, strict=True) if self.raised else ()
        watched = [
            found for one, alarms in alarmed for found in diagnose(Watched(one.system, metric, len(one), alarms))
        ]
        return [found for one in self.copies for found in diagnose(Streamed.of(one))] + watched

    @property
    def counts(self) -> Mapping[str, int]:
        """Of the one copy: how many events were scored, and how many not for what reason."""
        return self.outcomes.counts

    def over_time(self, metric: str, **how: Any) -> Curve:
        """The course of a metric, with a mark at each alarm, and what was left out: see :func:`recassay.over_time`."""
        curve = over_time(self.outcomes, metric, **how).marked(alarm.mark for alarm in self.alarms)
        return replace(curve, notes=tuple(found.detail for found in diagnose(Streamed.of(self.outcomes))))

    def summary(self, *, per_user: bool = False) -> pl.DataFrame:
        """A row per metric: the mean over scored events, or of the means of users, and how many events are behind it.

        Of several copies it is the mean of their means, with the standard deviation and the range of these.
        """
        rows = []
        for heading in self._headings():
            means = np.array([mean(one, heading, per_user=per_user) for one in self.copies])
            row = {"system": self.name, "metric": heading, "mean": float(means.mean())}
            if len(self.copies) > 1:
                row |= {"sd": float(means.std(ddof=1)), "low": float(means.min()), "high": float(means.max())}
            rows.append({**row, "n": sum(len(one) for one in self.copies)})
        return pl.DataFrame(rows)

    def _headings(self) -> tuple[str, ...]:
        found = self.copies[0].metrics
        return ("mae", "rmse") if ERROR in found else found


def mean(outcomes: Outcomes, heading: str, *, per_user: bool = False) -> float:
    """The mean of a metric over scored events where it is defined, or the mean over users of their own means.

    ``mae`` and ``rmse`` are made of absolute errors.
    """
    values = outcomes.of(ERROR if heading in ("mae", "rmse") else heading)
    values = values**2 if heading == "rmse" else values
    defined = ~np.isnan(values)
    if not defined.any():
        return float("nan")
    if not per_user:
        found = float(values[defined].mean())
    else:
        assert outcomes.users is not None, "a stream knows whose events are scored"
        table = pl.DataFrame({"user": outcomes.users, "value": values}).filter(pl.Series(defined))
        means = table.group_by("user", maintain_order=True).agg(pl.col("value").mean())["value"]
        found = float(means.to_numpy().mean())
    return float(np.sqrt(found)) if heading == "rmse" else found


class StreamError(InputError):
    """A model failed on the way; ``stream`` has what was scored until then."""

    stream: Stream
