"""Protocols on folds: a query per user for all test ratings or for the next item, and sequences to be continued."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Literal

import numpy as np
import polars as pl

from recassay.data.fold import Fold
from recassay.data.interactions import Interactions
from recassay.data.times import row_times
from recassay.data.truth import Truth
from recassay.errors import InputError
from recassay.naming.named import COUNT, Departure
from recassay.protocols.base import BaseProtocol, Step, UserProtocol

TOP = 100


@dataclass(frozen=True, repr=False)
class Ranking(UserProtocol):
    """One query per user with a test rating; systems see no event between training and the queries.

    A test rating of ``relevant_from`` or more is relevant (None: all of them). Lists have ``k`` items. Training items
    of a user are not candidates; ``keep_seen=True`` keeps them, to show the effect of their exclusion. ``bins`` is the
    number of popularity bins for percentile designs (0: none). Where a design samples by popularity, the weight of an
    item is its number of users in ``training``, or in ``all`` parts of the log.

    Bins have equal numbers of items, ordered by their users in all parts; ``equal_mass=True`` cuts where the ratings of
    the more popular items pass each share, and ``bins_from="training"`` counts users in training only.

    >>> import polars as pl
    >>> from recassay.data.interactions import Interactions
    >>> log = Interactions.from_frame(pl.DataFrame({"user_id": [1, 1, 2], "item_id": [7, 8, 8], "rating": [5, 4, 2]}))
    >>> fold = Fold(log.take(np.array([0])), log.take(np.array([1, 2])), "global", {})
    >>> protocol = Ranking(relevant_from=4)
    >>> [step.ask.ids.to_list() for step in protocol.steps(fold)]
    [[1, 2]]
    >>> protocol.truth(fold).frame().rows()
    [(1, 8, 1.0), (2, 8, 0.0)]
    """

    name: ClassVar[str] = "ranking"

    relevant_from: float | None = None
    k: int = TOP
    bins: int = 10
    keep_seen: bool = False
    popularity: Literal["training", "all"] = "training"
    equal_mass: bool = False
    bins_from: Literal["all", "training"] = "all"

    def truth(self, fold: Fold) -> Truth:
        """Return the test ratings as judgements: gain 1 from ``relevant_from`` on, gain 0 below."""
        test = fold.test
        frame = test.frame().select("user_id", "item_id")
        if self.relevant_from is not None:
            frame = frame.with_columns(gain=pl.Series(test.liked(self.relevant_from).astype(np.float64)))
        return Truth.from_frame(frame, origin=test.origin)


@dataclass(frozen=True, repr=False)
class NextItem(UserProtocol):
    """One query per user, for which the user's only test item is relevant: leave-one-out.

    The validation part is revealed before the queries. With ``last(n=1, validation=1)`` a model that reads histories
    sees the validation item in the history of the query, but has not learned from it. Items of the history, revealed
    ones included, are not candidates; ``keep_seen=True`` keeps them. With ``keep_seen="unsampled"`` they are candidates
    where a design takes all, and in the lists, but are never sampled, as in some papers. ``on="validation"`` takes the
    validation items as the relevant ones, and reveals nothing.

    After a split by time, a user can have several test events. ``several="first"`` takes the earliest one as the next
    item and leaves the later ones out; with ``"error"`` such users raise I341, and so do two earliest events at once.

    Lists have ``k`` items; ``bins`` is the number of popularity bins (0: none). Where a design samples by popularity,
    the weight of an item is its number of users in ``training``, or in ``all`` parts, as in some published code. Bins
    have equal numbers of items, ordered by their users in all parts; ``equal_mass=True`` cuts where the ratings of the
    more popular items pass each share, and ``bins_from="training"`` counts users in training only.

    >>> import polars as pl
    >>> log = Interactions.from_frame(pl.DataFrame({"user_id": [1, 1, 1], "item_id": [7, 8, 9]}))
    >>> train, validation, test = (log.take(np.array([row])) for row in range(3))
    >>> fold = Fold(train, test, "per user", {}, validation)
    >>> revealed, asked = NextItem().steps(fold)
    >>> revealed.reveal.items.tolist(), asked.ask.ids.to_list()
    ([1], [1])
    >>> NextItem().truth(fold).frame().rows()
    [(1, 9, 1.0)]
    """

    name: ClassVar[str] = "next_item"
    departures: ClassVar[tuple[Departure, ...]] = (
        Departure(
            "sampled-metrics",
            "The paper ranks all items in its full ranking, including those the user has consumed, and leaves them out "
            "of its samples; recassay leaves them out of both, so that a sample of all candidates is the full ranking.",
            "next_item(keep_seen='unsampled')",
        ),
        Departure(
            "sampled-metrics",
            "The paper does not say where it counts the popularity that it samples by; recassay counts users in "
            "training, so that the sample knows nothing of the test part, and next_item(popularity='all') counts all "
            "parts.",
        ),
    )
    relevant_from: ClassVar[None] = None  # type: ignore[misc]

    on: Literal["test", "validation"] = "test"
    k: int = TOP
    bins: int = 0
    keep_seen: bool | Literal["unsampled"] = False
    popularity: Literal["training", "all"] = "training"
    equal_mass: bool = False
    bins_from: Literal["all", "training"] = "all"
    several: Literal["error", "first"] = "error"

    def target_fold(self, fold: Fold) -> Fold:
        """Return the fold with the next item of each user as its test part.

        It comes from the part named by ``on``; if that is the validation part, the result has no validation part. Raise
        I341 if a user has several items there that could be the next one.
        """
        part = fold.test if self.on == "test" else fold.validation
        if part is None:
            raise InputError("I341", "the fold has no validation part", where=str(self), hint="last(n=1, validation=1)")
        if self.several == "first":
            part = _earliest_of_each_user(part)
        several = np.bincount(part.users, minlength=part.n_users) > 1
        if several.any():
            user = part.user_vocabulary.decode(part.users[several[part.users]])[0]
            what = "events at once" if self.several == "first" else "events"
            raise InputError(
                "I341",
                f"{int(several.sum()):,} users have several {what} in the {self.on} part, the first is {user!r}: which "
                "of them came next is unknown",
                where=str(self),
                hint="split with last(n=1, validation=1), or use the protocol ranking()"
                + ("" if self.several == "first" else "; several='first' takes the earliest event"),
            )
        return replace(fold, test=part, validation=fold.validation if self.on == "test" else None)

    def revealed(self, fold: Fold) -> Interactions | None:
        """Return the validation events, which systems see before test queries; None if they are what is predicted."""
        return fold.validation if self.on == "test" else None

    def truth(self, fold: Fold) -> Truth:
        """Return the relevant items of the queries: the next item of each user."""
        test = self.target_fold(fold).test
        return Truth.from_frame(test.frame().select("user_id", "item_id"), origin=test.origin)


def _earliest_of_each_user(part: Interactions) -> Interactions:
    """Return the events of each user at the user's earliest time."""
    times = row_times(part)
    first = np.full(part.n_users, times.max(initial=0), times.dtype)
    np.minimum.at(first, part.users, times)
    return part.take(times == first[part.users])


