"""The file of a paper: its claims, the sources of their numbers, the values that confirm a claim, and the verdict."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import polars as pl
from pydantic import Field, model_validator

from recassay.comparison.over_time.windows import FEWEST
from recassay.errors import UsageError
from recassay.naming.grammar import suggest
from recassay.study.config.reading import read_document
from recassay.study.config.schema import ConfigSection, validated

FOLDER = "reproductions"
Number = int | float
Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]


class Made(ConfigSection):
    """A generated table for ``--quick``: a row for every combination of the values of ``columns``.

    The columns named in ``values`` hold random numbers in (0, 1).
    """

    columns: dict[str, list[str | int] | int]
    values: list[str]


class AgreementSource(ConfigSection):
    """Kendall's tau between the orders of systems under two values of a setting, by ``ra.overall.order_agreement``.

    ``of`` names the table of means, and ``along`` the column of the setting.
    """

    of: str
    along: str
    each_dataset: bool = False


class Conclusions(ConfigSection):
    """The order of systems under each rule that combines data sets, such as mean rank, by ``ra.overall.conclude``.

    ``of`` names the table of means.
    """

    of: str
    metrics: list[str] | None = None
    resamples: Annotated[int, Field(gt=0)] = 2_000


class SuddenDeathSource(ConfigSection):
    """Sudden Death between systems of a study (``of``), over all its folds, by ``recassay compare --sudden-death``."""

    of: str
    at: Annotated[list[Annotated[int, Field(gt=0)]], Field(min_length=1)]
    competitors: Annotated[list[str], Field(default_factory=list)]  # none: all systems


class OverTimeSource(ConfigSection):
    """Signed McNemar between systems of a study of streams (``of``), over windows of several kinds, at several levels.

    ``windows`` are sizes in scored events, ``fading`` factors of windows that fade, and ``levels`` those of the tests.
    Systems are compared with the ``baseline``, or in all pairs. ``fewest`` and ``exact`` are those of
    :func:`~recassay.compare_over_time`: with 0 and false a window is significant if its statistic exceeds the level.
    """

    of: str
    metric: str
    baseline: str | None = None
    competitors: Annotated[list[str], Field(default_factory=list)]  # none: all systems
    windows: Annotated[list[Annotated[int, Field(gt=0)]], Field(min_length=1)]
    fading: Annotated[list[Annotated[float, Field(gt=0, lt=1)]], Field(default_factory=list)]
    levels: Annotated[list[Annotated[float, Field(gt=0, lt=1)]], Field(default_factory=lambda: [0.01], min_length=1)]
    fewest: Annotated[int, Field(ge=0)] = FEWEST
    exact: bool | None = None


KINDS = ("file", "study", "sql", "agreement", "conclude", "sudden_death", "over_time")


class PaperSource(ConfigSection):
    """A table that claims are computed from, made in exactly one way: one of the keys in ``KINDS``.

    ``file`` is a published table, for which ``quick`` says how a small one is generated; ``capture`` has regular
    expressions, by column of text, whose named groups become columns. ``sql`` is a query of the tables above. With
    ``keep`` the table is stored with the results.
    """

    file: str | None = None  # in the data folder, without its suffix
    # column of text: regular expression whose named groups become columns
    capture: Annotated[dict[str, str], Field(default_factory=dict)]
    study: str | None = None  # a study file, relative to the paper's file
    may_fail: Annotated[list[str], Field(default_factory=list)]  # systems of the study that no claim needs
    sql: str | None = None  # of the tables above it
    agreement: AgreementSource | None = None
    conclude: Conclusions | None = None
    sudden_death: SuddenDeathSource | None = None
    over_time: OverTimeSource | None = None
    quick: Made | None = None  # in place of ``file``
    keep: bool = False  # whether the table is part of the results that are committed

    @property
    def kind(self) -> str:
        """Return which of the keys ``KINDS`` (file, study, sql, ...) says how the table is made."""
        return next(kind for kind in KINDS if getattr(self, kind) is not None)

    @model_validator(mode="after")
    def _one_way(self) -> PaperSource:
        if sum(getattr(self, kind) is not None for kind in KINDS) != 1:
            raise ValueError(f"needs exactly one of {', '.join(KINDS)}")
        if (self.quick is not None) != (self.file is not None):
            raise ValueError("quick goes with file: it is generated in its place")
        if self.may_fail and self.study is None:
            raise ValueError("may_fail goes with study: it names its systems")
        return self


class PaperClaim(ConfigSection):
    """A claim of the paper, its place there, and the values that confirm it.

    ``where`` names a table, a figure, a section or a sentence, or says "not in the paper".
    ``value`` is a query of the sources: a row for each case with columns ``value``, perhaps ``low`` and ``high``,
    ``what`` (the case), and ``paper`` if the paper has a number for each case. A claim that cannot be checked has
    ``unchecked``, the reason, in place of ``value``. ``unlike`` says how our run differs from the paper's in ways that
    the claim can depend on: then no value refutes the claim.
    """

    claim: str
    where: str
    paper: str | Number | None = None
    value: str | None = None
    at_least: Number | None = None
    at_most: Number | None = None
    within: Annotated[Number | None, Field(ge=0)] = None
    tolerance: str = ""
    why: str = ""
    unlike: str | None = None
    unchecked: str | None = None

    @property
    def added(self) -> bool:
        """Return whether we added the claim: ``where`` says that it is not in the paper, or not in the abstract."""
        return self.where.startswith("not in the ")

    @property
    def of_paper(self) -> str:
        """Return the paper's number as text; "–" if it has none."""
        return "–" if self.paper is None else str(self.paper)

    def bounds(self, paper: Number | None = None) -> tuple[float, float]:
        """Return the smallest and largest value that confirm the claim; ``paper`` is the paper's number of a case."""
        number = self.paper if paper is None else paper
        if self.within is not None and not isinstance(number, str | None):
            return number - self.within, number + self.within
        low, high = self.at_least, self.at_most
        return -math.inf if low is None else float(low), math.inf if high is None else float(high)

    @model_validator(mode="after")
    def _has_a_tolerance(self) -> PaperClaim:
        if (self.value is None) == (self.unchecked is None):
            raise ValueError("needs either value, a query, or unchecked, the reason")
        if self.unlike is not None and self.value is None:
            raise ValueError("unlike goes with value: it says how what was run differs")
        if self.value is not None and (self.within, self.at_least, self.at_most) == (None, None, None):
            raise ValueError("needs at_least, at_most or within")
        return self


