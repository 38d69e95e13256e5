"""A folder of results: ``scores.parquet``, ``summary.json``, ``findings.jsonl`` and tables, each whole or absent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recassay._version import __version__
from recassay.data.io import make_folder, write_json, write_text
from recassay.data.scores import Scores

if TYPE_CHECKING:
    from recassay.comparison.compare import Comparison

Identity = dict[str, Any]


def document(scores: Scores, comparison: Comparison | None = None) -> dict[str, Any]:
    """The one JSON document of a scoring: systems, comparisons, findings, and the settings that made them."""
    return {
        "recassay": __version__,
        "systems": scores.to_dict(),
        "comparisons": comparison.to_dicts() if comparison else [],
        "findings": [finding.to_dict() for finding in scores.findings],
        "settings": dict(scores.settings),
    }


def write_results(
    scores: Scores,
    comparison: Comparison | None,
    folder: str | Path,
    identity: Identity | None = None,
    *,
    command: str = "",
) -> Path:
    """Write everything a scoring found into a folder, which is made if need be; ``command`` makes it again."""
    target = make_folder(folder)
    identity = identity or {}
    if scores.unit_metrics:
        scores.write(target / "scores.parquet", **identity)
    write_json(_summary(scores, comparison, identity, command), target / "summary.json")
    lines = [json.dumps(finding.to_dict(), ensure_ascii=False) for finding in scores.findings]
    write_text("".join(line + "\n" for line in lines), target / "findings.jsonl")
    _write_page(target)
    return target


def _write_page(target: Path) -> None:
    from recassay.report.pages import write_page  # templates: not needed by those who write no folder
    from recassay.report.reading import read_results

    write_page(read_results(target))


def _summary(scores: Scores, comparison: Comparison | None, identity: Identity, command: str) -> dict[str, Any]:
    names = ("dataset", "split", "protocol", "design")
    where = {**{name: identity.get(name) or "given" for name in names}, "seed": identity.get("seed")}
    content = document(scores, comparison)
    rows = [{"system": row.system, **where, "metric": row.metric, **row.to_dict()} for row in scores.rows]
    return {
        "recassay": content["recassay"],
        "rows": rows,
        "comparisons": [{**where, **row} for row in content["comparisons"]],
        "findings": content["findings"],
        "settings": content["settings"],
        **({"command": command} if command else {}),
    }
