"""Conclusions from a table of finished scores: the winner under each rule, its stability, and what cannot be said."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from recassay.arrays import Float
from recassay.comparison.across import ROPE, MeanRanks, rank_means
from recassay.comparison.tables import METRIC, FinishedScores, MeansTable, means_table
from recassay.errors import UsageError
from recassay.naming.arguments import checks_types
from recassay.naming.grammar import suggest
from recassay.results.exhibit import Exhibit
from recassay.stats.aggregation import RULES, AggregationRule
from recassay.stats.ranks import kendall, kendall_interval, kendall_taus, rounded
from recassay.stats.resampling import ResamplingOptions, bootstrap_sums

RESAMPLES = 2_000


@dataclass(frozen=True, eq=False)
class RuleWinner:
    """The order of systems under one rule that combines their means over several data sets, with its ``winner``.

    ``scores`` has a score per system (more is better). ``share`` is the share of resamples of the data sets in which
    ``winner`` is first. ``dropping`` has, for each data set that decides the winner, the system that is first without
    it.
    """

    rule: str
    winner: str
    scores: dict[str, float]
    share: float
    dropping: dict[str, str]

    def places(self) -> dict[str, int]:
        """Return the rank of each system, 1 for the best; systems with scores equal up to rounding share a rank."""
        scores = rounded(list(self.scores.values()))
        return {system: 1 + int((scores > score).sum()) for system, score in zip(self.scores, scores, strict=True)}


@dataclass(frozen=True, eq=False)
class FinishedRanking:
    """Conclusions about one metric in one setting: mean ranks with tests, and the winner under each rule.

    A setting is a combination of values of further columns, such as the split. There are no mean ranks with one data
    set. ``higher`` says whether more is better, and ``undefined`` names the rules that these values do not allow.
    """

    metric: str
    setting: dict[str, str]
    table: MeansTable
    higher: bool
    ranking: MeanRanks | None
    winners: tuple[RuleWinner, ...]
    undefined: tuple[str, ...]

    @property
    def name(self) -> str:
        """Return the metric and its setting (the split, the cut-off, ...) as a short text."""
        return ", ".join([self.metric, *self.setting.values()])

    def leader(self) -> str:
        """Return the best system by the first rule: mean rank over data sets, or the value on the only data set."""
        return self.winners[0].winner

    def sentence(self) -> str:
        """Return the verdict: who is first, by how many rules that combine data sets, and how stable that is."""
        leader, n = self.leader(), len(self.table.datasets)
        if n == 1:
            order = np.argsort(-self.table.values[0] if self.higher else self.table.values[0], kind="stable")
            first, second = (self.table.systems[i] for i in order[:2])
            gap = abs(float(self.table.values[0, order[0]] - self.table.values[0, order[1]]))
            return f"{self.name}: {first} is ahead of {second} by {gap:.4g} on the only data set."
        same = [one for one in self.winners if one.winner == leader]
        others = {one.winner: one.rule for one in self.winners if one.winner != leader}
        listed = ", ".join(f"{system} under {rule}" for system, rule in others.items())
        changed = sorted({name for one in same for name in one.dropping})
        stable = f"not without {', '.join(changed[:3])}" if changed else "also without any one data set"
        parts = [
            f"{leader} is first under {len(same)} of {len(self.winners)} rules{f' ({listed})' if others else ''}",
            f"first in {same[0].share:.0%} of resamples of the data sets", stable,
        ]  # fmt: skip
        if self.ranking is not None and self.ranking.test is not None:
            near = [pair for pair in self.ranking.pairs if leader in (pair.a, pair.b) and not pair.significant]
            names = [pair.b if pair.a == leader else pair.a for pair in near]
            more = f" and {len(names) - 4} more" if len(names) > 4 else ""
            above = f"not significantly above {', '.join(names[:4])}{more}"
            parts.append(f"{above if names else 'ranks significantly above every other system'} (Nemenyi)")
        return f"{self.name}, {n} data sets: {'; '.join(parts)}."


@dataclass(frozen=True, eq=False)
class FinishedConclusions:
    """Conclusions about every metric and setting of a table of means.

    A setting is a combination of values of further columns, such as the split. ``cannot`` has a sentence for each
    conclusion that the table does not support. ``described`` names the metrics for which neither more nor less is
    better, which are left out.
    """

    rankings: tuple[FinishedRanking, ...]
    cannot: tuple[str, ...]
    described: tuple[str, ...]
    resamples: int
    seed: int

    def frame(self) -> pl.DataFrame:
        """Return a row per metric, setting, rule and system: the score by the rule, and the rank by this score.

        A rule, such as the mean rank, combines the means of a system on several data sets.

        ``share_first`` is the share of resamples of the data sets in which the winner is first; null for other systems.
        """
        rows = [
            {
                "metric": one.metric, **one.setting, "rule": rule.rule, "system": system, "score": rule.scores[system],
                "place": place, "share_first": rule.share if system == rule.winner else None,
            }
            for one in self.rankings
            for rule in one.winners
            for system, place in rule.places().items()
        ]  # fmt: skip
        return pl.DataFrame(rows, infer_schema_length=None)

    def rule_agreement(self, metric: str) -> pl.DataFrame:
        """Return a row per pair of rules: Kendall's tau-b between the orders of systems by the two, for one metric.

        A rule, such as the mean rank, combines the means of a system on several data sets.
        """
        rows = [
            {
                "metric": metric, **one.setting, "a": a.rule, "b": b.rule,
                "tau": kendall(list(a.scores.values()), list(b.scores.values())),
            }
            for one in self.rankings
            if one.metric == metric
            for a, b in itertools.combinations(one.winners, 2)
        ]  # fmt: skip
        return pl.DataFrame(rows, infer_schema_length=None)

    def exhibit(self) -> Exhibit:
        """Return a figure of the rank of each system under every rule that combines data sets, such as mean rank."""
        names = pl.concat_str("metric", *self.rankings[0].setting, separator=", ")
        place = pl.col("place")
        table = self.frame().with_columns(place.cast(pl.Float64), ranking=names, label=place.cast(pl.String))
        caption = "The rank of each system under each rule that combines data sets into one order; 1 is best."
        return Exhibit(
            "places-by-rule", "Ranks by aggregation rule", caption, table, "rule", "system", facet="ranking",
            kind="heat", value="place", label="label",
        )  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """Return the conclusions as plain values for JSON."""
        return {
            "verdict": [one.sentence() for one in self.rankings],
            "cannot": list(self.cannot),
            "described": list(self.described),
            "rankings": [
                {
                    "metric": one.metric,
                    "setting": one.setting,
                    "datasets": list(one.table.datasets),
                    "left_out": list(one.table.left_out),
                    "rules": [vars(rule) for rule in one.winners],
                    "undefined_rules": list(one.undefined),
                    "ranks": None if one.ranking is None else one.ranking.to_dict(),
                }
                for one in self.rankings
            ],
            "resamples": self.resamples,
            "seed": self.seed,
        }


@checks_types
def conclude(
    finished: FinishedScores,
    *,
    metrics: Sequence[str] | None = None,
    level: float = 0.95,
    rope: float = ROPE,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> FinishedConclusions:
    """Return what a table of means, without values per user, allows to conclude about each metric and setting.

    With two or more data sets this is, for each rule of :mod:`recassay.stats.aggregation` (mean rank, mean, ...), the
    winner, the share of resamples of the data sets in which it wins, and the data sets without which another system
    wins; also the tests of ``ra.overall.across``. Within a single data set no difference can be tested, because that
    needs the values of users. ``metrics`` are by default all that say which system is better, and ``rope`` is the
    largest difference that does not matter. Raise U101 for an unknown metric, and U211 if no metric has two systems
    with values on the same data sets.

    >>> from recassay.engine.finished.read import read_finished
    >>> rows = [("a", "x", 0.5), ("b", "x", 0.4), ("a", "y", 0.3), ("b", "y", 0.2), ("a", "z", 0.1), ("b", "z", 0.9)]
    >>> table = pl.DataFrame(rows, ["system", "dataset", "ndcg@10"], orient="row")
    >>> conclude(read_finished(table)).rankings[0].sentence()[:52]
    'ndcg@10, 3 data sets: a is first under 4 of 8 rules '
    """
    chosen = [name for name, higher in finished.higher.items() if higher is not None] if metrics is None else metrics
    options = ResamplingOptions(seed=seed, resamples=resamples)
    rankings = []
    for metric in chosen:
        tables, higher = finished.tables(metric), finished.higher[metric] is not False
        for key, table in tables.items():
            if len(table.systems) > 1:
                setting, ranking = dict(zip(finished.settings, key, strict=True)), None
                if len(table.datasets) > 1:
                    alpha = round(1 - level, 12)
                    ranking = rank_means(metric, setting, table, higher=higher, alpha=alpha, rope=rope, seed=seed)
                winners = {rule.name: _winner(rule, table, higher, options) for rule in RULES.values()}
                defined = tuple(winner for winner in winners.values() if winner is not None)
                undefined = tuple(name for name, winner in winners.items() if winner is None)
                rankings.append(FinishedRanking(metric, setting, table, higher, ranking, defined, undefined))
    if not rankings:
        what = "no metric has two systems with values on the same data sets"
        raise UsageError("U211", what, hint="name --larger or --smaller for metrics whose direction is unknown")
    described = tuple(name for name in finished.metrics if finished.higher[name] is None and name not in chosen)
    return FinishedConclusions(
        tuple(rankings), _unsupported_conclusions(finished, rankings), described, resamples, seed
    )


def _winner(rule: AggregationRule, table: MeansTable, higher: bool, options: ResamplingOptions) -> RuleWinner | None:
    """Return the order of systems by a rule that combines data sets; None if it is not defined for the values.

    ``higher`` says whether more is better. The data sets are resampled.
    """
    terms, n = rule.terms(table.values, higher), len(table.datasets)
    if terms is None:
        return None
    scores = rule.finish(terms.sum(axis=1)[:, None], n)
    first = int(np.argmax(rounded(scores[:, 0])))
    drawn = rule.finish(bootstrap_sums(terms, options.n_resamples(RESAMPLES), options), n) if n > 1 else scores
    dropping = {}
    for number, name in enumerate(table.datasets if n > 1 else ()):
        others = rule.scores(np.delete(table.values, number, axis=0), higher=higher)
        if others is not None and rounded(others)[first] < rounded(others).max():  # it stays first in a tie
            dropping[name] = table.systems[int(np.argmax(rounded(others)))]
    by_system = dict(zip(table.systems, scores[:, 0].tolist(), strict=True))
    return RuleWinner(rule.name, table.systems[first], by_system, _share_first(drawn, first), dropping)


def _share_first(scores: Float, first: int) -> float:
    """Return the share of columns of ``scores`` in which row ``first`` is the largest.

    Rows that tie, up to rounding, share a column equally.
    """
    scores = rounded(scores, axis=0)
    best = scores == scores.max(axis=0)
    return float(np.mean(best[first] / best.sum(axis=0)))


def _unsupported_conclusions(finished: FinishedScores, rankings: Sequence[FinishedRanking]) -> tuple[str, ...]:
    """Return a sentence for each conclusion that the table does not support, and what would be needed for it."""
    n, left_out = len(finished.datasets), sorted({name for one in rankings for name in one.table.left_out})
    power = f"With {n} data sets rank tests have little power: no difference found is not evidence of none."
    single = "There is one data set: it says nothing about others, and no rank test was run."
    return (
        "No difference within a data set is tested: that needs values per user. This table does not show whether two "
        "systems differ on one data set, or how uncertain a mean is.",
        *([single if n == 1 else power] if n < 6 else []),
        *([f"Left out because a value is missing on some data set: {', '.join(left_out)}."] if left_out else []),
        "A table of means does not show whether systems were tuned with equal effort, on which part of the data they "
        "were selected, or which split, candidates and conventions the metrics used.",
        *finished.notes,
    )


@checks_types
def order_agreement(
    finished: FinishedScores,
    along: str,
    *,
    each_dataset: bool = False,
    level: float = 0.95,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> pl.DataFrame:
    """Return how far orders of systems agree between values of a column such as the split, or between metrics.

    There is a row for each pair of values: Kendall's tau-b between the two orders on a data set, averaged over data
    sets, its percentile interval over resampled data sets, and on how many data sets the winner is the same. With
    ``each_dataset`` there is a row for each pair and data set, with the interval of tau over the systems (jackknife):
    it says how far tau depends on which systems, or settings of systems, are in the table. ``along`` names the column,
    or is "metric"; raise U215 if the table has no such column.
    """
    if along not in (*finished.settings, METRIC):
        known = [*finished.settings, METRIC]
        raise UsageError("U215", f"orders cannot be compared along {along!r}", hint=suggest(along, known))
    rows: list[dict[str, Any]] = []
    key = [METRIC, *finished.settings]
    parts = {
        tuple(map(str, where)): means_table(part)
        for where, part in finished.frame.partition_by(key, as_dict=True, maintain_order=True).items()
    }
    position = key.index(along)
    for (where, left), (other, right) in itertools.combinations(parts.items(), 2):
        if any(a != b for i, (a, b) in enumerate(zip(where, other, strict=True)) if i != position):
            continue
        higher = (finished.higher[where[0]], finished.higher[other[0]])
        if None in higher:
            continue
        pair = _shared_means(left, right, (higher[0] is not False, higher[1] is not False))
        if pair is not None:
            rest = {name: value for name, value in zip(key, where, strict=True) if name != along}
            about = {**rest, "along": along, "a": where[position], "b": other[position]}
            agreement = (
                _agreement_per_dataset(*pair, level)
                if each_dataset
                else [_mean_agreement(*pair, level, seed, resamples)]
            )
            rows.extend({**about, **row} for row in agreement)
    return pl.DataFrame(rows, infer_schema_length=None)


def _shared_means(
    left: MeansTable, right: MeansTable, higher: tuple[bool, bool]
) -> tuple[list[str], Float, Float] | None:
    """Return (datasets, left values, right values) of the data sets and systems that two tables of means share.

    The values are arrays (data sets, systems). ``higher`` says for each table whether more is better; the values of a
    table where less is better change their sign, so that more is always better. Return None if the tables share no data
    set, or fewer than two systems.
    """
    systems = [name for name in left.systems if name in right.systems]
    datasets = [name for name in left.datasets if name in right.datasets]
    if len(systems) < 2 or not datasets:
        return None
    a, b = (
        table.values[np.ix_([table.datasets.index(d) for d in datasets], [table.systems.index(s) for s in systems])]
        * (1.0 if up else -1.0)
        for table, up in zip((left, right), higher, strict=True)
    )
    return datasets, a, b


def _mean_agreement(datasets: list[str], a: Float, b: Float, level: float, seed: int, resamples: int) -> dict[str, Any]:
    """Return tau-b between two orders of systems, averaged over data sets, with its interval, as a row.

    ``a`` and ``b`` (data sets, systems) are the means that the orders follow from. The interval is over ``resamples``
    of the data sets, drawn with ``seed``, and ``level`` is its confidence.
    """
    taus = kendall_taus(a, b)[1]
    known = taus[~np.isnan(taus)]
    low = high = float("nan")
    if len(known) > 1:
        sums = bootstrap_sums(known[None], resamples, ResamplingOptions(seed=seed, resamples=resamples))[0]
        low, high = np.quantile(sums / len(known), [(1 - level) / 2, (1 + level) / 2]).tolist()
    tau = float(known.mean()) if len(known) else float("nan")
    same = int((np.argmax(rounded(a), axis=1) == np.argmax(rounded(b), axis=1)).sum())
    about = {"systems": a.shape[1], "datasets": len(datasets)}
    return {**about, "tau": tau, "low": low, "high": high, "same_winner": same}


def _agreement_per_dataset(datasets: list[str], a: Float, b: Float, level: float) -> list[dict[str, Any]]:
    """Return a row per data set: tau-b between two orders of systems, with its interval over the systems.

    ``a`` and ``b`` (data sets, systems) are the means that the orders follow from, and ``level`` is that of the
    interval.
    """
    return [
        {
            "dataset": name, "systems": len(left), "tau": kendall(left, right),
            **dict(zip(("low", "high"), kendall_interval(left, right, level=level), strict=True)),
            "same_winner": bool(np.argmax(rounded(left)) == np.argmax(rounded(right))),
        }
        for name, left, right in zip(datasets, a, b, strict=True)
    ]  # fmt: skip
