"""The results of a study as plain rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from recassay._version import __version__
from recassay.comparison.verdict import Verdict
from recassay.report.content.verdict import verdict_document
from recassay.results.finding import Finding

Row = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Results:
    """The results of a study: plain rows as in ``summary.json``, the folder of its files, and times.

    A row of ``times`` has the ``seconds`` that it took to ``fit`` a system on a fold, to ``answer`` (compute its lists,
    sequences or predictions), or to ``judge`` (score) all systems. A row of ``calls`` has the times of queries and
    updates of a system on a stream. Times are not part of the document, which is the same on every run. ``settings``
    say how many users were scored, unless all were.
    """

    folder: Path
    rows: tuple[Row, ...]
    comparisons: tuple[Row, ...]
    findings: tuple[Row, ...]
    failures: tuple[Row, ...]
    times: tuple[Row, ...] = ()
    calls: tuple[Row, ...] = ()
    verdict: Verdict = field(default_factory=lambda: Verdict(()))
    recomputed: tuple[str, ...] = ()  # files that were damaged
    groups: tuple[Row, ...] = ()  # means by group of users, with the place of each
    settings: Mapping[str, Any] = field(default_factory=dict)
    work: tuple[str, ...] = ()  # what this run computed and why, in words

    def summary(self) -> pl.DataFrame:
        """Return a table with a row per system, design, metric and fold; fold ``all`` is the result over all folds."""
        rows = [{name: value for name, value in row.items() if name != "parameters"} for row in self.rows]
        return pl.DataFrame([{**row, "fold": str(row["fold"])} for row in rows], infer_schema_length=None)

    def at_least(self, severity: str) -> bool:
        """Return whether any finding has this severity or a higher one."""
        found = [Finding(row["code"], row["severity"], row["title"], row["detail"]) for row in self.findings]
        return any(finding.at_least(severity) for finding in found)  # type: ignore[arg-type]

    def document(self) -> dict[str, Any]:
        """Return the results without times as plain values, ready for JSON."""
        parts = {"rows": self.rows, "comparisons": self.comparisons, "findings": self.findings}
        return {
            "recassay": __version__,
            "verdict": verdict_document(self.verdict),
            **{name: list(rows) for name, rows in parts.items()},
            "failures": list(self.failures),
            **({"groups": list(self.groups)} if self.groups else {}),
            **({"settings": dict(self.settings)} if self.settings else {}),
        }
