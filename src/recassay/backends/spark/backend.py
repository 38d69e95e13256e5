"""The back end that carries out requests by the tasks of a Spark cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from recassay.backends.spark.designs import judge_on_spark
from recassay.backends.spark.folds import SparkFold
from recassay.backends.spark.play import SparkRun, play_on_spark
from recassay.backends.spark.score import score_tables, sources_of
from recassay.engine.lists.score import ScoreRequest
from recassay.engine.ranks.judge import JudgeRequest
from recassay.engine.ranks.play import PlayRequest
from recassay.errors import UsageError
from recassay.results.design_scores import DesignScores
from recassay.results.scores import Scores


class SparkBackend:
    """A back end that leaves its work to the tasks of Spark."""

    name: ClassVar[str] = "spark"

    def run_sources(self, runs: Any) -> dict[str, Any]:
        """Return tables and paths by name; a path that is not on this machine is left to Spark."""
        return sources_of(runs)

    def score(self, request: ScoreRequest) -> Scores:
        """Return the scores of all users."""
        if request.until is not None or request.execution.memory is not None:
            raise UsageError(
                "U107", "Spark scores all users and manages its own memory", hint="leave out within and memory"
            )
        return score_tables(request)

    def play(self, request: PlayRequest) -> SparkRun:
        """Return the recommendations of a system on a fold whose rows are Spark tables."""
        if not isinstance(request.fold, SparkFold):
            what = f"Spark plays systems on Spark folds, not on a {type(request.fold).__name__}"
            raise UsageError(
                "U228", what, hint="split a log of ra.spark_log(...), or combine tables with ra.spark_fold(...)"
            )
        return play_on_spark(request)

    def judge(self, played: Mapping[str, Any], request: JudgeRequest) -> DesignScores:
        """Return the scores under every design of a request, for the results of :meth:`play` by system name.

        A design says which candidates relevant items are ranked against.
        """
        runs = {name: one for name, one in played.items() if isinstance(one, SparkRun)}
        if len(runs) < len(played):
            other = next(name for name in played if name not in runs)
            hint = "play it on the same Spark fold, or use run.here() of the others"
            raise UsageError("U122", f"'{other}' was not played on Spark, but others were", hint=hint)
        method = request.options.method
        if method != "exact":
            raise UsageError(
                "U107", "Spark evaluates designs in closed form only", where=f"method='{method}'", hint="method='exact'"
            )
        return judge_on_spark(runs, request)
