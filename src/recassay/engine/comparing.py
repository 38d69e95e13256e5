"""Systems compared in every place of a study: pair by pair, what was found on the way, and contests of their runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import yaml

from recassay.comparison.adjust import holm
from recassay.comparison.compare import PERMUTATION, Comparison, HowTested, compare
from recassay.comparison.resampling import Progress
from recassay.comparison.sudden_death import SuddenDeath
from recassay.data.file_names import text_of
from recassay.data.finding import Finding
from recassay.data.score_set import GIVEN, Place, ScoreSet
from recassay.diagnose import diagnose
from recassay.diagnose.base import Beaten, Comparing
from recassay.diagnose.decisions import easy_kind
from recassay.engine.contest import sudden_death
from recassay.errors import InputError, RecassayError, UsageError
from recassay.metrics.registry import parse_metric
from recassay.spec import suggest

LOCK, RUNS, STANDINGS, TRUTH = "study.lock.yaml", "runs", "standings", "truth.parquet"
FOLD, FOLD_AT = "fold-", 2  # how the folders of folds begin, and how deep they lie: data set, split, fold, seed


@dataclass(frozen=True, eq=False)
class Compared:
    """A comparison for every place with two systems or more, and what was found."""

    comparisons: Mapping[Place, Comparison]
    findings: tuple[Finding, ...] = ()

    def frame(self) -> pl.DataFrame:
        """A row per place, metric and pair."""
        return pl.concat([place.stamped(one.frame()) for place, one in self.comparisons.items()])

    def to_dicts(self) -> list[dict[str, Any]]:
        """Ready for JSON."""
        return [{**place._asdict(), **row} for place, one in self.comparisons.items() for row in one.to_dicts()]


def compare_places(
    scores: ScoreSet,
    testing: HowTested = PERMUTATION,
    *,
    baseline: str | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Compared:
    """Compare systems in every place, as :func:`~recassay.compare` does in one; findings D001 to D003 on all of them.

    >>> table = {"user": [1, 2, 3, 4] * 2, "system": ["a"] * 4 + ["pop"] * 4, "mrr": [.1, .2, .1, .3, .5, .6, .4, .7]}
    >>> from recassay.engine.score_sets import read_scores
    >>> compare_places(read_scores(pl.DataFrame(table))).frame()["difference"].round(3).to_list()
    [-0.375]
    """
    if baseline is not None and baseline not in scores.systems:
        hint = suggest(baseline, scores.systems)
        raise UsageError("U108", f"there is no system '{baseline}'", where=f"baseline {baseline!r}", hint=hint)
    found = {}
    for place, one in scores:
        if len(one.systems) < 2 or not one.unit_metrics or (baseline is not None and baseline not in one.systems):
            continue
        _refuse_strangers(place, one)
        found[place] = compare(one, baseline=baseline, threads=threads, progress=progress, **asdict(testing))
    if not found:
        what = f"a comparison needs two systems, and no place has two of {', '.join(scores.systems)}"
        raise UsageError("U113", what, hint="scores of another system")
    return Compared(found, diagnose(facts_of(scores, found, baseline, testing)))


def _refuse_strangers(place: Place, scores: Any) -> None:
    for metric in scores.unit_metrics:
        known = {system: ~np.isnan(scores.values(system, metric)) for system in scores.systems}
        first, *others = scores.systems
        for other in others:
            if known[first].any() and known[other].any() and not (known[first] & known[other]).any():
                ids = [scores.units.filter(known[system])[0] for system in (first, other)]
                raise InputError(
                    "I315",
                    f"'{first}' and '{other}' share no user: the first has {ids[0]!r} and the second {ids[1]!r}",
                    where=metric if place.dataset == GIVEN else f"{metric}, {place.dataset}",
                    hint="systems are compared user by user: score them on the same users, with the same ids",
                )


def facts_of(
    scores: ScoreSet, found: Mapping[Place, Comparison], baseline: str | None, testing: HowTested
) -> Comparing:
    """What the checks of decisions ask about: how many tests, claims and seeds there are, and who is beaten by whom."""
    rows = [row for one in found.values() for row in one.rows if not np.isnan(row.p)]
    claims = [row for row in rows if row.p <= testing.alpha]
    return Comparing(
        testing.correction, testing.alpha, len(rows), len(claims),
        sum(_lost(one, testing.alpha) for one in found.values()),
        _seeds(scores), baseline, tuple(_beaten(scores, found, baseline)),
    )  # fmt: skip


def _lost(comparison: Comparison, alpha: float) -> int:
    """Claims without correction that Holm's would take back, metric by metric."""
    lost = 0
    for metric in dict.fromkeys(row.metric for row in comparison.rows):
        p = np.sort([row.p for row in comparison.rows if row.metric == metric and not np.isnan(row.p)])
        lost += int((p <= alpha).sum() - (holm(p) <= alpha).sum())
    return lost


