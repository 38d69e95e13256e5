"""Beam search for the most probable sequences: it keeps a few sequences at each step."""

from __future__ import annotations

import numpy as np

from recassay.engine.sequences.predictors import Int32, RowPredictor, surprisal
from recassay.engine.sequences.prefixes import Prefixes
from recassay.threads import blocks

NUMBERS = 1 << 22  # probabilities in a block


def beam_search(predictor: RowPredictor, seeds: Prefixes, k: int, width: int) -> Int32:
    """Return, for each first item in ``seeds``, the k items that follow it in the most probable sequence found.

    At every step the ``width`` most probable sequences are kept. Of equally probable ones, the one with the more
    probable beginning is kept, then the one with the lower item code.
    """
    keys = seeds.keys(items_only=predictor.items_only)
    _, distinct, number = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    found = np.empty((distinct.size, k), np.int32)
    for begin, end in blocks(distinct.size, max(1, NUMBERS // (predictor.vocabulary.size * width))):
        found[begin:end] = _search(predictor, seeds.take(distinct[begin:end]), k, width)
    return found[number]


def _search(predictor: RowPredictor, seeds: Prefixes, k: int, width: int) -> Int32:
    n, kept, bits = len(seeds), seeds, np.zeros((len(seeds), 1))  # n times the beams, (n, beams)
    for _ in range(k):
        added = surprisal(predictor.rows(kept.histories())).reshape(n, bits.shape[1], -1)
        longer = (bits[:, :, None] + added).reshape(n, -1)
        best = np.argsort(longer, axis=1, kind="stable")[:, :width]
        beam, item = np.divmod(best, added.shape[2])
        before = kept.take((np.arange(n)[:, None] * bits.shape[1] + beam).ravel())
        items = item.ravel().astype(np.int32)
        times = predictor.next_times(before, items)
        kept = before.followed_by(items[:, None], None if times is None else times[:, None])
        bits = np.take_along_axis(longer, best, axis=1)
    return kept.items.reshape(n, bits.shape[1], -1)[:, 0, 1:]
