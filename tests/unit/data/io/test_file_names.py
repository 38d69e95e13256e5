"""File names: different texts have different names on every file system."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recassay.data.io.write import file_name, text_of_file_name

DEVICES = ["CON", "con", "NUL", "nul.txt", "COM1", "lpt9 .x", "aux", "Prn"]
AWKWARD = ["", ".", "..", "...", "a/b", "a\\b", "a%2Fb", "a, b", "a,b", "a ,b", " a", "a ", "a.", ".a", "~", "a~b", "%",
           "%25", "\0", "a\nb", 'a"b', "a:b", "a*b?", "<a>|", "é", "e\u0301", "ﬁ", "K", "\u212a", "x" * 300, "x" * 301,
           "é" * 80, "\ud800", "İ", "i̇", *DEVICES]  # fmt: skip
texts = st.one_of(
    st.sampled_from(AWKWARD),
    st.text(),
    st.text(st.sampled_from("aAbB.,~% /\\é\u0301-"), max_size=6),
    st.text(min_size=100, max_size=150),
)


def normalised(name):
    """Return a name as a file system sees it that ignores case and the composition of letters."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


@given(st.lists(texts, unique=True, max_size=8))
def test_different_texts_have_different_names(some):
    names = [file_name(text, some) for text in some]
    assert len({normalised(name) for name in names}) == len(some)
    assert len({file_name(text) for text in some}) == len(some)  # alone, save for cases


@given(texts, st.lists(texts, max_size=3))
def test_names_are_valid_on_every_system(text, others):
    name = file_name(text, others)
    assert name.isascii()
    assert name.isprintable()
    assert 0 < len(name) <= 200
    assert not set(name) & set('/\\:*?"<>|')
    assert name not in (".", "..")
    assert name[0] not in ". "
    assert name[-1] not in ". "
    assert name.partition(".")[0].strip().upper() not in {"CON", "PRN", "AUX", "NUL", "COM1", "LPT9"}


@given(texts)
def test_a_name_restores_its_text(text):
    name = file_name(text)
    assert text_of_file_name(name) == (name if "~" in name else text)
    assert text_of_file_name(text) == text or file_name(text_of_file_name(text)) == text


@pytest.mark.parametrize(
    "text", ["als", "BERT4Rec", "ALS(factors=64)", "pure-svd", "ml-1m", "v1.5", "two words", "a+b@10", "context"]
)
def test_plain_names_are_unchanged(text):
    assert file_name(text) == text_of_file_name(text) == text


def test_names_that_differ_only_in_case_get_a_digest():
    names = [file_name(text, ["als", "ALS", "pop"]) for text in ("als", "ALS", "pop")]
    assert names[2] == "pop"
    assert names[0].startswith("als~")
    assert names[1].startswith("ALS~")
    assert names[0].lower() != names[1].lower()
