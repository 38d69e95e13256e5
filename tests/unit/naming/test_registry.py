"""Registries reject ambiguous names and things that cannot be registered."""

import pytest

import recassay as ra
from recassay.data.io.formats import BUILT_IN, Format
from recassay.errors import UsageError
from recassay.naming.registry import Registry


def odd_format(name="odd"):
    return Format(name, "a format of a test", lambda head: False, BUILT_IN[0].table)


@pytest.fixture
def formats():
    return Registry("file format", "recassay.data.io", Format, group="recassay.formats", values=True)


def test_two_registered_things_of_one_name_are_rejected(formats):
    formats.add(odd_format(), module="package_a")
    with pytest.raises(UsageError, match="two file formats are named 'odd'") as caught:
        formats.add(odd_format(), module="package_b")
    assert caught.value.code == "U240"


def test_a_thing_without_a_kind_cannot_be_registered():
    with pytest.raises(UsageError, match="neither a model class") as caught:
        ra.register(7)
    assert caught.value.code == "U241"
