"""The learning schedule of a stream (every event, batches, delays): how many events are learned before each event."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recassay.data.times import TimeValues
from recassay.protocols.prequential import Prequential

Int64 = NDArray[np.int64]


class Regime:
    """The learning schedule of a stream: it counts the events that the model has learned before each query.

    >>> moments = np.array([0, 1, 5, 6, 12])
    >>> for protocol in (Prequential(), Prequential(batch=2), Prequential(delay=2), Prequential(learn_until=3)):
    ...     regime = Regime(protocol)
    ...     print(protocol, regime.n_learned(regime.n_revealed(5, moments)).tolist())
    prequential [0, 1, 2, 3, 4]
    prequential(batch=2) [0, 0, 2, 2, 4]
    prequential(delay=2) [0, 0, 0, 1, 2]
    prequential(learn_until=3) [0, 1, 2, 3, 3]
    >>> for protocol in (Prequential(batch="5s"), Prequential(delay="5s"), Prequential(warmup=3, refit=2)):
    ...     regime = Regime(protocol)
    ...     print(protocol, regime.n_learned(regime.n_revealed(5, moments)).tolist())
    prequential(batch='5s') [0, 0, 2, 2, 4]
    prequential(delay='5s') [0, 0, 1, 2, 4]
    prequential(warmup=3, refit=2) [0, 0, 0, 3, 3]
    """

    def __init__(self, protocol: Prequential) -> None:
        self.protocol = protocol
        self.kind = next(iter(protocol.regime), "")
        self.span = protocol.regime.get(self.kind)
        self.n_events = 0  # of the stream so far
        self.hidden = np.zeros(0)  # times of events that are not revealed yet
        self.origin: float | None = None  # the first time of the stream
        self.window, self.window_start = 0, 0  # the current time window and its first event

    def n_revealed(self, n_events: int, moments: TimeValues | None) -> Int64:
        """Return how many events may be learned before each of the next ``n_events``; none during the warm-up.

        ``moments`` are the times of these events, None if the stream has no times.
        """
        event = np.arange(self.n_events, self.n_events + n_events)
        revealed = self._after_warmup(event, self._revealed(event, moments))
        self.n_events += n_events
        return revealed

    def n_learned(self, n_revealed: Int64) -> Int64:
        """Return how many of the events that may be learned (``n_revealed``) are learned: at most ``learn_until``."""
        last = self.protocol.learn_until
        return n_revealed if last is None else np.minimum(n_revealed, last)

    def n_learned_at_end(self) -> int:
        """Return how many events have been learned by the end of the stream."""
        event = np.array([self.n_events])
        if self.span is None or not self.span.of_time:
            revealed = self._revealed(event, None)
        else:
            revealed = np.array([self.n_events - self.hidden.size if self.kind == "delay" else self.window_start])
        return int(self.n_learned(self._after_warmup(event, revealed))[0])

    def _after_warmup(self, event: Int64, revealed: Int64) -> Int64:
        warmup = self.protocol.warmup
        return np.where(event < warmup, 0, np.maximum(revealed, warmup))

    def _revealed(self, event: Int64, moments: TimeValues | None) -> Int64:
        if self.span is None:
            return event
        if not self.span.of_time:
            size, warmup = int(self.span.size), self.protocol.warmup
            return event - size if self.kind == "delay" else warmup + (event - warmup) // size * size
        assert moments is not None  # a stream without times was refused
        return self._delayed(moments, self.span.size) if self.kind == "delay" else self._window_starts(event, moments)

    def _delayed(self, moments: TimeValues, delay: float) -> Int64:
        """Return, for each of the next events, how many events of the stream are at least ``delay`` older."""
        waiting = np.append(self.hidden, moments).astype(np.float64)
        begin = self.n_events - self.hidden.size
        revealed = np.searchsorted(waiting, moments - delay, side="right")
        self.hidden = waiting[revealed[-1] :] if revealed.size else waiting
        return begin + revealed

    def _window_starts(self, event: Int64, moments: TimeValues) -> Int64:
        """Return the number of the first event in each event's time window; all events before it may be learned."""
        assert self.span is not None
        if self.origin is None and moments.size:
            self.origin = float(moments[0])
        window = np.floor((moments - (self.origin or 0.0)) / self.span.size).astype(np.int64)
        is_first = np.append([self.window], window[:-1]) != window
        starts = np.maximum.accumulate(np.append([self.window_start], np.where(is_first, event, 0)))[1:]
        if moments.size:
            self.window, self.window_start = int(window[-1]), int(starts[-1])
        return starts
