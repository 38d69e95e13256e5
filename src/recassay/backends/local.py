"""The back end for data that fits into the memory of this machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from recassay.data.io import run_sources
from recassay.engine.lists.score import ScoreRequest, score_in_memory

if TYPE_CHECKING:  # and imported by the method that needs it: each takes longer to import than a small file to score
    from recassay.data.run import Run
    from recassay.engine.ranks.judge import JudgeRequest
    from recassay.engine.ranks.play import PlayRequest
    from recassay.results.design_scores import DesignScores
    from recassay.results.scores import Scores


class LocalBackend:
    """A back end that works in this process, with several threads."""

    name: ClassVar[str] = "local"

    def run_sources(self, runs: Any) -> dict[str, Any]:
        """Return the paths of run files by name."""
        return dict(run_sources(runs))

    def score(self, request: ScoreRequest) -> Scores:
        """Return the scores of all runs, which are read one after another."""
        return score_in_memory(request)

    def play(self, request: PlayRequest) -> Run:
        """Return a system's recommendations on a fold: lists, and the rank of each relevant item among candidates."""
        from recassay.engine.ranks.play import play_fold

        return play_fold(request)

    def judge(self, played: Mapping[str, Any], request: JudgeRequest) -> DesignScores:
        """Return the scores under every design of a request, for the results of :meth:`play` by system name.

        A design says which candidates relevant items are ranked against.
        """
        from recassay.engine.ranks.judge import judge_in_memory

        return judge_in_memory(played, request)
