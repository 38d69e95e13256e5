"""Codes are registered, raised, tested and documented; errors can be pickled."""

import pickle
import re
from pathlib import Path

import pytest

import recassay
from recassay.errors import InputError, InternalError, RecassayError, UsageError, explanations

CODES = explanations()
SOURCE = Path(recassay.__file__).parent
TESTS = Path(__file__).parents[1]


def codes_in(folder, without):
    """Return the codes that occur in the files of a folder, except in ``without``, a file or folder."""
    texts = (path.read_text() for path in sorted(folder.rglob("*.py")) if without not in (path, *path.parents))
    return {code for text in texts for code in re.findall(r"\b[IUX]\d{3}\b", text)}


def test_raised_codes_are_the_registered_codes():
    raised = codes_in(SOURCE, SOURCE / "errors")
    assert sorted(set(CODES) - raised) == []
    assert sorted(raised - set(CODES)) == []


def test_every_code_has_a_test():
    assert sorted(set(CODES) - codes_in(TESTS, Path(__file__))) == []


def test_every_code_has_a_class_by_its_letter():
    for code in CODES:
        assert re.fullmatch(r"[IUX][1-9]\d\d", code)
    for path in SOURCE.rglob("*.py"):
        for kind, code in re.findall(r"\b(\w+Error)\(\s*\"([IUX])\d{3}\"", path.read_text()):
            assert kind == {"I": "InputError", "U": "UsageError", "X": "InternalError"}[code], path.name


@pytest.mark.parametrize("kind", [RecassayError, InputError, UsageError, InternalError])
def test_an_error_survives_pickling(kind):
    error = kind("U102", "three of 7 are wrong", where="here", hint="mend them")
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is kind
    assert (again.code, again.what, again.where, again.hint) == ("U102", "three of 7 are wrong", "here", "mend them")
    assert str(again) == str(error) == "[U102] three of 7 are wrong.\n  Where: here\n  Try:   mend them"


def test_where_and_hint_are_optional_and_the_full_stop_is_not_doubled():
    assert str(UsageError("U101", "no.")) == "[U101] no."


def test_exit_codes():
    assert (InputError.exit_code, UsageError.exit_code, InternalError.exit_code) == (2, 2, 3)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("redis://user:hush@[::1]:6379/0?stream=a&group=g", "redis://[::1]:6379/0?stream=a&group=g"),
        (
            "kafka://h:1,i:2/t?sasl.username=me&sasl.password=hush",
            "kafka://h:1,i:2/t?sasl.username=***&sasl.password=***",
        ),
        ("redis://:hu?sh@h/0?stream=a", "redis://***?***"),
        ("s3a://key:hush@bucket/path is gone", "s3a://bucket/path is gone"),
        ("redis://:hu/sh#@h/0", "redis://h/0"),
        ("there is no source ftp://.", "there is no source ftp://."),
    ],
)
def test_secrets_in_addresses_are_not_shown(text, shown):
    error = UsageError("U254", text, where=text)
    assert (error.what, error.where) == (shown.rstrip("."), shown)
    assert "hu" not in f"{error!r} {error}"
