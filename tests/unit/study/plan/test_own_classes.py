"""Metrics, splits and filters from a class in a Python file beside the study, as models have it."""

from pathlib import Path

import pytest

from recassay.errors import UsageError
from recassay.metrics.registry import METRICS
from recassay.split import REGISTRY, filters
from recassay.study.config.reading import read_document
from recassay.study.config.schema import read_study
from recassay.study.plan.parsing import make_plan
from recassay.study.run.study import build_lock

MINE = '''
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar
import numpy as np
from recassay.metrics.base import Accuracy
from recassay.split.base import RowAssignment, Split
from recassay.split.filters import Filter

@dataclass(frozen=True, repr=False)
class Misses(Accuracy):
    """Items of the list that are not relevant."""
    name = "own_misses"
    bounds = (0.0, float("inf"))
    extra: float = 0.0
    def judge(self, lists):
        return self.k + self.extra - lists.hits(self.k, self.relevant_from)

@dataclass(frozen=True, repr=False)
class OddItems(Split):
    """Test on items with an odd code."""
    name: ClassVar[str] = "own_odd_items"
    every: int = 2
    def cuts(self, log, facts):
        yield RowAssignment(log.items % self.every == 1)

@dataclass(frozen=True, repr=False)
class Busy(Filter):
    """Users with many events."""
    name: ClassVar[str] = "own_busy"
    def kept(self, log, facts):
        kept = (np.bincount(log.users, minlength=log.n_users) >= 5)[log.users]
        return kept, {"user too quiet": int((~kept).sum())}

class Nameless:
    pass
'''
STUDY = """\
study: own
data: {generate: "log(users=60, items=40, events=900)", filters: mine.py:Busy}
split: mine.py:OddItems(every=3)
models: [Popular, Random]
metrics: ["mine.py:Misses(extra=1)@5", recall@5]
judge: {resamples: 100}
"""


def planned(folder, text=STUDY):
    (folder / "mine.py").write_text(MINE)
    (folder / "study.yaml").write_text(text)
    document = read_document(folder / "study.yaml")
    return make_plan(document, read_study(document))


@pytest.fixture(autouse=True)
def forgotten():
    yield
    for registry, name in ((METRICS, "own_misses"), (REGISTRY, "own_odd_items"), (filters.REGISTRY, "own_busy")):
        if name in registry.names:
            registry.find(name).name = ""


def test_classes_of_a_file_are_metrics_splits_and_filters(tmp_path):
    plan = planned(tmp_path)
    assert list(plan.metrics) == ["own_misses(extra=1)@5", "recall@5"]
    assert [str(split) for split in plan.splits] == ["own_odd_items(every=3)"]
    assert [str(step) for step in plan.own_filters["generated"]] == ["own_busy"]
    lock = build_lock(plan, {})
    assert list(lock["plugins"]) == ["mine.py"]
    (tmp_path / "mine.py").write_text(MINE + "# changed\n")
    assert build_lock(plan, {})["plugins"] != lock["plugins"]


def test_a_study_with_them_runs(tmp_path, monkeypatch):
    import recassay as ra

    planned(tmp_path)
    monkeypatch.chdir(Path("/"))  # paths are relative to the study file
    results = ra.run_study(tmp_path / "study.yaml", tmp_path / "out")
    assert not results.failures
    means = {(row["system"], row["metric"]): row["mean"] for row in results.rows}
    assert means["Popular", "own_misses(extra=1)@5"] == 6  # no test item is in training: five misses, and one extra


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("mine.py:Misses", "mine.py:Mises", "did you mean 'Misses'"),
        ("mine.py:OddItems", "nowhere.py:OddItems", "no file"),
        ("mine.py:Misses(extra=1)", "mine.py:Nameless", "no name of its own"),
    ],
)
def test_mistakes_name_the_line(tmp_path, old, new, what):
    with pytest.raises(UsageError, match="U123") as caught:
        planned(tmp_path, STUDY.replace(old, new))
    assert what in str(caught.value)
    assert "study.yaml, line" in caught.value.where
