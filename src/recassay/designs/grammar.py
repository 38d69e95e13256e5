"""A target-set design: whom a relevant item must beat, and how many of them.

``TI-1R-NN(99)`` reads: candidates are the test items (``TI``; ``AI``: all items), each relevant item stands alone
(``1R``; ``AR``: all relevant items of a user together), against 99 sampled non-relevant ones (``NN``; ``AN``: all).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from recassay.errors import UsageError
from recassay.named import check_type
from recassay.spec import Value, parse_parameters, split, suggest

Sampling = Literal["uniform", "popularity"]

TITLES = {
    "AI-AR-AN": "All items are candidates, all relevant items of a user stand together: full ranking.",
    "TI-AR-AN": "As AI-AR-AN among the items that have a test rating.",
    "AI-1R-NN": "One relevant item against n sampled ones of all items: the usual sampled evaluation.",
    "TI-1R-NN": "One relevant item against n sampled test items.",
    "AI-AR-NN": "All relevant items of a user against n sampled ones of all items.",
    "TI-AR-NN": "All relevant items of a user against n sampled test items.",
    "AI-1R-AN": "One relevant item at a time against all items.",
    "TI-1R-AN": "One relevant item at a time against all test items.",
    "P1R": "1R within bins of equally popular test items, every bin counting the same.",
    "PAR": "AR within bins of equally popular test items, every bin counting the same.",
    "U1R": "TI-1R on a split in which every candidate has as many test ratings as any other.",
    "UAR": "TI-AR on a split in which every candidate has as many test ratings as any other.",
    "rated_only": "A user's relevant test items against what the user rated low: overestimates highly.",
}
PARTS = (
    "AI, TI: candidates are all items, or the items with a test rating. AR, 1R: all relevant items of a user stand in "
    "one target set, or each in a set of its own. AN, NN(n): against all non-relevant candidates, or n sampled ones; "
    "by='popularity' draws them in proportion to their users in training; replace says whether an item may be drawn "
    "twice (by default no, and yes by popularity). P and U neutralise popularity: within bins of equally popular "
    "items, and on a split by uniform_items."
)
PLAIN = re.compile(r"^(AI|TI)-(AR|1R)-(AN|NN)(\(.*\))?$", re.IGNORECASE)
NAMED = {name.lower(): name for name in ("P1R", "PAR", "U1R", "UAR", "rated_only")}
BINS = 10


@dataclass(frozen=True, repr=False)
class Design:
    """A design with all its parameters; its text parses back to an equal value.

    ``n`` counts sampled NON-relevant items (None: all of them are taken), ``by`` says how they are drawn and
    ``replace`` whether an item may be drawn twice. Left open, ``replace`` is no for uniform sampling and yes for
    sampling by popularity, the two laws that have a closed form.

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

    @property
    def with_replacement(self) -> bool:
        """Whether an item may be drawn twice."""
        return self.n is not None and (self.by == "popularity" if self.replace is None else self.replace)

    @property
    def name(self) -> str:
        """What stands before the brackets."""
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
        return f"{self.name}({', '.join(inside)})" if inside else self.name

    __repr__ = __str__


def parameters_of(name: str) -> str:
    """What a design takes in brackets."""
    if name.startswith("P"):
        return "n, bins"
    return "n, by, replace" if name.endswith("NN") or name.startswith("U") else ""


def parse(text: str | Design) -> Design:
    """The design a text names."""
    if isinstance(text, Design):
        return text
    bare, bracket, rest = text.strip().partition("(")
    inside = bracket + rest
    plain = PLAIN.match(text.strip())
    if plain:
        base, relevant, pool = (part.upper() for part in plain.groups()[:3])
        given = _parameters(text, inside, ("n", "by", "replace") if pool == "NN" else ())
        if pool == "NN" and given.get("n") is None:
            hint = f"write {base}-{relevant}-NN(99), or {base}-{relevant}-AN for all of them"
            raise UsageError("U118", "NN does not say how many non-relevant items are drawn", where=text, hint=hint)
        return _made(text, base=base, relevant=relevant, **given)
    name = NAMED.get(bare.strip().lower())
    if name is None:
        hint = suggest(bare.strip(), TITLES)
        raise UsageError("U118", f"there is no design '{text}'", where=text, hint=hint)
    if name == "rated_only":
        _parameters(text, inside, ())
        return Design("rated", "AR")
    given = _parameters(text, inside, ("n", "bins") if name[0] == "P" else ("n", "by", "replace"))
    if name[0] == "P":
        given.setdefault("bins", BINS)
    return _made(text, base="TI", relevant="AR" if name.endswith("AR") else "1R", uniform_items=name[0] == "U", **given)


def parse_list(texts: str | Design | Iterable[str | Design]) -> list[Design]:
    """Designs from a list, or from one text with commas or blanks between.

    >>> parse_list("TI-AR-AN, TI-1R-NN(99, by='popularity') P1R")
    [TI-AR-AN, TI-1R-NN(99, by='popularity'), P1R]
    """
    if isinstance(texts, Design):
        return [texts]
    parts = split(texts) if isinstance(texts, str) else texts
    return list(dict.fromkeys(parse(one) for one in parts))


def _parameters(text: str, inside: str, known: tuple[str, ...]) -> dict[str, Value]:
    """What stands in the brackets; one value without a name is the first parameter."""
    given = parse_parameters(inside, text, known[:1])
    for name in given:
        if name not in known:
            hint = suggest(name, known) if known else "it takes no parameters"
            raise UsageError("U118", f"a design '{text}' has no parameter '{name}'", where=text, hint=hint)
    return given


def _made(text: str, **given: Any) -> Design:
    kinds = {"n": int | None, "by": Sampling, "replace": bool | None, "bins": int | None}
    for name, kind in kinds.items():
        if name in given:
            check_type(text, name, given[name], kind)
    for name, least in (("n", 1), ("bins", 2)):
        if given.get(name) is not None and given[name] < least:
            what = f"{name}={given[name]} makes no target set"
            raise UsageError("U118", what, where=text, hint=f"{name} is at least {least}")
    return Design(**given)
