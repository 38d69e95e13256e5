"""Sequence generation: systems continue each test sequence from its first item."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal

from recassay.protocols.base import BaseProtocol, Step


@dataclass(frozen=True, repr=False)
class Sequence(BaseProtocol):
    """A system gets the first item of each test sequence and generates the next ``k`` items, one after the other.

    Let h be the first item and the items generated so far, and p the predicted probabilities of the next item after h.
    The next item is drawn from p (``how="sample"``), or is the most likely one (``"argmax"``; ties by lowest id).
    ``"beam"`` is the most likely sequence of a beam search of width ``beam``. Items may be repeated, the first item
    included. ``"sample_without_repeats"`` draws among the items that are not in h; if all of them have probability 0,
    the list ends early, which is an error unless ``allow_short``.

    Draws depend on the seed and on user, items and times of the test sequence, so sequences with equal beginnings get
    different draws. With ``cache_by_seed``, sequences of one user that begin with the same item at the same time share
    their generated items, as in the authors' program. Generation is repeated ``seeds`` times, with seeds from ``seed``.

    Reference: Monti, Palumbo, Rizzo, Morisio, Sequeval: an offline evaluation framework for sequence-based recommender
    systems, Information 2019, algorithm 2.

    >>> Sequence(k=3, how="argmax")
    sequence(k=3, how='argmax')
    """

    name: ClassVar[str] = "sequence"

    k: int = 5
    how: Literal["sample", "argmax", "beam", "sample_without_repeats"] = "sample"
    beam: int = 10
    allow_short: bool = False
    cache_by_seed: bool = False
    seed: int = 0
    seeds: int = 1

    def validate(self) -> None:
        """Raise an error if ``k``, ``beam`` or ``seeds`` is below 1."""
        for parameter in ("k", "beam", "seeds"):
            if getattr(self, parameter) < 1:
                raise self.refuse(parameter, "it must be at least 1", f"{parameter}=1")

    def steps(self) -> Iterator[Step]:
        """Yield a step for each place, which asks for the items that follow; nothing is revealed."""
        return (Step(ask=place) for place in range(self.k))
