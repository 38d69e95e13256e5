"""What is worth knowing about a study before its numbers are believed."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal

from recassay.data.shown import Shown

Severity = Literal["info", "warning", "error"]

SEVERITIES: tuple[Severity, ...] = ("info", "warning", "error")


@dataclass(frozen=True)
class Finding(Shown):
    """One numbered observation. The code is permanent and has an entry in ``docs/reference/findings.md``."""

    code: str
    severity: Severity
    title: str
    detail: str
    system: str = ""

    def to_dict(self) -> dict[str, str]:
        """As written to ``findings.jsonl``."""
        return asdict(self)

    def at_least(self, severity: Severity) -> bool:
        """Whether this finding is as severe as ``severity`` or more.

        >>> Finding("C001", "warning", "t", "d").at_least("info")
        True
        """
        return severe(self.severity, severity)


class Findings(tuple[Finding, ...], Shown):
    """Several findings, which show themselves together.

    >>> Findings([Finding("C001", "warning", "t", "d")])[0].code
    'C001'
    """

    __slots__ = ()


def severe(severity: str, least: str) -> bool:
    """Whether a severity is as high as another or higher.

    >>> severe("error", "warning"), severe("info", "warning")
    (True, False)
    """
    order: tuple[str, ...] = SEVERITIES
    return order.index(severity) >= order.index(least)
