"""Scores of closed exposures: each is a ranked list, and its feedback says which items were relevant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.columnar.vocabulary import Vocabulary
from recassay.data.run import Run
from recassay.data.truth import Truth
from recassay.data.truth_statistics import TruthStatistics
from recassay.engine.lists.job import Job
from recassay.errors import UsageError
from recassay.live.join import Closed
from recassay.metrics.align import Conventions
from recassay.metrics.base import CatalogueMetric
from recassay.metrics.context import Context
from recassay.metrics.registry import Metrics, parse_metrics

DEEPEST = 50  # positions for which clicks are counted


@dataclass(frozen=True, eq=False)
class Judged:
    """The scores of n exposures (shown lists), with counts of shown and clicked items and of irregular items.

    ``values`` (n, metrics) are the scores, and ``clicked`` counts the feedback of each exposure. ``shown_at`` and
    ``clicked_at`` (arms, positions) count shown and clicked items. ``exposures`` has, by metric and arm, how often each
    item was shown. ``rewards`` (n, 2) are the sum over clicked items of 1 / propensity, and 1 / propensity of the list.
    The counts of irregularities are ``repeated`` (items that a list shows again), ``not_shown`` (feedback on items that
    the list lacks) and ``unknown`` (shown items that the table of items lacks).
    """

    values: NDArray[np.float64]
    clicked: NDArray[np.int64]  # feedback of each exposure
    shown_at: NDArray[np.int64]  # exposures by arm and position
    clicked_at: NDArray[np.int64]
    exposures: Mapping[str, NDArray[np.int64]]  # by heading and arm: how often each item of the catalogue was shown
    rewards: NDArray[np.float64]  # (n, 2): the clicked items over the propensity, and 1 over it; NaN without
    repeated: int = 0  # items that a list shows again
    not_shown: int = 0  # feedback on items that the list does not hold
    unknown: int = 0  # shown items that the table of items lacks


@dataclass(frozen=True, eq=False)
class ExposureJudge:
    """Metrics that are ready to score closed exposures (shown lists).

    An exposure without feedback has the value 0 and is not undefined. ``job`` computes the metrics. ``gains`` maps
    kinds of feedback to gains; if it is empty every kind has gain 1, else kinds that are not in it have gain 0.
    """

    job: Job
    gains: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of(
        cls, metrics: Metrics, context: Context | None = None, gains: Mapping[str, float] | None = None
    ) -> ExposureJudge:
        """Return the metrics ready for exposures; raise U181 if one cannot be computed on them.

        ``context`` has the training log and item features that metrics need, and ``gains`` is the gain by kind of
        feedback.
        """
        named = parse_metrics(metrics, {"no_relevant": "zero"})
        job = Job(named, Conventions(), context or Context(), threads=1)
        for heading, metric in named.items():
            if metric.family not in ("ranking", "beyond", "catalogue"):
                raise UsageError(
                    "U181", f"{heading} cannot be computed on exposures", where=heading,
                    hint="recassay list metrics has those of ranked lists",
                )  # fmt: skip
        statistics = TruthStatistics(1, max([1.0, *(gains or {}).values()]), {})
        return cls(job.resolved(statistics), gains or {})

    @property
    def headings(self) -> tuple[str, ...]:
        """Return the names of the metrics that have a value for each exposure."""
        return tuple(self.job.unit_metrics)

    @property
    def catalogue(self) -> tuple[str, ...]:
        """Return the names of the metrics that are computed from how often each item was shown."""
        return tuple(name for name, metric in self.job.metrics.items() if isinstance(metric, CatalogueMetric))

    def judge(self, closed: Closed, arms: NDArray[np.int64], n_arms: int) -> Judged:
        """Return the scores of exposures (shown lists) whose feedback window has ended.

        ``arms`` is the code of each exposure's arm, from 0 to ``n_arms`` - 1.
        """
        lists, feedback = closed.exposures["items"], closed.feedback
        n = lists.len()
        offsets = np.append(0, np.cumsum(lists.list.len().to_numpy())).astype(np.int64)
        clicks = (
            feedback
            if feedback.width
            else pl.DataFrame(schema={"at": pl.Int64, "item_id": pl.String, "kind": pl.String})
        )
        shown = lists.filter(lists.list.len() > 0).explode()
        vocabulary, codes = Vocabulary.dense(pl.concat([shown.rename("i"), clicks["item_id"].rename("i")]))
        items, relevant = codes[: shown.len()], codes[shown.len() :]
        queries = pl.Series(np.arange(n))
        run = Run("exposures", queries, offsets, items, vocabulary, "row")
        truth = self._truth(queries, clicks, relevant, vocabulary)
        values, _ = self.job.values_and_exposures(run, truth)
        placed = _positions(offsets, items, clicks["at"].to_numpy(), relevant)
        return Judged(
            np.column_stack([values[name] for name in self.headings]) if self.headings else np.empty((n, 0)),
            np.bincount(clicks["at"].to_numpy(), minlength=n),
            _by_position(arms, offsets, n_arms),
            _count(arms[clicks["at"].to_numpy()[placed >= 0]], placed[placed >= 0], n_arms),
            self._shown(run, truth, arms, n_arms),
            _rewards(closed.exposures, clicks["at"].to_numpy(), placed),
            int(run.repeated().sum()),
            int((placed < 0).sum()),
            self._unknown(vocabulary, items),
        )

    def _truth(
        self, queries: pl.Series, clicks: pl.DataFrame, items: NDArray[np.int32], vocabulary: Vocabulary
    ) -> Truth:
        """Return the items with feedback as the relevant items of each exposure: each item once, highest gain first.

        ``queries`` are the ids of the exposures, ``clicks`` the feedback, and ``items[i]`` the code in ``vocabulary``
        of the item of feedback i.
        """
        at = clicks["at"].to_numpy()
        gains = np.ones(at.size)
        if self.gains and at.size:
            gains = clicks["kind"].replace_strict(dict(self.gains), default=0.0, return_dtype=pl.Float64).to_numpy()
        order = np.lexsort((items, -gains, at))
        at, items, gains = at[order], items[order], gains[order]
        by_item = np.lexsort((np.arange(at.size), items, at))  # the first of each item has its highest gain
        first = np.ones(at.size, np.bool_)
        first[by_item[1:]] = (np.diff(at[by_item]) != 0) | (np.diff(items[by_item]) != 0)
        at, items, gains = at[first], items[first], gains[first]
        offsets = np.searchsorted(at, np.arange(queries.len() + 1)).astype(np.int64)
        return Truth(queries, offsets, items, gains, vocabulary)

    def _shown(self, run: Run, truth: Truth, arms: NDArray[np.int64], n_arms: int) -> dict[str, NDArray[np.int64]]:
        """Return how often each arm showed each item, (arms, items), by name of the metrics in :attr:`catalogue`."""
        if not self.catalogue:
            return {}
        only = Job({name: self.job.metrics[name] for name in self.catalogue}, self.job.conventions, self.job.context)
        parts = []
        for arm in range(n_arms):
            own = np.flatnonzero(arms == arm)
            parts.append(only.values_and_exposures(run.take(own), truth.take(own))[1])
        return {name: np.stack([part[name].counts for part in parts]) for name in self.catalogue}

    def _unknown(self, vocabulary: Vocabulary, items: NDArray[np.int32]) -> int:
        """Return how many of the shown items (codes in ``vocabulary``) are not in the table of items."""
        known = self.job.context.items
        if known is None or vocabulary.ids is None:
            return 0
        return int(np.asarray(~vocabulary.ids.is_in(known.items.to_list()).to_numpy())[items].sum())


def _positions(
    offsets: NDArray[np.int64], items: NDArray[np.int32], at: NDArray[np.int64], clicked: NDArray[np.int32]
) -> NDArray[np.int64]:
    """Return the first position (from 0) of each clicked item in its list, -1 if the list does not have it.

    ``offsets[i]:offsets[i + 1]`` are the items of list i, and ``at`` is the list of each clicked item.
    """
    if not at.size:
        return np.empty(0, np.int64)
    longest = int(np.diff(offsets)[at].max())
    found = np.full(at.size, -1, np.int64)
    lengths, begins = np.diff(offsets)[at], offsets[at]
    for place in range(longest):
        inside = np.flatnonzero((found < 0) & (place < lengths))
        same = inside[items[begins[inside] + place] == clicked[inside]]
        found[same] = place
    return found


def _by_position(arms: NDArray[np.int64], offsets: NDArray[np.int64], n_arms: int) -> NDArray[np.int64]:
    """Return, by arm and position, how many lists of the arm are long enough to have the position.

    ``arms`` is the arm code of each list, and ``offsets[i]:offsets[i + 1]`` are the items of list i.
    """
    lengths = np.minimum(np.diff(offsets), DEEPEST)
    ends = np.zeros((n_arms, DEEPEST + 1), np.int64)
    np.add.at(ends, (arms, lengths), 1)
    reached: NDArray[np.int64] = ends[:, ::-1].cumsum(axis=1)[:, ::-1][:, 1:]
    return reached


def _count(arms: NDArray[np.int64], places: NDArray[np.int64], n_arms: int) -> NDArray[np.int64]:
    counts = np.zeros((n_arms, DEEPEST), np.int64)
    inside = places < DEEPEST
    np.add.at(counts, (arms[inside], places[inside]), 1)
    return counts


def _rewards(exposures: pl.DataFrame, at: NDArray[np.int64], placed: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return two numbers per exposure: the sum over clicked items of 1 / propensity, and 1 / propensity of the list.

    ``at`` is the exposure of each click and ``placed`` the position of its item, -1 if it was not shown. Both are NaN
    for an exposure without propensities; the second also if there is a propensity per item instead of one for the list.
    Clicks on items that were not shown do not count.
    """
    column = exposures["propensity"]
    made = np.full((exposures.height, 2), np.nan)
    if column.null_count() == column.len():
        return made
    counts = column.list.len().fill_null(0).to_numpy().astype(np.int64)
    given = counts > 0
    starts = np.append(0, np.cumsum(counts))
    weights = 1.0 / column.filter(pl.Series(given)).explode().to_numpy()
    made[given, 0] = 0.0
    single = counts == 1
    made[single, 1] = weights[starts[:-1][single]]
    usable = (placed >= 0) & given[at]
    own, place = at[usable], np.where(single[at[usable]], 0, placed[usable])
    np.add.at(made[:, 0], own, weights[starts[own] + place])
    return made
