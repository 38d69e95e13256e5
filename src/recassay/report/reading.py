"""Reads a folder of results back, whoever wrote it: a study, ``recassay score -o``, or the demo."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from recassay.data.exhibit import Exhibit
from recassay.data.scores import restored
from recassay.errors import InputError
from recassay.spec import suggest

Row = Mapping[str, Any]
SUMMARY, LOCK, SCORES, EXHIBITS, FINDINGS = (
    "summary.json", "study.lock.yaml", "scores.parquet", "exhibits", "findings.jsonl",
)  # fmt: skip
NEEDED = {"system", "metric", "mean"}  # what a row cannot be without


@dataclass(frozen=True, eq=False)
class Found:
    """All that a folder of results holds; ``lock`` is empty where no study made it."""

    folder: Path
    rows: tuple[Row, ...]
    comparisons: tuple[Row, ...] = ()
    findings: tuple[Row, ...] = ()
    failures: tuple[Row, ...] = ()
    exhibits: tuple[Exhibit, ...] = ()
    lock: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    command: str = ""

    @property
    def scores(self) -> Path:
        """The file of the values of all units, which need not be there."""
        return self.folder / SCORES

    @property
    def level(self) -> float:
        """The level of intervals and tests."""
        given = (self.lock.get("judge") or self.settings.get("interval") or {}).get("level")
        return float(given or 0.95)


def read_results(folder: str | Path) -> Found:
    """Everything in a folder of results."""
    home = Path(folder)
    if not (home / SUMMARY).is_file():
        raise InputError("I317", f"there is no {SUMMARY}", where=str(home), hint=_nearby(home))
    summary = _document(home / SUMMARY)
    rows = tuple(restored(row) for row in _rows(summary, "rows", home))
    comparisons = _rows(summary, "comparisons", home)
    if any(NEEDED - row.keys() for row in rows):
        raise _strange(home / SUMMARY, f"a row needs {', '.join(sorted(NEEDED))}")
    lock = yaml.safe_load((home / LOCK).read_text(encoding="utf-8")) if (home / LOCK).is_file() else {}
    if not isinstance(lock, dict):
        raise _strange(home / LOCK, "it holds no settings")
    return Found(
        home,
        rows,
        comparisons,
        _findings(home, summary),
        _rows(summary, "failures", home),
        _exhibits(home / EXHIBITS),
        lock,
        summary.get("settings") or {},
        summary.get("command") or "",
    )


def _findings(home: Path, summary: Mapping[str, Any]) -> tuple[Row, ...]:
    """Those of ``findings.jsonl``, else those of the summary."""
    path = home / FINDINGS
    if not path.is_file():
        return _rows(summary, "findings", home)
    try:
        return tuple(json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line)
    except ValueError as error:
        raise _strange(path, str(error)) from None


def _exhibits(home: Path) -> tuple[Exhibit, ...]:
    """Exhibits in the order in which a study made them; titles say where from if that is not always the same."""
    documents = [_document(path) for path in sorted(home.rglob("*.json"))]
    documents.sort(key=lambda one: one.get("order", 0))
    several = len({(one.get("dataset"), one.get("split")) for one in documents}) > 1
    found = []
    for one in documents:
        where = ", ".join(str(one[part]) for part in ("dataset", "split") if one.get(part))
        title = f"{one['title']} ({where})" if several and where else one["title"]
        found.append(Exhibit.from_dict({**one, "title": title}))
    return tuple(found)


def _rows(summary: Mapping[str, Any], part: str, home: Path) -> tuple[Row, ...]:
    rows = summary.get(part, [])
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise _strange(home / SUMMARY, f"'{part}' is no list of records")
    return tuple(rows)


def _document(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise _strange(path, str(error)) from None
    if not isinstance(content, dict):
        raise _strange(path, "it holds no record")
    return content


def _strange(path: Path, why: str) -> InputError:
    return InputError(
        "I318", f"{path.name} is not as recassay writes it: {why}", where=str(path),
        hint="make it again with recassay run or recassay score -o",
    )  # fmt: skip


def _nearby(home: Path) -> str:
    """A folder of results close by, or how one is made."""
    parent = home if home.is_dir() else home.parent
    others = sorted(one.parent.name for one in parent.glob(f"*/{SUMMARY}")) if parent.is_dir() else []
    if others:
        return suggest(home.name, others)
    return "give the folder that recassay run, score -o or demo wrote"
