"""Findings: what a reader should know about an evaluation before trusting its numbers."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import get_args

from recassay.naming import choices
from recassay.shown import Displayable

Severity = choices.Severity

SEVERITIES: tuple[Severity, ...] = get_args(Severity)


@dataclass(frozen=True)
class Finding(Displayable):
    """A note or warning on an evaluation; its code is permanent and explained in ``docs/reference/findings.md``."""

    code: str
    severity: Severity
    title: str
    detail: str
    system: str = ""

    def to_dict(self) -> dict[str, str]:
        """Return the fields, such as code and severity, as they are written to ``findings.jsonl``."""
        return asdict(self)

    def at_least(self, severity: Severity) -> bool:
        """Return whether this finding is at least as severe as ``severity``: info, warning or error.

        >>> Finding("C001", "warning", "t", "d").at_least("info")
        True
        """
        return severe(self.severity, severity)


class Findings(tuple[Finding, ...], Displayable):
    """Several findings (warnings about an evaluation), which notebooks show as one list.

    >>> Findings([Finding("C001", "warning", "t", "d")])[0].code
    'C001'
    """

    __slots__ = ()


def severe(severity: str, least: str) -> bool:
    """Return whether ``severity`` is at least as high as ``least``; info is below warning, and warning below error.

    >>> severe("error", "warning"), severe("info", "warning")
    (True, False)
    """
    order: tuple[str, ...] = SEVERITIES
    return order.index(severity) >= order.index(least)
