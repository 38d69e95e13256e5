"""Random generators whose seed depends on what is drawn, never on when it is drawn.

>>> bool(derive(7, "bootstrap", "ndcg@10").random() == derive(7, "bootstrap", "ndcg@10").random())
True
>>> bool(derive(7, "user", 1).random() == derive(7, "user", 2).random())
False

No other module creates generators, so one place decides how seeds are derived.
"""

from __future__ import annotations

import hashlib

import numpy as np


def derive_seed(seed: int, *keys: str | int) -> int:
    """Return a 128-bit seed derived from a base seed and the keys, which name what is drawn."""
    digest = hashlib.blake2b(digest_size=16)
    for part in (seed, *keys):
        text = f"{type(part).__name__}:{part}".encode()
        digest.update(len(text).to_bytes(8, "little") + text)
    return int.from_bytes(digest.digest(), "little")


def derive(seed: int, *keys: str | int) -> np.random.Generator:
    """Return a random generator for one purpose, named by the keys.

    Equal arguments give equal numbers on every machine.
    """
    return np.random.Generator(np.random.PCG64(derive_seed(seed, *keys)))
