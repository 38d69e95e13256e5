"""What all splits share: what a row can be, what is known of all rows, and the one spot where rows become folds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, overload

import numpy as np
from numpy.typing import NDArray

from recassay.data.fold import Fold, Leakage
from recassay.data.interactions import Interactions
from recassay.data.order import places
from recassay.data.time_kind import TimeKind, require_times
from recassay.errors import UsageError
from recassay.named import Named
from recassay.split.in_parts import Elsewhere, InParts, Rows, Whole, elsewhere
from recassay.split.lots import Lots

TRAIN, TEST, VALIDATION, PROFILE, REMOVED = range(5)  # what a row is; from REMOVED on it is in no part, for some reason

Labels = NDArray[np.int8]


@dataclass(frozen=True, eq=False)
class Part:
    """Which rows of a log are test, validation, or in no part and why; all others are for training.

    A row that is named more than once is removed for the first reason, else test, else validation. ``profile`` marks
    training rows that are only known of asked users. ``info`` says what is known of the whole log, ``counts`` what
    these rows add to it.
    """

    test: Rows
    validation: Rows | None = None
    removed: Mapping[str, Rows] = field(default_factory=dict)
    profile: Rows | None = None
    info: Mapping[str, Any] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    number: int = 0

    def labels(self) -> Labels:
        """What each row is.

        >>> test, first = np.array([True, True, False]), np.array([True, False, False])
        >>> Part(test, removed={"too early": first}).labels().tolist()
        [4, 1, 0]
        """
        found = np.full(self.test.size, TRAIN, np.int8)
        if self.profile is not None:
            found[self.profile] = PROFILE
        if self.validation is not None:
            found[self.validation] = VALIDATION
        found[self.test] = TEST
        for number, rows in reversed([*enumerate(self.removed.values(), REMOVED)]):
            found[rows] = number
        return found


class Cut(Named):
    """Base of whatever divides: a frozen description whose parameters are shares and counts."""

    @property
    def needs(self) -> TimeKind | None:
        """The weakest times of a log that it accepts; None: it looks at no times."""
        return None

    def share(self, *parameters: str) -> None:
        """Refuse a parameter that is not strictly between 0 and 1."""
        for parameter in parameters:
            if not 0 < getattr(self, parameter) < 1:
                raise self.refuse(parameter, "it is no share of a log", "a number between 0 and 1, such as 0.2")

    def count(self, parameter: str, least: int) -> None:
        """Refuse a parameter below the least that makes sense."""
        if getattr(self, parameter) < least:
            raise self.refuse(parameter, f"it must be at least {least}", f"{parameter}={least}")


class Split(Cut):
    """Base of splits: a frozen description of how to cut a log; calling it cuts.

    A split says with :meth:`facts` what it must know of all rows, and with :meth:`cuts` what becomes of the rows of
    some users. One that ``queues`` is told the place of each user in a queue of all, by :meth:`queue`. One that cannot
    do without the whole log says :meth:`parts`.
    """

    leakage: ClassVar[Leakage] = "global"
    queues: ClassVar[bool] = False

    def facts(self, log: InParts) -> Any:
        """What must be known of all rows before some of them are cut."""
        return None

    def queue(self, log: Interactions) -> Lots:
        """A number for each user, by which all of them queue up; equal ones stand by id."""
        raise NotImplementedError(f"{type(self).__name__} must say how users queue up")

    def cuts(self, log: Interactions, facts: Any) -> Iterator[Part]:
        """The cuts of all rows of some users, each as masks of rows; as many of them whoever the users are."""
        raise UsageError(
            "U225",
            f"{self.name} looks at the whole log at once, and this one is in parts",
            where=str(self),
            hint="bring the log to this machine, or say in facts() and cuts() what it needs of the whole",
        )

    def parts(self, log: Interactions) -> Iterator[Part]:
        """The cuts of a whole log."""
        one_part = np.zeros(log.n_users, np.int32)
        return self.cuts(log, places(one_part, self.queue(log)) if self.queues else self.facts(Whole(log)))

    @overload
    def __call__(self, log: Interactions) -> tuple[Fold, ...]: ...
    @overload
    def __call__(self, log: Elsewhere) -> tuple[Any, ...]: ...
    def __call__(self, log: Interactions | Elsewhere) -> tuple[Any, ...]:
        """The folds of a log; train and test keep the users and items of the whole log."""
        if not isinstance(log, Interactions):
            require_times(elsewhere(log, str(self)), self.needs, self)
            return elsewhere(log, str(self)).cut(self)
        require_times(log, self.needs, self)
        folds = tuple(self._fold(log, part) for part in self.parts(log))
        if not folds:
            raise nothing_left(self, len(log), log.n_users, "test")
        return folds

    def _fold(self, log: Interactions, part: Part) -> Fold:
        labels = part.labels()
        cut = CutOf.of(part, labels)
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

    def how(self, cut: CutOf) -> dict[str, Any]:
        """The split and its parameters, and what came out of them."""
        return {"split": str(self), "name": self.name, **self.parameters, **cut.info, **cut.counts}

    def refuse_empty(self, cut: CutOf, rows: int, users: int) -> None:
        """Raise U116 for a cut with an empty part."""
        for name, size in (
            ("training", cut.sizes[TRAIN] + cut.sizes[PROFILE]),
            ("test", cut.sizes[TEST]),
            ("validation", cut.sizes[VALIDATION] or not cut.validates),
        ):
            if not size:
                raise nothing_left(self, rows, users, name)


@dataclass(frozen=True)
class CutOf:
    """What came out of a cut: how many rows are what, which adds up over users."""

    number: int
    sizes: NDArray[np.int64]
    reasons: tuple[str, ...]
    validates: bool
    profiles: bool
    info: Mapping[str, Any]
    counts: Mapping[str, int]

    @classmethod
    def of(cls, part: Part, labels: Labels) -> CutOf:
        """Of the rows of some users."""
        sizes = np.bincount(labels, minlength=REMOVED + len(part.removed))
        validates, profiles = part.validation is not None, part.profile is not None
        return cls(part.number, sizes, tuple(part.removed), validates, profiles, part.info, part.counts)

    def __add__(self, other: CutOf) -> CutOf:
        counts = {name: count + other.counts[name] for name, count in self.counts.items()}
        return replace(self, sizes=self.sizes + other.sizes, counts=counts)

    @property
    def removed(self) -> dict[str, int]:
        """Rows that are in no part, by reason."""
        return dict(zip(self.reasons, self.sizes[REMOVED:].tolist(), strict=True))


def nothing_left(split: Split, rows: int, users: int, part: str) -> UsageError:
    """The error for a cut with an empty part."""
    return UsageError(
        "U116",
        f"of {rows:,} rows of {users:,} users none is left for {part}",
        where=str(split),
        hint="choose other shares or instants, or look at the log: recassay stats LOG",
    )
