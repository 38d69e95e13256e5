"""RePlay on Spark: all metrics in one ``OfflineMetrics`` call, which joins lists and truth once for all of them."""

from __future__ import annotations

import warnings

import on_spark
from pyspark.sql import DataFrame

warnings.simplefilter("ignore")
from replay.metrics import MRR, NDCG, HitRate, OfflineMetrics, Precision, Recall  # noqa: E402

NAMES = {"query_column": "user_id", "item_column": "item_id", "rating_column": "score"}
KINDS = {"ndcg@10": NDCG, "recall@10": Recall, "precision@10": Precision, "hit@10": HitRate, "mrr@10": MRR}


def judge(run: DataFrame, truth: DataFrame) -> dict[str, float]:
    found = OfflineMetrics([kind(10) for kind in KINDS.values()], **NAMES)(run.drop("rank"), truth)
    return {name: float(found[f"{kind.__name__}@10"]) for name, kind in KINDS.items()}


on_spark.main(judge)