@dataclass(frozen=True, repr=False)
class Sequence(BaseProtocol):
    """A system gets the first item of each test sequence and generates the next ``k`` items, one after the other.

    Let h be the first item and the items generated so far, and p the predicted probabilities of the next item after h.
    The next item is drawn from p (``how="sample"``), or is the most likely one (``"argmax"``; ties by lowest id).
    ``"beam"`` is the most likely sequence of a beam search of width ``beam``. Items may be repeated, the first item
    included. ``"sample_without_repeats"`` draws among the items that are not in h; if all of them have probability 0,
    the list ends early, which is an error unless ``allow_short``.

    Draws depend on the seed and on user, items and times of the test sequence, so sequences with equal beginnings get
    different draws. With ``cache_by_seed``, sequences of one user that begin with the same item at the same time share
    their generated items, as in the authors' program. Generation is repeated ``seeds`` times, with seeds from ``seed``.

    Reference: Monti, Palumbo, Rizzo, Morisio, Sequeval: an offline evaluation framework for sequence-based recommender
    systems, Information 2019, algorithm 2.

    >>> Sequence(k=3, how="argmax")
    sequence(k=3, how='argmax')
    """

    name: ClassVar[str] = "sequence"

    k: Annotated[int, COUNT] = 5
    how: Literal["sample", "argmax", "beam", "sample_without_repeats"] = "sample"
    beam: Annotated[int, COUNT] = 10
    allow_short: bool = False
    cache_by_seed: bool = False
    seed: int = 0
    seeds: Annotated[int, COUNT] = 1

    def steps(self) -> Iterator[Step]:
        """Yield ``k`` steps; step j asks the system for the item at position j = 0..k-1 of all generated sequences.

        ``ask`` is j, and ``reveal`` is None: the system learns no true item in between.
        """
        return (Step(ask=place) for place in range(self.k))
