"""The verdict on a claim: whether the numbers that its query returns are within the tolerance stated before."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, get_args

import polars as pl

from recassay.errors import UsageError
from recassay.reproduction.paper import PaperClaim

Word = Literal["confirmed", "partly", "refuted", "other settings", "not checkable"]
WORDS: tuple[Word, ...] = get_args(Word)


@dataclass(frozen=True)
class Case:
    """One number that a claim depends on, with its interval, and the paper's number if each case has its own.

    ``what`` names the case. ``holds`` is None if the interval crosses a bound of the claim.
    """

    what: str
    value: float
    low: float | None
    high: float | None
    holds: bool | None
    paper: float | None = None


@dataclass(frozen=True)
class ClaimVerdict:
    """The verdict on a claim (``word``), and the cases (single numbers) that it follows from."""

    name: str
    word: Word
    cases: tuple[Case, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as plain values for JSON."""
        return {"verdict": self.word, "cases": [vars(case) for case in self.cases]}

    @classmethod
    def from_dict(cls, name: str, content: dict[str, Any], claim: PaperClaim | None) -> ClaimVerdict:
        """Return the verdict that :meth:`to_dict` wrote, in the word of the ``claim`` as its file has it now."""
        cases = tuple(Case(**case) for case in content["cases"])
        return cls(name, content["verdict"] if claim is None else _word(claim, cases), cases)


def verdict_on(name: str, claim: PaperClaim, rows: pl.DataFrame | None) -> ClaimVerdict:
    """Return the verdict on a claim from ``rows``, the result of its query; None as rows means "not checkable".

    A case holds if its whole interval is within the bounds of the claim, and fails if none of it is. ``within`` looks
    at the value alone, because the tolerance is the uncertainty. A claim is confirmed if all its cases hold, refuted if
    all fail, and holds partly otherwise. What was run ``unlike`` the paper refutes nothing.

    >>> claim = PaperClaim(claim="tau is low", where="abstract", value="SELECT ...", at_most=0.8)
    >>> verdict_on("tau", claim, pl.DataFrame({"value": [0.7], "low": [0.6], "high": [0.75]})).word
    'confirmed'
    >>> verdict_on("tau", claim, pl.DataFrame({"value": [0.7], "low": [0.6], "high": [0.85]})).word
    'partly'
    >>> other = claim.model_copy(update={"unlike": "Another log."})
    >>> verdict_on("tau", other, pl.DataFrame({"value": [0.9]})).word
    'other settings'
    """
    if rows is None:
        return ClaimVerdict(name, "not checkable")
    if "value" not in rows.columns or rows.is_empty():
        what = "has no column value" if "value" not in rows.columns else "returns no row"
        hint = "a query returns a row for each case, with value, perhaps low and high, and what"
        raise UsageError("U263", f"the query of claims.{name} {what}", hint=hint)
    cases = tuple(_case(row, claim) for row in rows.iter_rows(named=True))
    return ClaimVerdict(name, _word(claim, cases), cases)


def _word(claim: PaperClaim, cases: tuple[Case, ...]) -> Word:
    if not cases:
        return "not checkable"
    held = [case.holds for case in cases]
    if all(held):
        return "confirmed"
    if claim.unlike is not None:
        return "other settings"
    return "refuted" if all(one is False for one in held) else "partly"


def _case(row: dict[str, Any], claim: PaperClaim) -> Case:
    value = float("nan") if row["value"] is None else float(row["value"])
    low, high = (_number(row.get(key)) for key in ("low", "high"))
    bottom, top = (value if one is None or claim.within is not None else one for one in (low, high))
    least, most = claim.bounds
    if claim.within is not None and row.get("paper") is not None:
        least, most = row["paper"] - claim.within, row["paper"] + claim.within
    slack = 1e-12 * max(1.0, abs(value))  # a tolerance such as 0.71 - 0.005 is rounded
    holds: bool | None = None
    if least - slack <= bottom and top <= most + slack:
        holds = True
    elif top < least - slack or bottom > most + slack or math.isnan(value):
        holds = False
    return Case(str(row.get("what") or ""), value, low, high, holds, row.get("paper"))


def _number(value: Any) -> float | None:
    return None if value is None or math.isnan(value) else float(value)
