"""BLAKE2b (RFC 7693) of many short texts, 8 bytes of digest each: the numbers that identify text ids.

:mod:`hashlib` computes the same, and a call of it takes five times as long as the digest. The tests hold the two
together.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recassay._kernel_cache import njit

BLOCK = 128  # bytes that are mixed in at once
START = np.array([
    0x6A09E667F3BCC908, 0xBB67AE8584CAA73B, 0x3C6EF372FE94F82B, 0xA54FF53A5F1D36F1,
    0x510E527FADE682D1, 0x9B05688C2B3E6C1F, 0x1F83D9ABFB41BD6B, 0x5BE0CD19137E2179,
], np.uint64)  # fmt: skip
PARAMETERS = np.uint64(0x01010008)  # a digest of 8 bytes, no key, one text after the other
SCHEDULE = np.array([
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
    [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
    [11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4],
    [7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8],
    [9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13],
    [2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9],
    [12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11],
    [13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10],
    [6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5],
    [10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0],
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
    [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
])  # fmt: skip
COLUMNS_THEN_DIAGONALS = np.array([
    [0, 4, 8, 12], [1, 5, 9, 13], [2, 6, 10, 14], [3, 7, 11, 15],
    [0, 5, 10, 15], [1, 6, 11, 12], [2, 7, 8, 13], [3, 4, 9, 14],
])  # fmt: skip


@njit(nogil=True, cache=True)
def digests(data: NDArray[np.uint8], ends: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return the digest of each text as an integer, its first byte lowest.

    ``data`` are the bytes of all texts, one after the other, and ``ends`` the end of each text there.
    """
    out = np.empty(ends.size, np.uint64)
    state, work, words = np.empty(8, np.uint64), np.empty(16, np.uint64), np.empty(16, np.uint64)
    for text in range(ends.size):
        begin, end = ends[text - 1] if text else 0, ends[text]
        state[:] = START
        state[0] ^= PARAMETERS
        done = 0
        while True:
            last = end - begin - done <= BLOCK
            _read(data, begin + done, min(begin + done + BLOCK, end), words)
            done = end - begin if last else done + BLOCK
            _mix_in(state, work, words, np.uint64(done), last)
            if last:
                break
        out[text] = state[0]
    return out


@njit(nogil=True, cache=True, inline="always")
def _read(data: NDArray[np.uint8], begin: int, end: int, words: NDArray[np.uint64]) -> None:
    """Write the bytes from ``begin`` to ``end`` to 16 words of 8 bytes, the lowest first, with zeros after them."""
    words[:] = 0
    for place in range(end - begin):
        words[place >> 3] |= np.uint64(data[begin + place]) << np.uint64(8 * (place & 7))


@njit(nogil=True, cache=True, inline="always")
def _mix_in(
    state: NDArray[np.uint64], work: NDArray[np.uint64], words: NDArray[np.uint64], done: np.uint64, last: bool
) -> None:
    """Mix 16 words into the state: the function F of the RFC; ``done`` counts the bytes up to the end of these."""
    work[:8], work[8:] = state, START
    work[12] ^= done
    if last:
        work[14] = ~work[14]
    for step in range(SCHEDULE.shape[0]):
        for place in range(COLUMNS_THEN_DIAGONALS.shape[0]):
            a, b, c, d = COLUMNS_THEN_DIAGONALS[place]
            va, vb, vc, vd = work[a], work[b], work[c], work[d]
            va += vb + words[SCHEDULE[step, 2 * place]]
            vd = _rotated(vd ^ va, np.uint64(32))
            vc += vd
            vb = _rotated(vb ^ vc, np.uint64(24))
            va += vb + words[SCHEDULE[step, 2 * place + 1]]
            vd = _rotated(vd ^ va, np.uint64(16))
            vc += vd
            vb = _rotated(vb ^ vc, np.uint64(63))
            work[a], work[b], work[c], work[d] = va, vb, vc, vd
    for place in range(8):
        state[place] ^= work[place] ^ work[place + 8]


@njit(nogil=True, cache=True, inline="always")
def _rotated(word: np.uint64, bits: np.uint64) -> np.uint64:
    """Return the word with its bits moved down by ``bits``, those that fall out coming in again at the top."""
    return (word >> bits) | (word << (np.uint64(64) - bits))
