"""Scores of closed exposures: each is a ranked list, and its feedback says which items were relevant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.columnar.vocabulary import Vocabulary
from recassay.data.run import Run
from recassay.data.truth import Truth, TruthStatistics
from recassay.engine.lists.job import Job
from recassay.errors import UsageError
from recassay.live.join import Closed
from recassay.metrics.align import Conventions
from recassay.metrics.base import CatalogueMetric
from recassay.metrics.context import Context
from recassay.metrics.registry import Metrics, parse_metrics

DEEPEST = 50  # positions for which clicks are counted


class Judged(NamedTuple):
    """The scores of n exposures (shown lists), with counts of shown and clicked items and of irregular items."""

    values: NDArray[np.float64]  # (n, metrics)
    clicked: NDArray[np.int64]  # feedback of each exposure
    shown_at: NDArray[np.int64]  # exposures by arm and position
    clicked_at: NDArray[np.int64]
    exposures: Mapping[str, NDArray[np.int64]]  # by heading and arm: how often each item of the catalogue was shown
    rewards: NDArray[np.float64]  # (n, 2): the clicked items over the propensity, and 1 over it; NaN without
    problems: Mapping[str, int]  # numbers of irregular items, by what is wrong with them

    @property
    def columns(self) -> NDArray[np.float64]:
        """Return the table of values to sum, a row per exposure: the scores, the number of clicks, and both rewards."""
        return np.column_stack([self.values, self.clicked, self.rewards])


@dataclass(frozen=True, eq=False)
class ExposureJudge:
    """Metrics that are ready to score exposures (shown lists) whose feedback window has ended.

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
        lists, at = closed.exposures["items"], closed.feedback["at"].to_numpy()
        lengths = lists.list.len().to_numpy().astype(np.int64)
        offsets = np.append(0, np.cumsum(lengths))
        shown = lists.filter(pl.Series(lengths > 0)).explode()
        texts = pl.concat([shown.rename("i"), closed.feedback["item_id"].rename("i")])
        vocabulary, codes = Vocabulary.dense(texts)
        items, clicked = codes[: shown.len()], codes[shown.len() :]
        queries = pl.Series(np.arange(lengths.size))
        run = Run("exposures", queries, offsets, items, vocabulary, "row")
        truth = self._truth(queries, closed.feedback, clicked, vocabulary)
        _, values, _ = self.job.measure(run, truth)
        placed = _positions(offsets, items, at, clicked)
        inside, deep = placed >= 0, np.minimum(lengths, DEEPEST)
        ends = _count(arms[deep > 0], deep[deep > 0] - 1, n_arms)
        return Judged(
            np.column_stack([values[name] for name in self.headings]) if values else np.empty((lengths.size, 0)),
            np.bincount(at, minlength=lengths.size),
            ends[:, ::-1].cumsum(axis=1)[:, ::-1],
            _count(arms[at[inside]], placed[inside], n_arms),
            self._shown(run, truth, arms, n_arms),
            _rewards(closed.exposures["propensity"], at, placed),
            {
                "repeated items": int(run.repeated().sum()),
                "feedback on items not shown": int((~inside).sum()),
                "items unknown": self._unknown(vocabulary, items),
                "items shown": items.size,
            },
        )

    def _truth(
        self, queries: pl.Series, clicks: pl.DataFrame, items: NDArray[np.int32], vocabulary: Vocabulary
    ) -> Truth:
        """Return the items with feedback as the relevant items of each exposure: each item once, highest gain first.

        ``queries`` are the ids of the exposures, ``clicks`` the feedback, and ``items[i]`` the code in ``vocabulary``
        of the item of feedback i.
        """
        gain = pl.lit(1.0)
        if self.gains:
            gain = pl.col("kind").replace_strict(dict(self.gains), default=0.0, return_dtype=pl.Float64)
        rows = clicks.select("at", gain.alias("gain"), pl.Series("item", items))
        rows = rows.group_by("at", "item").agg(pl.col("gain").max())
        rows = rows.sort("at", "gain", "item", descending=[False, True, False])
        offsets = np.searchsorted(rows["at"].to_numpy(), np.arange(queries.len() + 1)).astype(np.int64)
        return Truth(queries, offsets, rows["item"].to_numpy(), rows["gain"].to_numpy(), vocabulary)

    def _shown(self, run: Run, truth: Truth, arms: NDArray[np.int64], n_arms: int) -> dict[str, NDArray[np.int64]]:
        """Return, for each metric of :attr:`catalogue`, a table (arms, items) of how often an arm showed an item.

        ``run`` holds the shown lists, ``truth`` the clicked items, and ``arms`` the arm of each list, 0 to ``n_arms`` -
        1.
        """
        if not self.catalogue:
            return {}
        only = Job({name: self.job.metrics[name] for name in self.catalogue}, self.job.conventions, self.job.context)
        parts = []
        for arm in range(n_arms):
            own = np.flatnonzero(arms == arm)
            parts.append(only.exposures(only.measure(run.take(own), truth.take(own))[0]))
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
    found, begins, lengths = np.full(at.size, -1, np.int64), offsets[at], np.diff(offsets)[at]
    for place in range(int(lengths.max(initial=0))):
        left = np.flatnonzero((found < 0) & (place < lengths))
        found[left[items[begins[left] + place] == clicked[left]]] = place
    return found


def _count(arms: NDArray[np.int64], places: NDArray[np.int64], n_arms: int) -> NDArray[np.int64]:
    """Return a table (arms, positions): how often each position of a list occurs in each arm.

    ``arms`` and ``places`` have the arm (0 to ``n_arms`` - 1) and the position in its list of each item.
    """
    counts = np.zeros((n_arms, DEEPEST), np.int64)
    inside = places < DEEPEST
    np.add.at(counts, (arms[inside], places[inside]), 1)
    return counts


def _rewards(weights: pl.Series, at: NDArray[np.int64], placed: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return two numbers per exposure: the sum over clicked items of 1 / propensity, and 1 / propensity of the list.

    ``weights`` are the propensities of each exposure, ``at`` is the exposure of each click and ``placed`` the position
    of its item, -1 if it was not shown. Both are NaN for an exposure without propensities; the second also if there is
    a propensity per item instead of one for the list. Clicks on items that were not shown do not count.
    """
    counts = weights.list.len().fill_null(0).to_numpy()
    rewards = np.full((counts.size, 2), np.nan)
    rewards[counts > 0, 0] = 0.0
    rewards[counts == 1, 1] = 1.0 / weights.filter(pl.Series(counts == 1)).list.first().to_numpy()
    usable = (placed >= 0) & (counts[at] > 0)
    own, place = at[usable], np.where(counts[at] == 1, 0, placed)[usable]
    np.add.at(rewards[:, 0], own, 1.0 / weights.gather(own).list.get(pl.Series(place)).to_numpy())
    return rewards
