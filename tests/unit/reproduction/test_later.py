"""Stored results keep a lock that is valid after a change of the code, if a quick run has the same digits."""

from dataclasses import replace

import polars as pl
import pytest

from recassay.errors import UsageError
from recassay.reproduction.later import require_same_logs, with_later_code
from recassay.reproduction.page import gallery_page
from recassay.reproduction.paper import read_paper
from recassay.reproduction.results import code_of, outdated, read_reproduction, write_lock
from recassay.reproduction.run import reproduce

PAPER = """
title: Tiny
reference: Nobody, 2026.
about: Two systems.
needs: A log.
sources:
  scores:
    study: tiny.yaml
  means:
    sql: SELECT system, mean FROM scores WHERE fold = 'all'
claims:
  above:
    claim: Popularity is above 0
    where: page 1
    value: SELECT mean AS value FROM means WHERE system = 'popular'
    at_least: 0
"""
STUDY = """
study: tiny
data: {name: toy, filters: ["core(users=2)"]}
split: random(test=0.2)
models: {popular: Popular, other: Random}
metrics: ndcg@10
quick: {data: {generate: "log(users=60, items=40, events=900, seed=1)"}}
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Return a folder with a paper, and with a log of 60 users in `data`."""
    home = tmp_path_factory.mktemp("papers")
    (home / "paper.yaml").write_text(PAPER)
    (home / "tiny.yaml").write_text(STUDY)
    (home / "data" / "toy").mkdir(parents=True)
    rows = {"user": [row % 60 for row in range(900)], "item": [row * row % 37 for row in range(900)]}
    pl.DataFrame(rows).unique(maintain_order=True).write_csv(home / "data" / "toy" / "ratings.csv")
    return home


@pytest.fixture(scope="module")
def made(home):
    """Return the results of the paper on its log, by today's code."""
    return reproduce(read_paper(home / "paper.yaml"), home / "out", data=home / "data")


@pytest.fixture
def stored(made):
    """Return results that were made while one module was another."""
    return with_code(made, stats__ranks="old")


@pytest.fixture(scope="module")
def after(home):
    """Return a quick run by today's code."""
    return reproduce(read_paper(home / "paper.yaml"), home / "after", quick=True)


@pytest.fixture
def before(after):
    """Return a quick run by the code of the stored results, with the same numbers."""
    return with_code(after, stats__ranks="old")


def with_code(found, **changes):
    """Results whose lock has other digests of some modules."""
    paths = {name.replace("__", "/") + ".py": digest for name, digest in changes.items()}
    return replace(found, lock={**found.lock, "code": {**found.lock["code"], **paths}})


def refused(stored, before, after):
    with pytest.raises(UsageError) as error:
        with_later_code(stored, before, after)
    assert error.value.code == "U265"
    return str(error.value)


def test_results_stay_valid_where_a_quick_run_has_the_same_digits(stored, before, after, tmp_path):
    assert outdated(stored) == ["code changed: stats/ranks.py"]
    found = with_later_code(stored, before, after)
    assert outdated(found) == []
    assert found.lock["code"] == stored.lock["code"]
    assert found.lock["later"]["code"].keys() == {"stats/ranks.py"}
    assert "1 module has changed since" in gallery_page(found)
    assert "has changed since" not in gallery_page(stored)
    again = with_later_code(found, after, after)  # the next change starts from today's code
    assert again.lock["later"]["code"] == found.lock["later"]["code"]


def test_the_later_code_is_read_again(stored, before, after, home):
    found = with_later_code(stored, before, after)
    write_lock(found, home / "out" / "result")
    assert code_of(read_reproduction(read_paper(home / "paper.yaml"), home / "out" / "result")) == code_of(found)


def test_a_module_that_is_gone_does_not_count(made, after):
    found = with_later_code(with_code(made, stats__gone="old"), with_code(after, stats__gone="old"), after)
    assert outdated(found) == []
    assert "stats/gone.py" not in code_of(found)
    again = with_later_code(found, after, after)  # nor after the next change
    assert outdated(again) == []


def test_what_does_not_show_the_same_numbers_is_refused(stored, before, after):
    other = replace(after, lock={**after.lock, "tables": {**after.lock["tables"], "means": "another"}})
    assert "1 of 3 tables differ: means" in refused(stored, before, other)
    assert "another stats/ranks.py than they have" in refused(stored, after, after)
    assert "another stats/ranks.py than there is now" in refused(stored, before, before)
    assert "both runs must be quick ones" in refused(stored, stored, after)
    older = replace(after, lock={**after.lock, "versions": {**after.lock["versions"], "numpy": "1"}})
    assert "differ in their versions" in refused(stored, before, older)
    unrun = with_code(stored, models__factors__ease="old")
    assert "models/factors/ease.py changed, and the quick version does not run it" in refused(unrun, before, after)


def test_logs_are_read_again(made, home, tmp_path):
    assert require_same_logs(made, home / "data") == 1
    (tmp_path / "toy").mkdir()
    rows = pl.read_csv(home / "data" / "toy" / "ratings.csv")
    rows.head(rows.height - 1).write_csv(tmp_path / "toy" / "ratings.csv")
    with pytest.raises(UsageError, match="the log toy is now read as another one"):
        require_same_logs(made, tmp_path)
