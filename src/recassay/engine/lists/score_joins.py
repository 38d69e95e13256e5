"""Joins of scorings (sets of scores): systems that were scored at different times against one truth become one set."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from recassay.errors import InputError, UsageError
from recassay.metrics.align import Conventions
from recassay.results.score_set import GIVEN, Place, ScoreSet
from recassay.results.scores import Scores

TRUTH = "truth"  # key of the settings of scores: fingerprint and counts of the truth


def join_scorings(scorings: Iterable[tuple[str, ScoreSet]]) -> ScoreSet:
    """Return several named sets of scores as one set.

    Scores of the same truth become one set of systems. Truths are the same if their fingerprints are. Tables have no
    fingerprint: their scores are joined if they are for the same data set, split, protocol, design and seed, have the
    same users, agree on the systems they share, and one adds systems to the other. Other scores become data sets with
    the names of their sources, if they have a system in common; else nothing can be compared, and I311 is raised. Raise
    U204 for scores of one truth under different metrics.
    """
    sheets: dict[Place, Scores] = {}
    sources: dict[Place, str] = {}
    for name, own in scorings:
        for place, scores in own:
            at = next((other for other in sheets if _are_joined(sheets[other], scores, other, place)), None)
            if at is not None:
                sheets[at] = _join_systems(sheets[at], scores, f"{sources[at]} and {name}")
                continue
            clashing = place in sheets and place.dataset != GIVEN
            if clashing or (place.dataset == GIVEN and place in {other._replace(dataset=GIVEN) for other in sheets}):
                _refuse_other_systems(sheets, sources, place, scores, name)
            placed = place._replace(dataset=name) if place.dataset == GIVEN or clashing else place
            if placed in sheets:
                raise InputError(
                    "I314", f"two sources have scores of the data set {placed.dataset}", where=name,
                    hint="name the data set in a column 'dataset', or rename the file",
                )  # fmt: skip
            sheets[placed], sources[placed] = scores, name
    return ScoreSet(sheets)


def _are_joined(one: Scores, other: Scores, at: Place, place: Place) -> bool:
    """Return whether two scores are of the same truth, so that their systems can be joined.

    ``at`` and ``place`` are the coordinates of ``one`` and ``other``: data set, split, protocol, design and seed.
    """
    if at.without("dataset") != place.without("dataset"):
        return False
    first, second = ((scores.settings.get(TRUTH) or {}).get("fingerprint") for scores in (one, other))
    if first and second:
        return bool(first == second)
    if place.dataset not in (GIVEN, at.dataset) or not one.units.equals(other.units):
        return False
    shared = [system for system in other.systems if system in one.systems]
    return len(shared) < len(other.systems) and all(_same_values(one, other, system) for system in shared)


def _same_values(one: Scores, other: Scores, system: str) -> bool:
    metrics = [metric for metric in one.unit_metrics if metric in other.unit_metrics]
    values = ((one.values(system, metric), other.values(system, metric)) for metric in metrics)
    return all(np.array_equal(left, right, equal_nan=True) for left, right in values)


def _refuse_other_systems(
    sheets: Mapping[Place, Scores], sources: Mapping[Place, str], place: Place, scores: Scores, name: str
) -> None:
    """Raise I311 if ``scores`` have no system in common with earlier scores of the same split, design and so on.

    ``sheets`` are the earlier scores by place (data set, split, design, ...), and ``sources`` their names. Scores with
    common systems may come from another data set; without one, nothing can be compared.
    """
    for at, earlier in sheets.items():
        if at.without("dataset") != place.without("dataset") or set(earlier.systems) & set(scores.systems):
            continue
        what = f"the two scorings have different systems and different truths: {_how_truths_differ(earlier, scores)}"
        raise InputError(
            "I311", what, where=f"{sources[at]} and {name}",
            hint="score all runs against one truth: recassay score TRUTH RUNS... -o FOLDER",
        )  # fmt: skip


def _how_truths_differ(one: Scores, other: Scores) -> str:
    known = [scores.settings.get(TRUTH) or {} for scores in (one, other)]
    if all(known):
        counts = [f"{truth['users']:,} users with {truth['judged']:,} judged items" for truth in known]
        return " against ".join(counts) if counts[0] != counts[1] else f"both have {counts[0]}, but not the same ones"
    users = [set(scores.units.to_list()) for scores in (one, other)]
    alone = [f"{len(left - right):,} of {len(left):,} users" for left, right in (users, users[::-1])]
    return f"{alone[0]} are only in the first, {alone[1]} only in the second"


def _join_systems(one: Scores, other: Scores, where: str) -> Scores:
    """Return the systems of two scorings as one set of scores, by the metrics that both have.

    Raise U109 if both have a system of the same name with different values, U204 if their metrics do not fit; ``where``
    names both.
    """
    _refuse_other_metrics(one, other, where)
    for system in one.systems:
        if system in other.systems and not _same_values(one, other, system):
            raise UsageError(
                "U109", f"both scorings have a system '{system}', with different values", where=where,
                hint="rename one of the run files and score it again",
            )  # fmt: skip
    metrics = tuple(metric for metric in one.metrics if metric in other.metrics)
    systems = (*one.systems, *(system for system in other.systems if system not in one.systems))

    def of(name: str) -> dict[tuple[str, str], Any]:
        both = {**getattr(other, name), **getattr(one, name)}
        return {key: values for key, values in both.items() if key[1] in metrics}

    rows = {(row.system, row.metric): row for row in (*other.rows, *one.rows) if row.metric in metrics}
    return dataclasses.replace(
        one,
        systems=systems,
        metrics=metrics,
        per_unit=of("per_unit"),
        per_unit_weights=of("per_unit_weights"),
        rows=tuple(rows[system, metric] for metric in metrics for system in systems),
        findings=(*one.findings, *(finding for finding in other.findings if finding not in one.findings)),
        named=None if one.named is None or other.named is None else {**other.named, **one.named},
        tie_orders=of("tie_orders"),
    )


def _refuse_other_metrics(one: Scores, other: Scores, where: str) -> None:
    """Raise U204 if two scorings share no metric, or if metrics of one name, the conventions or the profile differ.

    Scorings without settings are not compared any further.
    """
    shared = [metric for metric in one.metrics if metric in other.metrics]
    differing = []
    if one.settings and other.settings:
        settings = one.settings, other.settings
        pairs = [(metric, *(of.get("metrics", {}).get(metric) for of in settings)) for metric in shared]
        conventions = [asdict(Conventions()) | (of.get("conventions") or {}) for of in settings]
        pairs += [(name, value, conventions[1].get(name)) for name, value in conventions[0].items()]
        pairs.append(("the profile", *(of.get("profile") or "none" for of in settings)))
        differing = [f"{name} is {first} against {second}" for name, first, second in pairs if first != second]
    if not shared:
        what = f"the scorings share no metric: {', '.join(one.metrics)} against {', '.join(other.metrics)}"
    elif differing:
        what = f"the scorings differ in metrics or conventions: {'; '.join(differing)}"
    else:
        return
    raise UsageError("U204", what, where=where, hint="score both with the same metrics and options")
