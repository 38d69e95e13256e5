"""Base classes of metrics: a metric is a value with a name, named conventions, and formulas.

A metric is computed from blocks of lists aligned with the truth (:meth:`UnitMetric.evaluate`). If it has a formula by
rank or by counts (:meth:`Metric.rank_formula`), designs, sampling curves and streams compute it from that formula.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from recassay.arrays import Bool, Float, Int64
from recassay.columnar.layout import row_groups
from recassay.data.interactions import whole_log_needed
from recassay.data.truth import Truth, TruthStatistics
from recassay.errors import InternalError, UsageError
from recassay.metrics.align import AlignedBlock, Alignment
from recassay.metrics.context import Context, ContextLookup
from recassay.metrics.credit import Credit, JudgedFormula, NoFormula, RankFormula
from recassay.naming.grammar import Expression, Value
from recassay.naming.named import Named, unknown_parameter
from recassay.stats.exact_sums import ExactSum

Values = Float
Addend = int | ExactSum  # sums have the same bits however users are partitioned

ROUNDING = 1e-9
LARGEST_CUTOFF = int(np.iinfo(np.int32).max)


@dataclass(frozen=True, repr=False)
class Metric(Named):
    """A metric with all its parameters. Its name, such as ``ndcg(gain='exp2')@10``, parses back to an equal metric.

    A subclass is one file in a folder of ``recassay.metrics``. It sets the class variables below, adds its parameters
    as dataclass fields with defaults, and defines what it computes in its docstring under the headings Formula, Edges,
    Libraries and Reference.
    """

    aliases: ClassVar[tuple[str, ...]] = ()
    family: ClassVar[str] = ""
    cutoff: ClassVar[Literal["required", "optional", "none"]] = "optional"
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    higher_is_better: ClassVar[bool | None] = True
    describes: ClassVar[bool] = False  # says what lists are like, not how good they are: a verdict is never based on it
    needs: ClassVar[frozenset[str]] = frozenset()
    no_formula: ClassVar[str] = "it is not a sum over relevant items by their ranks"  # why designs cannot have it
    uses_scores: ClassVar[bool] = False  # most metrics read ranks only, so the scores of a run need not be kept
    list_parameters: ClassVar[frozenset[str]] = frozenset()  # parameters without a meaning outside lists

    k: int | None = None

    def __post_init__(self) -> None:
        k = self.k
        if k is None and self.cutoff == "required":
            raise UsageError("U103", f"{self.name} needs a cut-off", hint=f"write {self.name}@10")
        if k is not None and self.cutoff == "none":
            raise UsageError("U103", f"{self.name} has no cut-off", where=f"{self.name}@{k}", hint=f"write {self.name}")
        whole = isinstance(k, int | np.integer) and not isinstance(k, bool)
        if k is not None and not (whole and 1 <= k <= LARGEST_CUTOFF):
            raise UsageError(
                "U103",
                f"the cut-off of {self.name} is {k!r}",
                where=self.name,
                hint="give a whole number of at least 1, and below 2^31",
            )
        super().__post_init__()

    @property
    def parameters(self) -> dict[str, Value]:
        """Return every parameter with its value, defaults included, the cut-off excluded."""
        return {name: getattr(self, name) for name in self.defaults()}

    @property
    def is_uncut(self) -> bool:
        """Return whether the metric may have a cut-off but has none: it then reads whole lists."""
        return self.k is None and self.cutoff == "optional"

    @property
    def limits(self) -> tuple[float, float]:
        """Return the smallest and largest possible value under these parameters.

        The range may be narrower than ``bounds``, that of the class.
        """
        return self.bounds

    @classmethod
    def defaults(cls) -> dict[str, Value]:
        """Return every parameter with its default."""
        return {f.name: f.default for f in dataclasses.fields(cls) if f.name != "k"}  # type: ignore[misc]

    @classmethod
    def build(cls, expression: Expression, fallback: Mapping[str, Value] | None = None) -> Self:
        """Return the metric that a parsed name (``expression``) stands for.

        ``fallback`` has the values of parameters that the name leaves out, in place of the defaults. Raise U102 for an
        unknown parameter.
        """
        known = cls.defaults()
        for parameter in expression.parameters:
            if parameter not in known:  # the cut-off k is none
                raise unknown_parameter(cls.name, parameter, known, str(expression))
        usable = {key: value for key, value in (fallback or {}).items() if key in known}
        return cls(k=expression.k, **{**usable, **expression.parameters})

    def __str__(self) -> str:
        return super().__str__() if self.k is None else f"{super().__str__()}@{self.k}"

    __repr__ = __str__

    @property
    def needed(self) -> frozenset[str]:
        """Return the names of the data that the metric needs with these parameters, such as ``train`` or ``items``."""
        return self.needs

    @property
    def needs_whole_log(self) -> bool:
        """Return whether the metric needs the whole training log.

        Other metrics need the training rows of the users in a block, and counts per item.
        """
        return False

    @property
    def negatives_below(self) -> float | None:
        """Return the gain below which a judged item is a negative, if the metric needs judged negatives; else None."""
        return None

    def rank_formula(self) -> RankFormula:
        """Return the metric's formula by rank or by counts, or the reason why it has none.

        Designs, sampling curves and streams compute the metric from this formula. The formula takes every relevant
        item as one of gain 1.
        """
        return NoFormula(self.no_formula)

    def resolve(self, statistics: TruthStatistics) -> Metric:
        """Return the metric with its data-dependent parameters set, such as the largest grade, from ``statistics``."""
        return self

    def prepare(self, statistics: TruthStatistics, context: Context) -> None:
        """Raise if the metric cannot be computed on this truth with this context; called once, before any list is read.

        ``statistics`` are numbers that add up over users, since a truth may be larger than memory; ``context`` has the
        training log and other data.
        """
        self.require(self.needed, context)
        if self.needs_whole_log and context.train is not None and context.train.whole is not None:
            raise whole_log_needed(f"{self}: its values", str(self))

    def check_range(self, values: Values, limits: tuple[float, float], place: Callable[[int], str]) -> None:
        """Raise an error for a value outside ``limits``: X101, or U243 for a metric that is no part of recassay.

        ``place`` returns, for a position in ``values``, words such as "user 7" for the error.
        """
        low, high = limits
        outside = (values < low - ROUNDING) | (values > high + ROUNDING)
        if not outside.any():
            return
        at = int(np.argmax(outside))
        what = f"{self} is {float(values[at])!r} for {place(at)}, outside [{low}, {high}]"
        if str(type(self).__module__).partition(".")[0] == "recassay":
            raise InternalError("X101", what, hint="please report this with the files")
        hint = "correct its evaluate(), or let bounds be the range it has"
        raise UsageError("U243", what, where=type(self).__qualname__, hint=hint)

    def require(self, names: frozenset[str], context: Context) -> None:
        """Raise U105 unless all of the named data, such as ``train``, were given."""
        missing = sorted(name for name in names if getattr(context, name) is None)
        if missing:
            called = {"train": "training log", "items": "table of items", "distances": "table of distances"}
            options = {"train": "--train LOG", "items": "--items FILE", "distances": "distances=TABLE in Python"}
            raise UsageError(
                "U105",
                f"{self} needs the {' and the '.join(called[need] for need in missing)}",
                where=str(self),
                hint=f"give it with {' '.join(options[need] for need in missing)}",
            )

    def bind(self, lookup: ContextLookup) -> object:
        """Return data of any kind that this metric needs besides lists; it reads them later as ``lists.bound(self)``.

        It is called once per run, on one thread, before any block is judged.
        """
        return None

    def addends(self, alignment: Alignment) -> Mapping[str, Addend]:
        """Return named sums over users, from which :meth:`accompanying` computes numbers to report with the mean.

        The sums of different groups of users can be added.
        """
        return {}

    def accompanying(self, addends: Mapping[str, Addend], context: Context) -> Mapping[str, float]:
        """Return named numbers to be read together with the mean of a run, such as an effective sample size.

        ``addends`` are the sums that :meth:`addends` returned, added over all users.
        """
        return {name: float(addend) for name, addend in addends.items()}


@dataclass(frozen=True, repr=False)
class UnitMetric(Metric):
    """A metric with a value for every unit (query).

    Its mean is ``(sum w v^power / sum w)^(1/power)`` over the units where it is defined: the plain mean unless a
    metric has :meth:`weights` or a ``power`` (2 for a root mean square).
    """

    @property
    def power(self) -> float:
        """Return the power of the mean: 1 unless the metric is a root mean square."""
        return 1.0

    def evaluate(self, lists: AlignedBlock) -> Values:
        """Return the value of each query of a block; NaN where undefined."""
        raise NotImplementedError(f"{type(self).__name__} must define evaluate()")

    def weights(self, lists: AlignedBlock) -> Values | None:
        """Return the weight of each query in the mean; None for equal weights."""
        return None

    def checked(self, lists: AlignedBlock) -> Values:
        """Return what :meth:`evaluate` returns; raise an error for a value outside the metric's range."""
        values = self.evaluate(lists)
        if values.size and lists.distinct:
            self.check_range(values, self.limits, lambda at: f"query number {lists.begin + at}")
        return values


