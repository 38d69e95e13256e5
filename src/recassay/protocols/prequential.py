"""Prequential evaluation: predict each event of a stream, then learn it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from recassay import drift
from recassay.columnar.times import TimeKind
from recassay.drift import Detector
from recassay.naming.named import ABOVE_0_UP_TO_1, AT_LEAST_0, AT_LEAST_2, COUNT, Departure
from recassay.protocols.base import BaseProtocol

SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
SPAN = re.compile(r"(\d+(?:\.\d+)?)\s*([smhdw])")


@dataclass(frozen=True)
class Span:
    """A length of a part of the stream: a number of events, or a time in seconds."""

    size: float
    of_time: bool


@dataclass(frozen=True, repr=False)
class Prequential(BaseProtocol):
    """For every event of a stream, the model predicts the user's choice, and then learns the event.

    An event is scored if its user is known: if the ``model`` has learned an event of the user, or with
    ``known="stream"`` if the stream has had one, whatever the model has learned. Then all models are scored at the same
    events; a user whom the model has not learned gets no list, and the event is a miss. The model recommends ``at``
    items; the item of the event is the only relevant one. ``candidates`` are the items that the model has learned
    (``seen``), or ``all`` items of the log, with those not learned yet at the end. If the item of a scored event is not
    a candidate, it counts as a miss.

    With ``repeats="exclude"`` an event is not scored if its user had the item before, and lists exclude the items that
    the user had. With ``allow`` such events are scored and nothing is excluded. The first ``warmup`` events are learned
    together and not scored.

    By default the model learns after every event. Alternatives: after every ``batch`` events; ``delay`` events late; or
    it is refitted on all events so far every ``refit`` events, for models that cannot learn single events. Each may be
    a time, such as ``batch='1d'``: letters are s, m, h, d and w, and times that are plain numbers are seconds. Nothing
    is learned after the first ``learn_until`` events.

    Relevant is the item of the event (``match="exact"``); any item that the user chooses from now on (``future``) or in
    the ``reach`` next events (``window``); or the item of the event, counted as a hit in the current list or in one of
    the last ``reach`` lists that the user got (``previous``). ``credit`` is 1 for ``any`` hit, or the ``share`` of
    possible hits. Events are scored with probability ``score_every``, drawn by ``seed`` and position in the stream.

    With ``predict="ratings"`` the model predicts the rating of each event instead; ``clip`` limits predictions to the
    range of the ratings so far. Repeats are then scored, and so are events of unknown users if the model predicts a
    number for them (``known="any"``); ``known="model"`` leaves these out.

    ``folds`` evaluates ``copies`` of the model. Each user is learned by one copy (``split``), by all but one (``cv``),
    or by each copy as often as a Poisson draw with mean 1 (``bootstrap``).

    A stream needs an order of all events, and clock times if a span is a time. ``order="sort"`` sorts rows by time and
    keeps row order for ties; ``error`` raises an error if time goes backwards. A log without times, or with an order
    within each user only, is an error (I383, I385), unless ``order="row"`` declares that its rows are in order.

    A drift ``detector``, as text, reads the losses of scored events: 1 - x of the first metric, or the absolute error.
    If the loss rises, the alarm is recorded (``on_alarm="log"``). Or right after the event of the alarm the model
    starts again from nothing (``reset``), or is refitted on the last ``keep`` revealed events (``refit``); the detector
    is then reset too. A fall is only recorded. Alarms do not change which events are scored, even if the model has
    forgotten their users.

    If the stream is a fold, its training part is the warm-up, and ``warmup`` and ``learn_until`` count from its end.

    ``given`` = N scores an event only if its user had at least N events before (Given-N); ``all_but`` = N scores only
    the last N events of each user (All-but-N). All events are learned, the scored ones after they are scored.

    >>> Prequential(at=5, batch=100), Prequential(delay="7d", repeats="allow")
    (prequential(at=5, batch=100), prequential(repeats='allow', delay='7d'))
    """

    name: ClassVar[str] = "prequential"
    departures: ClassVar[tuple[Departure, ...]] = (
        Departure(
            "prequential",
            "Given-N and All-but-N hide the scored events of a user from the model; with given and all_but a stream "
            "learns them after they are scored, unless it plays a fold of user_folds(given=N) or (all_but=N).",
            "prequential(learn_until=0)",
        ),
        Departure(
            "prequential",
            "The paper predicts for known users only, ratings included; here the rating of every event is predicted, "
            "and scored if the model returns a number.",
            "prequential(predict='ratings', known='model')",
        ),
    )

    at: Annotated[int, COUNT] = 10
    candidates: Literal["seen", "all"] = "seen"
    known: Literal["model", "stream", "any"] | None = None  # by default model, and any if ratings are predicted
    repeats: Literal["exclude", "allow"] = "exclude"
    warmup: Annotated[int, AT_LEAST_0] = 0
    batch: int | str | None = None
    refit: int | str | None = None
    delay: int | str | None = None
    learn_until: Annotated[int | None, AT_LEAST_0] = None
    match: Literal["exact", "future", "previous", "window"] = "exact"
    reach: Annotated[int, COUNT] = 1
    credit: Literal["any", "share"] = "any"
    score_every: Annotated[float, ABOVE_0_UP_TO_1] = 1.0
    predict: Literal["items", "ratings"] = "items"
    clip: bool = False
    folds: Literal["none", "split", "cv", "bootstrap"] = "none"
    copies: Annotated[int, AT_LEAST_2] = 10
    order: Literal["sort", "error", "row"] = "sort"
    seed: int = 0
    detector: str | None = None
    on_alarm: Literal["log", "reset", "refit"] = "log"
    keep: Annotated[int, COUNT] = 5000
    given: Annotated[int, AT_LEAST_0] = 0
    all_but: Annotated[int | None, COUNT] = None

    def validate(self) -> None:
        """Raise an error if two options exclude each other."""
        regime, timed, watched = self.regime, self.timed, self.watching is not None
        schedule = next(iter(regime), "")
        wrong: tuple[tuple[str, bool, str, str], ...] = (
            (
                "given", self.given > 0 and self.all_but is not None,
                "Given-N and All-but-N exclude each other", "give one of them",
            ),
            (
                "learn_until", self.learn_until is not None and self.learn_until < self.warmup,
                f"the warm-up of {self.warmup} events is always learned", f"{self.warmup} or more",
            ),
            (schedule, len(regime) > 1, f"{' and '.join(regime)} exclude each other", "give one of them"),
            ("order", timed and self.order == "row", f"{schedule} is a time, but rows have no times", "'sort'"),
            (
                "on_alarm", not watched and self.on_alarm != "log",
                "without a detector there are no alarms", "detector='ADWIN'",
            ),
            (
                "known", self.known == "stream" and (watched or self.predict == "ratings"),
                "detectors see answered queries only, and a rating that was not predicted has no error",
                "known='model'",
            ),
            (
                "known", self.known == "any" and self.predict == "items",
                "a model has no list for a user without events; only ratings are predicted for any user",
                "known='model'",
            ),
            (
                "credit", self.credit == "share" and self.match not in ("future", "window"),
                f"with match={self.match!r} there is only one relevant item", "match='future'",
            ),
        )  # fmt: skip
        for name, is_wrong, why, hint in wrong:
            if is_wrong:
                raise self.refuse(name, why, hint)

    @property
    def needs(self) -> TimeKind | None:
        """Return what the times in a log must tell so that this protocol can play the log as a stream.

        ``clock``: real times, of which differences can be taken; ``global``: which of any two events came first; None:
        nothing, as the order of rows is used.
        """
        if self.order == "row":
            return None
        return "clock" if self.timed else "global"

    @property
    def scored_users(self) -> Literal["model", "stream", "any"]:
        """Return whose events are scored: ``known``, or its default for what is predicted."""
        return self.known or ("any" if self.predict == "ratings" else "model")

    @property
    def watching(self) -> Detector | None:
        """Return the drift detector that reads the losses of scored events; None if the protocol has none."""
        return None if self.detector is None else drift.parse(self.detector)

    @property
    def regime(self) -> dict[str, Span]:
        """Return the learning schedule: ``batch``, ``refit`` or ``delay``, mapped to its length in events or time.

        It is empty if the model learns after every event.
        """
        names = (name for name in ("batch", "refit", "delay") if getattr(self, name) is not None)
        return {name: self._span(name, getattr(self, name)) for name in names}

    def _span(self, name: str, value: int | str) -> Span:
        if isinstance(value, int):
            if value < 1:
                raise self.refuse(name, "it must be at least 1", "1 or more")
            return Span(value, of_time=False)
        found = SPAN.fullmatch(value.strip())
        if found is None or not float(found[1]):
            raise self.refuse(name, "it is not a length of time", "a number of events, or a text such as '12h' or '7d'")
        return Span(float(found[1]) * SECONDS[found[2]], of_time=True)

    @property
    def timed(self) -> bool:
        """Return whether the learning schedule has a length of time, so that the stream needs times."""
        return any(span.of_time for span in self.regime.values())
