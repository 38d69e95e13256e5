"""The account of what a run of a study computed, what it took from its folder, and why."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from recassay.stats.memo import Memo
from recassay.study.store.scored import ScoreStore


@dataclass
class Work:
    """How many results of systems were computed and how many taken from the folder, and why any were computed."""

    changed: dict[str, str] = field(default_factory=dict)  # the reason, by system
    computed: Counter[str] = field(default_factory=Counter)
    taken: Counter[str] = field(default_factory=Counter)

    def note(self, system: str, *, computed: bool) -> None:
        """Count a result of a system on a fold, either computed or taken from the folder."""
        (self.computed if computed else self.taken)[system] += 1

    def lines(self, memo: Memo, scored: ScoreStore | None = None) -> tuple[str, ...]:
        """Return sentences on what was computed, one for each system, and on what was taken from the folder.

        ``memo`` counts intervals and tests, and ``scored`` scorings of a system on a fold, both as computed or taken.

        >>> work = Work({"svd": "it is new in the study"})
        >>> work.note("svd", computed=True)
        >>> work.note("popular", computed=False)
        >>> print(*work.lines(Memo({}, taken=40, computed=20)), sep="\\n")
        svd was fitted and answered on 1 fold: it is new in the study
        1 answer of 1 other system was taken from the folder
        20 of 60 intervals and tests were computed, the others taken from the folder
        """
        lines = [
            f"{name} was fitted and answered on {_counted(folds, 'fold')}: "
            f"{self.changed.get(name, 'the folder had no such answers')}"
            for name, folds in self.computed.items()
        ]
        if self.taken:
            systems = _counted(len(self.taken), "other system" if self.computed else "system")
            answers = self.taken.total()
            were = "was" if answers == 1 else "were"
            lines.append(f"{_counted(answers, 'answer')} of {systems} {were} taken from the folder")
        if whole := memo.taken + memo.computed:
            rest = ", the others taken from the folder" if memo.taken else ""
            lines.append(f"{memo.computed:,} of {whole:,} intervals and tests were computed{rest}")
        if scored and (whole := scored.taken + scored.computed):
            rest = ", the others taken from the folder" if scored.taken else ""
            lines.append(f"{scored.computed:,} of {whole:,} scorings of a system on a fold were computed{rest}")
        return tuple(lines)


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
