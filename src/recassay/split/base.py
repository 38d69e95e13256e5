"""Base of all splits: the labels of rows, facts about the whole log, and the one place where rows become folds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, overload

import numpy as np
from numpy.typing import NDArray

from recassay.columnar.order import positions_in_groups
from recassay.columnar.times import TimeKind, require_times
from recassay.data.fold import Fold, Leakage
from recassay.data.interactions import Interactions
from recassay.data.nouns import kind_of, wrong_noun
from recassay.errors import UsageError
from recassay.naming.named import Named
from recassay.split.partitions import Draws, PartitionedLog, RemoteLog, Rows, WholeLog, require_remote_log

TRAIN, TEST, VALIDATION, PROFILE, REMOVED = range(5)  # labels of rows; from REMOVED on, a label per reason for removal

Labels = NDArray[np.int8]


@dataclass(frozen=True, eq=False)
class RowAssignment:
    """Masks of the rows of a log that are test, validation or removed in one fold; all other rows are for training.

    A row in several masks is removed for the first reason, else test, else validation. ``profile`` marks training rows
    that are the revealed events of test users. ``info`` describes the cut and is the same for every group of users,
    such as the time of the cut; ``counts`` are numbers that add up over groups of users.
    """

    test: Rows
    validation: Rows | None = None
    removed: Mapping[str, Rows] = field(default_factory=dict)
    profile: Rows | None = None
    info: Mapping[str, Any] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    number: int = 0

    def labels(self) -> Labels:
        """Return the label of each row as a number.

        0 is training, 1 test, 2 validation, 3 profile (revealed events of test users), and from 4 on there is a number
        for each reason of removal.

        >>> test, first = np.array([True, True, False]), np.array([True, False, False])
        >>> RowAssignment(test, removed={"too early": first}).labels().tolist()
        [4, 1, 0]
        """
        found: Labels = np.zeros(self.test.size, np.int8)
        marked = [(PROFILE, self.profile), (VALIDATION, self.validation), (TEST, self.test)]
        for label, rows in (*marked, *reversed([*enumerate(self.removed.values(), REMOVED)])):
            if rows is not None:
                found += (np.int8(label) - found) * rows  # an assignment by mask takes ten times as long
        return found


class Cut(Named):
    """Base of splits, filters and rules that make sessions: an operation on a log, with fixed parameters."""

    times: ClassVar[TimeKind | None] = None

    @property
    def needs(self) -> TimeKind | None:
        """Return the weakest kind of times that a log must have: ``user``, ``global`` or ``clock``; None without times.

        From weakest to strongest these are: an order within each user, an order of all events, and clock times. It is
        that of the class, ``times``, or the order within each user that ``by="time"`` needs.
        """
        return "user" if self.parameters.get("by") == "time" else self.times

    def remote(self, log: Any) -> RemoteLog:
        """Return ``log``, one that is not in memory (such as on Spark); raise U225 for any other, or too weak times."""
        remote_log = require_remote_log(log, str(self))
        require_times(remote_log, self.needs, self)
        return remote_log

    def __post_init__(self) -> None:
        """Check the parameters.

        Raise if one of them is a log: a split is made first, ``split.last(n=1)``, and then called with the log.
        """
        for parameter, value in self.parameters.items():
            if kind := kind_of(value):
                hint = f"parameters come first, then the log: {self.name}(...)(log)"
                raise UsageError("U124", f"{parameter} cannot be {kind}", where=self.name, hint=hint)
        super().__post_init__()


class Split(Cut):
    """Base of splits: a frozen description of how to cut a log; calling it returns the folds.

    :meth:`facts` computes what a split must know about all rows, and :meth:`cuts` then labels the rows of any group of
    users. If ``orders_users`` is set, :meth:`cuts` gets as ``facts`` the rank of each user among all users in the order
    of :meth:`user_order`. A split that needs the whole log in memory overrides :meth:`parts`.
    """

    leakage: ClassVar[Leakage] = "global"
    orders_users: ClassVar[bool] = False

    def facts(self, log: PartitionedLog) -> Any:
        """Return what the labels depend on besides a user's own rows, such as item counts, computed from all rows."""
        return None

    def user_order(self, log: Interactions) -> Draws:
        """Return a random number for each user to sort the users by; users with equal numbers are ordered by id.

        The split later gets the rank of each user in this order as ``facts``.
        """
        raise NotImplementedError(f"{type(self).__name__} must define the order of users")

    def cuts(self, log: Interactions, facts: Any) -> Iterator[RowAssignment]:
        """Yield one assignment per fold for ``log``, which holds all rows of some or all users of the whole log.

        ``facts`` is what :meth:`facts` returned for the whole log, so a row gets the same label whichever other users
        ``log`` holds.
        """
        raise UsageError(
            "U225",
            f"{self.name} needs the whole log in memory, and this log is in partitions",
            where=str(self),
            hint="load the log into memory, or implement facts() and cuts()",
        )

    def parts(self, log: Interactions) -> Iterator[RowAssignment]:
        """Yield one assignment of rows (test, validation, removed) per fold, for a whole log in memory."""
        if self.orders_users:
            return self.cuts(log, positions_in_groups(np.zeros(log.n_users, np.int32), self.user_order(log)))
        return self.cuts(log, self.facts(WholeLog(log)))

    @overload
    def __call__(self, log: Interactions) -> tuple[Fold, ...]: ...
    @overload
    def __call__(self, log: RemoteLog) -> tuple[Any, ...]: ...
    def __call__(self, log: Interactions | RemoteLog) -> tuple[Any, ...]:
        """Return the folds of a log; train and test keep the user and item codes of the whole log."""
        if kind_of(log) not in ("", "a log"):
            raise wrong_noun(log, "log", str(self))
        if not isinstance(log, Interactions):
            return self.remote(log).cut(self)
        require_times(log, self.needs, self)
        folds = tuple(self._fold(log, part) for part in self.parts(log))
        if not folds:
            raise empty_part_error(self, len(log), log.n_users, "test")
        return folds

    def _fold(self, log: Interactions, part: RowAssignment) -> Fold:
        labels = part.labels()
        cut = CutSummary.of(part, labels)
        self.refuse_empty(cut, len(log), log.n_users)
        train = (labels == TRAIN) | (labels == PROFILE)
        return Fold(
            log.take(train),
            log.take(labels == TEST),
            self.leakage,
            self.how(cut),
            log.take(labels == VALIDATION) if cut.validates else None,
            cut.removed,
            cut.number,
            labels[train] == PROFILE if cut.profiles else None,
        )

    def how(self, cut: CutSummary) -> dict[str, Any]:
        """Return what ``fold.how`` records: name and parameters of the split, description and counts of the cut."""
        return {"split": str(self), "name": self.name, **self.parameters, **cut.info, **cut.counts}

    def refuse_empty(self, cut: CutSummary, rows: int, users: int) -> None:
        """Raise U116 if the training, test or validation part is empty in a cut of a log.

        ``rows`` and ``users`` are the numbers of rows and users of the log.
        """
        for name, size in (
            ("training", cut.sizes[TRAIN] + cut.sizes[PROFILE]),
            ("test", cut.sizes[TEST]),
            ("validation", cut.sizes[VALIDATION] or not cut.validates),
        ):
            if not size:
                raise empty_part_error(self, rows, users, name)


