"""Departures of defaults from the words of a paper: one sentence, declared by the class or function that differs.

``recassay explain NAME`` prints its sentences, and the page of departures collects all of them.

>>> Departure("sequeval", "Ties are joined.", literal="sessions(gap=60, ties='drop')").paper
'sequeval'
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

PAPERS = {
    "target-sets": "Bellogín, Castells and Cantador, Statistical biases in information retrieval metrics for "
    "recommender systems, Information Retrieval Journal 20, 2017",
    "sampled-metrics": "Dallmann, Zoller and Hotho, A case study on sampling strategies for evaluating neural "
    "sequential item recommendation models, RecSys 2021",
    "sequeval": "Monti, Palumbo, Rizzo and Morisio, Sequeval: an offline evaluation framework for sequence-based "
    "recommender systems, Information 10(5), 2019",
    "prequential": "Vinagre, Jorge and Gama, Evaluation of recommender systems in streaming environments, 2014",
    "sudden-death": "Bridge, Kaya and Castells, Sudden Death: a new way to compare recommendation diversification, "
    "RecSys 2019",
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
