"""Scores: a value per system, metric and unit, means with counts and intervals, and which users findings name."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.data.io.write import finite, write_parquet
from recassay.errors import UsageError
from recassay.naming.grammar import Value, require_known
from recassay.results.finding import Finding, Findings
from recassay.results.first_hits import FirstHits
from recassay.results.group_scores import GroupScores
from recassay.shown import Displayable, Picture, renderer

Marks = NDArray[np.uint8]  # one per user
CODES = ("C010", "C001", "C002", "L001", "L003")
OF_SOME_SYSTEMS = ("C002",)  # a list that is as short in every system favours none


def bit(code: str) -> int:
    """Return the bit that says, in the ``Marks`` of a system (a bit mask per user), that a finding names a user.

    A finding is a warning about results; ``code`` is its code.

    >>> bit("C010"), bit("C001")
    (1, 2)
    """
    return 1 << CODES.index(code)


def users_without(code: str, marks: Iterable[Marks]) -> NDArray[np.bool_] | None:
    """Return a mask of the users whom a finding does not name in any system; None if the finding names no user.

    ``code`` is that of the finding (a warning about results), and ``marks`` has a bit mask per user for each system,
    see :func:`bit`. Users with a short list (C002) in all systems are left in.

    >>> short = np.array([4, 4, 0], np.uint8), np.array([4, 0, 0], np.uint8)
    >>> users_without("C002", short).tolist(), users_without("C001", short)
    ([True, False, True], None)
    """
    named = np.array([(one & bit(code)) > 0 for one in marks])
    if not named.any():
        return None
    none, every = ~np.asarray(named.any(axis=0)), np.asarray(named.all(axis=0))
    return none | every if code in OF_SOME_SYSTEMS else none


POPULATION = "population"  # key of the settings: the numbers of users with training events, and ``of`` all users


def population(settings: Mapping[str, Any]) -> str:
    """Return, as text, how many users were scored, if only users with training events were; else "".

    ``settings`` are those of the scores.

    >>> population({"population": {"users": 9400, "of": 13712}})
    'users with training events: 9,400 of 13,712'
    """
    counts = settings.get(POPULATION)
    return f"users with training events: {counts['users']:,} of {counts['of']:,}" if counts else ""


UNIT = "unit"  # key of the settings: what has a list, if that is no user
PLURALS = {"query": "queries", "session": "sessions"}  # words in place of "user"
USERS = re.compile(
    r"""(?<![\w'"=.-])([Uu])ser(s?)(?![\w"=-]|'(?!s\b))"""
)  # as words of a sentence, not in code or quotes


def worded(text: str, unit: str) -> str:
    """Return a sentence about users with ``unit``, the word for what has a list, such as ``query``, in place of user.

    >>> worded("2 users have no list; set users='all'", "query")
    "2 queries have no list; set users='all'"
    """

    def word(found: re.Match[str]) -> str:
        plain = plural(unit) if found[2] else unit
        return plain.capitalize() if found[1] == "U" else plain

    return USERS.sub(word, text) if unit in PLURALS else text


def worded_findings(findings: Iterable[Finding], unit: str) -> Findings:
    """Return findings (warnings) whose sentences say ``unit``, the word for what has a list, in place of user."""
    if unit not in PLURALS:
        return Findings(findings)
    return Findings(replace(one, title=worded(one.title, unit), detail=worded(one.detail, unit)) for one in findings)


def plural(unit: str) -> str:
    """Return the plural of ``unit``, the word for what has a list in the input, such as user.

    >>> plural("query"), plural("test sequence")
    ('queries', 'test sequences')
    """
    return PLURALS.get(unit, f"{unit}s")


class DeferredSettings(Mapping[str, Any]):
    """Settings with one more value, which ``compute`` returns when it is first read.

    >>> settings = DeferredSettings({"level": 0.95}, "truth", lambda: print("computed") or {"users": 3})
    >>> list(settings)
    ['level', 'truth']
    >>> settings["truth"], settings == {"level": 0.95, "truth": {"users": 3}}
    computed
    ({'users': 3}, True)
    """

    def __init__(self, known: Mapping[str, Any], name: str, compute: Callable[[], Any]) -> None:
        self._values = {**known, name: None}
        self._name = name
        self._compute: Callable[[], Any] | None = compute

    def __getitem__(self, name: str) -> Any:
        compute = self._compute
        if compute is not None and name == self._name:
            self._values[name] = compute()
            self._compute = None  # what it refers to need not stay in memory
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return repr(dict(self))

    def __reduce__(self) -> tuple[type[dict[str, Any]], tuple[dict[str, Any]]]:
        """Return the settings as a plain dict for pickle."""
        return dict, (dict(self),)


Values = NDArray[np.float64]
WEIGHT = "weight"  # the column of weights that all metrics share


def weight_of(metric: str) -> str:
    """Return the name of the column that holds the weights of units for one metric."""
    return f"{WEIGHT} of {metric}"


PLACES = "places"  # parameter of a metric without a cut-off: the length of the longest list it saw
CATALOGUE_ITEMS = "catalogue_items"  # parameter of a metric of the catalogue: the number of its items
FEATURES = "features"  # parameter of a metric that uses features of items: their number and columns


@dataclass(frozen=True)
class Summary:
    """The mean of one system under one metric, with interval, counts and parameters.

    Counts are of units (users or test sequences): ``n`` have a value, ``missing`` have no list, ``short`` have a list
    below the cut-off, ``duplicate`` a list with repeated items, ``undefined`` no value. ``accompanying`` holds numbers
    that a metric reports beside its mean.
    """

    system: str
    metric: str
    mean: float
    n: int
    missing: int = 0
    short: int = 0
    duplicate: int = 0
    undefined: int = 0
    low: float = float("nan")
    high: float = float("nan")
    higher_is_better: bool | None = True
    parameters: Mapping[str, Value] = field(default_factory=dict)
    accompanying: Mapping[str, float] = field(default_factory=dict)

    COUNTS = ("n", "missing", "short", "duplicate", "undefined")

    @classmethod
    def of(
        cls, system: str, metric: str, mean: float, row: Mapping[str, Any], *, higher_is_better: bool | None = True
    ) -> Summary:
        """Return a row with this mean, and the counts and bounds of a stored ``row``: 0 and NaN where it has none."""
        stored = restored(row)
        low, high = (math.nan if stored.get(end) is None else float(stored[end]) for end in ("low", "high"))
        n, missing, short, duplicate, undefined = (int(row.get(name) or 0) for name in cls.COUNTS)
        return cls(system, metric, mean, n, missing, short, duplicate, undefined, low, high, higher_is_better)

    def to_dict(self) -> dict[str, Any]:
        """Return mean, bounds, counts and parameters, ready for JSON; undefined and infinite numbers are None.

        ``infinite`` names the infinite numbers, and :func:`restored` puts them back.

        >>> row = Summary("pop", "seq_perplexity", math.inf, 9, 0, 0, 0, 0, low=4.0, high=math.inf).to_dict()
        >>> row["mean"], row["low"], row["high"], row["infinite"]
        (None, 4.0, None, {'mean': 'inf', 'high': 'inf'})
        >>> restored(row)["mean"]
        inf
        """
        numbers = {name: float(getattr(self, name)) for name in ("mean", "low", "high")}
        infinite = {name: str(value) for name, value in numbers.items() if math.isinf(value)}
        return {
            **finite(numbers),
            **{name: getattr(self, name) for name in self.COUNTS},
            "parameters": dict(self.parameters),
            **({"infinite": infinite} if infinite else {}),
            **({"accompanying": finite(self.accompanying)} if self.accompanying else {}),
        }


@dataclass(frozen=True, eq=False, repr=False)
class Scores(Displayable):
    """Values of every system under every metric on the same units, with their summary, findings and settings.

    A unit is a user, or a test sequence; its values are NaN where a metric is undefined. Findings are warnings. Metrics
    of the whole catalogue, or pooled over all units, have a summary and no values per unit.
    """

    units: pl.Series
    systems: tuple[str, ...]
    metrics: tuple[str, ...]
    per_unit: Mapping[tuple[str, str], Values]
    per_unit_weights: Mapping[tuple[str, str], Values] = field(default_factory=dict)
    rows: tuple[Summary, ...] = ()
    findings: tuple[Finding, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    first_hits: FirstHits | None = None  # for Sudden Death, if they were kept
    groups: tuple[GroupScores, ...] = ()  # means by group of users or items, if they were asked for
    named: Mapping[str, Marks] | None = None  # by system: which findings name each user; None if that is unknown
    tie_orders: Mapping[tuple[str, str], tuple[Values, Values]] = field(default_factory=dict)  # worst and best order

    def __post_init__(self) -> None:
        object.__setattr__(self, "findings", worded_findings(self.findings, self.unit))

    @property
    def unit(self) -> str:
        """Return the word for what has a value: user, query, session or test sequence."""
        return str(self.settings.get(UNIT, "user"))

    @property
    def unit_metrics(self) -> tuple[str, ...]:
        """Return the metrics that have a value for every unit (user or test sequence)."""
        return tuple(metric for metric in self.metrics if (self.systems[0], metric) in self.per_unit)

    def values(self, system: str, metric: str) -> Values:
        """Return the value of every unit (user or test sequence) under a metric; NaN where it is undefined."""
        self._require_known(system, metric)
        if (system, metric) not in self.per_unit:
            raise UsageError(
                "U105", f"{metric} is one number for everything and has no value per unit",
                hint="see .summary()",
            )  # fmt: skip
        return self.per_unit[system, metric]

    def weights(self, system: str, metric: str) -> Values | None:
        """Return the weight of every unit (user or test sequence) in the mean; None for equal weights."""
        return self.per_unit_weights.get((system, metric))

    def _require_known(self, system: str, metric: str) -> None:
        require_known(system, self.systems, "U108", f"there is no system '{system}'")
        require_known(metric, self.metrics, "U101", f"'{metric}' was not scored")

    def summary(self) -> pl.DataFrame:
        """Return a row per system and metric: mean, low, high, n, missing, short, duplicate, undefined."""
        names = ("system", "metric", "mean", "low", "high", *Summary.COUNTS)
        return pl.DataFrame([{name: getattr(row, name) for name in names} for row in self.rows])

    def row(self, system: str, metric: str) -> Summary:
        """Return the mean of one system under one metric, with interval and counts of users or other units."""
        self._require_known(system, metric)
        return next(row for row in self.rows if (row.system, row.metric) == (system, metric))

    def frame(self, **identity: str | int | None) -> pl.DataFrame:
        """Return values per unit as a table: system, dataset, split, protocol, design, seed, unit, user, then metrics.

        A unit is a user or a test sequence. ``identity`` fills the columns dataset to seed. Unequal weights of
        units are columns too: one column ``weight`` if all metrics share them, else ``weight of METRIC`` for each
        metric with weights.
        """
        place = {name: identity.get(name) or "given" for name in ("dataset", "split", "protocol", "design")}
        parts = [
            pl.DataFrame({metric: self.per_unit[system, metric] for metric in self.unit_metrics}).select(
                *(pl.lit(value).alias(name) for name, value in {"system": system, **place}.items()),
                pl.lit(identity.get("seed"), dtype=pl.Int64).alias("seed"),
                pl.Series("unit", self.units),
                pl.Series("user", self.units),
                *(pl.col(metric).fill_nan(None) for metric in self.unit_metrics),
                *self._weight_columns(system),
            )
            for system in self.systems
        ]
        return pl.concat(parts, how="diagonal")

    def write(self, path: str | Path, **identity: str | int | None) -> None:
        """Write the table of :meth:`frame` as a Parquet file."""
        write_parquet(self.frame(**identity), Path(path))

    def _weight_columns(self, system: str) -> list[pl.Series]:
        own = {metric: self.weights(system, metric) for metric in self.unit_metrics}
        weighted = {metric: one for metric, one in own.items() if one is not None}
        if not weighted:
            return []
        first = next(iter(weighted.values()))
        if len(weighted) == len(own) and all(np.array_equal(one, first) for one in weighted.values()):
            return [pl.Series(WEIGHT, first)]
        return [pl.Series(weight_of(metric), one) for metric, one in weighted.items()]

    def plot(self, metric: str | None = None) -> Picture:
        """Return a picture of the means and intervals of all systems under one metric, by default the first."""
        picture: Picture = renderer().plot(self, metric=metric)
        return picture

    def report(self, path: str | Path, comparison: object = None) -> Path:
        """Write a page about these scores, as one HTML file, and return its path.

        ``comparison`` is a result of :func:`~recassay.compare`; by default all pairs of systems are tested.
        """
        page: Path = renderer().report(self, comparison, path=Path(path))
        return page

    def with_findings(self, *findings: Finding) -> Scores:
        """Return a copy of these scores to which findings (warnings about results) are added."""
        return replace(self, findings=(*self.findings, *findings))


def restored(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a row of :meth:`Summary.to_dict` with its infinite numbers put back."""
    infinite = row.get("infinite")
    return {**row, **{name: float(value) for name, value in infinite.items()}} if infinite else row
