"""What a study found, as plain rows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from recassay._version import __version__
from recassay.data.finding import Finding

Row = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Results:
    """What a study found: plain rows, as in ``summary.json``, where its files are, and how long it took.

    A row of ``times`` is what took ``seconds``: a system to ``fit`` on a fold or to ``answer``, or to ``judge`` all of
    them; one of ``calls`` what the questions and the updates of a system on a stream took. They are no part of the
    document, which is the same on every run.
    """

    folder: Path
    rows: tuple[Row, ...]
    comparisons: tuple[Row, ...]
    findings: tuple[Row, ...]
    failures: tuple[Row, ...]
    times: tuple[Row, ...] = ()
    calls: tuple[Row, ...] = ()

    def summary(self) -> pl.DataFrame:
        """A row per system, design, metric and fold; fold ``all`` is over all folds."""
        rows = [{name: value for name, value in row.items() if name != "parameters"} for row in self.rows]
        return pl.DataFrame([{**row, "fold": str(row["fold"])} for row in rows], infer_schema_length=None)

    def at_least(self, severity: str) -> bool:
        """Whether a finding is as severe as this or more."""
        found = [Finding(one["code"], one["severity"], one["title"], one["detail"]) for one in self.findings]
        return any(one.at_least(severity) for one in found)  # type: ignore[arg-type]

    def document(self) -> dict[str, Any]:
        """Ready for JSON."""
        parts = {"rows": self.rows, "comparisons": self.comparisons, "findings": self.findings}
        return {"recassay": __version__, **{k: list(v) for k, v in parts.items()}, "failures": list(self.failures)}