class Figure(ConfigSection):
    """A picture of a query of the sources; the keys are those of an exhibit."""

    title: str
    caption: str
    sql: str
    x: str
    y: str
    kind: Literal["line", "point", "bar", "dot", "heat"] = "line"
    series: str | None = None
    low: str | None = None
    high: str | None = None
    value: str | None = None
    log_x: bool = False


class Paper(ConfigSection):
    """A paper: its reference, the sources of its numbers, its claims and figures."""

    title: str
    reference: str
    about: str
    needs: str
    sources: dict[Name, PaperSource]
    claims: Annotated[dict[Name, PaperClaim], Field(min_length=1)]
    figures: Annotated[dict[Name, Figure], Field(default_factory=dict)]


@dataclass(frozen=True)
class PaperFile:
    """A paper with its name and its file."""

    name: str
    path: Path
    paper: Paper

    @property
    def results(self) -> Path:
        """Return the folder of the results that are kept beside the file."""
        return self.path.with_suffix("")


def paper_files() -> list[Path]:
    """Return the files of all papers, from the first of three places that has a folder ``reproductions``.

    These are the working directory, the source tree, and the installed package.
    """
    package = Path(__file__).resolve().parents[1]
    for home in (Path.cwd(), package.parents[1], package):
        if found := sorted((home / FOLDER).glob("*.yaml")):
            return found
    return []


def find_paper(name: str) -> PaperFile:
    """Return the paper of a name, or of the path of its file; raise U115 if there is none."""
    if name.endswith((".yaml", ".yml")):
        return read_paper(Path(name))
    files = {path.stem: path for path in paper_files()}
    if name not in files:
        raise UsageError(
            "U115",
            f"there is no paper '{name}'",
            hint=suggest(name, files)
            if files
            else f"run this in a copy of the sources, or install a wheel: both have {FOLDER}/",
        )
    return read_paper(files[name])


def read_paper(path: Path) -> PaperFile:
    """Return the paper in a YAML file; raise U132 for the first key or value that is wrong."""
    document = read_document(path)
    return PaperFile(path.stem, path, validated(Paper, document, document.content, "paper"))


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

    def __str__(self) -> str:
        """Return the value as text, with its interval if it has one.

        >>> str(Case("", 0.7143, 0.67, 0.7588, True))
        '0.714 [0.670, 0.759]'
        """
        text = _digits(self.value)
        if self.low is None or self.high is None:
            return text
        return f"{text} [{_digits(self.low)}, {_digits(self.high)}]"


@dataclass(frozen=True)
class ClaimVerdict:
    """The verdict on a claim (``word``), and the cases (single numbers) that it follows from."""

    name: str
    word: Word
    cases: tuple[Case, ...] = ()

    @property
    def ours(self) -> str:
        """Return the value that we measured, with its interval, as text; "–" if nothing was measured.

        For a claim about several cases, return how many of them hold.
        """
        if len(self.cases) < 2:
            return str(self.cases[0]) if self.cases else "–"
        return f"{sum(case.holds is True for case in self.cases)} of {len(self.cases)} cases"

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
    all fail, and holds partly otherwise. A claim with ``unlike`` (our run differs from the paper's) is never refuted.

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
        raise UsageError(
            "U263",
            f"the query of claims.{name} {what}",
            hint="a query returns a row for each case, with value, perhaps low and high, and what",
        )
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
    value = math.nan if row["value"] is None else float(row["value"])
    low, high = (_number(row.get(key)) for key in ("low", "high"))
    bottom, top = (value if one is None or claim.within is not None else one for one in (low, high))
    slack = 1e-12 * max(1.0, abs(value))  # a tolerance such as 0.71 - 0.005 is rounded
    least, most = (bound + sign * slack for bound, sign in zip(claim.bounds(row.get("paper")), (-1, 1), strict=True))
    fails = top < least or bottom > most or math.isnan(value)
    holds = True if least <= bottom and top <= most else False if fails else None
    return Case(str(row.get("what") or ""), value, low, high, holds, row.get("paper"))


def _number(value: Any) -> float | None:
    return None if value is None or math.isnan(value) else float(value)


def _digits(value: float) -> str:
    if value == round(value) and abs(value) < 1e6:
        return f"{value:.0f}"
    return f"{value:.3f}" if abs(value) >= 0.1 else f"{value:.3g}"
