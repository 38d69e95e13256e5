"""Codes are registered, raised, tested and documented; an error travels between processes whole."""

import pickle
import re
from pathlib import Path

import pytest

import recassay
from recassay.errors import CODES, InputError, InternalError, RecassayError, UsageError

SOURCE = Path(recassay.__file__).parent
TESTS = Path(__file__).parents[1]


def codes_in(folder, without):
    texts = (path.read_text() for path in sorted(folder.rglob("*.py")) if path.name != without)
    return {code for text in texts for code in re.findall(r"\b[IUX]\d{3}\b", text)}


def test_every_code_is_raised_somewhere_and_every_code_raised_is_registered():
    raised = codes_in(SOURCE, "errors.py")
    assert sorted(set(CODES) - raised) == []
    assert sorted(raised - set(CODES)) == []


def test_every_code_has_a_test():
    assert sorted(set(CODES) - codes_in(TESTS, "test_errors.py")) == []


def test_every_code_has_a_class_by_its_letter():
    for code in CODES:
        assert re.fullmatch(r"[IUX][1-9]\d\d", code)
    for path in SOURCE.rglob("*.py"):
        for kind, code in re.findall(r"\b(\w+Error)\(\s*\"([IUX])\d{3}\"", path.read_text()):
            assert kind == {"I": "InputError", "U": "UsageError", "X": "InternalError"}[code], path.name


@pytest.mark.parametrize("kind", [RecassayError, InputError, UsageError, InternalError])
@pytest.mark.parametrize("code", CODES)
def test_an_error_survives_pickling(kind, code):
    error = kind(code, "three of 7 are wrong", where="here", hint="mend them")
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is kind
    assert (again.code, again.what, again.where, again.hint) == (code, "three of 7 are wrong", "here", "mend them")
    assert str(again) == str(error) == f"[{code}] three of 7 are wrong.\n  Where: here\n  Try:   mend them"


def test_where_and_hint_may_be_absent_and_a_full_stop_stands_once():
    assert str(UsageError("U101", "no.")) == "[U101] no."


def test_a_code_that_is_not_registered_is_refused():
    with pytest.raises(KeyError, match="U999 is not registered"):
        UsageError("U999", "no")


def test_exit_codes():
    assert (InputError.exit_code, UsageError.exit_code, InternalError.exit_code) == (2, 2, 3)
