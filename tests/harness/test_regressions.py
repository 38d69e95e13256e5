"""Inputs that once were faults stay refused, and each class of the harness passes on a few inputs of a fixed seed."""

from pathlib import Path

import pytest

from recassay import cli

from .cases import RUNNERS, make, prepare, run
from .fuzz import STORED
from .structures import NAMES

SEED = 1


def stored_case(path):
    name, _, rest = path.name.partition("-")
    return f"{name}:{''.join(Path(rest).suffixes)}" if name == "file" else name, path.read_bytes()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    home, build_app = tmp_path_factory.mktemp("fuzz"), cli.build_app
    prepare(home)
    yield home
    cli.build_app = build_app  # other tests build their own command lines


@pytest.mark.parametrize("path", sorted(STORED.glob("*-*")), ids=lambda path: path.name)
def test_an_input_that_was_a_fault_is_refused_or_read(path, folder):
    assert "FAULT" not in run(stored_case(path), folder)


@pytest.mark.parametrize("name", NAMES, ids=str)
def test_each_verb_of_the_structures_takes_its_sound_arguments(name, folder):
    assert run(("structures", name), folder) == "ok"


@pytest.mark.parametrize("kind", RUNNERS)
def test_a_few_inputs_of_every_class_are_refused_or_read(kind, folder):
    cases = (make(number, SEED) for number in range(200))
    found = [(case, run(case, folder)) for case in cases if case[0].partition(":")[0] == kind]
    assert [case for case in found if "FAULT" in case[1]] == []
    assert found
