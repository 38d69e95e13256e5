"""Findings grouped by code, those that could change the verdict (who is best) first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from recassay.comparison.verdict import Verdict
from recassay.results.finding import SEVERITIES, Finding

Row = Mapping[str, Any]
WHERE = ("system", "dataset", "split", "design")


@dataclass(frozen=True)
class FindingGroup:
    """All findings with one code, the most important first.

    ``weight`` is 2 if one of the findings could change the verdict (which system is best), 1 for other warnings and
    errors, and 0 for information.
    """

    code: str
    severity: str
    title: str
    rows: tuple[Row, ...]
    weight: int

    @property
    def detail(self) -> str:
        """Return the text of the most important finding."""
        return str(self.rows[0]["detail"])

    @property
    def count(self) -> int:
        """Return the number of cases of all findings in the group, including repeats in other folds and seeds."""
        return sum(int(row.get("cases", 1)) for row in self.rows)


def finding_groups(findings: Iterable[Finding | Row], verdict: Verdict | None = None) -> list[FindingGroup]:
    """Return findings grouped by code: first those that could change the verdict (who is best), then warnings.

    Information is last. A warning could change the verdict if it is about all systems, or about a leader or runner-up
    of the verdict. Without a verdict, only warnings about all systems could.

    >>> rows = [Finding("C002", "info", "Short lists", "...", "a"), Finding("T001", "warning", "Ties", "...", "a")]
    >>> [(group.code, group.weight) for group in finding_groups(rows)]
    [('T001', 1), ('C002', 0)]
    """
    named = verdict.systems if verdict is not None else frozenset()
    by_code: dict[str, list[Row]] = {}
    for finding in findings:
        row: Row = finding.to_dict() if isinstance(finding, Finding) else finding
        by_code.setdefault(str(row["code"]), []).append(row)
    groups = []
    for code, rows in by_code.items():
        rows.sort(key=lambda row: (-_weight(row, named), -SEVERITIES.index(row["severity"])))
        first = rows[0]
        severity = max((str(row["severity"]) for row in rows), key=SEVERITIES.index)
        groups.append(FindingGroup(code, severity, str(first["title"]), tuple(rows), _weight(first, named)))
    return sorted(groups, key=lambda group: (-group.weight, -SEVERITIES.index(group.severity), group.code))


def _weight(row: Row, named: frozenset[str]) -> int:
    if row["severity"] == "info":
        return 0
    systems = str(row.get("system") or "").split(", ")
    return 2 if systems == [""] or named.intersection(systems) else 1


def where_of(row: Row) -> list[str]:
    """Return the texts that say where a finding was made: its system, data set, split and design, as far as stated."""
    return [str(row[key]) for key in WHERE if row.get(key) and row[key] != "given"]
