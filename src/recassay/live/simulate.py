"""Simulated exposures and feedback of two arms: for demonstrations, documentation and tests.

Users differ in how often they come and in how much they click. A list has ten items; the probability of a click at rank
r is examination (1 / r^0.7) x the attraction of the list, which depends on the user and on the arm. Traffic follows the
hours of the day. Feedback comes late, some events come twice, some much too late. An arm may lose attraction at some
moment (``drift``) or vanish for a while (``outage``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import ConfigDict, TypeAdapter, ValidationError

from recassay.draws import normals, uniforms
from recassay.errors import UsageError
from recassay.live.clock import DAY, HOUR, MINUTE, SECOND, microseconds
from recassay.rng import derive

DEPTH, ARMS = 10, ("old", "new")
POSITION_BIAS = 0.7
MONDAY = 1_767_571_200 * SECOND  # 5 January 2026, 00:00 UTC
EXAMINED = np.arange(1.0, DEPTH + 1) ** -POSITION_BIAS


@dataclass(frozen=True)
class Simulation:
    """Parameters of a simulation. A list's attraction is the probability of a click on an item that the user looks at.

    effect:     relative gain in attraction of the arm ``new`` over ``old``

    days:       length;  per_day: exposures a day;  users, items: how many there are
    drift:      relative loss of attraction of ``new`` from the middle on
    outage:     how long ``new`` shows nothing, after a quarter of the time: its users see ``old``
    duplicates: share of events that come twice;  late: share of feedback that comes an hour late
    share:      probability that a user is in ``new``
    """

    __pydantic_config__: ClassVar = ConfigDict(extra="forbid")

    days: float = 3.0
    per_day: int = 40_000
    users: int = 12_000
    items: int = 2_000
    effect: float = 0.15
    drift: float = 0.0
    outage: int = 0
    duplicates: float = 0.01
    late: float = 0.001
    share: float = 0.5
    seed: int = 0
    start: int = MONDAY

    @classmethod
    def parse(cls, text: str) -> Simulation:
        """Return a simulation from text such as ``days=2,effect=0.1,outage=1h``.

        >>> Simulation.parse("days=2, outage=1h").outage
        3600000000
        """
        parts = [part.partition("=") for part in text.split(",") if part.strip()]
        given: dict[str, Any] = {name.strip(): value.strip() for name, _, value in parts}
        if "outage" in given:
            given["outage"] = microseconds(given["outage"])
        try:
            return TypeAdapter(cls).validate_python(given)
        except ValidationError as error:
            problem, known = error.errors()[0], ", ".join(one.name for one in fields(cls))
            what = f"{problem['loc'][0]}={problem['input']!r}: {problem['msg'].lower()}"
            raise UsageError("U107", what, where="--simulate", hint=f"the settings are {known}") from None

    def attraction(self, level: NDArray[np.float64], new: NDArray[np.bool_], drifted: Any) -> NDArray[np.float64]:
        """Return the attraction of each list: its user's ``level`` times the effect of the arm, reduced by the drift.

        ``new`` says which lists are of the arm ``new``, and ``drifted`` which come after the drift began.
        """
        factor = np.where(new, 1 + self.effect, 1.0) * np.where(new & drifted, 1 - self.drift, 1.0)
        return np.asarray(np.minimum(level * factor, 1.0))

    def levels(self) -> NDArray[np.float64]:
        """Return, for each user, the probability of a click on an item that the user looks at in the arm ``old``."""
        rng = derive(self.seed, "live levels")
        return np.asarray(0.08 / (1 + np.exp(-normals(rng, (self.users,)))) * 2)

    def arms(self) -> NDArray[np.bool_]:
        """Return, for each user, whether the user is in the arm ``new``."""
        return np.asarray(uniforms(derive(self.seed, "live arms"), (self.users,)) < self.share)

    def batches(self, span: int = HOUR) -> Iterator[pl.DataFrame]:
        """Yield tables of the events that arrive in each ``span`` of time (microseconds), in order of arrival."""
        end = self.start + round(self.days * DAY)
        activity = np.cumsum(np.exp(normals(derive(self.seed, "live activity"), (self.users,))))
        levels, new = self.levels(), self.arms()
        waiting: list[pl.DataFrame] = []
        for number, begin in enumerate(range(self.start, end, span)):
            made = self._events(number, begin, min(begin + span, end), activity, levels, new)
            events = pl.concat([*waiting, made])
            last = begin + span >= end
            ready = events if last else events.filter(pl.col("arrival") < begin + span)
            waiting = [] if last else [events.filter(pl.col("arrival") >= begin + span)]
            yield ready.sort("arrival", maintain_order=True).drop("arrival")

    def _events(
        self,
        number: int,
        begin: int,
        end: int,
        activity: NDArray[np.float64],
        levels: NDArray[np.float64],
        new: NDArray[np.bool_],
    ) -> pl.DataFrame:
        """Return the exposures of a time span, their feedback, and duplicates, each with its time of arrival.

        ``number`` is the index of the span and ``begin``, ``end`` its times. ``activity`` is the cumulative weight of
        users, ``levels`` their attraction (the probability of a click on an item that they look at), and ``new``
        whether they are in the arm ``new``.
        """
        rng = derive(self.seed, "live events", number)
        hour = (begin % DAY) / HOUR
        rhythm = 1 - 0.6 * abs(hour - 14) / 12  # busiest after noon
        n = 1 + round(self.per_day * (end - begin) / DAY * rhythm / 0.7)
        times = np.sort(begin + (uniforms(rng, (n,)) * (end - begin)).astype(np.int64))
        here = min(1.0, 0.3 + 0.7 * (begin - self.start) / max(1, self.days * DAY))
        known = max(1, int(self.users * here))  # users who have come by now
        who = np.searchsorted(activity[:known], uniforms(rng, (n,)) * activity[known - 1])
        out = self.start + round(self.days * DAY / 4)
        in_new = new[who] & ~((times >= out) & (times < out + self.outage))
        drifted = times >= self.start + round(self.days * DAY / 2)
        attraction = self.attraction(levels[who], in_new, drifted)
        items = np.minimum((uniforms(rng, (n, DEPTH)) ** 2 * self.items).astype(np.int64), self.items - 1)
        items = _distinct(items, self.items)
        clicked = uniforms(rng, (n, DEPTH)) < attraction[:, None] * EXAMINED
        row, place = np.nonzero(clicked)
        delay = (-np.log(1 - uniforms(rng, (row.size,))) * 90 * SECOND).astype(np.int64) + SECOND
        jitter = (uniforms(rng, (n,)) * 20 * SECOND).astype(np.int64)
        requests = pl.Series([f"{number}-{at}" for at in range(n)], dtype=pl.String)
        names = pl.Series([f"item{at}" for at in range(self.items)])
        users = pl.Series([f"user{at}" for at in range(self.users)])
        exposures = pl.DataFrame(
            {
                "event": pl.Series(["exposure"] * n, dtype=pl.String), "request_id": requests,
                "user_id": users.gather(who), "items": names.gather(items.ravel()).reshape((n, DEPTH)).arr.to_list(),
                "arm": pl.Series(np.where(in_new, "new", "old"), dtype=pl.String), "time": times / 1e6,
                "device": pl.Series(np.where(who % 3 == 0, "phone", "desktop"), dtype=pl.String),
                "model_version": pl.Series(np.where(in_new, "2", "1"), dtype=pl.String),
                "item_id": pl.Series([None] * n, dtype=pl.String), "arrival": times + jitter,
            }
        )  # fmt: skip
        late = np.where(uniforms(rng, (row.size,)) < self.late, HOUR, 0)
        feedback = pl.DataFrame(
            {
                "event": pl.Series(["feedback"] * row.size, dtype=pl.String), "request_id": requests.gather(row),
                "user_id": users.gather(who[row]), "items": pl.Series([None] * row.size, dtype=pl.List(pl.String)),
                "arm": pl.Series([None] * row.size, dtype=pl.String), "time": (times[row] + delay) / 1e6,
                "device": pl.Series([None] * row.size, dtype=pl.String),
                "model_version": pl.Series([None] * row.size, dtype=pl.String),
                "item_id": names.gather(items[row, place]),
                "arrival": times[row] + delay + jitter[row] + late,
            }
        )  # fmt: skip
        events = pl.concat([exposures, feedback])
        again = events.filter(pl.Series(uniforms(rng, (events.height,)) < self.duplicates))
        return pl.concat([events, again.with_columns(pl.col("arrival") + MINUTE)])


def _distinct(items: NDArray[np.int64], n_items: int) -> NDArray[np.int64]:
    """Replace each item that is in its list (a row of 10) already by another item, in place; return ``items``.

    Repeated items move up to the next number (after the last: 0) until the list does not have it. Lists are unchanged
    if there are fewer than 20 items in all.
    """
    if n_items < 2 * DEPTH:
        return items
    for place in range(1, DEPTH):
        while True:
            repeated = (items[:, :place] == items[:, place : place + 1]).any(axis=1)
            if not repeated.any():
                break
            items[repeated, place] = (items[repeated, place] + 1) % n_items
    return items
