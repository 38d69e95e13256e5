"""All results that a decision between systems needs, in one value: what ``recassay compare`` prints."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from recassay._version import __version__
from recassay.comparison.across import ROPE, Across, across
from recassay.comparison.compare import SignificanceOptions
from recassay.comparison.consistency import Consistency, consistency
from recassay.comparison.power import Power, users_needed
from recassay.comparison.rules import SuddenDeathOptions
from recassay.comparison.verdict import Verdict, leads_at, verdict_of
from recassay.data.io.archive import load_archive
from recassay.data.io.manifest import manifest_of
from recassay.data.io.write import finite, text_of_file_name
from recassay.engine.decisions.comparing import PlaceComparisons, compare_places
from recassay.engine.decisions.contest import SuddenDeath
from recassay.engine.decisions.sudden_death import sudden_death
from recassay.engine.finish import merge_findings
from recassay.errors import UsageError
from recassay.naming import choices
from recassay.naming.arguments import checks_types
from recassay.results.exhibit import Exhibit
from recassay.results.finding import Finding
from recassay.results.first_hits import FirstHits
from recassay.results.score_set import AXES, Place, ScoreSet
from recassay.results.scores import Scores, worded_findings
from recassay.stats.resampling import Progress
from recassay.threads import StageProgress

DATASET = "dataset"


@dataclass(frozen=True, eq=False)
class Decision:
    """The results that a decision between systems needs: comparisons for each data set, split, ..., and more.

    ``verdict`` is the answer in short, ``across`` ranks systems over data sets, ``consistency`` compares the orders of
    systems between these places, ``power`` has the number of users needed in each place, and ``sudden_deaths`` has
    results of Sudden Death, keyed by name. ``unit`` is the word for what has a value, such as user.
    """

    compared: PlaceComparisons
    verdict: Verdict
    across: Across | None = None
    consistency: Consistency | None = None
    power: Mapping[Place, Power] = field(default_factory=dict)
    sudden_deaths: Mapping[str, SuddenDeath] = field(default_factory=dict)
    unit: str = "user"

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Return the findings (warnings about results) on the comparisons and on Sudden Death."""
        of_contests = [finding for contest in self.sudden_deaths.values() for finding in contest.findings]
        return worded_findings((*self.compared.findings, *merge_findings(of_contests)), self.unit)

    @property
    def exhibits(self) -> tuple[Exhibit, ...]:
        """Return the tables with a figure that a report shows."""
        return () if self.across is None else (self.across.exhibit(),)

    def to_dict(self) -> dict[str, Any]:
        """Return all results, ready for JSON; undefined and infinite numbers are None."""
        needs = [{**place._asdict(), **row} for place, power in self.power.items() for row in power.to_dicts()]
        contests = [
            {"contest": name, **row}
            for name, result in self.sudden_deaths.items()
            for row in result.summary().to_dicts()
        ]
        duels = [
            {"contest": name, "at": result.deepest, **row}
            for name, result in self.sudden_deaths.items()
            for row in result.duels().to_dicts()
        ]
        document = {
            "recassay": __version__,
            "verdict": self.verdict.to_dict(),
            "comparisons": self.compared.to_dicts(),
            "across": None if self.across is None else self.across.to_dict(),
            "consistency": None if self.consistency is None else self.consistency.to_dict(),
            "power": needs,
            "sudden_death": contests,
            "duels": duels,
            "findings": [finding.to_dict() for finding in self.findings],
        }
        return dict(finite(document))


