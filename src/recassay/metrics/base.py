"""What a metric is: a value with a name, named conventions, and one function from aligned lists to numbers."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from recassay.data.exact import Exact
from recassay.data.interactions import part_of_log
from recassay.data.layout import stretch_of
from recassay.data.truth_facts import TruthFacts
from recassay.errors import InternalError, UsageError
from recassay.named import check_type, parameter_kinds
from recassay.spec import Expression, Value, suggest

if TYPE_CHECKING:
    from recassay.data.truth import Truth
    from recassay.metrics.align import Aligned, Meeting
    from recassay.metrics.context import Beside, Context

Values = NDArray[np.float64]
Piece = int | Exact  # adds up to the same bits however users are cut

ROUNDING = 1e-9
LARGEST_CUTOFF = int(np.iinfo(np.int32).max)


@dataclass(frozen=True, repr=False)
class Metric:
    """A metric with all its conventions. Its name reads the same everywhere and parses back to an equal value.

    A subclass is one file in a folder of ``recassay.metrics``: it sets the class variables below, adds its
    parameters as dataclass fields with defaults, and says what it computes in its docstring under the headings
    Formula, Edges, Libraries and Reference.
    """

    name: ClassVar[str] = ""
    aliases: ClassVar[tuple[str, ...]] = ()
    family: ClassVar[str] = ""
    cutoff: ClassVar[Literal["required", "optional", "none"]] = "optional"
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    higher_is_better: ClassVar[bool | None] = True
    needs: ClassVar[frozenset[str]] = frozenset()
    uses_scores: ClassVar[bool] = False  # most metrics look at ranks, and let the scores of a run go

    k: int | None = None

    def __post_init__(self) -> None:
        self._check_cutoff()
        for field, kind in parameter_kinds(type(self)).items():
            if field != "k":
                check_type(self.name, field, getattr(self, field), kind)
        self.validate()

    def _check_cutoff(self) -> None:
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

    def validate(self) -> None:
        """Check parameters against each other; a subclass raises :class:`UsageError` U102."""

    def refuse(self, parameter: str, why: str) -> UsageError:
        """The error for a parameter value that makes no sense."""
        what = f"{parameter}={getattr(self, parameter)!r}: {why}"
        return UsageError("U102", what, where=str(self), hint=f"recassay explain {self.name} says what it may be")

    @property
    def parameters(self) -> dict[str, Value]:
        """Every parameter with its value, defaults too, without the cut-off."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self) if field.name != "k"}

    @property
    def is_uncut(self) -> bool:
        """Return whether it could look at the first k places and was not told k: then it looks at all there are."""
        return self.k is None and self.cutoff == "optional"

    @property
    def limits(self) -> tuple[float, float]:
        """The bounds of its values under these parameters, where they are narrower than those of the class."""
        return self.bounds

    @classmethod
    def defaults(cls) -> dict[str, Value]:
        """Every parameter with its default."""
        return {f.name: f.default for f in dataclasses.fields(cls) if f.name != "k"}  # type: ignore[misc]

    @classmethod
    def build(cls, expression: Expression, fallback: Mapping[str, Value]) -> Self:
        """The metric an expression names; ``fallback`` replaces defaults of parameters the expression leaves out."""
        known = cls.defaults()
        for parameter in expression.parameters:
            if parameter not in known:
                raise UsageError(
                    "U102",
                    f"{cls.name} has no parameter '{parameter}'",
                    where=str(expression),
                    hint=suggest(parameter, known) if known else f"{cls.name} takes no parameters",
                )
        usable = {key: value for key, value in fallback.items() if key in known}
        return cls(k=expression.k, **{**usable, **expression.parameters})

    def __str__(self) -> str:
        defaults = self.defaults()
        stated = {key: value for key, value in self.parameters.items() if value != defaults[key]}
        return str(Expression(self.name, stated, self.k))

    __repr__ = __str__

    @property
    def needed(self) -> frozenset[str]:
        """What it needs with these parameters."""
        return self.needs

    @property
    def needs_whole_log(self) -> bool:
        """Whether it looks at rows of the training log beside those of the users it judges, and counts of all items."""
        return False

    @property
    def negatives_below(self) -> float | None:
        """The gain below which it must know who has a judged item, if it must (see :class:`TruthFacts`)."""
        return None

    def resolve(self, facts: TruthFacts) -> Metric:
        """The metric with parameters that were left to the data settled; itself if there are none."""
        return self

    def prepare(self, facts: TruthFacts, context: Context) -> None:
        """Look once at what is known of the whole input, before any list; raise if the metric cannot be computed on it.

        A truth may be larger than memory, so what is known of it are ``facts`` that add up over users.
        """
        self.require(self.needed, context)
        if self.needs_whole_log and context.train is not None and context.train.whole is not None:
            raise part_of_log(f"{self}: what it measures", str(self))

    def require(self, names: frozenset[str], context: Context) -> None:
        """Raise U105 unless all of these data were given."""
        missing = sorted(names - context.has)
        if missing:
            called = {"train": "training log", "items": "table of items", "distances": "table of distances"}
            options = {"train": "--train LOG", "items": "--items FILE", "distances": "distances=TABLE in Python"}
            raise UsageError(
                "U105",
                f"{self} needs the {' and the '.join(called[need] for need in missing)}",
                where=str(self),
                hint=f"give it with {' '.join(options[need] for need in missing)}",
            )

    def bind(self, beside: Beside) -> object:
        """What judging blocks of one run needs besides the block; the metric finds it in ``lists.bound(self)``.

        Called once a run, on one thread, before any block is judged.
        """
        return None

    def pieces(self, meeting: Meeting) -> Mapping[str, Piece]:
        """What :meth:`accompanying` is made of, by name: of some users, whole numbers and exact sums, which add up."""
        return {}

    def accompanying(self, pieces: Mapping[str, Piece], context: Context) -> Mapping[str, float]:
        """Numbers that must be read with the mean of one run (an effective sample size, say), by name."""
        return {name: float(piece) for name, piece in pieces.items()}


