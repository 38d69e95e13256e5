"""Results of a live evaluation: means of arms with bounds, comparisons, decisions, and problems of the logs."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from recassay._version import __version__
from recassay.checks import diagnose
from recassay.data.io.write import finite
from recassay.engine.finish import row_of
from recassay.errors import InternalError
from recassay.live.buckets import codes_of
from recassay.live.clock import BEGINNING, DAY, END, HOUR, SECOND, duration_text, wall_clock
from recassay.live.tally import EXTRA
from recassay.live.watcher import Watcher
from recassay.results.finding import Findings
from recassay.results.scores import Scores
from recassay.stats.exact_sums import ExactSum, GroupSums

WINDOWS = {"last hour": HOUR, "last day": DAY}
ROUNDING = 1e-9  # how far a mean may be outside the range of its metric
CURVE: dict[str, Any] = {"begin": pl.Datetime("us", "UTC"), "arm": pl.String, "mean": pl.Float64, "exposures": pl.Int64}
MOST_PROVISIONAL = 200_000  # pending exposures that are judged for provisional means


@dataclass(frozen=True, eq=False)
class Watched:
    """The results of a live evaluation at its last commit.

    Means are over exposures whose feedback windows have ended. Provisional means also count exposures whose window is
    still open, with the feedback so far; they are too low, and no bound uses them. ``now`` is the wall time of the
    results in microseconds.
    """

    watcher: Watcher
    now: int = field(default_factory=wall_clock)

    @property
    def arms(self) -> list[str]:
        """Return the names of the arms (variants of the recommender) in ascending order."""
        return sorted(self.watcher.tally.arms)

    @property
    def metrics(self) -> list[str]:
        """Return the metrics that have a value for each exposure."""
        return self.watcher.tally.metrics

    @property
    def complete(self) -> int:
        """Return the time, in microseconds, before which all feedback windows have closed."""
        return self.watcher.join.watermark - self.watcher.settings.window

    def summary(self) -> pl.DataFrame:
        """Return a row per arm and metric: mean over closed exposures, and over units (users or exposures) with bounds.

        Each row also has the numbers of these exposures and units.
        """
        return pl.DataFrame([row for arm in self.arms for row in self.arm_rows(arm)])

    def arm_rows(self, arm: str) -> list[dict[str, Any]]:
        """Return a row per metric for an arm: means over closed exposures, and over units (users or exposures).

        The keys are ``arm``, ``metric``, ``mean``, ``exposures``, ``unit_mean``, ``low``, ``high`` and ``units``. Raise
        X101 if a mean is outside the range of its metric.
        """
        sums, rows = self.watcher.tally.sums.select(arm=arm), []
        for at, metric in enumerate(self.metrics):
            units = self.watcher.tally.evidence.mean(arm, metric)
            mean, (low, high) = sums.mean(0, at), self.watcher.tally.limits[metric]
            if mean < low - ROUNDING or mean > high + ROUNDING:
                raise InternalError(
                    "X101", f"the mean {metric} of {arm} is {mean:g}, outside its range {low:g} to {high:g}",
                    where=self.watcher.state.path, hint="please report this; no result was written",
                )  # fmt: skip
            rows.append({
                "arm": arm, "metric": metric, "mean": mean, "exposures": int(sums.counts[0, at]),
                "unit_mean": units.estimate, "low": units.low, "high": units.high, "units": units.n,
            })  # fmt: skip
        return rows

    @property
    def comparisons(self) -> list[dict[str, Any]]:
        """Return a row per pair of arms and metric, with bounds and p-values that hold however often one looks.

        The keys are ``metric``, the arms ``a`` and ``b``, ``n`` (units), ``difference`` (a minus b), ``adjusted``,
        ``low``, ``high``, ``p`` and ``p_adjusted``.
        """
        return self.watcher.tally.evidence.comparisons(self.watcher.settings.control)

    @property
    def waiting(self) -> list[str]:
        """Return a line for each source that cannot be read now."""
        return [f"Waiting for {source.name}: {source.problem}" for source in self.watcher.sources if source.problem]

    @property
    def decisions(self) -> list[dict[str, Any]]:
        """Return a row for each decided rule: when its claim was established, with the difference and bound then."""
        return list(self.watcher.tally.evidence.decisions.values())

    @cached_property
    def findings(self) -> Findings:
        """Return findings about possible problems of the events."""
        return Findings(diagnose("live", **self.facts()))

    def facts(self) -> dict[str, Any]:
        """Return by name the numbers about events and arms that the checks of :attr:`findings` examine."""
        watcher, tally = self.watcher, self.watcher.tally
        newest = max(tally.last.values(), default=0)
        # rules compare arms of exposures, and never see models that are judged on interactions
        ended = watcher.finished or (not self.arms and bool(tally.models.means.rows))
        live = any(source.follow for source in watcher.sources)
        behind = (self.now - watcher.clock.newest - watcher.settings.lateness) / SECOND
        weights = {arm: self._inverse_propensity(arm) for arm in self.arms}
        counts = {**watcher.counts, **tally.counts}  # problems of exposures whose window has ended
        return {
            **{name.replace(" ", "_"): number for name, number in counts.items() if number},
            "bins": watcher.bins(),  # numbers of events by what became of them
            "reasons": {name: (int(n), str(example)) for name, (n, example) in watcher.reasons.items()},
            "assigned": tally.evidence.assigned,
            "mismatch": tally.evidence.mismatch_p,
            "inverse_propensity": {arm: weight for arm, weight in weights.items() if weight is not None},
            "silent": {arm: (newest - time) / SECOND for arm, time in tally.last.items()},
            "lag": behind if live and watcher.clock.newest > BEGINNING else None,  # seconds
            "alarms": [(*alarm,) for alarm in tally.alarms],  # time, arm, metric, beginning, losses before and after
            "unstored": (watcher.to_relearn, watcher.attached.unstored),
            "undecidable": tally.evidence.undecidable(self.arms, watcher.settings.control, ended=ended),
        }

    def _column(self, name: str) -> int:
        return len(self.metrics) + EXTRA.index(name)

    def _exposures(self, sums: GroupSums) -> int:
        return int(sums.counts[0, self._column("clicks")])

    def _inverse_propensity(self, arm: str) -> tuple[float, float] | None:
        """Return the sum of 1 / propensity over an arm's exposures, divided by the number of exposures of all arms.

        Also return the standard error of this ratio. Return None for an arm without propensities.
        """
        own, n, at = self.watcher.tally.sums.select(arm=arm), self._exposures(self._all), self._column("weight")
        mean = float(own.total(0, at)) / n
        error = math.sqrt(max(float(own.squares(0, at)) / n - mean * mean, 0.0) / n)
        return (mean, error) if own.counts[0, at] else None

    @property
    def _all(self) -> GroupSums:
        return self.watcher.tally.sums.select()

    def _weighted(self, arm: str) -> dict[str, float]:
        """Return clicks per exposure, weighted by 1 / propensity: "ips", and the self-normalised form "snips".

        "snips" is the sum of the weighted clicks of the lists that have one propensity for all their items, divided by
        the sum of 1 / propensity of these lists; it is absent without such a list. The dict is empty for an arm without
        propensities.
        """
        tally, reward, weighted = self.watcher.tally, self._column("reward"), {}
        own, single = tally.sums.select(arm=arm), tally.single.select(arm=arm)
        if own.counts[0, reward]:
            weighted["ips"] = own.total(0, reward) / ExactSum.of([float(self._exposures(self._all))])
        if single.counts[0, 1]:
            weighted["snips"] = single.total(0, 0) / single.total(0, 1)
        return weighted

    def to_dict(self) -> dict[str, Any]:
        """Return all results as a document ready for JSON; an undefined number is None."""
        tally, clock, settings = self.watcher.tally, self.watcher.clock, self.watcher.settings
        document = {
            "recassay": __version__,
            "finished": self.watcher.finished,
            "commits": self.watcher.versions,
            "now": self.now,
            "watermark": None if abs(self.watcher.join.watermark) >= END // 2 else self.watcher.join.watermark,
            "newest": None if clock.newest == BEGINNING else clock.newest,
            "lag": self.facts()["lag"],
            "events": self.watcher.bins(),
            "unjoined": self.unjoined(),
            "refused": {name: {"n": n, "first": example} for name, (n, example) in self.watcher.reasons.items()},
            "settings": {
                "window": duration_text(settings.window), "unit": settings.unit, "alpha": settings.alpha,
                "control": settings.control, "every": duration_text(settings.every),
                "user_window": duration_text(settings.user_window),
            },
            "arms": {arm: self._arm(arm) for arm in self.arms},
            "segments": self._segments(),
            "comparisons": self.comparisons,
            "models": self.models(),
            "rules": self._rules(),
            "assignment": {"units": tally.evidence.assigned, "p": tally.evidence.mismatch_p},
            "alarms": [
                dict(zip(("time", "arm", "metric", "since", "before", "after"), row, strict=True))
                for row in tally.alarms
            ],
            "versions": [
                dict(zip(("arm", "version"), name.partition("\x1f")[::2], strict=True), time=time)
                for name, time in tally.versions.items()
            ],
            "findings": [finding.to_dict() for finding in self.findings],
        }  # fmt: skip
        return finite(document)  # type: ignore[no-any-return]

    def unjoined(self) -> dict[str, int]:
        """Return how much feedback belongs to no exposure, by reason: before exposure, after window, no exposure."""
        names = ("orphans", "orphans before the exposure", "orphans after the window")
        total, early, expired = (self.watcher.counts[name] for name in names)
        return {"before exposure": early, "after window": expired, "no exposure": total - early - expired}

    def models(self) -> dict[str, Any]:
        """Return the results of models that were scored on interactions: ``means``, ``comparisons``, ``over_time``.

        "means" is a dict by model, then by metric, "comparisons" have a row per pair of models and metric, and
        "over_time" is signed McNemar by hour in the last week.
        """
        models, evidence = self.watcher.tally.models, self.watcher.tally.evidence
        newest = max((one.begin for one in models.pairs.rows), default=0)
        return {
            "means": models.means_by_model(),
            "comparisons": models.comparisons(evidence.limits, evidence.alpha),
            "over_time": models.over_time(evidence.alpha, since=newest - 7 * DAY),
        }

    def _arm(self, arm: str) -> dict[str, Any]:
        tally = self.watcher.tally
        code, sums = tally.arms.index(arm), tally.sums.select(arm=arm)
        shown, clicked = tally.positions[:, code].tolist()
        end = max((one.begin + one.length for one in tally.sums.rows), default=0)
        return {
            "exposures": self._exposures(sums),
            "feedback": float(sums.total(0, self._column("clicks"))),
            "metrics": {row["metric"]: row for row in self.arm_rows(arm)},
            "windows": {
                name: self._means(tally.sums.select(arm=arm, since=end - span)) for name, span in WINDOWS.items()
            },
            "by_position": [
                {"position": at, "shown": n, "clicked": clicks}
                for at, (n, clicks) in enumerate(zip(shown, clicked, strict=True), 1) if n
            ],
            "catalogue": {
                name: tally.judge.job.metrics[name].measure(counts[code])  # type: ignore[attr-defined]
                for name, counts in tally.shown.items()
            },
            **self._weighted(arm),
        }  # fmt: skip

    def _means(self, sums: GroupSums) -> dict[str, Any]:
        means = {name: sums.mean(0, at) for at, name in enumerate(self.metrics)}
        return {"exposures": self._exposures(sums), "metrics": means}

    def _segments(self) -> dict[str, Any]:
        sums = self.watcher.tally.sums
        return {
            segment: {arm: self._means(sums.select(arm=arm, segment=segment)) for arm in self.arms}
            for segment in sums.names("segment")
            if segment
        }

    def _rules(self) -> list[dict[str, Any]]:
        """Return a row per rule: its decision (None without one), both differences, and the number of units needed.

        ``low`` is the rule's own bound now: the difference is at least that, at the level of the rule.
        """
        evidence = self.watcher.tally.evidence
        rows = []
        for rule in self.watcher.settings.rules:
            claim, decided = evidence.claimed(rule), evidence.decisions.get(str(rule))
            rows.append(
                {
                    "rule": str(rule), "harm": rule.harm, "alpha": evidence.level(rule), "decided": decided,
                    "units": claim.n, "difference": claim.difference, "adjusted": claim.adjusted, "low": claim.low,
                    "units_needed": None if decided else evidence.units_needed(rule),
                }
            )  # fmt: skip
        return rows

    def provisional(self) -> dict[str, Any] | None:
        """Return counts and means by arm over all exposures, also those whose feedback window is still open.

        Return None if more than 200,000 windows are open.
        """
        tally, pending = self.watcher.tally, self.watcher.join.pending()
        exposures = pending.exposures
        if exposures.height > MOST_PROVISIONAL:
            return None
        arms = sorted({*self.arms, *exposures["arm"]})
        sums = GroupSums.zeros(len(arms), tally.sums.columns)
        if exposures.height:
            codes = codes_of(exposures["arm"], arms)
            sums = GroupSums.of(codes, tally.judge.judge(pending, codes, len(arms)).columns, len(arms))
        for at, arm in enumerate(arms):
            sums.add(np.array([at]), tally.sums.select(arm=arm))
        return {arm: finite(self._means(sums.take(slice(at, at + 1)))) for at, arm in enumerate(arms)}

    def curve(self, metric: str, *, length: int = HOUR, segment: str = "") -> pl.DataFrame:
        """Return the mean of each arm in consecutive windows of event time, as a table of begin, arm, mean, exposures.

        ``length`` is the length of a window in microseconds, a multiple of the period. Windows older than 2 days are at
        least an hour, and those older than 60 days a day. ``segment`` is a segment of exposures, "" for all.
        """
        at, sums = self.metrics.index(metric), self.watcher.tally.sums
        rows = [
            (period.begin, arm, one.mean(0, at), int(one.counts[0, at]))
            for arm in self.arms
            for period, one in sums.periods(arm=arm, segment=segment, length=length)
        ]
        return pl.DataFrame(rows, schema=CURVE, orient="row")

    def scores(self) -> Scores:
        """Return the results as scores of systems: the systems are the arms, and the units are the hours.

        The value of a system for a unit is the mean of the arm in that hour, weighted by its number of exposures.
        """
        curves = pl.concat(
            [
                pl.DataFrame(schema=CURVE | {"metric": pl.String}),
                *(self.curve(metric).with_columns(metric=pl.lit(metric)) for metric in self.metrics),
            ]
        ).with_columns(hour=pl.col("begin").dt.strftime("%Y-%m-%dT%H:%MZ"))
        hours = curves.select(pl.col("hour").unique().sort())
        per_unit, weights, rows = {}, {}, []
        for row in (row for arm in self.arms for row in self.arm_rows(arm)):
            system, name = row["arm"], row["metric"]
            own = hours.join(curves.filter(arm=system, metric=name), on="hour", how="left", maintain_order="left")
            per_unit[system, name] = own["mean"].fill_null(math.nan).to_numpy()
            weights[system, name] = own["exposures"].cast(pl.Float64).fill_null(math.nan).to_numpy()
            metric = self.watcher.tally.judge.job.metrics[name]
            units = {"units": float(row["units"]), "unit_mean": row["unit_mean"]}
            rows.append(
                row_of(
                    (system, name), metric, row["mean"], row["exposures"], low=row["low"], high=row["high"],
                    accompanying=units,
                )
            )  # fmt: skip
        settings = {
            "watch": self.watcher.settings.to_json(),
            "interval": {"method": "anytime", "level": 1 - self.watcher.settings.alpha},
        }
        return Scores(
            hours["hour"].alias("unit"), tuple(self.arms), tuple(self.metrics), per_unit, weights, tuple(rows),
            tuple(self.findings), settings,
        )  # fmt: skip

    def write(self, folder: str | Path, *, command: str = "") -> Path:
        """Write the results to a folder as ``recassay score -o`` does, and all numbers to ``live.json``.

        Return the path of the folder. ``command`` is the command line to name in the results.
        """
        from recassay.data.io import write_json
        from recassay.data.io.manifest import recording
        from recassay.report.folder.results import write_results

        with recording(folder):
            target = write_results(self.scores(), None, folder, {"protocol": "live"}, command=command)
            write_json(self.to_dict(), target / "live.json")
        return target