@checks_types
def decide(
    scores: ScoreSet,
    *,
    baseline: str | None = None,
    test: choices.TestName = "permutation",
    correction: choices.Correction = "holm",
    effect: choices.Effect = "d_z",
    level: float = 0.95,
    resamples: int | str = "auto",
    seed: int = 0,
    by: str | None = None,
    rope: float = ROPE,
    power: bool = False,
    wanted: float | None = None,
    sudden_death: tuple[int, ...] | SuddenDeathOptions = (),
    threads: int | None = None,
    progress: StageProgress | None = None,
) -> Decision:
    """Compare systems in every place (data set, split, ...), and measure how far the results agree between places.

    ``by`` names a coordinate, such as dataset or seed. Systems are ranked over its values (by default over data sets,
    if there are several), and their orders are compared between its values (by default for every coordinate with two or
    more values). Differences up to ``rope`` do not matter. ``test``, ``correction`` and ``effect`` name the test, the
    correction of p-values and the effect size. With ``power`` the users needed to detect ``wanted``, a difference of
    means, are computed. ``sudden_death`` has the cut-offs, or all options, of Sudden Death: for each user, the system
    that ranks its first relevant item highest wins.
    """
    compared = compare_places(
        scores,
        SignificanceOptions(test, correction, effect, level, seed, resamples),
        baseline=baseline,
        threads=threads,
        progress=_stage(progress, "comparing"),
    )
    ranked = agreed = None
    over: Any = by or DATASET  # across refuses other words
    try:
        if by is not None or len(scores.along(DATASET)) > 1:
            ranked = across(scores, over=over, level=level, rope=rope, seed=seed)
    except UsageError as error:  # data sets of a study may differ in protocol; then there is no ranking
        if by is not None or error.code != "U211":
            raise
    if by is not None or len(scores.metrics) > 1 or any(len(scores.along(axis)) > 1 for axis in AXES):
        agreed = consistency(
            scores, along=by, level=level, seed=seed, threads=threads, progress=_stage(progress, "orders")
        )
    needs = {}
    for place in compared.comparisons if power else ():
        own = baseline if baseline in scores.sheets[place].systems else None
        needs[place] = users_needed(
            scores.sheets[place], wanted=wanted, baseline=own, level=level, correction=correction
        )
    options = sudden_death if isinstance(sudden_death, SuddenDeathOptions) else SuddenDeathOptions(sudden_death)
    contests = sudden_deaths(scores, options, level=level, seed=seed, threads=threads) if options.at else {}
    leads = [lead for place, own in scores for lead in leads_at(place, own, compared.comparisons.get(place))]
    unit = next(iter(scores.sheets.values())).unit
    return Decision(compared, verdict_of(leads, level=level), ranked, agreed, needs, contests, unit)


def _stage(report: StageProgress | None, name: str) -> Progress | None:
    return None if report is None else lambda done, of: report(name, done, of)


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
        settings = next(iter(scores.sheets.values())).settings
        kept = Scores(
            hits.users, tuple(hits.by_system), (), {}, findings=_findings(folder), settings=settings, first_hits=hits
        )  # fmt: skip
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
    return dict(_pooled_contest(path, of_path) for (path, _), of_path in folds.items())


def _findings(folder: Path) -> tuple[Finding, ...]:
    """Return the findings (warnings about results) that are stored in a folder of results."""
    path = folder / FINDINGS
    manifest_of(folder).require_intact([path])
    lines = path.read_text(encoding="utf-8").split("\n") if path.is_file() else ()
    return tuple(Finding(**json.loads(line)) for line in lines if line)


def _pooled_contest(path: tuple[str, ...], folds: dict[str, SuddenDeath]) -> tuple[str, SuddenDeath]:
    """Return the name and the result of Sudden Death over folds that have the same systems and the same path.

    ``folds`` maps the name of a fold to its result, and ``path`` has the names of what the folds share: data set,
    split, ..., seed. A single fold keeps its own name.
    """
    first, *others = folds.values()
    if not others:
        return next(iter(folds)), first
    *before, seed = path
    pooled = first.pooled(*others)
    result = replace(pooled, findings=merge_findings(list(pooled.findings)))
    return ", ".join([*before, f"{len(folds)} folds", seed]), result


def _run_folders(folder: Path) -> Iterator[tuple[tuple[str, ...], str, dict[str, Path], pl.DataFrame]]:
    """Yield (parts, name, runs, relevant) for each folder of runs below ``folder`` that has ranks of relevant items.

    ``parts`` are the names in its path (data set, split, ..., seed), and ``name`` is these joined by commas. ``runs``
    maps a system to its run file, and ``relevant`` is a table of user_id and item_id.
    """
    manifest = manifest_of(folder)
    for run_folder in sorted({path.parent for path in (folder / RUNS).rglob("*.parquet")}):
        name = run_folder.relative_to(folder / RUNS)
        runs = {text_of_file_name(path.stem): path for path in sorted(run_folder.glob("*.parquet"))}
        standings = sorted((folder / STANDINGS / name).glob("*.npz"))
        generated = [run for run in runs.values() if not manifest.is_replaced(run)]  # others are inputs
        manifest.require_intact([*generated, *standings[:1]])
        if standings:
            parts = tuple(map(text_of_file_name, name.parts))
            _, stored = load_archive(standings[0])
            truth = stored.frame().select("user_id", "item_id")
            yield parts, ", ".join(parts) or folder.name, runs, truth
