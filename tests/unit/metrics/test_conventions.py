"""How lists are read before a metric looks at them: repeated items and the order of ties."""

from __future__ import annotations

import polars as pl
import pytest

import recassay as ra
from recassay.data.run import Run
from recassay.data.truth import Truth
from recassay.metrics.align import Conventions, meet


def read(conventions: Conventions, **columns: list[float]) -> tuple[list[object], Run]:
    """The items of one user's list as read, and the run that was met."""
    frame = pl.DataFrame({"user_id": ["u"] * len(columns["item_id"]), **columns})
    truth = Truth.from_frame(pl.DataFrame({"user_id": ["u"], "item_id": frame["item_id"][:1]}))
    meeting = meet(Run.from_frame(frame, "run"), truth, conventions)
    assert meeting.met.duplicate_rows == frame.height - frame["item_id"].n_unique()
    return meeting.run.vocabulary.decode(meeting.run.items).to_list(), meeting.run


@pytest.mark.parametrize(
    ("duplicates", "order", "items"),
    [
        ("first", "score", [7, -3, 5]),
        ("last", "score", [-3, 5, 7]),  # 7 takes its last score, 0.1
        ("keep", "score", [7, -3, 5, 7]),
        ("first", "given", [7, -3, 5]),
        ("last", "given", [7, -3, 5]),  # ranks settle the order: the first place stands
    ],
)
def test_repeated_items(duplicates: str, order: str, items: list[int]) -> None:
    conventions = Conventions(order=order, duplicates=duplicates)  # type: ignore[arg-type]
    found, _ = read(conventions, item_id=[7, -3, 5, 7], rank=[1, 2, 3, 4], score=[0.9, 0.8, 0.2, 0.1])
    assert found == items


def test_last_of_a_list_without_ranks() -> None:
    found, run = read(Conventions(duplicates="last"), item_id=[7, -3, 5, 7], score=[0.9, 0.8, 0.1, 0.1])
    assert found == [-3, 5, 7]  # 5 and 7 tie at 0.1
    assert run.scores is not None
    assert run.scores.tolist() == [0.8, 0.1, 0.1]


@pytest.mark.parametrize(
    ("ties", "items"),
    [("id", [-3, 5, 40]), ("id_descending", [40, 5, -3]), ("trec", [5, 40, -3]), ("row", [5, 40, -3])],
)
def test_tied_items(ties: str, items: list[int]) -> None:
    found, _ = read(Conventions(ties=ties), item_id=[5, 40, -3], score=[0.5, 0.5, 0.5])  # type: ignore[arg-type]
    assert found == items


def test_a_profile_says_what_it_does_not_reproduce() -> None:
    tied, strict = {"ann": {"x": 0.5, "y": 0.5}}, {"ann": {"x": 0.6, "y": 0.5}}
    findings = {
        name: [
            one.detail
            for one in ra.score({"run": run}, {"ann": ["x"]}, "hit@1 mrr", profile=profile).findings
            if one.code == "P001"
        ]
        for name, run, profile in [("tied", tied, "recbole"), ("strict", strict, "recbole"), ("fine", tied, "replay")]
    }
    assert findings["strict"] == findings["fine"] == []
    assert findings["tied"] == ["all metrics with tied scores: torch.topk leaves the order of ties open"]


@pytest.mark.parametrize(
    ("profile", "run", "metric", "excluded"),
    [
        ("cornac", {"ann": ["x"], "bob": ["x"]}, "mrr", True),
        ("cornac", {"ann": ["x"], "bob": ["y"]}, "mrr", False),
        ("cornac", {"ann": ["x"], "bob": ["x"]}, "hit@1", False),
        ("torchmetrics", {"ann": {"x": 0.0}, "bob": {"y": 1.0}}, "precision@1", True),
        ("torchmetrics", {"ann": {"x": 0.1}, "bob": {"y": 1.0}}, "precision@1", False),
        ("torchmetrics", {"ann": {"x": 0.0}, "bob": {"y": 1.0}}, "ndcg@1", False),
        ("rectools", {"ann": ["x", "x"], "bob": ["y"]}, "map@2", True),
        ("rectools", {"ann": ["x", "x"], "bob": ["y"]}, "mrr@2", False),
        ("lenskit", {"ann": ["x"], "bob": ["y"], "eve": ["z"]}, "precision@1", True),
        ("lenskit", {"ann": ["x"], "bob": ["y"], "eve": ["z"]}, "recall@1", False),
    ],
)
def test_exceptions_of_a_profile_are_found_where_they_apply(profile, run, metric, excluded) -> None:
    scores = ra.score({"run": run}, {"ann": ["x"], "bob": ["y"]}, metric, profile=profile, interval=None)
    assert any(one.code == "P001" for one in scores.findings) is excluded
