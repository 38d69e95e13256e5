"""Registries reject ambiguous names and things that cannot be registered."""

import subprocess
import sys

import pytest

import recassay as ra
from recassay.data.io.formats import BUILT_IN, Format
from recassay.errors import UsageError
from recassay.metrics.base import Accuracy
from recassay.metrics.registry import METRICS
from recassay.naming.registry import Registry
from recassay.split import filters
from recassay.split.filters import Filter

from ...refusals import refused


def odd_format(name="odd"):
    return Format(name, "a format of a test", lambda head: False, BUILT_IN[0].table)


def test_a_metric_is_found_without_importing_all_others():
    code = (
        "import sys; from recassay.metrics.registry import METRICS; found = METRICS.find('ndcg');"
        "print('recassay.metrics.sequence.accuracy' in sys.modules, found is METRICS.kinds['ndcg']);"
        "print('recassay.metrics.sequence.accuracy' in sys.modules);"
        "print(METRICS.find('ndcg') is found, METRICS.find('nDCG') is found)"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed == "False True\nTrue\nTrue True\n"


def test_a_metric_of_this_process_clashes_with_one_that_was_not_imported():
    code = (
        "import recassay as ra\n"
        "from recassay.metrics.base import Accuracy\n"
        "class Mine(Accuracy):\n    name = 'gini'\n"
        "try:\n    ra.metrics.parse_metric('ndcg@10')\nexcept ra.UsageError as error:\n    print(error.code)\n"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed == "U109\n"


@pytest.fixture
def formats():
    return Registry("file format", "recassay.data.io", Format, group="recassay.formats", values=True)


def test_two_registered_things_of_one_name_are_rejected(formats):
    formats.add(odd_format(), module="package_a")
    with refused("U109", match="two file formats are named 'odd'"):
        formats.add(odd_format(), module="package_b")


def test_a_thing_without_a_kind_cannot_be_registered():
    with refused("U124", match="neither a model class"):
        ra.register(7)


def define(answer):
    class Found(Filter):
        name = "found_at_once"
        meaning = answer

    return Found


def test_a_class_is_found_from_its_definition_until_it_is_renamed():
    made = []
    for answer in (1, 2):  # as when a cell of a notebook is run twice
        made.append(define(answer))
        assert filters.REGISTRY.find("found_at_once") is made[-1]
        assert filters.REGISTRY.find("found_at_once").meaning == answer
    for kind in made:
        kind.name = ""
    with pytest.raises(UsageError, match="there is no filter 'found_at_once'"):
        filters.REGISTRY.find("found_at_once")


def test_subclasses_are_searched_again_only_after_a_definition(monkeypatch):
    searches = []
    search = Registry._search
    monkeypatch.setattr(Registry, "_search", lambda *given: (searches.append(given[1]), search(*given))[1])
    assert METRICS.kinds  # imports all modules
    for name in ("ndcg", "ndcg", "nDCG"):
        assert METRICS.find(name).name == "ndcg"
    assert searches == ["ndcg", "nDCG"]
    type("Defined", (Accuracy,), {})
    METRICS.find("ndcg")
    assert searches == ["ndcg", "nDCG", "ndcg"]
