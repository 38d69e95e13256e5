"""Things with a name read the same everywhere, and say what was meant when they do not exist."""

import pytest

from recassay import models
from recassay.models.baselines import Random
from recassay.models.factors import PureSVD

from ...refusals import refused


def test_text_and_value_are_the_same():
    assert str(PureSVD(factors=7)) == repr(PureSVD(7)) == "PureSVD(factors=7)"
    assert str(PureSVD()) == "PureSVD"
    assert models.parse("PureSVD(factors=7)") == PureSVD(7)
    assert models.parse(Random(3)) == Random(3)
    assert models.REGISTRY.parse_list(["Random(seed=2), Popular", PureSVD()])[1:] == [
        models.parse("popular"),
        PureSVD(),
    ]
    assert PureSVD(9).parameters == {"factors": 9}


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ("Populer", "U115", ["no model 'Populer'", "'Popular'"]),
        ("PureSVD(factor=3)", "U102", ["no parameter 'factor'", "'factors'"]),
        ("PureSVD(factors='three')", "U102", ["factors='three'", "give a value of type int"]),
        ("Popular(seed=1)", "U102", ["takes no parameters"]),
        ("Popular@3", "U104", ["has no cut-off"]),
    ],
)
def test_mistakes_are_explained(text, code, words):
    with refused(code) as caught:
        models.parse(text)
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_titles_come_from_docstrings():
    assert models.REGISTRY.title("Popular").startswith("The popularity baseline")
