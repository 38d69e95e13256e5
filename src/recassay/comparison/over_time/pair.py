"""A pair of systems on a stream: windows, ranges of events with a better system, a test over all events, and bounds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.comparison.over_time.curves import made_of, moments_of
from recassay.comparison.over_time.windows import FEWEST, PastWindows, Signed, WindowOptions, signed_mcnemar
from recassay.errors import InputError, UsageError
from recassay.results.outcomes import EVENT, TIME, Outcomes, Played, is_error, outcomes_of
from recassay.stats.anytime import AnytimeBounds
from recassay.stats.significance import mcnemar_p, run_test


@dataclass(frozen=True)
class StreamSignificanceOptions:
    """Options of McNemar's test in windows, and the test used for all events."""

    alpha: float
    continuity: bool = False
    exact: bool | None = None
    test: str = "auto"
    fewest: int = FEWEST


@dataclass(frozen=True, eq=False)
class Duel:
    """Comparison of two systems on a stream: in windows, over all events, and with bounds that hold at every event.

    ``paired`` are the values of both systems, and ``past`` has for each event the window of events that ends with it.
    ``signed`` is McNemar's test in each window, None for a metric whose values are not 0 and 1. ``test`` and ``p`` are
    the test over all events.
    """

    paired: Paired
    past: PastWindows
    signed: Signed | None
    bounds: AnytimeBounds
    test: str
    p: float

    @classmethod
    def of(cls, paired: Paired, options: WindowOptions, bounds: AnytimeBounds, how: StreamSignificanceOptions) -> Duel:
        """Return the comparison of a pair in the windows that ``options`` describe, and over all events.

        ``bounds`` are those of the mean difference so far. ``how`` says how McNemar's test is made in windows, and
        which test is made over all events.
        """
        past = paired.past_windows(options)
        a, b = paired.values_a, paired.values_b
        signed = None
        if paired.binary:
            signed = signed_mcnemar(
                a, b, past, alpha=how.alpha, correction=how.continuity, exact=how.exact, fewest=how.fewest
            )
        test = how.test if how.test != "auto" else "mcnemar" if paired.binary else "t"
        if test == "mcnemar" and paired.binary:
            only_a, only_b = (np.array([np.count_nonzero(one > other)]) for one, other in ((a, b), (b, a)))
            p = mcnemar_p(only_a, only_b, correction=how.continuity, exact=how.exact)
        else:
            p = run_test(test, paired.differences[:, None]).p
        return cls(paired, past, signed, bounds, test, float(p[0]))

    def better(self, sign: NDArray[np.integer]) -> pl.Series:
        """Return the name of the better system for each sign (-1, 0, 1) of a difference a - b; null for 0.

        For an error metric the better system is the one with less.
        """
        names = [self.paired.b, None, self.paired.a]
        named = pl.Series("better", names[::-1] if is_error(self.paired.metric) else names, dtype=pl.String)
        return named.gather(sign.astype(np.int64) + 1)

    def curve(self) -> pl.DataFrame:
        """Return a row per paired event, on the window that ends there and on all events so far.

        About the window: the mean of each system, the number ``n`` of events, and whether the window is ``partial``;
        for a metric of 0 and 1 also the events at which only one system was right, signed McNemar, its p and the better
        system. About all events so far: the mean ``difference`` with its bounds ``low`` and ``high``.
        """
        columns: dict[str, Any] = {
            "mean_a": self.past.means(self.paired.values_a),
            "mean_b": self.past.means(self.paired.values_b),
            "n": self.past.sizes(),
            "partial": self.past.partial,
        }
        if self.signed is not None:
            kind = np.int64 if self.past.fading is None else np.float64
            columns |= {"only_a": self.signed.only_a.astype(kind), "only_b": self.signed.only_b.astype(kind)}
            columns |= {"mcnemar": self.signed.signed, "p": self.signed.p, "better": self.better(self.signed.claim)}
        columns |= {"difference": self.bounds.mean, "low": self.bounds.low, "high": self.bounds.high}
        return pl.DataFrame({**self.paired.columns(), **columns})

    def stretches(self) -> pl.DataFrame:
        """Return a row per uninterrupted range of events in which McNemar's test in windows finds a system better.

        ``better`` names the system. The row has the first and the last event (and times if known), the number of events
        ``scored`` in between, and ``strongest``, the value of signed McNemar that is farthest from 0.
        """
        claim = np.zeros(0, np.int8) if self.signed is None else self.signed.claim
        signed = np.zeros(0) if self.signed is None else self.signed.signed
        edges = np.flatnonzero(np.diff(claim, prepend=0, append=0))
        begins, ends = edges[:-1], edges[1:] - 1
        kept = claim[begins] != 0 if begins.size else np.zeros(0, np.bool_)
        begins, ends = begins[kept], ends[kept]
        strongest = [
            float(part[np.abs(part).argmax()]) for part in map(signed.__getitem__, map(slice, begins, ends + 1))
        ]
        columns: dict[str, Any] = {
            "a": [self.paired.a] * begins.size,
            "b": [self.paired.b] * begins.size,
            "better": self.better(claim[begins]),
            "from_event": self.paired.event[begins],
            "to_event": self.paired.event[ends],
        }
        if self.paired.times is not None:
            columns |= {"from_time": self.paired.times.gather(begins), "to_time": self.paired.times.gather(ends)}
        columns |= {"scored": ends - begins + 1, "strongest": strongest}
        return pl.DataFrame(columns, schema_overrides={"a": pl.String, "b": pl.String, "strongest": pl.Float64})

    @property
    def decided(self) -> int | None:
        """Return the position of the first event at which bounds exclude 0 for the system that is better in the end.

        Events up to the last one at which they exclude 0 for the other system do not count. The result is None if they
        include 0 at the end.
        """
        side = np.where(self.bounds.low > 0, 1, np.where(self.bounds.high < 0, -1, 0))
        if not side.any() or not side[-1]:
            return None
        after = int(np.flatnonzero(side == -side[-1]).max(initial=-1)) + 1
        return after + int((side[after:] == side[-1]).argmax())

    def row(self) -> dict[str, Any]:
        """Return a row about all events: means of both systems, the test and its p, bounds of the difference.

        ``for`` is the system that the bounds find better at the last event, null if they include 0 there. ``decided``
        is the first event at which they do.
        """
        a, b = self.paired.values_a, self.paired.values_b
        at = self.decided
        ahead = np.sign([0.0 if at is None else self.bounds.mean[-1]])
        return {
            "metric": self.paired.metric,
            "a": self.paired.a,
            "b": self.paired.b,
            "mean_a": float(a.mean()),
            "mean_b": float(b.mean()),
            "difference": float(self.paired.differences.mean()),
            "n": a.size,
            "dropped": self.paired.dropped,
            "only_a": int(np.count_nonzero(a > b)),
            "only_b": int(np.count_nonzero(b > a)),
            "test": self.test,
            "p": self.p,
            "low": float(self.bounds.low[-1]),
            "high": float(self.bounds.high[-1]),
            "decided": None if at is None else int(self.paired.event[at]),
            "for": self.better(ahead)[0],
        }


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
