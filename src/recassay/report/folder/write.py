"""Writing of a folder of results: ``scores.parquet``, ``summary.json``, ``findings.jsonl`` and the report page.

Every file is complete or absent, because it is written under another name and renamed.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import polars.selectors as cs

from recassay._version import __version__
from recassay.comparison.verdict import Verdict, leads_at, verdict_of
from recassay.data.io import make_folder, write_json, write_parquet, write_text
from recassay.data.io.folder_lock import locked
from recassay.data.io.manifest import Checksum, files_of, manifest_of, recording
from recassay.data.io.write import json_text
from recassay.errors import UsageError
from recassay.report.content.csv_text import csv_text
from recassay.report.content.verdict import verdict_document
from recassay.report.folder.read import FINDINGS, LOCK, SCORES, SUMMARY, read_results
from recassay.results.first_hits import FIRST_HITS
from recassay.results.group_scores import GroupScores
from recassay.results.score_set import AXES, Place
from recassay.results.scores import Scores

if TYPE_CHECKING:
    from recassay.comparison.compare import Comparison

Identity = dict[str, Any]


def document(scores: Scores, comparison: Comparison | None = None, where: Identity | None = None) -> dict[str, Any]:
    """Return the results as one JSON document, that of ``summary.json``: verdict, rows, comparisons and findings.

    ``where`` names the data set, split, protocol, design and seed, as far as known.
    """
    names, known = ("dataset", "split", "protocol", "design"), where or {}
    place = {**{name: known.get(name) or "given" for name in names}, "seed": known.get("seed")}
    return {
        "recassay": __version__,
        "verdict": verdict_document(verdict_of_scores(scores, comparison, where)),
        "rows": [{"system": row.system, **place, "metric": row.metric, **row.to_dict()} for row in scores.rows],
        "comparisons": [{**place, **row} for row in comparison.to_dicts()] if comparison else [],
        "findings": [finding.to_dict() for finding in scores.findings],
        **({"groups": [{**place, **groups.to_dict()} for groups in scores.groups]} if scores.groups else {}),
        "settings": dict(scores.settings),
        **({"compare": _testing(comparison)} if comparison else {}),
    }


def verdict_of_scores(scores: Scores, comparison: Comparison | None, where: Identity | None = None) -> Verdict:
    """Return the verdict (which system is best by each metric) on scores.

    ``where`` names their data set, split, protocol, design and seed, as far as known.
    """
    level = float((scores.settings.get("interval") or {}).get("level") or 0.95)
    known = {axis: value for axis, value in (where or {}).items() if axis in AXES and value is not None}
    return verdict_of(leads_at(Place(**known), scores, comparison), level=comparison.level if comparison else level)


def write_results(
    scores: Scores,
    comparison: Comparison | None,
    folder: str | Path,
    identity: Identity | None = None,
    *,
    command: str = "",
) -> Path:
    """Write all results into a folder, which is created if needed, and return its path.

    ``identity`` names the data set, split, protocol, design and seed, as far as known. ``command`` is the command line
    that reproduces the results. Raise U111 if the folder has files of a study or of another program.
    """
    from recassay.report.folder.page import write_page  # late: results without a folder have no page

    target = make_folder(folder)
    identity = identity or {}
    with locked(target, wait=True), recording(target) as manifest:
        if LOCK in manifest.entries:
            what = "the folder holds the results of a study, which scoring would replace"
            raise UsageError("U111", what, where=str(target), hint="choose another folder with -o")
        if scores.unit_metrics:
            manifest.refuse_to_replace(target / SCORES)
            scores.write(target / SCORES, **identity)
            for path in files_of(target / SCORES):
                if manifest.state(path) != "intact":  # written by tasks of Spark
                    manifest.add(path, Checksum.of(path))
        else:
            manifest.remove(target / SCORES)  # of an earlier call, with other metrics
        if scores.first_hits is None:
            manifest.remove(target / FIRST_HITS)  # of earlier scores
        else:
            scores.first_hits.write(target)
        write_groups(scores.groups, target)
        made_by = {"command": command} if command else {}
        write_json(document(scores, comparison, identity) | made_by, target / SUMMARY)
        write_text("".join(json_text(one.to_dict()) + "\n" for one in scores.findings), target / FINDINGS)
        manifest.write()
        write_page(read_results(target))
        manifest.write()
    return target


def _testing(comparison: Comparison) -> dict[str, Any]:
    row = comparison.rows[0]
    tested = {"baseline": comparison.baseline, "test": row.test, "correction": row.correction}
    return {**tested, "level": comparison.level, "seed": comparison.seed}


def write_groups(groups: Sequence[GroupScores], target: Path, **identity: Sequence[Any]) -> None:
    """Write means by group and their gaps as Parquet and CSV; without groups, remove files of earlier scores.

    ``identity`` are columns to put in front, such as ``dataset``, with a value for each of ``groups``.
    """
    for name, frames in (
        ("groups", [one.frame() for one in groups]),
        ("group-gaps", [one.gaps_frame() for one in groups]),
    ):
        parquet, text = target / f"{name}.parquet", target / f"{name}.csv"
        if not frames:
            manifest_of(target).remove(parquet)
            manifest_of(target).remove(text)
            continue
        stamped = [
            frame.select(*(pl.lit(values[at]).alias(column) for column, values in identity.items()), pl.all())
            for at, frame in enumerate(frames)
        ]
        table = pl.concat(stamped, how="vertical_relaxed")
        write_parquet(table, parquet)
        write_text(csv_text(table.with_columns(cs.float().fill_nan(None))), text)
