"""How lists are read before metrics are computed: repeated items and the order of ties."""

from __future__ import annotations

import math

import polars as pl
import pytest

import recassay as ra
from recassay.data.run import Run
from recassay.data.truth import Truth
from recassay.metrics.align import Conventions, align

from ...scoring import score


def read(conventions: Conventions, **columns: list[float]) -> tuple[list[object], Run]:
    """Return the items of one user's list as read, and the aligned run."""
    frame = pl.DataFrame({"user_id": ["u"] * len(columns["item_id"]), **columns})
    truth = Truth.from_frame(pl.DataFrame({"user_id": ["u"], "item_id": frame["item_id"][:1]}))
    alignment = align(Run.from_frame(frame, "run"), truth, conventions)
    assert alignment.counts.duplicate_rows == frame.height - frame["item_id"].n_unique()
    return alignment.run.vocabulary.decode(alignment.run.items).to_list(), alignment.run


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
def test_repeated_items_follow_the_convention(duplicates: str, order: str, items: list[int]) -> None:
    conventions = Conventions(order=order, duplicates=duplicates)  # type: ignore[arg-type]
    found, _ = read(conventions, item_id=[7, -3, 5, 7], rank=[1, 2, 3, 4], score=[0.9, 0.8, 0.2, 0.1])
    assert found == items


def test_the_last_score_of_a_repeated_item_orders_a_list_without_ranks() -> None:
    found, run = read(Conventions(duplicates="last"), item_id=[7, -3, 5, 7], score=[0.9, 0.8, 0.1, 0.1])
    assert found == [-3, 5, 7]  # 5 and 7 tie at 0.1
    assert run.scores is not None
    assert run.scores.tolist() == [0.8, 0.1, 0.1]


@pytest.mark.parametrize(
    ("ties", "items"),
    [("id", [-3, 5, 40]), ("id_descending", [40, 5, -3]), ("trec", [5, 40, -3]), ("row", [5, 40, -3])],
)
def test_tied_items_follow_the_convention(ties: str, items: list[int]) -> None:
    found, _ = read(Conventions(ties=ties), item_id=[5, 40, -3], score=[0.5, 0.5, 0.5])  # type: ignore[arg-type]
    assert found == items


def test_a_profile_reports_what_it_does_not_reproduce() -> None:
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
    assert findings["tied"] == ["all metrics with tied scores: torch.topk does not define the order of ties"]


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
def test_an_exclusion_of_a_profile_is_reported_only_where_it_applies(profile, run, metric, excluded) -> None:
    scores = ra.score({"run": run}, {"ann": ["x"], "bob": ["y"]}, metric, profile=profile, interval=None)
    assert any(one.code == "P001" for one in scores.findings) is excluded


TRUTH = {"ann": {"x": 1.0}, "bob": {"x": 1.0, "y": 0.0, "z": 1.0}, "eve": {"y": 0.0}}
RUN = {"ann": ["x", "q"], "bob": ["x", "z", "y"], "eve": ["y"]}
TRAIN = pl.DataFrame({"user_id": ["u", "v", "v"], "item_id": ["z", "z", "y"]})  # nobody had x
ITEMS = pl.DataFrame({"item_id": ["x", "y", "z"], "genres": [[], ["b"], ["a"]]})  # x has no genre


class TestNoRelevant:
    """``no_relevant="zero"`` concerns users without a relevant item, and no other undefined value."""

    def values(self, metric: str, **stated: str) -> list[float]:
        scores = score({"run": RUN}, TRUTH, metric, train=TRAIN, items=ITEMS, interval=None, **stated)
        return scores.values("run", scores.metrics[0]).tolist()

    def test_auc_of_judged_negatives_by_hand(self) -> None:
        # ann has no judged item to pair x with: no value. bob: x and z are above y, 2 of 2 pairs. eve has no relevant
        # item: 0 under no_relevant="zero". The mean is 1/1, or (1 + 0)/2.
        assert self.values("auc(negatives='judged')") == pytest.approx([math.nan, 1.0, math.nan], nan_ok=True)
        assert self.values("auc(negatives='judged')", no_relevant="zero") == pytest.approx(
            [math.nan, 1.0, 0.0], nan_ok=True
        )

    @pytest.mark.parametrize(
        ("metric", "undefined"),
        [
            ("auc(negatives='judged')", "ann"),
            ("auc(targets=3)", None),
            ("snips(gamma=1.0)", "ann"),
            ("ips(gamma=1.0)", "ann"),
            ("stratified_recall", "ann"),
            ("alpha_ndcg", "ann"),
            ("err_ia@3", "ann"),
            ("precision_ia@3", "ann"),
            ("ndcg", None),
            ("ndcg(gain='exp2')", None),
            ("recall@2", None),
        ],
    )
    def test_an_undefined_value_of_a_user_with_relevant_items_stays(self, metric: str, undefined: str | None) -> None:
        found, zero = self.values(metric), self.values(metric, no_relevant="zero")
        assert [math.isnan(value) for value in found] == [undefined == "ann", False, True]
        assert zero == pytest.approx([*found[:2], 0.0], abs=0, nan_ok=True)

    def test_an_ideal_of_zero_stays_undefined(self) -> None:
        # 2^(1 - 2) - 1 < 0 counts 0, so relevant items of gain 1 have an ideal of 0
        metric = "ndcg(gain='exp2', offset=2.0)"
        assert self.values(metric, no_relevant="zero") == pytest.approx([math.nan, math.nan, 0.0], nan_ok=True)

    def test_an_early_stop_ignores_undefined_values(self) -> None:
        """An undefined value does not count as 0 in the bounds either: with all users drawn the bounds are the mean."""
        users = range(40)
        truth = {user: {"x": 1.0} if user % 4 == 0 else {"x": 1.0, "y": 0.0} for user in users}
        run = {user: ["x", "y"] for user in users}
        metric = "auc(negatives='judged')"
        scores = ra.score(
            {"run": run}, truth, metric, conventions=ra.options.ConventionOptions(no_relevant="zero"), within=0.01
        )
        row = scores.rows[0]
        assert row.mean == 1.0
        assert row.low <= 1.0 <= row.high
        assert row.high - row.low <= 0.02
