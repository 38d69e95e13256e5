"""Generated sequences of items: their evaluation, and what is in them."""

from __future__ import annotations

from recassay.data.generated import Generated
from recassay.data.sequences import SequenceFold, Sequences
from recassay.engine.sequences.exhibits import (
    by_position,
    item_counts,
    item_frequency,
    parallel_view,
    perplexity_by_position,
    sequence_sizes,
)
from recassay.engine.sequences.generate import generate
from recassay.engine.sequences.score import score_sequences, sequeval

__all__ = [
    "Generated",
    "SequenceFold",
    "Sequences",
    "by_position",
    "generate",
    "item_counts",
    "item_frequency",
    "parallel_view",
    "perplexity_by_position",
    "score_sequences",
    "sequence_sizes",
    "sequeval",
]
__dir__ = __all__.copy  # what `dir` lists
