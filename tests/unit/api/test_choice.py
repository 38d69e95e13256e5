"""The engine that a call gets, and the checks of option objects."""

import pytest

import recassay as ra
from recassay.backends.base import Remote, engine_of

from ...refusals import refused


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


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda: ra.options.Execution(threads=0), "U102"),
        (lambda: ra.options.Execution(engine="sparks"), "U107"),
        (lambda: ra.options.ReadOptions(nan="lats"), "U107"),
        (lambda: ra.options.ReadOptions(negative="unjugded"), "U107"),
        (lambda: ra.options.ConventionOptions(ties="expekted"), "U107"),
        (lambda: ra.options.ConventionOptions(order="allow"), "U107"),
        (lambda: ra.options.GroupOptions(smallest_group=1), "U102"),
        (lambda: ra.options.Until(0.1, strata=0), "U102"),
    ],
)
def test_options_are_checked_when_they_are_made(make, code):
    with refused(code):
        make()
