"""Rules that turn a table of means (data sets, systems) into one order of the systems.

Different rules can name different winners. Every rule here is a function of sums over data sets, so that resamples of
the data sets are resamples of these sums.

References: Dolan and Moré, Benchmarking optimization software with performance profiles, Mathematical Programming 91
(2002); Bradley and Terry, Rank analysis of incomplete block designs, Biometrika 39 (1952); Rofin et al., Vote'n'Rank,
EACL 2023 (Copeland, minimax).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from recassay.arrays import Float
from recassay.stats.ranks import mid_ranks, rounded

WORST_RATIO = 3.0  # a performance profile is the area up to this ratio to the best
STEPS = 200  # of the iteration for Bradley-Terry strengths


@dataclass(frozen=True)
class AggregationRule:
    """A rule that scores systems from a table of means, by sums over data sets.

    ``terms`` takes the table (data sets, systems) and whether more is better. It returns an array (m, data sets), with
    a row per system or per ordered pair of systems, to be summed over the data sets; or None if the rule is not defined
    for the values. ``finish`` takes sums (m, resamples) over ``n`` data sets and returns scores (systems, resamples);
    more is better.
    ``about`` describes the rule in words.
    """

    name: str
    about: str
    terms: Callable[[Float, bool], Float | None]
    finish: Callable[[Float, int], Float]

    def scores(self, values: Float, *, higher: bool = True) -> Float | None:
        """Return the score of each system in a table (data sets, systems), or None if the rule is not defined for it.

        >>> RULES["copeland"].scores(np.array([[3.0, 2.0, 1.0], [1.0, 3.0, 2.0], [3.0, 1.0, 2.0]])).tolist()
        [2.0, 1.0, 0.0]
        """
        terms = self.terms(values, higher)
        return None if terms is None else self.finish(terms.sum(axis=1)[:, None], len(values))[:, 0]


def _ratios(values: Float, higher: bool) -> Float | None:
    """Return how many times worse each value is than the best value of its data set (1 for the best).

    The result is None if a value is negative, or if a data set has no positive value. ``higher`` says that higher
    values are better.
    """
    if (values < 0).any() or not (values > 0).any(axis=1).all():
        return None
    with np.errstate(divide="ignore", invalid="ignore"):
        best = values.max(axis=1, keepdims=True) if higher else values.min(axis=1, keepdims=True)
        ratios = best / values if higher else values / best
    return np.where(np.isnan(ratios), 1.0, ratios)  # 0/0: the best where lower is better


def _log_terms(values: Float, higher: bool) -> Float | None:
    if not (values > 0).all():
        return None
    logs = np.log(values).T
    return logs if higher else -logs


def _relative_terms(values: Float, higher: bool) -> Float | None:
    ratios = _ratios(values, higher)
    return None if ratios is None else 1.0 / ratios.T


def _profile_terms(values: Float, higher: bool) -> Float | None:
    ratios = _ratios(values, higher)
    return None if ratios is None else np.maximum(0.0, WORST_RATIO - ratios.T) / (WORST_RATIO - 1.0)


def _win_terms(values: Float, higher: bool) -> Float:
    """Return 1 where the first system of an ordered pair is better on a data set, 1/2 where the two tie, else 0.

    The result has a row per ordered pair and a column per data set. ``higher`` says that higher values are better.
    """
    turned = rounded(values if higher else -values).T
    wins = np.where(turned[:, None] > turned[None], 1.0, np.where(turned[:, None] == turned[None], 0.5, 0.0))
    return wins.reshape(-1, values.shape[0])


def _wins(sums: Float) -> Float:
    """Return how often each system beats each other one, as an array (systems, systems, resamples); a tie counts half.

    The diagonal is 0. ``sums`` are the sums of :func:`_win_terms` over resampled data sets.
    """
    systems = round(len(sums) ** 0.5)
    wins = sums.reshape(systems, systems, -1).copy()
    wins[np.arange(systems), np.arange(systems)] = 0.0
    return wins


def _copeland(sums: Float, n: int) -> Float:
    wins = _wins(sums)
    beaten = np.where(wins > n / 2, 1.0, np.where(wins == n / 2, 0.5, 0.0))
    beaten[np.arange(len(wins)), np.arange(len(wins))] = 0.0
    return np.asarray(beaten.sum(axis=1))


def _bradley_terry(sums: Float, n: int) -> Float:
    """Return Bradley-Terry strengths that add up to 1, computed by Hunter's iteration.

    ``sums`` are how often the first system of each ordered pair is better, over ``n`` data sets (a tie counts half).
    Half a win is added to each side of every pair; otherwise a system that wins on all data sets would have an infinite
    strength.
    """
    wins = _wins(sums)
    systems = len(wins)
    own_wins = wins.sum(axis=1) + (systems - 1) / 2
    strength = np.full(own_wins.shape, 1.0 / systems)
    for _ in range(STEPS):
        met = (n + 1) / (strength[:, None] + strength[None])
        met[np.arange(systems), np.arange(systems)] = 0.0
        strength = own_wins / met.sum(axis=1)
        strength = strength / strength.sum(axis=0)
    return strength


RULES = {
    rule.name: rule
    for rule in (
        AggregationRule(
            "mean rank", "minus the mean rank over the data sets",
            lambda values, higher: -np.array([mid_ranks(-row if higher else row) for row in values]).T, np.divide,
        ),
        AggregationRule(
            "mean", "mean value", lambda values, higher: (values if higher else -values).T.copy(), np.divide
        ),
        AggregationRule(
            "geometric mean", "geometric mean of the values", _log_terms, lambda sums, n: np.exp(sums / n)
        ),
        AggregationRule("relative mean", "mean of value / best of the data set", _relative_terms, np.divide),
        AggregationRule(
            "profile", f"area under Dolan and Moré's performance profile, ratios 1 to {WORST_RATIO:g}", _profile_terms,
            np.divide,
        ),
        AggregationRule("bradley-terry", "strength by who beats whom", _win_terms, _bradley_terry),
        AggregationRule("copeland", "number of systems beaten on most data sets", _win_terms, _copeland),
        AggregationRule(
            "minimax", "minus the most losses to any one system", _win_terms,
            lambda sums, _: -np.asarray(_wins(sums).max(axis=0)),
        ),
    )
}  # fmt: skip
