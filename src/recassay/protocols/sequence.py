"""Ask for a whole sequence: the first item of each test sequence is told, and what follows is to be generated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from recassay.protocols.base import Asking


@dataclass(frozen=True, repr=False)
class Sequence(Asking):
    """Each test sequence's first item is told, and a system generates ``k`` items to follow it, one after the other.

    With h the first item and what was generated so far, and p what the system says of the next item after h, the next
    one is drawn with the probabilities p (``how="sample"``), or is the likeliest (``"argmax"``; of several the one with
    the lowest id). ``"beam"`` is the likeliest of the sequences that a search finds which keeps the best ``beam`` at
    each step. Items may come again, the first item too, unless ``"sample_without_repeats"`` draws among the items that
    are not in h; where none of these is possible the list ends early, which is an error without ``allow_short``.

    Draws come from the seed and what a test sequence is: user, items and times. Two that begin alike are drawn apart;
    ``cache_by_seed`` lets sequences of one user that begin with the same item at the same time share what is generated,
    as the authors' program does. It is done ``seeds`` times, with seeds from ``seed`` on.

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
        """Counts are counts."""
        for parameter in ("k", "beam", "seeds"):
            if getattr(self, parameter) < 1:
                raise self.refuse(parameter, "it must be at least 1", f"{parameter}=1")
