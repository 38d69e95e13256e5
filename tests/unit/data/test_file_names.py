"""Names of files: another one for another text, whatever the file system thinks of them."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recassay.data.file_names import file_name, text_of

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


def taken_for(name):
    """What a file system that knows neither cases nor compositions of letters takes a name for."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


@given(st.lists(texts, unique=True, max_size=8))
def test_other_texts_have_other_names(some):
    names = [file_name(text, some) for text in some]
    assert len({taken_for(name) for name in names}) == len(some)
    assert len({file_name(text) for text in some}) == len(some)  # alone, save for cases


@given(texts, st.lists(texts, max_size=3))
def test_every_system_takes_a_name(text, others):
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
def test_a_name_says_what_it_is_made_of(text):
    name = file_name(text)
    assert text_of(name) == (name if "~" in name else text)
    assert text_of(text) == text or file_name(text_of(text)) == text


@pytest.mark.parametrize(
    "text", ["als", "BERT4Rec", "ALS(factors=64)", "pure-svd", "ml-1m", "v1.5", "two words", "a+b@10", "context"]
)
def test_plain_names_stay_as_they_are(text):
    assert file_name(text) == text_of(text) == text


def test_names_that_differ_in_case_alone_differ_in_more_where_both_are_there():
    names = [file_name(text, ["als", "ALS", "pop"]) for text in ("als", "ALS", "pop")]
    assert names[2] == "pop"
    assert names[0].startswith("als~")
    assert names[1].startswith("ALS~")
    assert names[0].lower() != names[1].lower()
