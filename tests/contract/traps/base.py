"""What a trap is: a clean case, what real files make of it, what recassay says, and what the mean would have been.

Nothing here needs pytest: the documentation lists the same rows.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import recassay as ra
from recassay.errors import RecassayError

USERS, ITEMS, LENGTH, RELEVANT = 40, 60, 10, 3
METRIC = "ndcg@10"
SHUFFLE = 37  # a prime that divides no number of rows here


@dataclass(frozen=True)
class Sheet:
    """A table as text: the fields of its header and of its rows, and how they are written."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    separator: str = ","

    @property
    def data(self) -> bytes:
        lines = [self.header, *self.rows] if self.header else self.rows
        return "".join(self.separator.join(line) + "\n" for line in lines).encode()

    def named(self, *header: str) -> Sheet:
        return replace(self, header=header)

    def shuffled(self) -> Sheet:
        """The rows in another order, the same each time."""
        size = len(self.rows)
        return replace(self, rows=tuple(self.rows[(place * SHUFFLE + 11) % size] for place in range(size)))

    def mapped(self, change: Callable[..., tuple[str, ...]]) -> Sheet:
        """Each row changed: it is given field by field."""
        return replace(self, rows=tuple(change(*row) for row in self.rows))

    def with_rows(self, rows: Any) -> Sheet:
        return replace(self, rows=tuple(map(tuple, rows)))


@dataclass(frozen=True)
class Case:
    """What is handed to ``ra.score``: sheets and bytes are written to files of these names, all else is handed over."""

    run: Any
    truth: Any
    train: Any = None
    options: Mapping[str, Any] = field(default_factory=dict)
    names: tuple[str, str, str] = ("run.csv", "truth.csv", "train.csv")
    metric: str = METRIC

    def but(self, **changes: Any) -> Case:
        return replace(self, **changes)

    def asking(self, **options: Any) -> Case:
        return replace(self, options={**self.options, **options})


@dataclass(frozen=True)
class Outcome:
    """What came of a case: a mean, and the codes of an error or of all findings."""

    mean: float | None
    codes: tuple[str, ...]
    text: str = ""


@dataclass(frozen=True)
class Trap:
    """A row of the table.

    ``said`` are the codes of the error or of all findings; none where nothing can be known, and ``why`` says why. The
    mean of the wrong reading is that of the case itself, or where that is refused, of ``read_as``, the case as a
    program would have it that does not look. ``twin`` is the sound case that differs in nothing else.
    """

    topic: str
    title: str
    case: Case
    said: tuple[str, ...] = ()
    why: str = ""
    read_as: Case | None = None
    twin: Case | None = None


def clean() -> Case:
    """A run of 40 users with 10 items each, best first, and a truth of 3 items per user, of which it finds some."""
    run = [
        (user(number), item((7 * number + 5 * place) % ITEMS), f"{(LENGTH - place) / LENGTH:.2f}")
        for number in range(USERS)
        for place in range(LENGTH)
    ]
    truth = [
        (user(number), item((7 * number + 5 * place) % ITEMS))
        for number in range(USERS)
        for place in sorted({number % 3, 3 + number % 4, LENGTH + number % 2})
    ]
    return Case(
        Sheet(("user_id", "item_id", "score"), tuple(run)), Sheet(("user_id", "item_id"), tuple(map(tuple, truth)))
    )


def user(number: int) -> str:
    return f"{100 + number}"


def item(number: int) -> str:
    return f"{2000 + number}"


def outcome(case: Case) -> Outcome:
    """Score a case in an empty folder."""
    with tempfile.TemporaryDirectory(prefix="recassay-trap-") as folder:
        given = [
            written(Path(folder) / name, source)
            for name, source in zip(case.names, (case.run, case.truth, case.train), strict=True)
        ]
        runs, truth, train = given
        try:
            scores = ra.score(runs, truth, case.metric, train=train, interval=None, **case.options)
        except RecassayError as error:
            return Outcome(None, (error.code,), str(error).replace(folder + "/", ""))
    text = "\n".join(f"{finding.code} {finding.detail}" for finding in scores.findings)
    return Outcome(scores.rows[0].mean, tuple(finding.code for finding in scores.findings), text)


def written(path: Path, source: Any) -> Any:
    """The path of a file with this content, or a table that is no file itself."""
    if not isinstance(source, Sheet | bytes):
        return source
    path.write_bytes(source.data if isinstance(source, Sheet) else source)
    return path


@cache
def mean_of_clean() -> float:
    mean = outcome(clean()).mean
    assert mean is not None
    return mean


def moved(trap: Trap, found: Outcome) -> float | None:
    """By what share of the clean mean the wrong reading is off; None where there is no reading at all."""
    wrong = found.mean if found.mean is not None else (outcome(trap.read_as).mean if trap.read_as else None)
    if wrong is None:
        return None
    right = mean_of_clean() if trap.twin is None else outcome(trap.twin).mean
    return wrong / right - 1 if right else None
