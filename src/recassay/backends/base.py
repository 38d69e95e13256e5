"""The interface of a back end: an object that does the work behind ``score``, ``play`` and ``judge``.

Splits, filters and rules that make sequences need no back end: they use methods that every kind of log has.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeGuard

if TYPE_CHECKING:  # scoring files needs neither models nor designs, whose import takes longer than a small file
    from recassay.data.run import Run
    from recassay.engine.lists.score import ScoreRequest
    from recassay.engine.ranks.judge import JudgeRequest
    from recassay.engine.ranks.play import PlayRequest
    from recassay.results.design_scores import DesignScores
    from recassay.results.scores import Scores


class Remote:
    """Base of values whose rows stay on a cluster, in Spark tables or in files that Spark reads."""


class Backend(Protocol):
    """A protocol for back ends, which score runs, compute recommendations and score them by design."""

    name: ClassVar[str]

    def run_sources(self, runs: Any) -> dict[str, Any]:
        """Return the runs by name; paths, globs and folders are resolved where the back end reads files."""

    def score(self, request: ScoreRequest) -> Scores:
        """Return the scores of all runs of a request."""

    def play(self, request: PlayRequest) -> Run | Remote:
        """Return a system's recommendations on a fold: lists, and the rank of each relevant item among candidates."""

    def judge(self, played: Mapping[str, Any], request: JudgeRequest) -> DesignScores:
        """Return the scores of systems under every target-set design of a request.

        A design says which candidates relevant items are ranked against. ``played`` maps the name of a system to what
        :meth:`play` returned.
        """


def is_spark_frame(source: object) -> TypeGuard[Any]:
    """Return whether a value is a Spark data frame; Spark need not be installed.

    >>> is_spark_frame([1, 2])
    False
    """
    return any(kind.__name__ == "DataFrame" and kind.__module__.startswith("pyspark.") for kind in type(source).__mro__)