@dataclass(frozen=True, repr=False)
class CatalogueMetric(Metric):
    """A metric of how often each item of the catalogue is recommended in all lists together. It has no value per user.

    ``catalogue`` names the items that count, recommended or not: those of the ``train`` log, of the ``truth``, or of
    the table of ``items``.
    """

    family: ClassVar[str] = "catalogue"
    describes: ClassVar[bool] = True
    cutoff: ClassVar[Literal["required", "optional", "none"]] = "required"
    no_formula: ClassVar[str] = "it counts how often items are shown, relevant or not"

    catalogue: Literal["train", "truth", "items"] = "train"

    def prepare(self, statistics: TruthStatistics, context: Context) -> None:
        super().prepare(statistics, context)
        self.require(frozenset({self.catalogue} - {"truth"}), context)

    def measure(self, exposure: Int64) -> float:
        """Return the value of the metric from the exposure of items.

        ``exposure`` has, for each item of the catalogue, the number of top-k lists that hold it, zeros included.
        """
        raise NotImplementedError(f"{type(self).__name__} must define measure()")


@dataclass(frozen=True, repr=False)
class Accuracy(UnitMetric):
    """A metric of relevance at ranks, with the policies that all accuracy metrics share.

    ``relevant_from``: an item is relevant from this gain. ``missing``: a query without a list counts as an empty list
    (``zero``) or is left out (``skip``). ``no_relevant``: a query without a relevant item is left out and counted
    (``undefined``) or counts 0 (``zero``). A query that has relevant items and no value for another reason (no negative
    item for a pair, an ideal of 0) is always left out and counted.

    A metric whose :meth:`rank_formula` is a :class:`Credit` or a ``JudgedFormula`` needs no other method: lists are
    judged by that formula.
    """

    family: ClassVar[str] = "ranking"
    list_parameters: ClassVar[frozenset[str]] = frozenset({"relevant_from", "missing", "no_relevant", "unlisted"})

    relevant_from: float = 1.0
    missing: Literal["zero", "skip"] = "zero"
    no_relevant: Literal["undefined", "zero"] = "undefined"

    def judge(self, lists: AlignedBlock) -> Values:
        """Return the value of each list of a block; the value of a query without a relevant item is not used."""
        formula = self.rank_formula()
        if isinstance(formula, JudgedFormula):
            self.need_strict_order(lists)
        elif not isinstance(formula, Credit):
            raise NotImplementedError(f"{type(self).__name__} must define judge(), or a credit in rank_formula()")
        return formula.in_lists(lists, self.relevant_from)

    def need_strict_order(self, lists: AlignedBlock) -> None:
        """Raise U110 if rows of the lists tie: the metric has no formula for its mean over the orders of tied rows."""
        if lists.tied:
            raise UsageError(
                "U110",
                f"{self} has no closed form for its expected value over tied items",
                where="ties='expected'",
                hint="choose ties id, optimistic or pessimistic for it, or leave it out",
            )

    def judgeable(self, lists: AlignedBlock) -> Bool:
        """Return a mask of the queries on which the metric is defined: those with a relevant item."""
        return lists.relevant(self.relevant_from) > 0

    @property
    def defined_if_relevant(self) -> bool:
        """Return whether every query with a relevant item has a value."""
        return type(self).judgeable is Accuracy.judgeable

    def evaluate(self, lists: AlignedBlock) -> Values:
        values = self.judge(lists)
        judgeable = self.judgeable(lists)
        if not judgeable.all():
            without = np.full(lists.size, np.nan)
            if self.no_relevant == "zero":
                without[lists.relevant(self.relevant_from) == 0] = 0.0
            values = np.where(judgeable, values, without)
        if self.missing == "skip":
            values = np.where(lists.found, values, np.nan)
        return values


def truth_statistics_for(metrics: Iterable[Metric], truth: Truth) -> TruthStatistics:
    """Return the statistics of a truth, or of some of its users, that these metrics need."""
    below = (metric.negatives_below for metric in metrics)
    return TruthStatistics.of(truth, [gain for gain in below if gain is not None])


def range_sums(offsets: Int64, values: NDArray[Any]) -> Values:
    """Return the sum of each range ``values[offsets[i]:offsets[i + 1]]``, added in order.

    The bits of a sum depend on the values of its range only.

    >>> range_sums(np.array([0, 2, 2, 3]), np.array([1, 2, 5])).tolist()
    [3.0, 0.0, 5.0]
    """
    return np.bincount(row_groups(offsets), weights=values, minlength=offsets.size - 1).astype(np.float64, copy=False)
