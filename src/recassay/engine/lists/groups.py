"""Means by group of users or of items, and the gaps between groups.

A group of users keeps its users' values: nothing is judged again. A group of items keeps the relevant items in it:
lists are judged against that part of the truth, so that recall by genre is the share of a genre's relevant items that
lists hold. A metric must have the same best value whatever the number of relevant items; others are left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.arrays import Bool
from recassay.data.memberships import Memberships
from recassay.data.run import Run
from recassay.data.truth import Truth
from recassay.engine.finish import finish, row_of
from recassay.engine.lists.job import Job
from recassay.engine.options import GroupOptions
from recassay.errors import UsageError
from recassay.metrics.base import Metric, UnitMetric
from recassay.metrics.credit import Credit
from recassay.results.group_scores import GroupGap, GroupKind, GroupRow, GroupScores
from recassay.results.scores import Scores, Summary, Values
from recassay.stats.group_means import GroupMean, defined_weights, difference, p_of_pairs, pooled_values
from recassay.stats.intervals import LARGE, Uncertainty, mean_of
from recassay.stats.significance import adjust

MAX_GROUPS = 100  # more are no groups that anybody compares, and each pair of them is tested

Places = NDArray[np.intp]
Key = tuple[str, str]  # system, metric


class GroupColumn(NamedTuple):
    """The values of one system under one metric in a group of users.

    ``places`` are the positions of the group's users among all users (ascending), ``values`` and ``weights`` belong to
    these users; without ``weights`` all are equal.
    """

    places: Places
    values: Values
    weights: Values | None

    def take(self, rows: Places | Bool) -> GroupColumn:
        """Return the values of some users, by their rows in the column."""
        weights = None if self.weights is None else self.weights[rows]
        return GroupColumn(self.places[rows], self.values[rows], weights)

    def defined(self) -> GroupColumn:
        """Return the column without users whose value is undefined (NaN)."""
        return self.take(~np.isnan(self.values))


Columns = Mapping[Key, GroupColumn]


def user_groups(
    scores: Scores,
    memberships: Memberships,
    metrics: Mapping[str, UnitMetric],
    uncertainty: Uncertainty,
    rules: GroupOptions,
    threads: int | None = None,
) -> GroupScores:
    """Return the means of ``scores`` for each group of users.

    ``memberships`` say who is in which group, and ``metrics`` are those with a value per user, keyed by heading.
    ``rules`` say which groups are reported and how they are tested.
    """
    places = memberships.places(scores.units, "user")
    whole = whole_columns(scores)
    parts = [{key: column.take(of) for key, column in whole.items()} for of in places]
    result = _group_scores("users", memberships, whole, parts, places, metrics, uncertainty, rules, threads)
    return replace(result, without=scores.units.len() - np.unique(np.concatenate(places)).size)


def whole_columns(scores: Scores) -> dict[Key, GroupColumn]:
    """Return the values of all users, keyed by (system, metric)."""
    places = np.arange(scores.units.len())
    return {
        (system, metric): GroupColumn(places, scores.values(system, metric), scores.weights(system, metric))
        for system in scores.systems
        for metric in scores.unit_metrics
    }


@dataclass(frozen=True, eq=False)
class ItemGroups:
    """The relevant items of each group: a truth per group, and the values of the runs that were judged against it.

    ``places`` are, for each group, the positions of its users among all users; a user is in the groups of the user's
    relevant items. ``ungrouped`` are the ids of relevant items in no group, ``left_out`` maps a metric that has no
    value by group to the reason, and ``parts`` has the values of each group, keyed by (system, metric).
    """

    memberships: Memberships
    job: Job
    truths: tuple[Truth, ...]
    places: tuple[Places, ...]
    ungrouped: pl.Series
    left_out: Mapping[str, str]
    parts: tuple[dict[Key, GroupColumn], ...]

    @classmethod
    def of(cls, job: Job, truth: Truth, memberships: Memberships) -> ItemGroups:
        """Return the groups of a truth's relevant items; raise U215 if no metric can be computed for a group alone.

        ``memberships`` say which item is in which group, and ``job`` has the metrics.
        """
        kept, left_out = metrics_of_item_groups(job.metrics, memberships.by)
        codes = np.unique(truth.items)
        ids = truth.vocabulary.decode(codes)
        of_items = memberships.places(ids, "item")
        parts = [truth.of_items(codes[places]) for places in of_items]
        ungrouped = np.setdiff1d(np.arange(codes.size), np.concatenate(of_items))
        return cls(
            memberships,
            replace(job, metrics=kept, progress=None, first_hits_from=None),
            tuple(part for part, _ in parts),
            tuple(places for _, places in parts),
            ids[ungrouped],
            left_out,
            tuple({} for _ in parts),
        )

    @classmethod
    def pooled(cls, folds: Sequence[ItemGroups], units: Sequence[pl.Series], all_units: pl.Series) -> ItemGroups:
        """Return the groups of several folds as one; a user's value is the weighted mean over the user's folds.

        ``units`` are the users of each fold, and ``all_units`` those of all folds, ascending.
        """
        if len(folds) == 1:
            return folds[0]
        at = [all_units.search_sorted(own).to_numpy() for own in units]
        metrics = folds[0].job.unit_metrics
        places, parts = list[Places](), list[dict[Key, GroupColumn]]()
        for group in range(len(folds[0].parts)):
            users = [place[fold.places[group]] for fold, place in zip(folds, at, strict=True)]
            places.append(np.unique(np.concatenate(users)))
            filled = [(fold.parts[group], place) for fold, place in zip(folds, at, strict=True) if fold.parts[group]]
            parts.append({})
            for key in filled[0][0] if filled else ():
                if all(key in columns for columns, _ in filled):  # else a system lacks values in one of the folds
                    own = [(place[columns[key].places], *columns[key][1:]) for columns, place in filled]
                    of_folds = ((of, values, defined_weights(values, weights)) for of, values, weights in own)
                    values, weights = pooled_values(of_folds, all_units.len(), metrics[key[1]].power)
                    parts[-1][key] = GroupColumn(places[-1], values[places[-1]], weights[places[-1]])
        ungrouped = pl.concat([fold.ungrouped for fold in folds]).unique()
        return replace(folds[0], truths=(), places=tuple(places), ungrouped=ungrouped, parts=tuple(parts))

    def judge(self, name: str, run: Run) -> None:
        """Add the values of a run against the relevant items of every group."""
        for truth, places, part in zip(self.truths, self.places, self.parts, strict=True):
            if places.size:
                _, values, weights = self.job.measure(run, truth)
                part.update(
                    {(name, metric): GroupColumn(places, values[metric], weights.get(metric)) for metric in values}
                )

    def scores(self, whole: Scores, uncertainty: Uncertainty, rules: GroupOptions) -> GroupScores:
        """Return the means of all runs for each group of items.

        ``whole`` has the scores for all relevant items; ``rules`` say which groups are reported and how they are
        tested.
        """
        columns = {key: column for key, column in whole_columns(whole).items() if key[1] in self.job.metrics}
        group_scores = _group_scores(
            "items", self.memberships, columns, self.parts, self.places, self.job.unit_metrics, uncertainty, rules,
            self.job.threads,
        )  # fmt: skip
        return replace(group_scores, without=self.ungrouped.len(), left_out=self.left_out)


def metrics_of_item_groups(metrics: Mapping[str, Metric], by: str) -> tuple[dict[str, Metric], dict[str, str]]:
    """Return the metrics that have a value for a group of items, and for each other metric the reason why not.

    A group of items has only some of a user's relevant items. Raise U215 if no metric can be computed; ``by`` is the
    column that defines the groups, for the error.
    """
    reasons = {heading: why_no_item_groups(metric) for heading, metric in metrics.items()}
    left_out = {heading: why for heading, why in reasons.items() if why}
    if len(left_out) == len(reasons):
        heading, why = next(iter(left_out.items()))
        raise UsageError(
            "U215",
            f"no metric has a value by group of items: {heading} {why}",
            where=f"by_item={by!r}",
            hint="add recall@10, ndcg@10, mrr or hit@10",
        )
    return {heading: metric for heading, metric in metrics.items() if heading not in left_out}, left_out


def why_no_item_groups(metric: object) -> str:
    """Return why a metric has no value for a group of items, as the end of a sentence; empty if it has one.

    A group of items has only some of a user's relevant items.

    >>> from recassay.metrics.registry import parse_metric
    >>> why_no_item_groups(parse_metric("recall@5")), why_no_item_groups(parse_metric("precision@5"))
    ('', 'has a best value that depends on the number of relevant items')
    """
    if not isinstance(metric, UnitMetric) or metric.family != "ranking":
        return "is not about relevant items"
    formula = metric.rank_formula()
    if not isinstance(formula, Credit):
        return "is not a sum over relevant items by their ranks"
    if metric.limits[1] != 1 or not math.isclose(float(formula.of_one(np.ones(1))[0]), 1.0):
        return "has a best value that depends on the number of relevant items"
    return ""


def _group_scores(
    kind: GroupKind,
    memberships: Memberships,
    whole: Columns,
    parts: Sequence[Columns],
    places: Sequence[Places],
    metrics: Mapping[str, UnitMetric],
    uncertainty: Uncertainty,
    rules: GroupOptions,
    threads: int | None,
) -> GroupScores:
    """Return the mean of every system in each group under each metric, and the gaps between groups, tested.

    ``whole`` has the values of all users, keyed by (system, metric); ``parts`` the values of each group, and ``places``
    the positions of the group's users among all users. ``kind`` says whether ``memberships``, which say what is in
    which group, are of users or of items; ``rules`` say which groups are reported and how they are tested.
    """
    sizes = [of.size for of in places]
    disjoint = np.unique(np.concatenate(places)).size == sum(sizes)
    shown = [at for at, size in enumerate(sizes) if size >= rules.smallest_group]
    hidden = [size for size in sizes if 0 < size < rules.smallest_group]
    if len(shown) > MAX_GROUPS:
        raise UsageError(
            "U215",
            f"'{memberships.by}' makes {len(shown):,} groups of {rules.smallest_group:,} users or more; "
            f"at most {MAX_GROUPS:,} are compared",
            where=f"by={memberships.by!r}",
            hint="use a coarser column, or raise the smallest group (--smallest-group)",
        )
    if len(shown) < 2:
        largest = max(sizes, default=0)
        raise UsageError(
            "U215",
            f"'{memberships.by}' makes fewer than two groups of {rules.smallest_group:,} users or more: it has "
            f"{sum(size > 0 for size in sizes):,} in all, the largest of {largest:,}",
            where=f"by={memberships.by!r}",
            hint="use another column, or lower the smallest group (--smallest-group)",
        )
    if uncertainty.method == "bootstrap" and max(column.places.size for column in whole.values()) > LARGE:
        uncertainty = replace(uncertainty, method="abc")  # as for the means of all users: groups are as large together
    level, alpha, names = uncertainty.level, round(1 - uncertainty.level, 12), memberships.names
    defined = {at: {key: column.defined() for key, column in parts[at].items()} for at in shown}
    summaries = {at: _means(columns, metrics, uncertainty, threads) for at, columns in defined.items()}
    rows: list[GroupRow] = []
    gaps: list[GroupGap] = []
    for key, everybody in whole.items():
        metric = metrics[key[1]]
        groups = {at: columns[key] for at, columns in defined.items() if key in columns}
        groups = {at: column for at, column in groups.items() if column.places.size >= rules.smallest_group}
        means = [GroupMean.of(*column, power=metric.power) for column in groups.values()]
        overall = GroupMean.of(*everybody.defined(), power=metric.power)
        against = [difference(mean, overall, level=level) for mean in means]
        corrected = adjust(np.array([one.p for one in against]), rules.correction).tolist()
        of_groups = [summaries[at][key] for at in groups]
        group_rows = [
            GroupRow(*key, names[at], row.n, row.mean, row.low, row.high, one.difference, p, p <= alpha)
            for at, row, one, p in zip(groups, of_groups, against, corrected, strict=True)
        ]
        rows += group_rows
        gaps += _gap(group_rows, means, metric.higher_is_better, rules.correction, level, disjoint=disjoint)
    return GroupScores(
        memberships.by, kind, tuple(rows), tuple(gaps), rules.smallest_group, len(hidden), sum(hidden), 0,
        level, rules.correction, {}, memberships.note,
    )  # fmt: skip


def _means(
    columns: Columns, metrics: Mapping[str, UnitMetric], uncertainty: Uncertainty, threads: int | None
) -> dict[Key, Summary]:
    """Return the mean and interval of one group of users for each (system, metric); systems share their resamples."""
    values = {key: column.values for key, column in columns.items()}
    weights = {key: column.weights for key, column in columns.items() if column.weights is not None}
    rows = [
        row_of(key, metrics[key[1]], mean_of(*column[1:], metrics[key[1]].power), column.places.size)
        for key, column in columns.items()
    ]
    finished = finish(pl.Series(), metrics, rows, values, weights, uncertainty, threads=threads)
    return {(row.system, row.metric): row for row in finished.rows}


def _gap(
    rows: list[GroupRow], means: list[GroupMean], higher: bool | None, correction: str, level: float, *, disjoint: bool
) -> Iterator[GroupGap]:
    """Yield the gap of a system under a metric: the mean of its best group minus that of its worst, with a test.

    Yield nothing if fewer than two groups have a mean. ``means`` are the means of the groups, and ``rows`` their
    results. ``higher`` says whether more is better, and ``disjoint`` whether no user is in two groups.
    """
    known = [at for at, row in enumerate(rows) if not math.isnan(row.mean)]
    if len(known) < 2:
        return
    place: Callable[[int], float] = lambda at: rows[at].mean if higher is not False else -rows[at].mean  # noqa: E731
    best, worst = max(known, key=place), min(known, key=place)
    if best == worst:  # all means are equal
        best, worst = known[0], known[-1]
    gap = difference(means[best], means[worst], level=level, disjoint=disjoint)
    corrected = p_of_pairs([means[at] for at in known], correction, disjoint=disjoint)
    pair = (known.index(best), known.index(worst))
    p = corrected[min(pair), max(pair)]
    first = rows[best]
    yield GroupGap(
        first.system, first.metric, first.group, rows[worst].group, gap.difference, gap.low, gap.high, p,
        len(corrected), p <= round(1 - level, 12),
    )  # fmt: skip
