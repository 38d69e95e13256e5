"""Models of sequences, which predict the next item: baselines for the evaluation of generated sequences."""

from __future__ import annotations

from recassay.models.base.capabilities import NextProbabilities, SamplesNext
from recassay.models.sequence.base import SequenceModel
from recassay.models.sequence.counts import NGram, Uniform, Unigram
from recassay.models.sequence.crf import CRF
from recassay.models.sequence.personal import UserNGram
from recassay.models.sequence.popular import MostPopular
from recassay.naming.registry import Registry

REGISTRY: Registry[type[SequenceModel]] = Registry(
    "model of sequences", "recassay.models.sequence", SequenceModel, group="recassay.sequence_models"
)
parse = REGISTRY.parse

__all__ = [
    "CRF",
    "REGISTRY",
    "MostPopular",
    "NGram",
    "NextProbabilities",
    "SamplesNext",
    "SequenceModel",
    "Uniform",
    "Unigram",
    "UserNGram",
    "parse",
]