@dataclass(frozen=True)
class CutSummary:
    """The number of rows with each label in one cut of a log into training, test and validation.

    ``sizes`` are these numbers in the order of :meth:`RowAssignment.labels`, and ``reasons`` the reasons of removal.
    ``validates`` and ``profiles`` say whether there is a validation part and whether events of test users are revealed.
    The summaries of disjoint groups of users add up.
    """

    number: int
    sizes: NDArray[np.int64]
    reasons: tuple[str, ...]
    validates: bool
    profiles: bool
    info: Mapping[str, Any]
    counts: Mapping[str, int]

    @classmethod
    def of(cls, part: RowAssignment, labels: Labels) -> CutSummary:
        """Return the summary of the assignment ``part``, given the label of each row."""
        sizes = np.array([np.count_nonzero(labels == label) for label in range(REMOVED + len(part.removed))])
        validates, profiles = part.validation is not None, part.profile is not None
        return cls(part.number, sizes, tuple(part.removed), validates, profiles, part.info, part.counts)

    def __add__(self, other: CutSummary) -> CutSummary:
        counts = {name: count + other.counts[name] for name, count in self.counts.items()}
        return replace(self, sizes=self.sizes + other.sizes, counts=counts)

    @property
    def removed(self) -> dict[str, int]:
        """Return the number of removed rows by reason."""
        return dict(zip(self.reasons, self.sizes[REMOVED:].tolist(), strict=True))


def empty_part_error(split: Split, rows: int, users: int, part: str) -> UsageError:
    """Return the error U116 for a cut in which ``part`` (training, test or validation) has no rows."""
    return UsageError(
        "U116",
        f"none of the {rows:,} rows of {users:,} users is left for {part}",
        where=str(split),
        hint="choose other shares or times, or a split without times such as random(test=0.2); "
        "recassay stats LOG shows which times the log has",
    )
