"""How sampled candidates are drawn, and what that makes of the number of them that stand above a relevant item."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from recassay.errors import UsageError
from recassay.spec import suggest

By = Literal["uniform", "popularity"]
WAYS: tuple[By, ...] = ("uniform", "popularity")


@dataclass(frozen=True)
class Law:
    """Candidates are drawn ``by`` chance or popularity; with ``replace`` one may be drawn twice.

    Uniform draws follow a hypergeometric or a binomial law, draws by popularity with replacement a binomial one: these
    are exact. Draws by popularity without replacement depend on the weight of every candidate above and below; from
    standings, which have the numbers and the mean weights of both, they are ``approximate``
    (:mod:`recassay.sampled.exact` is not).
    """

    by: By
    replace: bool

    @property
    def approximate(self) -> bool:
        """Return whether standings do not tell the law."""
        return self.by == "popularity" and not self.replace

    def __str__(self) -> str:
        return f"{self.by}, {'with' if self.replace else 'without'} replacement"


def laws(by: str | Iterable[str], replace: bool | Iterable[bool] | None) -> tuple[Law, ...]:
    """Every way to draw with every answer to whether an item may be drawn twice.

    Left open, that is no for uniform draws and yes for draws by popularity, as in a design.

    >>> [str(one) for one in laws(["uniform", "popularity"], None)]
    ['uniform, without replacement', 'popularity, with replacement']
    """
    ways = [by] if isinstance(by, str) else list(by)
    for way in ways:
        if way not in WAYS:
            raise UsageError("U102", f"there is no sampling by '{way}'", hint=suggest(way, WAYS))
    answers = [replace] if replace is None or isinstance(replace, bool) else list(replace)
    found = (Law(way, way == "popularity" if one is None else one) for way in ways for one in answers)  # type: ignore[arg-type]
    return tuple(dict.fromkeys(found))
