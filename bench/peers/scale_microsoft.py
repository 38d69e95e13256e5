"""Microsoft recommenders on Spark: ``SparkRankingEvaluation``, which has three of the five metrics."""

from __future__ import annotations

import on_spark
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from recommenders.evaluation.spark_evaluation import SparkRankingEvaluation

NAMES = {"col_user": "user_id", "col_item": "item_id", "col_rating": "rating", "col_prediction": "score"}


def judge(run: DataFrame, truth: DataFrame) -> dict[str, float]:
    evaluation = SparkRankingEvaluation(truth.withColumn("rating", F.lit(1.0)), run.drop("rank"), k=10, **NAMES)
    return {
        "ndcg@10": evaluation.ndcg_at_k(),
        "recall@10": evaluation.recall_at_k(),
        "precision@10": evaluation.precision_at_k(),
    }


on_spark.main(judge)
