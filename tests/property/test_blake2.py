"""Digests of many texts at once are those of hashlib."""

import hashlib

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recassay.columnar import identity
from recassay.columnar._blake2 import digests
from recassay.columnar.layout import readonly


def by_hashlib(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def digests_of(texts: list[str]) -> list[int]:
    encoded = [text.encode() for text in texts]
    ends = np.cumsum([len(text) for text in encoded], dtype=np.int64)
    return digests(readonly(np.frombuffer(b"".join(encoded), np.uint8)), readonly(ends)).tolist()


@settings(deadline=None)
@given(st.lists(st.text() | st.text(min_size=60, max_size=300), min_size=1))
def test_digests(texts):
    assert digests_of(texts) == [by_hashlib(text) for text in texts]


def test_digests_of_every_length_around_the_blocks():
    texts = ["x" * length for length in range(400)]
    assert digests_of(texts) == [by_hashlib(text) for text in texts]


@pytest.mark.parametrize("many", [1, 1 << 17])
def test_keys_of_few_and_of_many_ids_are_the_same(monkeypatch, many):
    monkeypatch.setattr(identity, "MANY_TEXTS", many)
    monkeypatch.setattr(identity, "ROWS_PER_BLOCK", 7)
    texts = ["", "a", None, "ünïcode", "user-7", *(f"item {number}" for number in range(20))]
    found = identity.id_keys(pl.Series(texts, dtype=pl.String))
    assert found.tolist() == [by_hashlib("None" if text is None else text) for text in texts]
    assert identity.id_keys(pl.Series(texts, dtype=pl.Categorical)).tolist() == found.tolist()
