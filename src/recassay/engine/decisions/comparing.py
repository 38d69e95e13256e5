"""Comparison of systems in each data set, split, protocol, design and seed of a study: pairwise tests and findings."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from recassay.checks import diagnose
from recassay.checks.decisions import BeatenSystem, easy_kind
from recassay.comparison.compare import PERMUTATION, Comparison, SignificanceOptions, compare
from recassay.data.io.documents import parse_yaml
from recassay.errors import InputError, UsageError
from recassay.metrics.registry import known_metric
from recassay.naming.grammar import suggest
from recassay.results.finding import Finding
from recassay.results.score_set import GIVEN, Place, ScoreSet
from recassay.results.scores import Scores
from recassay.stats.resampling import Progress
from recassay.stats.significance import holm

LOCK = "study.lock.yaml"


@dataclass(frozen=True, eq=False)
class PlaceComparisons:
    """Pairwise comparisons of systems in each place: a data set, split, protocol, design and seed of a study.

    ``comparisons`` has one for each place with two or more systems; ``findings`` are warnings about all of them.
    """

    comparisons: Mapping[Place, Comparison]
    findings: tuple[Finding, ...] = ()

    def frame(self) -> pl.DataFrame:
        """Return a row per data set, split, protocol, design and seed (a place), metric and pair of systems."""
        return pl.concat([place.stamped(comparison.frame()) for place, comparison in self.comparisons.items()])

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return a dictionary per place (data set, split, ..., seed), metric and pair of systems, ready for JSON."""
        return [
            {**place._asdict(), **row}
            for place, comparison in self.comparisons.items()
            for row in comparison.to_dicts()
        ]


