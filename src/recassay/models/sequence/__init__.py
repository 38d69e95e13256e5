"""Models of sequences: what comes next, and how likely. The baselines that generated sequences are judged beside."""

from __future__ import annotations

from recassay.models.sequence.base import Foretells, SequenceModel, Teller
from recassay.models.sequence.counts import NGram, Uniform, Unigram
from recassay.models.sequence.crf import CRF
from recassay.models.sequence.popular import MostPopular
from recassay.named import Registry

REGISTRY = Registry("model of sequences", "recassay.models.sequence", SequenceModel)
parse = REGISTRY.parse

__all__ = [
    "CRF",
    "REGISTRY",
    "Foretells",
    "MostPopular",
    "NGram",
    "SequenceModel",
    "Teller",
    "Uniform",
    "Unigram",
    "parse",
]
