"""The exact versions that `make test` installs are allowed by pyproject.toml, and the oldest are its lower bounds."""

import re
import tomllib
from itertools import chain
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
REQUIREMENTS = ROOT / "requirements"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
CORE = PROJECT["project"]["dependencies"]
ALL = PROJECT["project"]["optional-dependencies"]
EXTRAS = {name: lines for name, lines in ALL.items() if name != "all"}
LOCKED = {name: lines for name, lines in EXTRAS.items() if name not in ("mlflow", "lake")}  # no test installs them
GROUPS = PROJECT["dependency-groups"]
NEWEST = ("newest-3.11.txt", "newest-3.12.txt", "newest-3.13.txt")


def exact(file):
    lines = (REQUIREMENTS / file).read_text(encoding="utf-8").splitlines()
    return dict(line.split("==") for line in lines if not line.startswith("#"))


def bounds(requirements):
    """Name and lower bound, or exact version, of each requirement: ``"numpy>=2.0"`` is ``("numpy", "2.0")``."""
    found = [re.match(r"([A-Za-z0-9._-]+)[>=]=([0-9.]+)", one) for one in requirements if isinstance(one, str)]
    return [(one[1], one[2]) for one in found]


def numbers(version):
    """``"2.0"`` and ``"2.0.0"`` are one version."""
    return [int(part) for part in re.findall(r"\d+", version)] + [0] * (4 - version.count("."))


@pytest.mark.parametrize("file", [*NEWEST, "oldest-3.11.txt"])
def test_files_of_exact_versions_name_neither_machine_nor_build(file):
    text = (REQUIREMENTS / file).read_text(encoding="utf-8")
    assert not re.search(r"/|https?:|@|\+|--", text.replace("`make update`", "")), "a place, a build or an option"
    assert exact(file).keys() >= {"pip", "hatchling", "editables", "setuptools"}, "what installs and builds"


@pytest.mark.parametrize("file", NEWEST)
def test_everything_that_tests_ask_for_has_an_exact_version_that_is_allowed(file):
    versions = exact(file)
    groups = [line for name, lines in GROUPS.items() if name != "dev" for line in lines]
    for name, bound in bounds([*CORE, *chain(*LOCKED.values()), *groups]):
        assert numbers(versions[name.lower().replace("_", "-")]) >= numbers(bound), name


def test_the_oldest_versions_are_the_lower_bounds():
    versions = exact("oldest-3.11.txt")
    listed = [
        *PROJECT["project"]["dependencies"],
        *(line for name in LOCKED if name != "neural" for line in LOCKED[name]),
    ]
    for name, bound in bounds(listed):
        assert numbers(versions[name]) == numbers(bound), f"{name}: make update"


def test_what_tests_and_extras_both_ask_for_has_one_bound():
    extras = dict(bounds(chain(*EXTRAS.values())))
    repeated = {name: bound for name, bound in bounds(GROUPS["test"]) if name in extras}
    assert repeated == {name: extras[name] for name in repeated}
    assert repeated


def test_the_extra_all_has_every_other_extra():
    assert ALL["all"] == [f"recassay[{','.join(EXTRAS)}]"]
