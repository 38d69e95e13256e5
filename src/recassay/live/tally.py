"""Everything computed from closed exposures: sums by period, users as units, tests, alarms, and counts of problems."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.columnar.columns import text_hashes
from recassay.columnar.layout import readonly
from recassay.drift import ADWIN
from recassay.errors import InputError
from recassay.live.buckets import Buckets, codes_of
from recassay.live.clock import BEGINNING, HOUR
from recassay.live.evidence import Evidence
from recassay.live.join import Closed
from recassay.live.judging import DEEPEST, ExposureJudge, Judged
from recassay.live.keys import KeyMap, add_to_units
from recassay.live.models import ModelSums
from recassay.live.settings import WatchSettings
from recassay.stats.exact_sums import GroupSums

EXTRA = ("clicks", "reward", "weight")  # columns of sums behind the metrics
MOST_ALARMS, MOST_VERSIONS = 200, 500


class Tally:
    """The running totals of a live evaluation: sums over closed exposures, units, tests of arms, and alarms.

    An exposure (a shown list) is closed when its feedback window has ended. A unit is what counts once in a test: a
    user or an exposure, as the settings say.

    ``judge`` scores the exposures.
    """

    def __init__(self, settings: WatchSettings, judge: ExposureJudge) -> None:
        self.settings, self.judge = settings, judge
        self.metrics = list(judge.headings)
        self.limits = {name: settings.limits.get(name, judge.job.unit_metrics[name].limits) for name in self.metrics}
        bounded = {name: both for name, both in self.limits.items() if np.isfinite(both).all()}
        self.arms: list[str] = []
        self.sums = Buckets(len(self.metrics) + len(EXTRA))
        self.single = Buckets(2)  # reward and weight, of the lists with one propensity
        self.unit_sums = Buckets(len(self.metrics))
        self.assigned = Buckets(1)
        self.models = ModelSums(judge, settings.every, self._check_limits)
        self.users = UserUnits(len(self.metrics), settings.user_window, settings.forget)
        self.evidence = Evidence(bounded, settings.alpha, dict(settings.shares), settings.rules)
        self.evidence_at = BEGINNING
        self.detected_at = BEGINNING
        self.coarsened = 0  # hour of the last merging of old periods
        self.positions = np.zeros((2, 0, DEEPEST), np.int64)  # shown, clicked; by arm
        self.shown: dict[str, NDArray[np.int64]] = {}
        self.versions: dict[str, int] = {}  # "arm\x1fversion" -> time first seen
        self.last: dict[str, int] = {}  # arm -> time of its latest exposure
        self.counts: Counter[str] = Counter()
        self.detectors: dict[str, Any] = {}
        self.alarms: list[list[Any]] = []

    def arm_codes(self, arms: pl.Series) -> NDArray[np.int64]:
        """Return the code of each exposure's arm; new arms are numbered in order of appearance."""
        self.arms += [name for name in arms.unique(maintain_order=True).to_list() if name not in self.arms]
        return codes_of(arms, self.arms)

    def add(self, closed: Closed, upto: int) -> pl.DataFrame | None:
        """Add closed exposures (shown lists whose feedback window has ended) to all totals.

        Every exposure older than time ``upto`` has been added by now, so periods before ``upto`` are complete. If units
        are users, return the added exposures, to be stored for a restart. Return None if units are exposures, which
        need no storing, or if no exposure was added.
        """
        stored = None
        if closed.exposures.height:
            exposures = closed.exposures
            arms = self.arm_codes(exposures["arm"])
            judged = self.judge.judge(closed, arms, len(self.arms))
            self._check_limits(judged.values)
            times = exposures["time"].to_numpy()
            self._add_sums(exposures, times, arms, judged)
            self._add_facts(exposures, times, arms, judged)
            if self.settings.unit == "user":
                columns = [pl.Series(f"m{at}", judged.values[:, at]) for at in range(len(self.metrics))]
                stored = exposures.select("time", "user_id", pl.Series("arm", arms), *columns)
                begins = self.add_units(stored, judged.values)
                self._count(self.assigned, times[begins], arms[begins], np.ones((begins.size, 1)))
            else:
                self._count(self.unit_sums, times, arms, judged.values)
                self._count(self.assigned, times, arms, np.ones((times.size, 1)))
        self._detect(upto)
        if self.settings.unit == "user":
            self._count(self.unit_sums, *self.users.close(upto))
        self._update_evidence(upto)
        return stored

    def _count(
        self, store: Buckets, times: NDArray[np.int64], arms: NDArray[np.int64], values: NDArray[np.float64]
    ) -> None:
        store.count(times, arms, [(arm,) for arm in self.arms], self.settings.every, values)

    def _check_limits(self, values: NDArray[np.float64]) -> None:
        """Raise I384 if a value is outside the limits that the settings state for its metric."""
        for at, name in enumerate(self.metrics):
            if name in self.settings.limits:
                low, high = self.limits[name]
                outside = (values[:, at] < low) | (values[:, at] > high)
                if outside.any():
                    raise InputError(
                        "I384", f"{name} is {values[outside, at][0]:g} for an exposure, outside {low:g} to {high:g}",
                        where="--limits", hint="state wider limits, or leave them out: the metric then has no bounds",
                    )  # fmt: skip

    def _add_sums(
        self, exposures: pl.DataFrame, times: NDArray[np.int64], arms: NDArray[np.int64], judged: Judged
    ) -> None:
        self._count(self.sums, times, arms, judged.columns)
        single = np.isfinite(judged.rewards[:, 1])
        self._count(self.single, times[single], arms[single], judged.rewards[single])
        for name in self.settings.segments:
            texts = exposures[f"segment {name}"]
            labels = texts.unique().sort().to_list()
            names = [(arm, f"{name}={label}") for arm in self.arms for label in labels]
            codes = arms * len(labels) + codes_of(texts, labels)
            self.sums.count(times, codes, names, self.settings.every, judged.columns)

    def _add_facts(
        self, exposures: pl.DataFrame, times: NDArray[np.int64], arms: NDArray[np.int64], judged: Judged
    ) -> None:
        self.positions = grown(self.positions, 1, len(self.arms)) + np.stack([judged.shown_at, judged.clicked_at])
        for name, counts in judged.exposures.items():
            self.shown[name] = grown(self.shown.get(name, counts[:0]), 0, len(self.arms)) + counts
        for arm in np.unique(arms).tolist():
            self.last[self.arms[arm]] = int(times[arms == arm][-1])
        self.counts.update(judged.problems)
        if len(self.versions) < MOST_VERSIONS:
            first = exposures.drop_nulls("model_version").group_by("arm", "model_version").agg(pl.col("time").min())
            for arm, version, time in first.sort("time", "arm", "model_version").iter_rows():
                self.versions.setdefault(f"{arm}\x1f{version}", time)

    def _detect(self, upto: int) -> None:
        """Feed the mean loss of each new complete period to the drift detector of its arm; record the alarms.

        The loss is that of the first metric whose smallest and largest possible value are known; without one nothing
        happens. It is 0 at the largest value and 1 at the smallest.

        Periods that end at time ``upto`` or before are complete.
        """
        name = next(iter(self.evidence.limits), None)
        every = self.settings.every
        if name is None or self.detected_at > upto - every:
            return
        low, high = self.limits[name]
        at = self.metrics.index(name)
        for period, sums in self.sums.complete(every, self.detected_at, upto):
            self.detected_at = period.begin + 1
            if not sums.counts[0, at]:
                continue
            watch = self.detectors.setdefault(period.arm, ADWIN().start())
            loss = 1 - (sums.mean(0, at) - low) / (high - low)
            for alarm in watch.on_scores([period.begin], [min(max(loss, 0.0), 1.0)]):
                self.counts["alarms"] += 1
                self.alarms.append([alarm.event, period.arm, name, alarm.since, alarm.before, alarm.after])
        del self.alarms[:-MOST_ALARMS]

    def add_units(self, exposures: pl.DataFrame, values: NDArray[np.float64]) -> NDArray[np.int64]:
        """Add exposures with their scores (``values``) to users; return the positions of those that begin a unit."""
        begins, crossed = self.users.add(
            exposures["time"].to_numpy(), exposures["user_id"], exposures["arm"].to_numpy(), values
        )
        self.counts["exposures of users in another arm"] += crossed
        return begins

    def _update_evidence(self, upto: int) -> None:
        """Update the sequential tests of the arms with every new complete period, in order of time.

        Periods that end at time ``upto`` (microseconds) or before are complete.
        """
        every = self.settings.every
        whole: dict[int, tuple[dict[str, GroupSums], dict[str, GroupSums]]] = {}
        for at, store in enumerate((self.unit_sums, self.assigned)):
            for period, sums in store.complete(every, self.evidence_at, upto):
                whole.setdefault(period.begin, ({}, {}))[at][period.arm] = sums
        for begin in sorted(whole):
            units, assigned = whole[begin]
            if assigned:
                self.evidence.assign({arm: int(one.counts[0, 0]) for arm, one in assigned.items()})
            if units:
                self.evidence.update(begin + every, units, self.metrics)
            self.evidence_at = begin + every
        now = min(upto, self.evidence_at)
        if now // HOUR != self.coarsened:
            self.coarsened = now // HOUR
            for store in (self.sums, self.single, self.unit_sums, self.assigned):
                store.coarsen(now // HOUR * HOUR)  # whole hours: nothing depends on when commits are made


def grown(counts: NDArray[np.int64], axis: int, size: int) -> NDArray[np.int64]:
    """Return the array ``counts`` with zeros added at the end of ``axis``, up to ``size``."""
    more = [(0, size - length if place == axis else 0) for place, length in enumerate(counts.shape)]
    return np.pad(counts, more)


class UserUnits:
    """Sums over the exposures of each user that are within ``span`` of the user's first one and in its arm.

    These exposures are a unit: they count as one value in the tests. An exposure of the user ``forget`` or more after
    the first one begins another unit; both times are in microseconds.
    ``metrics`` is the number of metrics. Exposures come in the order of their times, so units are in that order too.
    """

    def __init__(self, metrics: int, span: int, forget: int) -> None:
        self.metrics, self.span, self.forget = metrics, span, forget
        self.latest = KeyMap()  # user -> row of its latest unit
        self.ids: list[pl.Series] = []  # of the units, in parts
        self.size = self.n_closed = 0  # the first units are closed
        self.first, self.arm = np.zeros(1024, np.int64), np.zeros(1024, np.int64)
        self.sums, self.counts = np.zeros((1024, metrics)), np.zeros((1024, metrics), np.int64)

    def add(
        self, times: NDArray[np.int64], users: pl.Series, arms: NDArray[np.int64], values: NDArray[np.float64]
    ) -> tuple[NDArray[np.int64], int]:
        """Add exposures in order of time; ``values`` (n, metrics) are their scores, NaN where undefined.

        Return (positions of the exposures that begin a unit, number of exposures in time but in another arm than the
        user's first one). The latter are not added.
        """
        self._make_room(times.size)
        began = np.zeros(times.size, np.bool_)
        crossed = add_to_units(
            self.latest.slots, self.latest.values, *text_hashes(users), readonly(times), readonly(arms),
            readonly(np.ascontiguousarray(values)),
            self.first, self.arm, self.sums, self.counts, self.size, self.span, self.forget, began,
        )  # fmt: skip
        begins = np.flatnonzero(began)
        self.ids.append(users.gather(begins))
        self.size += begins.size
        self.latest.count += begins.size  # at most: a user who returns is there already
        return begins, crossed

    def _make_room(self, more: int) -> None:
        self.latest.reserve(more, 0)
        while self.first.size < self.size + more:
            for name in ("first", "arm", "sums", "counts"):
                array = getattr(self, name)
                setattr(self, name, np.concatenate([array, np.zeros_like(array)]))

    def close(self, upto: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Finish the units (users) to which no exposure can be added from time ``upto`` (microseconds) on.

        Return, for these units, (time when the last exposure could be added, code of the arm, mean of each metric); the
        means are (units, metrics).
        """
        end = int(np.searchsorted(self.first[: self.size], upto - self.span, side="right"))
        closed = slice(self.n_closed, max(end, self.n_closed))
        self.n_closed = closed.stop
        counts = self.counts[closed]
        means = np.where(counts > 0, self.sums[closed] / np.maximum(counts, 1), np.nan)
        return self.first[closed] + self.span, self.arm[closed], means

    def snapshot(self, upto: int) -> pl.DataFrame:
        """Return a row per unit (a user's exposures that are counted together), from which :meth:`restore` continues.

        Columns: ``user_id``; ``first``, the time of the first exposure; ``arm``, a code; ``open``, whether further
        exposures can still be added; and ``sum`` and ``count`` of each metric. Units that began ``forget`` or more
        before time ``upto`` (microseconds) are dropped once they are a tenth of all: no exposure can be added to them.
        """
        forgotten = int(np.searchsorted(self.first[: self.size], upto - self.forget, side="right"))
        kept = slice(forgotten if forgotten >= 0.1 * self.size else 0, self.size)
        self.ids = [pl.concat(self.ids)] if self.ids else [pl.Series("user_id", [], pl.String)]
        columns = {
            "user_id": self.ids[0].gather(np.arange(self.size)[kept]),
            "first": self.first[kept],
            "arm": self.arm[kept],
            "open": np.arange(self.size)[kept] >= self.n_closed,
            **{f"sum {at}": self.sums[kept, at] for at in range(self.metrics)},
            **{f"count {at}": self.counts[kept, at] for at in range(self.metrics)},
        }
        table = pl.DataFrame(columns)
        if kept.start:
            self.restore(table)
        return table

    def restore(self, table: pl.DataFrame) -> None:
        """Replace all units by the rows of a table that :meth:`snapshot` returned."""
        table = table.sort("first", maintain_order=True)
        self.__init__(self.metrics, self.span, self.forget)  # type: ignore[misc]
        n = table.height
        self._make_room(n)
        self.ids, self.size, self.n_closed = [table["user_id"]], n, int((~table["open"]).sum())
        self.latest.visit(*text_hashes(table["user_id"]), np.ones(n, np.bool_), np.arange(n), span=-1, floor=0)
        self.first[:n], self.arm[:n] = table["first"].to_numpy(), table["arm"].to_numpy()
        for at in range(self.metrics):
            self.sums[:n, at], self.counts[:n, at] = table[f"sum {at}"].to_numpy(), table[f"count {at}"].to_numpy()
