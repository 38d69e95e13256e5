"""Sampling schemes: how candidates are drawn."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from recassay.designs.grammar import Design
from recassay.errors import UsageError
from recassay.naming import choices
from recassay.naming.grammar import require_known

By = choices.Sampling
WAYS = choices.words(By)


@dataclass(frozen=True)
class SamplingScheme:
    """A way to draw candidates: ``by`` uniform chance or popularity; with ``replace``, one may be drawn twice.

    For uniform draws, the number of sampled candidates above an item is hypergeometric, or binomial with replacement;
    for draws by popularity with replacement it is binomial. These are exact, except for ties by popularity with more
    than seven different masses (finding S005). For draws by popularity without replacement it depends on the weight of
    every candidate above and below. The standings of a run have only the numbers and mean weights of these candidates,
    so the result is ``approximate``; :mod:`recassay.sampled.weighted` computes it exactly.
    """

    by: By
    replace: bool

    @property
    def approximate(self) -> bool:
        """Return whether the number of sampled candidates above an item has only an approximate distribution.

        That is so for draws by popularity without replacement; the others are exact.
        """
        return self.by == "popularity" and not self.replace

    def design(self, base: choices.BaseSet, n: int) -> Design:
        """Return the design that ranks each relevant item alone among ``n`` candidates of its own from a base set."""
        return Design(base, "1R", n, self.by, self.replace, resample="per_rating")

    def __str__(self) -> str:
        return f"{self.by}, {'with' if self.replace else 'without'} replacement"


def sampling_schemes(by: str | Iterable[str], replace: bool | Iterable[bool] | None) -> tuple[SamplingScheme, ...]:
    """Return every combination of ``by`` and ``replace``, each of which may be one value or several.

    If ``replace`` is None, it is false for uniform draws and true for draws by popularity, as in a design. Raise U102
    for an unknown word.

    >>> [str(one) for one in sampling_schemes(["uniform", "popularity"], None)]
    ['uniform, without replacement', 'popularity, with replacement']
    """
    ways = [by] if isinstance(by, str) else list(by)
    again = [replace] if replace is None or isinstance(replace, bool | str) else list(replace)
    wrong = [choice for choice in again if choice is not None and not isinstance(choice, bool)]
    if wrong:
        raise UsageError("U102", f"replace must be True or False, or a list of both, got {wrong[0]!r}")
    found = []
    for way in ways:
        require_known(way, WAYS, "U102", f"there is no sampling by '{way}'")
        kind: By = "popularity" if way == "popularity" else "uniform"
        found += [SamplingScheme(kind, way == "popularity" if choice is None else choice) for choice in again]
    return tuple(dict.fromkeys(found))
