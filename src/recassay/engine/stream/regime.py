"""How much of a stream the model has learnt when it is asked: one number per event says it for every regime."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recassay.data.times import Moments
from recassay.protocols.prequential import Prequential

Int64 = NDArray[np.int64]


class Regime:
    """Before event t is asked about, so many first events have been learnt: a number that never falls.

    >>> moments = np.array([0, 1, 5, 6, 12])
    >>> for protocol in (Prequential(), Prequential(batch=2), Prequential(delay=2), Prequential(learn_until=3)):
    ...     regime = Regime(protocol)
    ...     print(protocol, regime.learnt(regime.revealed(5, moments)).tolist())
    prequential [0, 1, 2, 3, 4]
    prequential(batch=2) [0, 0, 2, 2, 4]
    prequential(delay=2) [0, 0, 0, 1, 2]
    prequential(learn_until=3) [0, 1, 2, 3, 3]
    >>> for protocol in (Prequential(batch="5s"), Prequential(delay="5s"), Prequential(warmup=3, refit=2)):
    ...     regime = Regime(protocol)
    ...     print(protocol, regime.learnt(regime.revealed(5, moments)).tolist())
    prequential(batch='5s') [0, 0, 2, 2, 4]
    prequential(delay='5s') [0, 0, 1, 2, 4]
    prequential(warmup=3, refit=2) [0, 0, 0, 3, 3]
    """

    def __init__(self, protocol: Prequential) -> None:
        self.protocol = protocol
        self.kind = next(iter(protocol.regime), "")
        self.span = protocol.regime.get(self.kind)
        self.events = 0  # of the stream so far
        self.hidden = np.zeros(0)  # times of events that are not yet revealed
        self.origin: float | None = None  # the first time of the stream
        self.window, self.start = 0, 0  # of time, and the event that it begins with

    def revealed(self, events: int, moments: Moments | None) -> Int64:
        """How many events could have been learnt before each of the next so many; the warm-up is at its end."""
        place = np.arange(self.events, self.events + events)
        found = self._behind_warmup(place, self._regular(place, moments))
        self.events += events
        return found

    def learnt(self, revealed: Int64) -> Int64:
        """How many were, since nothing is after the last event to learn."""
        last = self.protocol.learn_until
        return revealed if last is None else np.minimum(revealed, last)

    def after(self) -> int:
        """How many are learnt when the stream ends: what would be before one more event at the time of the last."""
        place = np.array([self.events])
        if self.span is None or not self.span.of_time:
            found = self._regular(place, None)
        else:
            found = np.array([self.events - self.hidden.size if self.kind == "delay" else self.start])
        return int(self.learnt(self._behind_warmup(place, found))[0])

    def _behind_warmup(self, place: Int64, found: Int64) -> Int64:
        warmup = self.protocol.warmup
        return np.where(place < warmup, 0, np.maximum(found, warmup))

    def _regular(self, place: Int64, moments: Moments | None) -> Int64:
        if self.span is None:
            return place
        if not self.span.of_time:
            size, warmup = int(self.span.size), self.protocol.warmup
            return place - size if self.kind == "delay" else warmup + (place - warmup) // size * size
        assert moments is not None  # a stream without times was refused
        return self._late(moments, self.span.size) if self.kind == "delay" else self._windows(place, moments)

    def _late(self, moments: Moments, by: float) -> Int64:
        """Events are revealed when so much time has gone by."""
        waiting = np.append(self.hidden, moments).astype(np.float64)
        begin = self.events - self.hidden.size
        revealed = np.searchsorted(waiting, moments - by, side="right")
        self.hidden = waiting[revealed[-1] :] if revealed.size else waiting
        return begin + revealed

    def _windows(self, place: Int64, moments: Moments) -> Int64:
        """The last event before the window of time that each stands in."""
        assert self.span is not None
        if self.origin is None and moments.size:
            self.origin = float(moments[0])
        window = np.floor((moments - (self.origin or 0.0)) / self.span.size).astype(np.int64)
        begins = np.append([self.window], window[:-1]) != window
        starts = np.maximum.accumulate(np.append([self.start], np.where(begins, place, 0)))[1:]
        if moments.size:
            self.window, self.start = int(window[-1]), int(starts[-1])
        return starts
