"""LensKit: a ``MeasurementCollector`` over two collections of item lists; a user that has no list gets an empty one."""

from __future__ import annotations

import warnings
from importlib import metadata
from typing import Any

from lenskit.data import ItemList, ItemListCollection
from lenskit.metrics import DCG, NDCG, RBP, Hit, MeasurementCollector, Precision, Recall, RecipRank
from lenskit.metrics.ranking import AveragePrecision, LogRankWeight

from .shared import Answers, answer, attempt, relevant

TRANSCRIBED = False


def version() -> str:
    return metadata.version("lenskit")


def answers(case: dict[str, Any]) -> Answers:
    k = case["k"]
    computed = {
        f"Precision@{k}": Precision(k),
        f"Recall@{k}": Recall(k),
        f"NDCG@{k}": NDCG(k),
        f"NDCG(weight=LogRankWeight(offset=1))@{k}": NDCG(k, weight=LogRankWeight(offset=1)),
        f"NDCG(gain='rating')@{k}": NDCG(k, gain="rating"),
        f"DCG@{k}": DCG(k),
        f"AveragePrecision@{k}": AveragePrecision(k),
        f"RecipRank@{k}": RecipRank(k),
        f"Hit@{k}": Hit(k),
        f"RBP@{k}": RBP(k),
        f"RBP(normalize=True)@{k}": RBP(k, normalize=True),
    }
    return {name: attempt(lambda metric=metric: _answer(case, metric)) for name, metric in computed.items()}


def _answer(case: dict[str, Any], metric: Any) -> dict[str, Any]:
    liked = relevant(case)
    truth = {
        user: ItemList(liked[user], rating=[float(judged[item]) for item in liked[user]])
        for user, judged in case["truth"].items()
    }
    users = [*case["run"], *(user for user in case["truth"] if user not in case["run"])]
    lists = {user: _ranked(case["run"].get(user, [])) for user in users}
    collector = MeasurementCollector()
    collector.add_metric(metric, "value")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # 0/0 of a user without test items
        summary, per_list = collector.measure_run(
            ItemListCollection.from_dict(lists, key="user_id"), ItemListCollection.from_dict(truth, key="user_id")
        )
    return answer(summary["value.mean"], per_list["value"].to_dict())


def _ranked(rows: list[list[Any]]) -> Any:
    return ItemList([item for item, _ in rows], scores=[float(score) for _, score in rows], ordered=True)
