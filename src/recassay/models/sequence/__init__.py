"""Models of sequences, which predict the next item: baselines for the evaluation of generated sequences."""

from __future__ import annotations

from typing import Any

from recassay.models.base import registry as of_logs
from recassay.models.base.capabilities import NextProbabilities, SamplesNext
from recassay.models.sequence.base import NGram, SequenceModel, Uniform, Unigram
from recassay.models.sequence.special import CRF, MostPopular, UserNGram
from recassay.naming.grammar import parse as parse_expression
from recassay.naming.registry import Registry

REGISTRY: Registry[type[SequenceModel]] = Registry(
    "model of sequences", "recassay.models.sequence", SequenceModel, group="recassay.sequence_models"
)
parse = REGISTRY.parse


def parse_any(text: str) -> Any:
    """Return the model that a text names: a model of sequences, or a model of logs that predicts the next item.

    >>> parse_any("NGram(order=3)"), parse_any("Markov")
    (NGram(order=3), Markov)
    """
    if of_logs.is_file_model(text) or parse_expression(text).name in of_logs.REGISTRY.kinds:
        return of_logs.parse(text)
    return parse(text)


__all__ = [
    "CRF",
    "MostPopular",
    "NGram",
    "NextProbabilities",
    "SamplesNext",
    "SequenceModel",
    "Uniform",
    "Unigram",
    "UserNGram",
    "parse",
    "parse_any",
]
__dir__ = __all__.copy  # what `dir` lists
