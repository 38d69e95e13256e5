"""The engine that a call gets, and options given as values or as keywords."""

import pytest

import recassay as ra
from recassay.api.choice import engine_of
from recassay.backends.base import Remote
from recassay.engine.options import one_of

from ...refusals import refused

TRUTH = {"ann": ["x", "y"], "bob": ["z"]}
RUNS = {"mine": {"ann": ["y", "q"], "bob": ["q", "z"]}, "other": {"ann": ["q", "x"], "bob": ["q", "q2"]}}


class OnCluster(Remote):
    """A value that stays on a cluster."""


@pytest.mark.parametrize(
    ("inputs", "execution", "name"),
    [
        (({"ann": ["x"]}, "run.csv"), ra.options.Execution(), "local"),
        ((OnCluster(),), ra.options.Execution(), "spark"),
        (({"mine": OnCluster()},), ra.options.Execution(), "spark"),
        ((["run.csv", OnCluster()],), ra.options.Execution(), "spark"),
        (("run.csv",), ra.options.Execution(engine="spark"), "spark"),
        (("run.csv",), ra.options.Execution(memory="1GB"), "out of core"),
        ((OnCluster(),), ra.options.Execution(engine="local"), "local"),
    ],
)
def test_inputs_and_execution_decide_on_the_engine(inputs, execution, name):
    assert engine_of(*inputs, execution=execution) == name


def test_options_as_values_give_the_numbers_of_the_keywords():
    keywords = ra.score(RUNS, TRUTH, "ndcg@2 mrr", ties="id_descending", level=0.9, seed=3, threads=1)
    values = ra.score(
        RUNS,
        TRUTH,
        "ndcg@2 mrr",
        conventions=ra.options.ConventionOptions(ties="id_descending"),
        uncertainty=ra.options.Uncertainty(level=0.9, seed=3),
        execution=ra.options.Execution(threads=1),
    )
    assert repr(values.rows) == repr(keywords.rows)
    assert values.settings == keywords.settings


def test_compare_takes_its_tests_as_one_value():
    scores = ra.score(RUNS, TRUTH, "ndcg@2", interval=None)
    keywords = ra.compare(scores, test="t", correction="none")
    assert repr(ra.compare(scores, testing=ra.options.SignificanceOptions(test="t", correction="none"))) == repr(
        keywords
    )


@pytest.mark.parametrize(
    ("name", "given", "keywords", "said"),
    [
        ("uncertainty", ra.options.Uncertainty(), ra.options.Uncertainty(level=0.9), "level= and uncertainty="),
        ("uncertainty", ra.options.Uncertainty(), ra.options.Uncertainty(method=None), "interval= and uncertainty="),
        ("execution", ra.options.Execution(), ra.options.Execution(threads=2), "threads= and execution="),
        ("reading", ra.options.ReadOptions(), ra.options.ReadOptions(nan="last"), "nan= and reading="),
    ],
)
def test_an_option_given_twice_is_refused(name, given, keywords, said):
    with pytest.raises(ra.UsageError, match=said):
        one_of(name, given, keywords)


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda: ra.options.Execution(threads=0), "U102"),
        (lambda: ra.options.Execution(engine="sparks"), "U107"),
        (lambda: ra.options.ReadOptions(nan="lats"), "U107"),
        (lambda: ra.options.ReadOptions(negative="unjugded"), "U107"),
        (lambda: ra.options.ConventionOptions(ties="expekted"), "U107"),
        (lambda: ra.options.ConventionOptions(order="allow"), "U107"),
        (lambda: ra.options.DesignOptions(method="exat"), "U107"),
    ],
)
def test_options_are_checked_when_they_are_made(make, code):
    with refused(code):
        make()


def test_a_memory_budget_is_for_scoring_only():
    budget = ra.options.Execution(memory="1GB")
    with pytest.raises(ra.UsageError, match="does not support a memory budget"):
        ra.judge([], "TI-AR-AN", "recall@5", execution=budget)
