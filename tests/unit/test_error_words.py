"""Errors in Python say what to write in Python, and those of the command line what to write there."""

import numpy as np
import pytest

import recassay as ra
from recassay.data.synthetic import log
from recassay.errors import UsageError

LOG = log(users=60, items=60, events=1500, seed=1)
FOLD = ra.split.random(test=0.2)(LOG)[0]
RANKING = ra.protocols.ranking(bins=0)


@pytest.mark.parametrize(
    ("hint", "python"),
    [
        ("give it with --train LOG", "give it with train=LOG"),
        ("put such items last with --nan last", "put such items last with nan='last'"),
        ("name them with --columns user=...,item=...", "name them with columns='user=...,item=...'"),
        ("set --relevant-from, or check the gains", "set relevant_from=..., or check the gains"),
        ("--http :8000: it is taken", "http=':8000': it is taken"),
        ("name --larger or --smaller for it", "name larger=... or smaller=... for it"),
        ("write --split 'last(n=1)' --threads 2", "write split='last(n=1)' threads=2"),
        ("recassay fit ALS FOLD --threads 2 makes one", "recassay fit ALS FOLD --threads 2 makes one"),
    ],
)
def test_options_are_keywords_in_python(hint, python):
    error = UsageError("U105", "it is missing", hint=hint)
    assert str(error).endswith(f"Try:   {python}")
    assert error.for_shell().endswith(f"Try:   {hint}")


def test_a_metric_that_needs_the_training_log_says_so_in_the_words_of_the_caller():
    with pytest.raises(UsageError, match=r"U105[^-]*Try:   give it with train=LOG$"):
        ra.score({"mine": {"ann": ["x"]}}, {"ann": ["x"]}, "epc@1")


@pytest.mark.parametrize(
    ("call", "what", "hint"),
    [
        (lambda: ra.split.random(test_size=0.2), "random has no parameter 'test_size'", "did you mean 'test'"),
        (lambda: ra.models.ALS(factor=3), "ALS has no parameter 'factor'", "did you mean 'factors'"),
        (lambda: ra.models.parse("ALS(factor=3)"), "ALS has no parameter 'factor'", "did you mean 'factors'"),
        (lambda: ra.models.Popular(3), "Popular: too many positional arguments", "write Popular()"),
        (
            lambda: ra.split.uniform_items(seed=1),
            "uniform_items: missing a required argument: 'test'",
            r"write uniform_items\(test=\.\.\.\)",
        ),
        (lambda: ra.protocols.ranking(bin=1), "ranking has no parameter 'bin'", "did you mean 'bins'"),
        (
            lambda: LOG.take([99_999]),
            r"rows must be numbers from 0 to 1,499 or a mask of 1,500 values, got \[99999\]",
            "",
        ),
        (lambda: LOG.take(["a"]), "rows must be numbers", ""),
        (lambda: LOG.take(np.ones(3, bool)), "rows must be numbers", ""),
    ],
)
def test_a_mistyped_call_is_an_error_with_a_suggestion(call, what, hint):
    with pytest.raises(UsageError, match=rf"U102\] {what}(?s:.*){hint}"):
        call()


def test_rows_are_taken_by_a_list_as_by_an_array():
    assert LOG.take([3, 0]).users.tolist() == LOG.users[[3, 0]].tolist()
    assert len(LOG.take([])) == 0


class FactorizationOfTheirs:
    """Stands in for a model of the library implicit."""

    __module__ = "implicit.als"

    def fit(self, matrix):
        raise AssertionError("it is refused before")


@pytest.mark.parametrize(
    ("model", "what"),
    [
        (object(), "a model is needed, and this is of type object"),
        (lambda user: [], "(?s:.*)Try:   wrap a function: ra.models.ScoreFunction"),
        (
            FactorizationOfTheirs(),
            r"FactorizationOfTheirs is a model of the library implicit(?s:.*)ra.models.Implicit\(model\)",
        ),
    ],
)
def test_what_is_no_model_of_ours_is_refused_with_what_to_write(model, what):
    with pytest.raises(UsageError, match=rf"U124\] {what}"):
        ra.play(model, FOLD, RANKING)


def test_a_typeerror_from_within_a_class_stays_one():
    class Odd(ra.models.BuiltIn):
        name = "Odd"

        def __init__(self):
            raise TypeError("of its own")

    with pytest.raises(TypeError, match="of its own"):
        Odd()
