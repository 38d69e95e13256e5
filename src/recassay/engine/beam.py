"""The likeliest sequences, as far as a search finds them that keeps a few at each step."""

from __future__ import annotations

import numpy as np

from recassay.engine.ask import AskRows, Int32, flat
from recassay.portable.elementary import log2
from recassay.threads import blocks

NUMBERS = 1 << 22  # of a block of probabilities


def beam_search(ask: AskRows, seeds: Int32, k: int, width: int) -> Int32:
    """For each first item the likeliest of ``width`` sequences of k items that were kept at every step.

    Of sequences that are as likely as each other the one stays that grew from the better beginning, then the one whose
    item has the lower code.
    """
    distinct, number = np.unique(seeds, return_inverse=True)
    found = np.empty((distinct.size, k), np.int32)
    for begin, end in blocks(distinct.size, max(1, NUMBERS // (ask.vocabulary.size * width))):
        found[begin:end] = _search(ask, distinct[begin:end], k, width)
    return found[number]


def _search(ask: AskRows, seeds: Int32, k: int, width: int) -> Int32:
    kept, bits = seeds[:, None, None], np.zeros((seeds.size, 1))  # (n, beams, said), (n, beams)
    for _ in range(k):
        n, beams, said = kept.shape
        more = -log2(ask.rows(flat(kept.reshape(n * beams, said)))).reshape(n, beams, -1)
        longer = (bits[:, :, None] + more).reshape(n, -1)
        best = np.argsort(longer, axis=1, kind="stable")[:, :width]
        beam, item = np.divmod(best, more.shape[2])
        kept = np.concatenate([kept[np.arange(n)[:, None], beam], item[:, :, None].astype(np.int32)], axis=2)
        bits = np.take_along_axis(longer, best, axis=1)
    return kept[:, 0, 1:]