def compare_places(
    scores: ScoreSet,
    testing: SignificanceOptions = PERMUTATION,
    *,
    baseline: str | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> PlaceComparisons:
    """Compare the systems in every place (data set, split, ...) as ``compare`` does, with the warnings D001 to D004.

    ``testing`` and ``baseline`` are those of ``compare``. Raise U113 if no place has two systems, and U108 for an
    unknown baseline.

    >>> table = {"user": [1, 2, 3, 4] * 2, "system": ["a"] * 4 + ["pop"] * 4, "mrr": [.1, .2, .1, .3, .5, .6, .4, .7]}
    >>> from recassay.engine.lists.score_sets import read_scores
    >>> compare_places(read_scores(pl.DataFrame(table))).frame()["difference"].round(3).to_list()
    [-0.375]
    """
    if baseline is not None and baseline not in scores.systems:
        raise UsageError(
            "U108",
            f"there is no system '{baseline}'",
            where=f"baseline {baseline!r}",
            hint=suggest(baseline, scores.systems),
        )
    comparisons = {}
    for place, sheet in scores:
        if len(sheet.systems) < 2 or not sheet.unit_metrics or (baseline is not None and baseline not in sheet.systems):
            continue
        _refuse_without_shared_users(place, sheet)
        comparisons[place] = compare(sheet, testing, baseline=baseline, threads=threads, progress=progress)
    if not comparisons:
        raise UsageError(
            "U113",
            f"a comparison needs two systems, but no setting has two of {', '.join(scores.systems)}",
            hint="add scores of another system",
        )
    return PlaceComparisons(
        comparisons, diagnose("comparison", **comparison_facts(scores, comparisons, baseline, testing))
    )


def _refuse_without_shared_users(place: Place, scores: Scores) -> None:
    """Raise I311 if no user has a value for two systems of the same data set, split, protocol, design and seed."""
    for metric in scores.unit_metrics:
        defined = {system: ~np.isnan(scores.values(system, metric)) for system in scores.systems}
        first, *others = scores.systems
        for other in others:
            if defined[first].any() and defined[other].any() and not (defined[first] & defined[other]).any():
                ids = [scores.units.filter(defined[system])[0] for system in (first, other)]
                raise InputError(
                    "I311",
                    f"'{first}' and '{other}' share no user: the first has {ids[0]!r} and the second {ids[1]!r}",
                    where=metric if place.dataset == GIVEN else f"{metric}, {place.dataset}",
                    hint="systems are compared user by user: score them on the same users, with the same ids",
                )


def comparison_facts(
    scores: ScoreSet, comparisons: Mapping[Place, Comparison], baseline: str | None, testing: SignificanceOptions
) -> dict[str, Any]:
    """Return what checks of comparisons examine: counts of tests, claims and seeds, and systems that are beaten.

    A claim is a significant difference; a beaten system is significantly worse than one that is not personalised.
    ``comparisons`` has the comparison of the systems for each data set, split, protocol, design and seed.
    """
    rows = [row for comparison in comparisons.values() for row in comparison.rows if not np.isnan(row.p)]
    models, seeds = _models_in_lock(scores.folder), [seed for seed in scores.along("seed") if seed is not None]
    easy = {name for name in scores.systems if easy_kind(str(models.get(name, {}).get("model") or name)) is not None}
    seeded = [name for name, model in models.items() if name not in easy and "seed" in (model.get("parameters") or {})]
    claims = [row for row in rows if row.p <= testing.alpha]
    return {
        "correction": testing.correction,
        "alpha": testing.alpha,
        "tests": len(rows),
        "claims": len(claims),
        "lost": sum(_n_lost_claims(comparison, testing.alpha) for comparison in comparisons.values()),
        "seeds": {name: len(seeds) for name in scores.systems if name in seeded and seeds},
        "baseline": baseline,
        "beaten": list(_beaten_systems(scores, comparisons, baseline, easy)),
        "test": rows[0].test if rows else "",
        "fewest": min((row.n for row in rows), default=0),
    }


def _n_lost_claims(comparison: Comparison, alpha: float) -> int:
    """Return how many differences are significant at ``alpha``, but not after Holm's correction within each metric."""
    lost = 0
    for metric in dict.fromkeys(row.metric for row in comparison.rows):
        p = np.sort([row.p for row in comparison.rows if row.metric == metric and not np.isnan(row.p)])
        lost += int((p <= alpha).sum() - (holm(p) <= alpha).sum())
    return lost


def _models_in_lock(folder: Path | None) -> dict[str, dict[str, Any]]:
    """Return {system: settings of its model} from the lock file in the folder of a study.

    The result is empty if there is no folder, no lock file or none that can be read.
    """
    if folder is None:
        return {}
    try:
        lock, _ = parse_yaml((folder / LOCK).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    models = lock.get("models") if isinstance(lock, dict) else None
    return {name: model for name, model in (models or {}).items() if isinstance(model, dict)}


def _beaten_systems(
    scores: ScoreSet, comparisons: Mapping[Place, Comparison], baseline: str | None, easy: Collection[str]
) -> Iterator[BeatenSystem]:
    """Yield the systems that are significantly worse than an ``easy`` one (chance, popularity) by accuracy metrics.

    ``comparisons`` has the comparison of the systems for each data set, split, protocol, design and seed. With a
    ``baseline``, only the baseline is examined.
    """
    for place, comparison in comparisons.items():
        higher = {row.metric: row.higher_is_better for row in scores.sheets[place].rows}
        for row in comparison.rows:
            better, metric = higher.get(row.metric, True), known_metric(row.metric)
            if not row.significant or better is None or (metric is not None and metric.family == "beyond"):
                continue  # random lists are good at novelty, diversity and the like
            sign = 1 if better == (row.difference > 0) else -1
            winner, loser = (row.a, row.b) if sign > 0 else (row.b, row.a)
            if winner in easy and loser not in easy and baseline in (None, loser):
                where = ", ".join(str(value) for value in place if value not in (None, "given"))
                yield BeatenSystem(loser, winner, row.metric, where, abs(row.difference))
