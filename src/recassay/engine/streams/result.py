"""The result of playing a system on a stream: the outcomes of every copy, with summaries, curves and findings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from recassay.arrays import Int64
from recassay.checks import diagnose
from recassay.checks.streams import unscored_findings
from recassay.comparison.over_time.curves import Curve, over_time
from recassay.drift import Alarm
from recassay.engine.streams.listed import catalogue_over_time
from recassay.engine.streams.values import ERROR
from recassay.errors import InputError, UsageError
from recassay.metrics.base import CatalogueMetric
from recassay.metrics.registry import parse_metric
from recassay.results.exhibit import Exhibit
from recassay.results.finding import Findings
from recassay.results.outcomes import Outcomes
from recassay.shown import Displayable


@dataclass(frozen=True, eq=False, repr=False)
class Stream(Displayable):
    """The result of a system on a stream: the outcomes of one copy, or of each of several (``folds`` of the protocol).

    ``lists`` has a row for every recommended item (event, rank, item_id) if the run kept lists. ``alarms_by_copy``
    holds the alarms of each copy if the protocol has a ``detector``. With ``lists``, ``known_items`` is the number of
    items that had occurred before each scored event.
    """

    copies: tuple[Outcomes, ...]
    lists: pl.DataFrame | None = None
    alarms_by_copy: tuple[tuple[Alarm, ...], ...] = ()
    known_items: Int64 | None = None

    @property
    def name(self) -> str:
        """Return the name of the system."""
        return self.copies[0].system

    @property
    def outcomes(self) -> Outcomes:
        """Return the outcomes of the only copy; raise U192 if there are several."""
        if len(self.copies) > 1:
            what = f"{self.name} was played in {len(self.copies)} copies, and each has its own outcomes"
            raise UsageError("U192", what, where="Stream.outcomes", hint="choose one, such as stream.copies[0]")
        return self.copies[0]

    @property
    def alarms(self) -> tuple[Alarm, ...]:
        """Return the alarms of the only copy."""
        return self.alarms_by_copy[self.copies.index(self.outcomes)] if self.alarms_by_copy else ()

    @property
    def findings(self) -> Findings:
        """Return findings on the alarms of each copy (V001) and on events left out (C014, C015)."""
        metric = self.copies[0].metrics[0]
        alarmed = zip(self.copies, self.alarms_by_copy, strict=True) if self.alarms_by_copy else ()
        watched = [
            found
            for copy, alarms in alarmed
            for found in diagnose("drift", system=copy.system, metric=metric, scored=len(copy), alarms=alarms)
        ]
        return Findings([found for copy in self.copies for found in unscored_findings(copy)] + watched)

    @property
    def counts(self) -> Mapping[str, int]:
        """Return the number of scored events, and of unscored events by reason; raise U192 with several copies."""
        return self.outcomes.counts

    def over_time(self, metric: str, **options: Any) -> Curve:
        """Return the average of a metric along the stream, with each alarm marked and notes on events left out.

        ``options`` are the window and other keywords of :func:`recassay.over_time`.
        """
        curve = over_time(self.outcomes, metric, **options).marked(alarm.mark for alarm in self.alarms)
        return replace(curve, notes=tuple(found.detail for found in unscored_findings(self.outcomes)))

    def catalogue_over_time(self, metric: str, window: int, *, step: int | None = None) -> Exhibit:
        """Return a metric of the catalogue, such as coverage@10, over the lists in a moving window of events.

        The run must have kept its ``lists``. The catalogue is all items that had occurred by then or are in a list of
        the window. There is a point every ``step`` scored events, by default 100 in all. Raise U192 for any other
        metric or a run without lists, and U102 for an impossible window.
        """
        parsed = parse_metric(metric)
        outcomes = self.outcomes
        if not isinstance(parsed, CatalogueMetric):
            what = f"{metric} is not a metric of the whole catalogue"
            raise UsageError("U192", what, where="catalogue_over_time", hint="use coverage@10, gini@10 or entropy@10")
        if self.lists is None or self.known_items is None:
            what = "the lists were not kept"
            raise UsageError("U192", what, where="catalogue_over_time", hint="ra.play(..., lists=True)")
        if not 1 <= window <= len(outcomes):
            what = f"a window of {window:,} does not fit {len(outcomes):,} scored events"
            raise UsageError("U102", what, where="catalogue_over_time", hint="a whole number from 1 to their number")
        every = step or max(1, (len(outcomes) - window) // 100)
        table = catalogue_over_time(self.lists, outcomes.event, parsed, window, self.known_items, every)
        return Exhibit(
            f"over-time-{parsed.name}", f"{metric} over time", f"{metric} of the lists of the last {window:,} scored "
            "events. The catalogue is all items of events up to then, and all items in lists of the window.",
            table.with_columns(system=pl.lit(self.name)), "event", str(parsed), "system",
        )  # fmt: skip

    def summary(self, *, per_user: bool = False) -> pl.DataFrame:
        """Return a row per metric: the mean over scored events (or over users' means) and the number of events.

        With several copies, it is the mean of the copies' means, with their standard deviation and range.
        """
        rows = []
        for heading in self._headings():
            means = np.array([mean(copy, heading, per_user=per_user) for copy in self.copies])
            row = {"system": self.name, "metric": heading, "mean": float(means.mean())}
            if len(self.copies) > 1:
                row |= {"sd": float(means.std(ddof=1)), "low": float(means.min()), "high": float(means.max())}
            rows.append({**row, "n": sum(len(copy) for copy in self.copies)})
        return pl.DataFrame(rows)

    def _headings(self) -> tuple[str, ...]:
        metrics = self.copies[0].metrics
        return ("mae", "rmse") if ERROR in metrics else metrics


def mean(outcomes: Outcomes, heading: str, *, per_user: bool = False) -> float:
    """Return the mean of a metric (``heading``) over the scored events where it is defined.

    With ``per_user``, return the mean over users of each user's own mean. ``mae`` and ``rmse`` are computed from
    absolute errors.
    """
    values = outcomes.of(ERROR if heading in ("mae", "rmse") else heading)
    values = values**2 if heading == "rmse" else values
    defined = ~np.isnan(values)
    if not defined.any():
        return float("nan")
    if not per_user:
        result = float(values[defined].mean())
    else:
        assert outcomes.users is not None, "outcomes of a stream have users"
        table = pl.DataFrame({"user": outcomes.users, "value": values}).filter(pl.Series(defined))
        means = table.group_by("user", maintain_order=True).agg(pl.col("value").mean())["value"]
        result = float(means.to_numpy().mean())
    return float(np.sqrt(result)) if heading == "rmse" else result


class StreamError(InputError):
    """An error of a model while a stream was played; ``stream`` holds the results before it."""

    stream: Stream
