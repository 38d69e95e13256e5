"""Departures of defaults from the words of a paper: one sentence, declared by the class or function that differs.

``recassay explain NAME`` prints its sentences, and the page of departures collects all of them.

>>> Departure("sequeval", "Ties are joined.", literal="sessions(gap=60, ties='drop')").paper
'sequeval'
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

# The file in reproductions/ that has the title and the reference of each paper.
PAPERS = {
    "target-sets": "target-set-biases",
    "sampled-metrics": "sampled-metrics",
    "sequeval": "sequeval",
    "prequential": "prequential",
    "sudden-death": "sudden-death",
}

Callable_ = TypeVar("Callable_", bound=Callable[..., object])


@dataclass(frozen=True)
class Departure:
    """One sentence on how a default differs from a paper, and the text or call that gives the paper's own form.

    ``paper`` is a key of :data:`PAPERS`. ``literal`` is that text or call. Without it the paper's form is not
    available, and the sentence says why.
    """

    paper: str
    sentence: str
    literal: str = ""

    def __str__(self) -> str:
        return f"{self.sentence} The paper's form: {self.literal}." if self.literal else self.sentence


def departs(*departures: Departure) -> Callable[[Callable_], Callable_]:
    """Return a decorator that declares how a function deviates from a paper.

    Classes declare the same in an attribute ``departures``.
    """

    def attach(function: Callable_) -> Callable_:
        function.departures = departures  # type: ignore[attr-defined]  # functions take attributes
        return function

    return attach
