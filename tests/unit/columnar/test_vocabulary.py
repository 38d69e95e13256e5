"""Ids of every type become codes in id order, decode to ids, and match ids of other tables."""

import itertools

import numpy as np
import polars as pl
import pytest

from recassay.columnar import numbering
from recassay.columnar.vocabulary import UNKNOWN, Recoding, Vocabulary, id_types_differ, rows_in_table
from recassay.errors import InputError

SMALL = [7, 3, 3, -2, 40]
KINDS = {
    "int8": pl.Series(SMALL, dtype=pl.Int8),
    "int32": pl.Series(SMALL, dtype=pl.Int32),
    "int64": pl.Series(SMALL, dtype=pl.Int64),
    "large": pl.Series([7, 3, 3, 10**15, -(10**15)], dtype=pl.Int64),
    "uint8": pl.Series([7, 3, 3, 200], dtype=pl.UInt8),
    "uint64": pl.Series([7, 3, 3, 2**64 - 1, 2**63], dtype=pl.UInt64),
    "uint64 small": pl.Series([7, 3, 3], dtype=pl.UInt64),
    "at the edge": pl.Series([-(2**31), 7, 3, 2**31 - 1, 2**31], dtype=pl.Int64),
    "strings": pl.Series(["7", "3", "3", "é", ""]),
}
INTEGERS = [name for name in KINDS if name != "strings"]


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("dense", [False, True], ids=["encode", "dense"])
def test_codes_decode_to_ids_and_keep_their_order(name, dense):
    ids = KINDS[name]
    vocabulary, codes = (Vocabulary.dense if dense else Vocabulary.encode)(ids)
    assert codes.dtype == np.int32
    assert vocabulary.decode(codes).to_list() == ids.to_list()
    by_code = sorted(zip(codes.tolist(), ids.to_list(), strict=True))
    assert [one for _, one in by_code] == sorted(ids.to_list())
    if dense:
        assert vocabulary.size == ids.n_unique()
        assert sorted(set(codes.tolist())) == list(range(vocabulary.size))
        assert vocabulary.ids.is_sorted()


def test_integers_of_32_bits_are_their_own_codes():
    vocabulary, codes = Vocabulary.encode(KINDS["int64"])
    assert vocabulary.ids is None
    assert codes.tolist() == SMALL
    with pytest.raises(ValueError, match="no table"):
        _ = vocabulary.size


def test_the_smallest_integer_is_not_a_code():
    vocabulary, codes = Vocabulary.encode(pl.Series([UNKNOWN, 5]))
    assert vocabulary.ids is not None
    assert codes.tolist() == [0, 1]


@pytest.mark.parametrize("dtype", [pl.Int64, pl.String])
def test_an_empty_column_has_no_codes(dtype):
    vocabulary, codes = Vocabulary.encode(pl.Series([], dtype=dtype))
    assert codes.size == 0
    assert vocabulary.decode(codes).to_list() == []


@pytest.mark.parametrize(("source", "target"), list(itertools.product(INTEGERS, INTEGERS)))
def test_integers_match_integers_of_any_width(source, target):
    ids, others = KINDS[source], KINDS[target]
    vocabulary, codes = Vocabulary.encode(ids)
    other, _ = Vocabulary.encode(others)
    found = vocabulary.translate(codes, other)
    known = set(others.to_list())
    # In a vocabulary without a table ids are their own codes, known or not.
    absent = [UNKNOWN] if other.ids is not None else [UNKNOWN, *ids.to_list()]
    for one, code in zip(ids.to_list(), found.tolist(), strict=True):
        if one in known:
            assert other.decode(np.array([code], np.int32))[0] == one
        else:
            assert code in absent
    table = others.unique().sort()
    wanted = [table.to_list().index(one) if one in known else -1 for one in ids.to_list()]
    assert rows_in_table(ids, table).tolist() == wanted
    assert Recoding.between(vocabulary, table)(codes).tolist() == wanted


def test_strings_match_strings():
    vocabulary, codes = Vocabulary.encode(pl.Series(["b", "a", "x"]))
    other, _ = Vocabulary.encode(pl.Series(["a", "b", "c"]))
    assert vocabulary.translate(codes, other).tolist() == [1, 0, UNKNOWN]
    assert vocabulary.translate(codes, vocabulary) is codes


@pytest.mark.parametrize("name", INTEGERS)
def test_an_integer_is_the_text_of_its_digits_and_no_other(name):
    numbers, codes = Vocabulary.encode(KINDS[name])
    words = pl.Series([*map(str, KINDS[name].to_list()), "x", f"0{KINDS[name][0]}", "1.0"]).unique(maintain_order=True)
    strings, texts = Vocabulary.encode(words)
    assert strings.decode(numbers.translate(codes, strings)).to_list() == list(map(str, KINDS[name].to_list()))
    assert strings.decode(Recoding.between(numbers, strings.ids)(codes)).equals(
        strings.decode(numbers.translate(codes, strings))
    )
    back = strings.translate(texts, numbers)
    assert words.filter(pl.Series(back == UNKNOWN)).to_list() == words[-3:].to_list()
    assert numbers.decode(back[back != UNKNOWN]).to_list() == KINDS[name].unique(maintain_order=True).to_list()


def test_strings_and_integers_that_never_match_are_refused():
    numbers, strings = Vocabulary.encode(pl.Series([1, 2]))[0], Vocabulary.encode(pl.Series(["x", "02"]))[0]
    for source, ids in ((numbers, strings.ids), (strings, pl.Series([1, 2]))):
        with pytest.raises(InputError, match="I403"):
            Recoding.between(source, ids)
    assert id_types_differ("user", numbers, strings).what.startswith("user ids")


@pytest.mark.parametrize("ids", [KINDS["strings"], KINDS["large"], KINDS["uint64"]], ids=["strings", "large", "uint64"])
@pytest.mark.parametrize("rows", [1, 2, 3, 1000])
def test_blocks_of_any_size_give_the_same_codes(ids, rows, monkeypatch):
    ids = pl.concat([ids, ids.reverse(), ids])
    vocabulary, codes = Vocabulary.encode(ids)
    monkeypatch.setattr(numbering, "ROWS_PER_BLOCK", rows)
    again, same = Vocabulary.encode(ids)
    assert same.tolist() == codes.tolist()
    assert again.ids.to_list() == vocabulary.ids.to_list()


def test_many_ids_grow_the_hash_table():
    ids = pl.Series(np.random.default_rng(0).permutation(5_000) * 10**9)
    vocabulary, codes = Vocabulary.encode(ids)
    assert vocabulary.size == 5_000
    assert vocabulary.decode(codes).equals(ids)


@pytest.mark.parametrize("gap", [1, 10**5])
def test_a_recoding_handles_dense_and_sparse_ids(gap):
    table = pl.Series([gap * one for one in (-3, 0, 1, 5, 900)])
    source, codes = Vocabulary.encode(pl.Series([gap * 5, gap * 2, gap * 900, gap * -3, gap * -4, gap * 901]))
    assert Recoding.between(source, table)(codes).tolist() == [3, -1, 4, 0, -1, -1]
    assert Recoding.between(source, table.clear())(codes).tolist() == [-1] * 6