def _models(folder: Path | None) -> dict[str, dict[str, Any]]:
    """What a study says of its models, by system."""
    path = None if folder is None else folder / LOCK
    if path is None or not path.is_file():
        return {}
    lock = yaml.safe_load(path.read_text(encoding="utf-8"))
    models = lock.get("models") if isinstance(lock, dict) else None
    return {name: one for name, one in (models or {}).items() if isinstance(one, dict)}


def _seeds(scores: ScoreSet) -> dict[str, int]:
    """The number of seeds of every system that a study says depends on one; chance itself needs no training."""
    seeds = [seed for seed in scores.along("seed") if seed is not None]
    models = _models(scores.folder)
    chancy = [
        system
        for system in scores.systems
        if "seed" in (models.get(system, {}).get("parameters") or {}) and _kind(system, models) is None
    ]
    return {system: len(seeds) for system in chancy if seeds}


def _kind(system: str, models: Mapping[str, Mapping[str, Any]]) -> str | None:
    model = models.get(system, {}).get("model")
    return easy_kind(str(model)) if model else easy_kind(system)


def _beaten(scores: ScoreSet, found: Mapping[Place, Comparison], baseline: str | None) -> Iterable[Beaten]:
    models = _models(scores.folder)
    easy = {system for system in scores.systems if _kind(system, models) is not None}
    for place, comparison in found.items():
        higher = {row.metric: row.higher_is_better for row in scores.sheets[place].rows}
        for row in comparison.rows:
            better = higher.get(row.metric, True)
            if not row.significant or better is None or _is_beyond(row.metric):
                continue
            sign = 1 if better == (row.difference > 0) else -1
            winner, loser = (row.a, row.b) if sign > 0 else (row.b, row.a)
            if winner in easy and loser not in easy and baseline in (None, loser):
                where = ", ".join(str(value) for value in place if value not in (None, "given"))
                yield Beaten(loser, winner, row.metric, where, abs(row.difference))


def _is_beyond(metric: str) -> bool:
    """Whether a metric asks for something that chance is good at: novelty, diversity."""
    try:
        return parse_metric(metric).family == "beyond"
    except RecassayError:
        return False


def contests(scores: ScoreSet, at: int | Iterable[int], *, threads: int | None = None) -> dict[str, SuddenDeath]:
    """Sudden Death of the runs that a study keeps, over all folds of a split in which the same systems compete.

    Relevant items are those of its standings.
    """
    cells = list(_cells(scores.folder)) if scores.folder is not None else []
    folds: dict[tuple[tuple[str, ...], frozenset[str]], dict[str, SuddenDeath]] = defaultdict(dict)
    for parts, name, runs, truth in cells:
        if truth is not None:
            around = tuple(part for place, part in enumerate(parts) if place != FOLD_AT or not part.startswith(FOLD))
            folds[around, frozenset(runs)][name] = sudden_death(runs, truth, at, threads=threads)
    if not folds:
        raise UsageError(
            "U213",
            "there are no runs to let compete" if not cells else "the runs have no relevant items beside them",
            where=str(scores.folder or "the scores"),
            hint="the folder of `recassay run` on ranked lists has both; elsewhere, ra.sudden_death(runs, truth)",
        )
    return dict(_together(around, several) for (around, _), several in folds.items())


def _together(around: tuple[str, ...], folds: Mapping[str, SuddenDeath]) -> tuple[str, SuddenDeath]:
    """The contest of all folds, and what to call it."""
    first, *others = folds.values()
    if not others:
        return next(iter(folds)), first
    *before, seed = around
    return ", ".join([*before, f"{len(folds)} folds", seed]), first.pooled(*others)


def _cells(folder: Path) -> Iterator[tuple[tuple[str, ...], str, dict[str, Path], Any]]:
    """Runs that were asked the same, where they lie, with what was relevant: standings say, or a truth beside them."""
    for cell in sorted({path.parent for path in (folder / RUNS).rglob("*.parquet")}):
        name = cell.relative_to(folder / RUNS)
        runs = {text_of(path.stem): path for path in sorted(cell.glob("*.parquet"))}
        standings = sorted((folder / STANDINGS / name).glob("*.parquet"))
        truth: Any = folder / TRUTH if (folder / TRUTH).is_file() and not name.parts else None
        if standings:
            truth = pl.read_parquet(standings[0], columns=["user_id", "item_id"])
        parts = tuple(map(text_of, name.parts))
        yield parts, ", ".join(parts) or folder.name, runs, truth
