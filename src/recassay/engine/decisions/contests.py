"""Sudden Death from a folder of results.

In the folder of a study it is computed from the runs, in that of ``score -o`` from the stored ranks of first relevant
items.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import polars as pl

from recassay.comparison.rules import SuddenDeathOptions
from recassay.comparison.sudden_death import SuddenDeath
from recassay.data.io.file_names import text_of_file_name
from recassay.data.io.manifest import manifest_of
from recassay.data.io.parquet import read_parquet
from recassay.engine.decisions.sudden_death import sudden_death
from recassay.engine.finish import merge_findings
from recassay.errors import UsageError
from recassay.results.finding import Finding
from recassay.results.first_hits import FirstHits
from recassay.results.score_set import ScoreSet
from recassay.results.scores import Scores

RUNS, STANDINGS, FINDINGS = "runs", "standings", "findings.jsonl"
FOLD, FOLD_DEPTH = "fold-", 2  # prefix of folders of folds, and their depth: data set, split, fold, seed


def sudden_deaths(
    scores: ScoreSet, options: SuddenDeathOptions, *, level: float = 0.95, seed: int = 0, threads: int | None = None
) -> dict[str, SuddenDeath]:
    """Return the results of Sudden Death between the systems in a folder of results.

    The system with the highest-ranked first relevant item wins the user. For a folder of ``recassay score -o``, the
    only key is the name of the folder, and the stored ranks of first relevant items are used, with the conventions of
    the stored scores. For a study, there is a result per data set, split, ... and seed, with a key such as "ml, random,
    5 folds, 1": the runs are compared in each fold, and folds with the same systems are pooled. Relevant items are
    those whose ranks the study stored. ``level`` and ``seed`` are for the intervals. Raise U205 if the folder has
    neither.
    """
    stated: dict[str, Any] = {**asdict(options), "competitors": options.competitors or None}
    stated |= {"level": level, "seed": seed, "threads": threads}
    folder = scores.folder
    hits = None if folder is None else FirstHits.read(folder)
    if folder is not None and hits is not None:
        kept = Scores(hits.users, tuple(hits.by_system), (), {}, findings=_findings(folder), first_hits=hits)
        return {folder.resolve().name: sudden_death(kept, **stated)}
    cells = [] if folder is None else list(_run_folders(folder))
    folds: dict[tuple[tuple[str, ...], frozenset[str]], dict[str, SuddenDeath]] = defaultdict(dict)
    for parts, name, runs, truth in cells:
        without_fold = tuple(
            part for depth, part in enumerate(parts) if depth != FOLD_DEPTH or not part.startswith(FOLD)
        )
        folds[without_fold, frozenset(runs)][name] = sudden_death(runs, truth, **stated)
    if not folds:
        raise UsageError(
            "U205",
            "the ranks of relevant items, which Sudden Death needs, are unknown",
            where=str(folder or "the scores"),
            hint="use the folder of `recassay score -o`, or of `recassay run` on ranked lists; or call "
            "ra.sudden_death(runs, truth)",
        )
    return dict(_pooled(path, of_path) for (path, _), of_path in folds.items())


def _findings(folder: Path) -> tuple[Finding, ...]:
    """Return the findings stored in a folder."""
    path = folder / FINDINGS
    manifest_of(folder).require_intact([path])
    lines = path.read_text(encoding="utf-8").split("\n") if path.is_file() else ()
    return tuple(Finding(**json.loads(line)) for line in lines if line)


def _pooled(path: tuple[str, ...], folds: dict[str, SuddenDeath]) -> tuple[str, SuddenDeath]:
    """Return the name and the result of Sudden Death over folds that have the same systems and the same path.

    ``folds`` has a result per fold by name, and ``path`` the names of what they share: data set, split, ..., seed. A
    single fold keeps its own name.
    """
    first, *others = folds.values()
    if not others:
        return next(iter(folds)), first
    *before, seed = path
    pooled = first.pooled(*others)
    found = replace(pooled, findings=merge_findings(list(pooled.findings)))
    return ", ".join([*before, f"{len(folds)} folds", seed]), found


def _run_folders(folder: Path) -> Iterator[tuple[tuple[str, ...], str, dict[str, Path], pl.DataFrame]]:
    """Yield (parts, name, runs, relevant) for each folder of runs for which the ranks of relevant items were stored.

    ``parts`` are the names in its path (data set, split, ..., seed), and ``name`` is these joined by commas. ``runs``
    are the run files by system, and ``relevant`` is a table of user_id and item_id.
    """
    manifest = manifest_of(folder)
    for run_folder in sorted({path.parent for path in (folder / RUNS).rglob("*.parquet")}):
        name = run_folder.relative_to(folder / RUNS)
        runs = {text_of_file_name(path.stem): path for path in sorted(run_folder.glob("*.parquet"))}
        standings = sorted((folder / STANDINGS / name).glob("*.parquet"))
        own = [run for run in runs.values() if not manifest.is_replaced(run)]  # others are inputs
        manifest.require_intact([*own, *standings[:1]])
        if standings:
            parts = tuple(map(text_of_file_name, name.parts))
            truth = read_parquet(standings[0], columns=["user_id", "item_id"])
            yield parts, ", ".join(parts) or folder.name, runs, truth
