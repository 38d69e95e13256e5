"""Two systems on the same events of one stream."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.comparison.over_time.curves import made_of, moments_of
from recassay.comparison.over_time.windows import PastWindows, WindowOptions
from recassay.errors import InputError, UsageError
from recassay.results.outcomes import EVENT, TIME, Outcomes, Played, outcomes_of

Floats = NDArray[np.float64]
Systems = Outcomes | Played | Iterable[Outcomes | Played] | Mapping[str, Outcomes | Played]


@dataclass(frozen=True, eq=False)
class Paired:
    """Values of two systems under one metric, at the events scored for both.

    ``dropped`` counts events that were scored for one system only, or where one value is undefined.
    """

    a: str
    b: str
    metric: str
    event: NDArray[np.int64]
    values_a: Floats
    values_b: Floats
    dropped: int
    events: int
    times: pl.Series | None

    @classmethod
    def of(cls, a: Outcomes, b: Outcomes, metric: str) -> Paired:
        """Return the values of two systems under a metric, at the events of one stream that were scored for both.

        >>> a = Outcomes("a", np.array([1, 2, 4]), {"mrr": np.array([1.0, 0.5, 0.0])}, events=5)
        >>> b = Outcomes("b", np.array([1, 4]), {"mrr": np.array([0.5, np.nan])}, events=5)
        >>> paired = Paired.of(a, b, "mrr")
        >>> paired.event.tolist(), paired.dropped
        ([1], 2)
        """
        where = f"{a.system} and {b.system}"
        if a.events != b.events:
            what = f"one stream has {a.events:,} events and the other {b.events:,}"
            raise InputError("I311", what, where=where, hint="play both systems on the same log")
        event, in_a, in_b = np.intersect1d(a.event, b.event, assume_unique=True, return_indices=True)
        if a.users is not None and b.users is not None:
            other = np.flatnonzero((a.users.gather(in_a) != b.users.gather(in_b)).to_numpy())
            if other.size:
                first = event[other[0]]
                what = f"{other.size:,} of {event.size:,} events are of other users, the first is event {first:,}"
                raise InputError("I311", what, where=where, hint="play both systems on the same log")
        made = made_of(a, metric)
        if made.after is not np.asarray:
            what = f"{metric} of a stream is not a mean over its events, so events have no differences"
            raise UsageError("U114", what, where=where, hint=f"compare {made.column}, or squares of it, event by event")
        values_a, values_b = a.of(made.column)[in_a], b.of(made.column)[in_b]
        known = ~(np.isnan(values_a) | np.isnan(values_b))
        if not known.any():
            what = (
                f"no event has a value of {metric} for both: {len(a):,} were scored for one, {len(b):,} for the other"
            )
            raise InputError("I311", what, where=where, hint="play both with the same protocol")
        count = int(np.count_nonzero(known))
        return cls(
            a=a.system,
            b=b.system,
            metric=metric,
            event=event[known],
            values_a=values_a[known],
            values_b=values_b[known],
            dropped=len(a) + len(b) - event.size - count,
            events=a.events,
            times=None if a.times is None else a.times.gather(in_a[known]),
        )

    @property
    def differences(self) -> Floats:
        """Return a - b at each event."""
        return self.values_a - self.values_b

    @property
    def binary(self) -> bool:
        """Return whether all values are 0 or one other number (wrong or right), as McNemar's test needs."""
        values = np.concatenate([self.values_a, self.values_b])
        return bool(np.isin(values, (0.0, values.max())).all())

    def past_windows(self, options: WindowOptions) -> PastWindows:
        """Return, for each paired event, the window of events that ends with it, over which values are averaged."""
        return options.over(self.event, moments_of(self.times, self.a) if options.by == "time" else None)

    def columns(self) -> dict[str, Any]:
        """Return columns by name that identify the paired events: ``event``, and ``timestamp`` if there are times."""
        times = {} if self.times is None else {TIME: self.times}
        return {EVENT: self.event, **times}


def systems_of(a: Systems, b: Outcomes | Played | None = None) -> dict[str, Outcomes]:
    """Return the outcomes of the systems to compare, by name.

    ``a`` and ``b`` are two systems, or ``a`` alone is a collection of several; a mapping renames them.
    """
    if isinstance(a, Mapping):
        named = [replace(outcomes_of(one), system=name) for name, one in a.items()]
    elif isinstance(a, Iterable):
        named = [outcomes_of(one) for one in a]
    else:
        named = [outcomes_of(a)]
    named += [] if b is None else [outcomes_of(b)]
    found = {one.system: one for one in named}
    if len(found) < len(named):
        twice = next(one.system for one in named if [other.system for other in named].count(one.system) > 1)
        raise UsageError("U109", f"two systems are called '{twice}'", hint="give a mapping of name to what was played")
    if len(found) < 2:
        raise UsageError("U113", f"a comparison needs two systems, not {len(found)}", hint="give another one")
    return found
