"""The grammar of names: what reads, what it prints as, and what is refused."""

import keyword

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recassay.errors import UsageError
from recassay.naming.grammar import Expression, parse, split, suggest

from ...refusals import refused

names = st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True).filter(lambda name: not keyword.iskeyword(name))
values = st.one_of(
    st.none(), st.booleans(), st.integers(-(10**9), 10**9), st.floats(allow_nan=False, allow_infinity=False), st.text()
)
expressions = st.builds(
    Expression, names, st.dictionaries(names, values, max_size=4), st.none() | st.integers(1, 10**6)
)


@given(expressions)
def test_what_is_printed_reads_back(expression):
    assert parse(str(expression)) == expression
    assert str(parse(str(expression))) == str(expression)


@given(st.lists(expressions, max_size=4), st.sampled_from([" ", ", ", ",", "; ", "\n"]))
def test_a_list_is_cut_outside_brackets_and_quotes(many, between):
    plain = [one for one in many if not any("\\" in repr(v) or "'" in str(v) for v in one.parameters.values())]
    texts = [str(one) for one in plain]
    assert split(between.join(texts)) == texts
    assert split(texts) == texts


@pytest.mark.parametrize(
    ("text", "name", "parameters", "k"),
    [
        ("ndcg", "ndcg", {}, None),
        (" ndcg @ 10 ", "ndcg", {}, 10),
        ("ndcg()@3", "ndcg", {}, 3),
        ("ndcg(gain=exp2)", "ndcg", {"gain": "exp2"}, None),
        ('ndcg(gain="exp2", offset=-1.5)@1', "ndcg", {"gain": "exp2", "offset": -1.5}, 1),
        ("efd(relevance_aware=True, x=None, n=1_000)", "efd", {"relevance_aware": True, "x": None, "n": 1000}, None),
        ("rbp(p=1e-3)", "rbp", {"p": 0.001}, None),
    ],
)
def test_what_reads(text, name, parameters, k):
    assert parse(text) == Expression(name, parameters, k)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "does not parse"),
        ("   ", "does not parse"),
        ("ndcg(", "«here»"),
        ("ndcg@", "«here»"),
        ("@10", "«here»"),
        ("10", "not of the form"),
        ("a.b", "not of the form"),
        ("a + b", "not of the form"),
        ("f(x)(y=1)", "not of the form"),
        ("ndcg@10@20", "not of the form"),
        ("[ndcg]", "not of the form"),
        ("ndcg(10)", "a parameter has no name"),
        ("ndcg(**x)", r"\*\* is not allowed"),
        ("ndcg(a=[1])", "not a plain number or word"),
        ("ndcg(a={1: 2})", "not a plain number or word"),
        ("ndcg(a=b.c)", "not a plain number or word"),
        ("ndcg(a=f())", "not a plain number or word"),
        ("ndcg(a=b'x')", "not a plain number or word"),
        ("ndcg(a=1+1j)", "not a plain number or word"),
        ("__import__('os').system('true')", "not of the form"),
        ("ndcg(a=1, a=2)", "does not parse"),
        ("ndcg\0", "does not parse"),
    ],
)
def test_what_does_not_read(text, words):
    with refused("U104", match=words) as caught:
        parse(text)
    assert caught.value.hint


@pytest.mark.parametrize("cutoff", ["0", "-1", "1.0", "True", "'3'", "None", "ten"])
def test_a_cutoff_is_a_whole_number_of_at_least_one(cutoff):
    with refused("U103"):
        parse(f"ndcg@{cutoff}")


def test_brackets_without_end_do_not_recurse_without_end():
    with pytest.raises(UsageError):
        parse("f(a=" + "(" * 5_000)


@pytest.mark.parametrize(
    ("word", "choices", "said"),
    [
        ("ndgc", ["ndcg", "mrr"], "did you mean 'ndcg'?"),
        ("NDCG", ["ndcg", "mrr"], "did you mean 'ndcg'?"),
        ("nd", ["ndcg", "mrr"], "did you mean 'ndcg'?"),
        ("zzz", ["ndcg", "mrr"], "choose one of: mrr, ndcg"),
    ],
)
def test_suggestions(word, choices, said):
    assert suggest(word, choices) == said
    assert suggest(word, reversed(choices)) == said