@dataclass(frozen=True, repr=False)
class UnitMetric(Metric):
    """A metric with a value for every unit (query).

    Its mean is ``(sum w v^power / sum w)^(1/power)`` over the units where it is defined: the plain mean unless a
    metric has :meth:`weights` or a ``power`` (2 for a root mean square).
    """

    @property
    def power(self) -> float:
        """Power of the mean: 1 unless a metric is a root mean square."""
        return 1.0

    def evaluate(self, lists: Aligned) -> Values:
        """The value of each query of a block: NaN where undefined."""
        raise NotImplementedError(f"{type(self).__name__} must say how it judges a block of lists")

    def weights(self, lists: Aligned) -> Values | None:
        """Weight of each query in the mean; None for equal weights."""
        return None

    def checked(self, lists: Aligned) -> Values:
        """:meth:`evaluate`, and an :class:`InternalError` where a value leaves the metric's range."""
        values = self.evaluate(lists)
        low, high = self.limits
        if values.size and lists.distinct:
            outside = (values < low - ROUNDING) | (values > high + ROUNDING)
            if outside.any():
                at = int(np.argmax(outside))
                raise InternalError(
                    "X101",
                    f"{self} is {values[at]!r} for the query in place {lists.begin + at}, outside [{low}, {high}]",
                    hint="please report this with the two files",
                )
        return values


@dataclass(frozen=True, repr=False)
class CatalogueMetric(Metric):
    """A metric of all lists together: how often each item of the catalogue was shown. It has no value per unit.

    ``catalogue`` says which items count, shown or not: those of the ``train`` log, those of the ``truth``, or those in
    the table of ``items``.
    """

    family: ClassVar[str] = "catalogue"
    cutoff: ClassVar[Literal["required", "optional", "none"]] = "required"

    catalogue: Literal["train", "truth", "items"] = "train"

    def prepare(self, facts: TruthFacts, context: Context) -> None:
        super().prepare(facts, context)
        self.require(frozenset({self.catalogue} - {"truth"}), context)

    def measure(self, exposure: NDArray[np.int64]) -> float:
        """The value from the number of top-k lists that hold each item of the catalogue, zeros included."""
        raise NotImplementedError(f"{type(self).__name__} must say how it judges exposure")


@dataclass(frozen=True, repr=False)
class Accuracy(UnitMetric):
    """A metric of relevance at ranks, with the policies every such metric shares.

    ``relevant_from``: an item is relevant from this gain. ``missing``: a query without a list counts as an empty
    list (``zero``) or is left out (``skip``). ``no_relevant``: a query without a relevant item is left out and counted
    (``undefined``) or counts 0 (``zero``). A query that has relevant items and no value for another reason (no negative
    item for a pair, an ideal of 0) is always left out and counted.
    """

    family: ClassVar[str] = "ranking"

    relevant_from: float = 1.0
    missing: Literal["zero", "skip"] = "zero"
    no_relevant: Literal["undefined", "zero"] = "undefined"

    def judge(self, lists: Aligned) -> Values:
        """The value of each query that has something to find; anything elsewhere."""
        raise NotImplementedError(f"{type(self).__name__} must say how it judges a block of lists")

    def need_strict_order(self, lists: Aligned) -> None:
        """Raise if lists have tied stretches and this metric has no expected value over their orders."""
        if lists.tied:
            raise UsageError(
                "U110",
                f"{self} has no closed form for its expected value over tied items",
                where="ties='expected'",
                hint="choose ties id, optimistic or pessimistic for it, or leave it out",
            )

    def judgeable(self, lists: Aligned) -> NDArray[np.bool_]:
        """Queries on which the metric is defined: those with a relevant item."""
        return lists.relevant(self.relevant_from) > 0

    @property
    def defined_if_relevant(self) -> bool:
        """Return whether every query with a relevant item has a value."""
        return type(self).judgeable is Accuracy.judgeable

    def evaluate(self, lists: Aligned) -> Values:
        values = self.judge(lists)
        judgeable = self.judgeable(lists)
        if not judgeable.all():
            without = np.full(lists.size, np.nan)
            if self.no_relevant == "zero":
                without[lists.relevant(self.relevant_from) == 0] = 0.0
            values = np.where(judgeable, values, without)
        if self.missing == "skip" and lists.any_missing:
            values = np.where(lists.found, values, np.nan)
        return values


def facts_for(metrics: Iterable[Metric], truth: Truth) -> TruthFacts:
    """What these metrics must know of a truth, or of some users of it."""
    below = (metric.negatives_below for metric in metrics)
    return TruthFacts.of(truth, [gain for gain in below if gain is not None])


def sums(offsets: NDArray[np.int64], values: NDArray[Any]) -> Values:
    """The sum of each stretch of values, added in order: no stretch changes a bit of another's sum.

    >>> sums(np.array([0, 2, 2, 3]), np.array([1, 2, 5])).tolist()
    [3.0, 0.0, 5.0]
    """
    return np.bincount(stretch_of(offsets), weights=values, minlength=offsets.size - 1).astype(np.float64, copy=False)
