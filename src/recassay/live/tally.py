"""Everything computed from closed exposures: sums by period, users as units, tests, alarms, and counts of problems."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.drift import ADWIN
from recassay.drift.base import Alarm
from recassay.errors import InputError
from recassay.live.buckets import Buckets, Period, grouped
from recassay.live.clock import BEGINNING
from recassay.live.events.durations import HOUR
from recassay.live.evidence import Evidence
from recassay.live.join import Closed
from recassay.live.judging import DEEPEST, ExposureJudge, Judged
from recassay.live.models import ModelSums
from recassay.live.settings import WatchSettings
from recassay.live.units import UserUnits
from recassay.stats.exact_sums import GroupSums

EXTRA = ("clicks", "reward", "weight")  # columns of sums behind the metrics
MOST_ALARMS, MOST_VERSIONS = 200, 500


@dataclass(frozen=True, eq=False)
class Deltas:
    """New exposures of users whose counting time has not ended, as a table to append to the state file.

    ``newest`` is the latest time in the table, in microseconds.
    """

    table: pl.DataFrame
    newest: int


class Tally:
    """The running totals of a live evaluation: sums over closed exposures, units, tests of arms, and alarms.

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
        """Return the code of each exposure's arm; new arms are numbered in the order in which they appear."""
        for name in arms.unique(maintain_order=True).to_list():
            if name not in self.arms:
                self.arms.append(name)
        codes = arms.replace_strict({name: code for code, name in enumerate(self.arms)}, return_dtype=pl.Int64)
        return codes.to_numpy()

    def add(self, closed: Closed, upto: int) -> Deltas | None:
        """Add closed exposures (shown lists whose feedback window has ended) to all totals.

        Every exposure older than time ``upto`` has been added by now, so periods before ``upto`` are complete. If units
        are users, return the added exposures, to be stored for a restart. Return None if units are exposures, which
        need no storing, or if no exposure was added.
        """
        made = None
        if closed.exposures.height:
            exposures = closed.exposures
            arms = self.arm_codes(exposures["arm"])
            judged = self.judge.judge(closed, arms, len(self.arms))
            self._check_limits(judged.values)
            times = exposures["time"].to_numpy()
            self._add_sums(exposures, times, arms, judged)
            self._add_facts(exposures, times, arms, judged)
            if self.settings.unit == "user":
                made = self._add_units(exposures["user_id"], times, arms, judged.values)
            else:
                periods, groups = grouped(times, arms, self.arms, self.settings.every)
                self.unit_sums.add(periods, GroupSums.of(groups, judged.values, len(periods)))
                self._assign(times, arms)
        self._detect(upto)
        self._close_units(upto)
        self._update_evidence(upto)
        return made

    def _check_limits(self, values: NDArray[np.float64]) -> None:
        """Raise I384 if a value is outside the limits that the user has stated for its metric."""
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
        values = np.column_stack([judged.values, judged.clicked.astype(np.float64), judged.rewards])
        every = self.settings.every
        periods, groups = grouped(times, arms, self.arms, every)
        self.sums.add(periods, GroupSums.of(groups, values, len(periods)))
        single = ~np.isnan(judged.rewards[:, 1])
        if single.any():
            rewards = np.where(single[:, None], judged.rewards, np.nan)
            self.single.add(periods, GroupSums.of(groups, rewards, len(periods)))
        for name in self.settings.segments:
            texts = exposures[f"segment {name}"]
            names = texts.unique().sort().to_list()
            codes = texts.replace_strict({one: at for at, one in enumerate(names)}, return_dtype=pl.Int64).to_numpy()
            labels = [f"{name}={one}" for one in names]
            periods, groups = grouped(times, arms, self.arms, every, codes, labels)
            self.sums.add(periods, GroupSums.of(groups, values, len(periods)))

    def _add_facts(
        self, exposures: pl.DataFrame, times: NDArray[np.int64], arms: NDArray[np.int64], judged: Judged
    ) -> None:
        missing = len(self.arms) - self.positions.shape[1]
        if missing:
            self.positions = np.concatenate([self.positions, np.zeros((2, missing, DEEPEST), np.int64)], axis=1)
        self.positions[0] += judged.shown_at
        self.positions[1] += judged.clicked_at
        for name, counts in judged.exposures.items():
            before = self.shown.get(name, np.zeros((0, counts.shape[1]), np.int64))
            self.shown[name] = counts + np.concatenate(
                [before, np.zeros((len(self.arms) - len(before), counts.shape[1]), np.int64)]
            )
        for arm in np.unique(arms).tolist():
            self.last[self.arms[arm]] = int(times[arms == arm][-1])
        self.counts["repeated items"] += judged.repeated
        self.counts["feedback on items not shown"] += judged.not_shown
        self.counts["items unknown"] += judged.unknown
        self.counts["items shown"] += int(exposures["items"].list.len().sum())
        versions = exposures["model_version"]
        if versions.null_count() < versions.len() and len(self.versions) < MOST_VERSIONS:
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
        new = [one for one in self.sums.rows if not one.segment and one.length == every]
        new = [one for one in new if self.detected_at <= one.begin and one.begin + every <= upto]
        for period in sorted(new, key=lambda one: (one.begin, one.arm)):
            sums = self.sums.of(period)
            self.detected_at = period.begin + 1
            if sums is None or not sums.counts[0, at]:
                continue
            watch = self.detectors.get(period.arm) or ADWIN().start()
            self.detectors[period.arm] = watch
            loss = 1 - (sums.mean(0, at) - low) / (high - low)
            for alarm in watch.on_scores([period.begin], [min(max(loss, 0.0), 1.0)]):
                self._alarm(period.arm, name, alarm)

    def _alarm(self, arm: str, metric: str, alarm: Alarm) -> None:
        self.counts["alarms"] += 1
        self.alarms = [*self.alarms, [alarm.event, arm, metric, alarm.since, alarm.before, alarm.after]][-MOST_ALARMS:]

    def _add_units(
        self, users: pl.Series, times: NDArray[np.int64], arms: NDArray[np.int64], values: NDArray[np.float64]
    ) -> Deltas:
        begins, crossed = self.users.add(times, users, arms, values)
        self.counts["exposures of users in another arm"] += crossed
        self._assign(times[begins], arms[begins])
        columns = {f"m{at}": values[:, at] for at in range(values.shape[1])}
        return Deltas(pl.DataFrame({"time": times, "user_id": users, "arm": arms, **columns}), int(times[-1]))

    def replay_units(self, table: pl.DataFrame) -> None:
        """Add exposures that were stored in the state file to their users again, after a restart."""
        values = table.select(pl.selectors.starts_with("m")).to_numpy() if self.metrics else np.empty((table.height, 0))
        self.users.add(
            table["time"].to_numpy(), table["user_id"], table["arm"].to_numpy(), np.ascontiguousarray(values)
        )

    def _assign(self, times: NDArray[np.int64], arms: NDArray[np.int64]) -> None:
        if times.size:
            periods, groups = grouped(times, arms, self.arms, self.settings.every)
            self.assigned.add(periods, GroupSums.of(groups, np.ones((times.size, 1)), len(periods)))

    def _close_units(self, upto: int) -> None:
        if self.settings.unit != "user":
            return
        closed = self.users.close(upto)
        if closed.ends.size:
            periods, groups = grouped(closed.ends, closed.arms, self.arms, self.settings.every)
            self.unit_sums.add(periods, GroupSums.of(groups, closed.means, len(periods)))

    def _update_evidence(self, upto: int) -> None:
        """Update the sequential tests of the arms with every new complete period, in order of time.

        Periods that end at time ``upto`` (microseconds) or before are complete.
        """
        every = self.settings.every
        whole: dict[int, tuple[dict[str, GroupSums], dict[str, GroupSums]]] = {}
        for at, store in enumerate((self.unit_sums, self.assigned)):
            for period in store.rows:
                if period.length == every and self.evidence_at <= period.begin and period.begin + every <= upto:
                    sums = store.of(period)
                    assert sums is not None
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

    def to_dict(self) -> dict[str, Any]:
        """Return the totals ready for JSON, except sums and arrays, which are stored separately."""
        return {
            "arms": self.arms,
            "evidence_at": self.evidence_at,
            "detected_at": self.detected_at,
            "versions": self.versions,
            "last": self.last,
            "counts": dict(self.counts),
            "alarms": self.alarms,
        }

    def restore(self, stored: dict[str, Any]) -> None:
        """Set the totals, except sums and arrays, to what :meth:`to_dict` returned."""
        for name in ("arms", "evidence_at", "detected_at", "versions", "last", "alarms"):
            setattr(self, name, stored[name])
        self.counts = Counter(stored["counts"])


def period_of(row: tuple[int, int, str, str]) -> Period:
    """Return the period of a row of the state file: length, begin, arm and segment."""
    return Period(*row)
