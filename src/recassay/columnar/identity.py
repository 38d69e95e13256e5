"""Hashes that depend on the content of a row, not on its position: the same for any row order and on any machine."""

from __future__ import annotations

import hashlib

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.threads import each_block

ROWS_PER_BLOCK = 1 << 16  # fits the processor's cache
NOTHING = np.uint64(0x6E756C6C)  # the key of a missing value
SECOND = np.uint64(0xD1B54A32D192ED03)  # separates an item from the user with the same id
STEP = np.uint64(0x9E3779B97F4A7C15)  # of SplitMix64

Keys = NDArray[np.uint64]


def mix(values: Keys) -> Keys:
    """Return a hash of each value: the finaliser of SplitMix64 (Steele, Lea and Flood 2014).

    >>> mix(np.array([0, 1], np.uint64)).tolist()
    [16294208416658607535, 10451216379200822465]
    """
    values = values + STEP
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def id_keys(ids: pl.Series) -> Keys:
    """Return a 64-bit hash of each id; the integer width of the column does not matter."""
    if ids.dtype.is_integer():
        wide = ids if ids.dtype == pl.UInt64 else ids.cast(pl.Int64)
        return wide.to_numpy().view(np.uint64)
    texts = ids.cast(pl.String).fill_null("None").to_list()
    digests = b"".join([hashlib.blake2b(text.encode(), digest_size=8).digest() for text in texts])
    return np.frombuffer(digests, "<u8").astype(np.uint64)


def value_keys(values: pl.Series) -> Keys:
    """Return a 64-bit hash of each time or rating; -0.0 counts as 0.0, and integer width does not matter."""
    plain = values.to_physical()
    if plain.dtype.is_float():
        found = (plain.cast(pl.Float64).fill_null(np.nan).to_numpy() + 0.0).view(np.uint64)
    elif plain.dtype.is_integer():
        found = plain.cast(pl.Int64, strict=False).fill_null(0).to_numpy().view(np.uint64)
    else:
        return id_keys(plain)
    return np.where(plain.is_null().to_numpy(), NOTHING, found) if plain.null_count() else found


def pair_keys(users: NDArray[np.int32], items: NDArray[np.int32], user_keys: Keys, item_keys: Keys, salt: int) -> Keys:
    """Return a 64-bit hash of each (user, item) row, made of the hashes of both ids and a salt.

    ``users`` and ``items`` are the codes of each row; ``user_keys`` and ``item_keys`` are the hashes by code. Rows of
    the same user and item get the same hash.

    >>> keys = np.array([7, 8], np.uint64)
    >>> found = pair_keys(np.array([0, 1, 0]), np.array([1, 0, 1]), keys, keys, salt=3)
    >>> bool(found[0] == found[2]), bool(found[0] == found[1])
    (True, False)
    """
    start = np.uint64(salt & 0xFFFFFFFFFFFFFFFF)
    of_user, of_item = mix(mix(user_keys) ^ start), mix(mix(item_keys ^ SECOND) ^ start)
    found = np.empty(users.size, np.uint64)

    def fill(begin: int, end: int) -> None:
        found[begin:end] = mix(of_user[users[begin:end]] + of_item[items[begin:end]])

    each_block(fill, users.size, size=ROWS_PER_BLOCK)
    return found


def set_digest(pairs: Keys, columns: list[Keys]) -> int:
    """Return a digest of rows that does not depend on their order: the sum modulo 2^64 of one hash per row.

    ``pairs`` has the hash of user and item of each row, ``columns`` the hashes of its other values, such as the time.

    >>> pairs, times = np.array([5, 6], np.uint64), np.array([1, 2], np.uint64)
    >>> set_digest(pairs, [times]) == set_digest(pairs[::-1], [times[::-1]])
    True
    >>> set_digest(pairs, [times]) == set_digest(pairs, [times[::-1]])
    False
    """

    def block_sum(begin: int, end: int) -> int:
        keys = pairs[begin:end]
        for column in columns:
            keys = mix(keys + mix(column[begin:end]))
        return int(keys.sum(dtype=np.uint64))

    return sum(each_block(block_sum, pairs.size, size=ROWS_PER_BLOCK)) % 2**64
