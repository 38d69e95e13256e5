"""Test, then learn, event by event."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar, Literal

from recassay import drift
from recassay.data.time_kind import TimeKind
from recassay.drift import Detector
from recassay.protocols.base import Asking

SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
SPAN = re.compile(r"(\d+(?:\.\d+)?)\s*([smhdw])")


@dataclass(frozen=True)
class Span:
    """So many events, or so much time."""

    size: float
    of_time: bool


@dataclass(frozen=True, repr=False)
class Prequential(Asking):
    """Every event of a stream first asks the model what the user will take, and then teaches it.

    An event is scored if its user is known, that is if the model has learnt an event of the user. The model is asked
    for ``at`` items; the one item of the event is the only right answer. ``candidates`` are the items that the model
    has learnt (``seen``), or ``all`` of the whole log, of which those it has not learnt stand last. If the item of a
    scored event is no candidate, it counts as missed.

    An event of a pair that was met before is not scored, and lists leave out what the user had (``repeats="exclude"``);
    or it is scored, and nothing is left out (``allow``). The first ``warmup`` events are learnt together and not
    scored.

    The model learns after every event; or after every ``batch`` events; or ``delay`` events late; or it is made anew,
    from all events so far, every ``refit`` events, which is how a model takes part that cannot learn by event. Each may
    be a time instead, such as ``batch='1d'``: letters are s, m, h, d and w, and times that are plain numbers are
    seconds. Nothing is learnt after the first ``learn_until`` events.

    Right is the item of the event (``match="exact"``); or any that the user takes from now on (``future``) or in the
    ``reach`` next events (``window``); or the item of the event, if it stands in the list or in one of the ``reach``
    lists before it that the user was shown (``previous``). ``credit`` is 1 for ``any`` hit, or the ``share`` of what
    could be hit. An event that could be scored is scored with the chance ``score_every``, drawn by ``seed`` and place
    in the stream.

    With ``predict="ratings"`` the model foretells the value of each event instead; ``clip`` keeps it within the lowest
    and highest value so far. Repeats are scored then.

    ``folds`` plays ``copies`` of the model, of which each user meets one (``split``), all but one (``cv``), or each so
    many times as a Poisson draw of mean 1 says (``bootstrap``).

    A stream needs an order of all events, and clock times where a span is a time. By ``order="sort"`` rows are sorted
    by time, those at one time stay as they stand; ``error`` refuses time that runs back. A log without times, or with
    an order within each user only, is refused (I383, I385), unless ``order="row"`` says that its rows stand in order.

    A ``detector`` of drift, as text, watches the losses of scored events: 1 - x of the first metric, or the absolute
    error. When it says that they rose, the alarm is noted (``on_alarm="log"``); or, right after the event that raised
    it, the model is made anew, from nothing (``reset``) or from the last ``keep`` events that were revealed by then
    (``refit``), and so is the detector. That they fell is noted only. No alarm changes which events are scored: whom
    the model has forgotten it is asked about all the same.

    Of a fold, the training part is the warm-up, and ``warmup`` and ``learn_until`` count from where it ends.

    >>> Prequential(at=5, batch=100), Prequential(delay="7d", repeats="allow")
    (prequential(at=5, batch=100), prequential(repeats='allow', delay='7d'))
    """

    name: ClassVar[str] = "prequential"

    at: int = 10
    candidates: Literal["seen", "all"] = "seen"
    repeats: Literal["exclude", "allow"] = "exclude"
    warmup: int = 0
    batch: int | str | None = None
    refit: int | str | None = None
    delay: int | str | None = None
    learn_until: int | None = None
    match: Literal["exact", "future", "previous", "window"] = "exact"
    reach: int = 1
    credit: Literal["any", "share"] = "any"
    score_every: float = 1.0
    predict: Literal["items", "ratings"] = "items"
    clip: bool = False
    folds: Literal["none", "split", "cv", "bootstrap"] = "none"
    copies: int = 10
    order: Literal["sort", "error", "row"] = "sort"
    seed: int = 0
    detector: str | None = None
    on_alarm: Literal["log", "reset", "refit"] = "log"
    keep: int = 5000

    def validate(self) -> None:
        """Counts are counts, and what excludes each other does not stand together."""
        for name, least in {"at": 1, "warmup": 0, "learn_until": 0, "reach": 1, "copies": 2, "keep": 1}.items():
            if (value := getattr(self, name)) is not None and value < least:
                raise self.refuse(name, "it cannot be so small", f"{least} or more")
        if not 0 < self.score_every <= 1:
            raise self.refuse("score_every", "it is a chance", "above 0, at most 1")
        if self.learn_until is not None and self.learn_until < self.warmup:
            raise self.refuse("learn_until", f"the warm-up of {self.warmup} events is learnt", f"{self.warmup} or more")
        if len(self.regime) > 1:
            raise self.refuse(next(iter(self.regime)), f"there is {' and '.join(self.regime)}", "say one of them")
        if self.timed and self.order == "row":
            raise self.refuse("order", f"{next(iter(self.regime))} is a length of time, and rows have none", "'sort'")
        if self.watching is None and self.on_alarm != "log":
            raise self.refuse("on_alarm", "nothing raises an alarm", "detector='ADWIN'")
        if self.credit == "share" and self.match not in ("future", "window"):
            raise self.refuse("credit", f"with match={self.match!r} there is one item to hit", "match='future'")

    @property
    def needs(self) -> TimeKind | None:
        """The weakest times of a stream that it accepts."""
        if self.order == "row":
            return None
        return "clock" if self.timed else "global"

    @property
    def watching(self) -> Detector | None:
        """The detector that watches the losses, if one does."""
        return None if self.detector is None else drift.parse(self.detector)

    @property
    def regime(self) -> dict[str, Span]:
        """When the model learns: a span by the name of ``batch``, ``refit`` or ``delay``; nothing for every event."""
        given = {name: value for name in ("batch", "refit", "delay") if (value := getattr(self, name)) is not None}
        return {name: self._span(name, value) for name, value in given.items()}

    def _span(self, name: str, value: int | str) -> Span:
        if isinstance(value, int):
            if value < 1:
                raise self.refuse(name, "it cannot be so small", "1 or more")
            return Span(value, of_time=False)
        found = SPAN.fullmatch(value.strip())
        if found is None or not float(found[1]):
            raise self.refuse(name, "it is no length of time", "a number of events, or a text such as '12h' or '7d'")
        return Span(float(found[1]) * SECONDS[found[2]], of_time=True)

    @property
    def timed(self) -> bool:
        """Whether the regime needs times."""
        return any(span.of_time for span in self.regime.values())
