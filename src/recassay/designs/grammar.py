"""The grammar of target-set designs: which candidates a relevant item is ranked against, and how many.

``TI-1R-NN(99)`` means: candidates are the test items (``TI``; ``AI``: all items). Each relevant item has a target set
of its own (``1R``; ``AR``: all relevant items of a user share one). It is ranked against 99 sampled non-relevant items
(``NN``; ``AN``: all of them).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from recassay.errors import UsageError
from recassay.naming.arguments import checks_types
from recassay.naming.grammar import parse_parameters, split, suggest
from recassay.naming.named import Departure, check_type

Sampling = Literal["uniform", "popularity", "mixed"]
Resample = Literal["per_user", "per_rating"]

TITLES = {
    "AI-AR-AN": "All items are candidates, all relevant items of a user share a target set: full ranking.",
    "TI-AR-AN": "As AI-AR-AN, among the items that have a test rating.",
    "AI-1R-NN": "One relevant item against n items sampled from all: the usual sampled evaluation.",
    "TI-1R-NN": "One relevant item against n sampled test items.",
    "AI-AR-NN": "All relevant items of a user against n items sampled from all.",
    "TI-AR-NN": "All relevant items of a user against n sampled test items.",
    "AI-1R-AN": "One relevant item at a time against all items.",
    "TI-1R-AN": "One relevant item at a time against all test items.",
    "P1R": "1R within bins of equally popular test items; all bins have equal weight.",
    "PAR": "AR within bins of equally popular test items; all bins have equal weight.",
    "U1R": "TI-1R on a split in which all candidates have the same number of test ratings.",
    "UAR": "TI-AR on a split in which all candidates have the same number of test ratings.",
    "rated_only": "A user's relevant test items against the items the user rated low: a large overestimate.",
}
RECONSTRUCTED = (
    "The copy of the paper at hand ends before this design is defined; {} follows a summary in later work and public "
    "code of the authors' group."
)
DEPARTURES = {
    "P1R": (
        Departure("target-sets", RECONSTRUCTED.format("P1R")),
        Departure(
            "target-sets",
            "Later work splits the data and trains a model in each bin of popularity; recassay trains every model "
            "once, on the whole training part; the experiment percentiles(train='per_bin') trains one in each bin.",
        ),
    ),
    "U1R": (Departure("target-sets", RECONSTRUCTED.format("U1R")),),
    "AI-1R-NN": (
        Departure(
            "sampled-metrics",
            "That the paper samples by popularity without replacement is our inference, because it speaks of a target "
            "set; recassay samples by popularity with replacement unless told otherwise, which has a closed form, and "
            "the experiment sampling_curve(replace='both') computes both.",
            "AI-1R-NN(100, by='popularity', replace=False)",
        ),
    ),
}
PARTS = (
    "AI, TI: candidates are all items, or the items with a test rating. AR, 1R: all relevant items of a user share one "
    "target set, or each has a set of its own. AN, NN(n): ranked against all non-relevant candidates, or n sampled "
    "ones; by='popularity' draws them in proportion to their number of users in training, by='mixed' half uniformly "
    "and half by popularity, all different (Huang et al. 2018), with method='sample'; replace sets whether an item "
    "may be drawn twice (default: no for uniform, yes for popularity). Of 1R, t is the size of a target set, one more "
    "than n, and resample='per_rating' draws anew for each relevant item of a user, which have the same items by "
    "default: means stay, and the variance over draws falls. P and U remove the effect of popularity: P "
    "compares within bins of equally popular items, U uses a split by uniform_items."
)
BINS = 10
KINDS: Mapping[str, Any] = {
    "n": int | None, "t": int | None, "bins": int | None, "by": Sampling, "replace": bool | None, "resample": Resample,
}  # fmt: skip
OF_SAMPLES = ("t", "resample")  # parameters of designs with one relevant item and sampled candidates


@dataclass(frozen=True, repr=False)
class Design:
    """A design: which candidates a relevant item is ranked against, with all parameters.

    Its text parses back to an equal value. ``n`` is the number of sampled NON-relevant items (None: all are taken).
    ``by`` is their sampling distribution, and ``replace`` whether an item may be drawn twice. By default ``replace`` is
    false for uniform sampling and true for sampling by popularity, the two cases with a closed form. ``resample`` says
    whether the relevant items of a user are ranked against the same sampled items, or each against its own; ``t`` in a
    text is the size of a target set with one relevant item, ``n`` + 1.

    >>> parse("TI-1R-NN(t=100)"), parse("TI-1R-NN(99, resample='per_rating')")
    (TI-1R-NN(99), TI-1R-NN(99, resample='per_rating'))
    >>> parse("ti-1r-nn( 99 )"), parse("AI-AR-NN(n=100, by='popularity')"), parse("P1R")
    (TI-1R-NN(99), AI-AR-NN(100, by='popularity'), P1R)
    >>> parse("P1R(bins=5, n=20)").base, parse("rated_only").n
    ('TI', None)
    """

    base: Literal["AI", "TI", "rated"]
    relevant: Literal["AR", "1R"]
    n: int | None = None
    by: Sampling = "uniform"
    replace: bool | None = None
    bins: int | None = None
    uniform_items: bool = False
    resample: Resample = "per_user"

    @property
    def with_replacement(self) -> bool:
        """Return whether an item may be drawn twice."""
        return self.n is not None and (self.by == "popularity" if self.replace is None else self.replace)

    @property
    def has_formula(self) -> bool:
        """Return whether expectations have a closed form: not if draws by popularity never repeat an item."""
        return self.n is None or self.by == "uniform" or self.with_replacement

    @property
    def name(self) -> str:
        """Return the name of the design, the part of its text before the parentheses."""
        if self.base == "rated":
            return "rated_only"
        if self.bins is not None or self.uniform_items:
            return f"{'U' if self.uniform_items else 'P'}{self.relevant}"
        return f"{self.base}-{self.relevant}-{'AN' if self.n is None else 'NN'}"

    def __str__(self) -> str:
        inside = [] if self.bins in (None, BINS) else [f"bins={self.bins}"]
        if self.n is not None:
            inside.append(str(self.n) if self.name.endswith("NN") else f"n={self.n}")
        inside += [f"by={self.by!r}"] if self.by != "uniform" else []
        inside += [f"replace={self.replace}"] if self.replace is not None else []
        inside += [f"resample={self.resample!r}"] if self.resample != "per_user" else []
        return f"{self.name}({', '.join(inside)})" if inside else self.name

    __repr__ = __str__


def parameters_of(name: str) -> str:
    """Return the names of the parameters that a design takes, separated by commas."""
    more = ", t, resample" if "1R" in name else ""
    if name.startswith("P"):
        return f"n, bins{more}"
    return f"n, by, replace{more}" if name.endswith("NN") or name.startswith("U") else ""


@checks_types
def parse(text: str | Design) -> Design:
    """Return the design that a text names, or raise U118."""
    if isinstance(text, Design):
        return text
    bare, bracket, rest = text.strip().partition("(")
    name = {known.lower(): known for known in TITLES}.get(bare.strip().lower())
    if name is None:
        raise UsageError("U118", f"there is no design '{text}'", where=text, hint=suggest(bare.strip(), TITLES))
    takes = [one for one in parameters_of(name).split(", ") if one]
    takes += [one for one in OF_SAMPLES if takes and one not in takes]  # refused in words of their own
    given: dict[str, Any] = parse_parameters(bracket + rest, text, tuple(takes[:1]))
    for parameter in given:
        if parameter not in takes:
            hint = suggest(parameter, takes) if takes else "it takes no parameters"
            raise UsageError("U118", f"the design '{text}' has no parameter '{parameter}'", where=text, hint=hint)
    if name == "rated_only":
        return Design("rated", "AR")
    base: Any = name[:2] if name[2] == "-" else "TI"
    bins = {"bins": BINS} if name[0] == "P" else {}
    _check_parameters(text, name, given)
    if (size := given.pop("t", None)) is not None:
        given["n"] = size - 1
    return Design(base, "1R" if "1R" in name else "AR", uniform_items=name[0] == "U", **bins | given)


def _check_parameters(text: str, name: str, given: Mapping[str, Any]) -> None:
    """Raise U118 if the parameters of a design have wrong types or values; ``text`` is the whole design."""
    for parameter, value in given.items():
        check_type(text, parameter, value, KINDS[parameter])
    n, size, bins = given.get("n"), given.get("t"), given.get("bins")
    unfit = next((one for one in OF_SAMPLES if one in given and "1R" not in name), "")
    problems = (
        (
            name.endswith("NN") and n is None and size is None,
            "NN needs the number of non-relevant items to draw",
            f"write {name}(99), or {name[:-2]}AN for all of them",
        ),
        (
            bool(unfit),
            f"{unfit} is for designs with one relevant item: a user's set has all of the user's relevant items",
            "give n=, the number of non-relevant items, or write 1R",
        ),
        (
            n is not None and size is not None,
            f"n={n} and t={size} both say how many items are drawn",
            f"t={size} is n={(size or 1) - 1}: give one of them",
        ),
        (size is not None and size < 2, f"t must be at least 2, got {size}", ""),
        (
            n is None and size is None and given.get("resample") == "per_rating",
            "resample says how items are drawn, and the design takes all of them",
            "give n= or t=",
        ),
        (
            given.get("by") == "mixed" and given.get("replace"),
            "a mixed sample has different items: half are drawn uniformly, half by popularity from the others",
            "leave replace out",
        ),
        (n is not None and n < 1, f"n must be at least 1, got {n}", ""),
        (bins is not None and bins < 2, f"bins must be at least 2, got {bins}", ""),
    )
    for applies, what, hint in problems:
        if applies:
            raise UsageError("U118", what, where=text, hint=hint)


@checks_types
def parse_list(texts: str | Design | Iterable[str | Design]) -> list[Design]:
    """Return the designs of a list, or of one text separated by commas or blanks, without duplicates.

    >>> parse_list("TI-AR-AN, TI-1R-NN(99, by='popularity') P1R")
    [TI-AR-AN, TI-1R-NN(99, by='popularity'), P1R]
    """
    if isinstance(texts, Design):
        return [texts]
    names = split(texts) if isinstance(texts, str) else texts
    return list(dict.fromkeys(parse(name) for name in names))
