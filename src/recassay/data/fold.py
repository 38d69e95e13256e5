"""One train/test split of a log: what a system may learn from, and what it must predict.

Functions here also tell which users of a truth have training events. A metric over the population ``known`` counts only
these users, and over ``all`` every user of the truth.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.columnar.vocabulary import Recoding, Vocabulary
from recassay.data.features import Features
from recassay.data.interactions import Interactions
from recassay.data.times import row_times
from recassay.data.truth import Truth
from recassay.errors import InputError
from recassay.shown import Displayable


def profile_rows(train: Interactions, queries: pl.Series) -> NDArray[np.integer]:
    """Return the code in the training log of each user in ``queries``, negative for a user without events there."""
    vocabulary, codes = Vocabulary.encode(queries)
    rows = Recoding.between(vocabulary, train.user_vocabulary.stored_ids, "user")(codes)
    offsets, _ = train.by_user
    if offsets.size < 2:  # a partition of a log can be empty
        return np.full(queries.len(), -1)
    return np.asarray(np.where((rows >= 0) & (np.diff(offsets)[np.maximum(rows, 0)] > 0), rows, -1))


def known_users(train: Interactions, queries: pl.Series) -> NDArray[np.bool_]:
    """Return a mask of the users of ``queries`` that have at least one training event.

    >>> train = Interactions.from_frame(pl.DataFrame({"user_id": ["ann", "bob"], "item_id": ["x", "y"]}))
    >>> known_users(train, pl.Series(["ann", "eve"])).tolist()
    [True, False]
    """
    return profile_rows(train, queries) >= 0


def of_known_users(truth: Truth, train: Interactions) -> tuple[Truth, dict[str, int]]:
    """Return the truth of the users with training events, and how many users these are (``users``) ``of`` all.

    Raise I406 if there is no such user.

    >>> train = Interactions.from_frame(pl.DataFrame({"user_id": ["ann", "bob"], "item_id": ["x", "y"]}))
    >>> truth = Truth.from_frame(pl.DataFrame({"user_id": ["ann", "eve"], "item_id": ["y", "y"]}))
    >>> of_known_users(truth, train)[1]
    {'users': 1, 'of': 2}
    """
    known = np.flatnonzero(known_users(train, truth.queries))
    if not known.size:
        raise nobody_is_known(truth.queries.len(), truth.origin)
    return truth.take(known), {"users": known.size, "of": truth.queries.len()}


def nobody_is_known(users: int, where: str) -> InputError:
    """Return the error I406: none of the ``users`` of a truth, which is read from ``where``, has a training event."""
    return InputError(
        "I406",
        f"none of the {users:,} users of the truth has a training event, so there are no known users",
        where=where,
        hint="check that both files use the same ids, or score all users",
    )


Leakage = Literal["none", "per user", "global"]


@dataclass(frozen=True, eq=False, repr=False)
class Fold(Displayable):
    """Train and test rows of one log (and optionally validation rows), over the same users and items.

    ``leakage`` says how much of the future a system can see. ``none``: all training events are earlier than all test
    events. ``per user``: that holds within each user, but other users' training events may be later than a user's test
    events. ``global``: the split ignored time. ``removed`` counts, by reason, the rows that belong to neither part.
    ``how`` records the split, its parameters and what it measured.

    ``profile`` marks training rows of users that are queried but must not be learned from (strong generalisation).
    Models are fitted on all of ``train``, which includes the profiles; a model that can answer for unseen users may
    leave these rows out. ``items`` are item features, for the models and metrics that use them.
    """

    train: Interactions
    test: Interactions
    leakage: Leakage
    how: Mapping[str, Any]
    validation: Interactions | None = None
    removed: Mapping[str, int] = field(default_factory=dict)
    number: int = 0
    profile: NDArray[np.bool_] | None = None
    items: Features | None = None

    def of_known_users(self) -> Fold:
        """Return the fold whose test part has only users with training events; raise I406 if there are none.

        Models learn the same as before. A user without training events is then left out of means; under designs (ways
        to sample candidates) such a user would count 0.

        >>> import polars as pl
        >>> rows = {"user_id": ["ann", "ann", "eve"], "item_id": ["x", "y", "x"]}
        >>> log = Interactions.from_frame(pl.DataFrame(rows))
        >>> fold = Fold(log.take(np.array([0])), log.take(np.array([1, 2])), "global", {})
        >>> fold.of_known_users().test.frame().rows(), fold.of_known_users().how
        ([('ann', 'y')], {'population': {'users': 1, 'of': 2}})
        """
        known = np.diff(self.train.by_user[0]) > 0
        test = self.test.take(known[self.test.users])
        users, of = (np.unique(part.users).size for part in (test, self.test))
        if not users:
            raise nobody_is_known(of, self.test.origin)
        return replace(self, test=test, how={**self.how, "population": {"users": users, "of": of}})

    @functools.cached_property
    def fingerprint(self) -> str:
        """Return a digest of all parts and of how they were made; it is the key of results stored for this fold."""
        parts = (self.train, self.test, self.validation)
        profiles = None if self.profile is None else self.train.take(self.profile)
        digests = ["" if part is None else part.fingerprint for part in (*parts, profiles)]
        features = [] if self.items is None else [self.items.fingerprint]
        text = "\n".join([*digests, self.leakage, repr(sorted(self.how.items())), *features])
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


@dataclass(frozen=True)
class LeakReport:
    """Counts of training events: all of them (``train``), and those later than test events.

    ``later`` counts those later than the earliest test event of any user, and ``later_of_user`` those later than the
    earliest test event of the same user. ``later`` is None if the times order events only within each user, since users
    cannot be compared then.
    """

    train: int
    later: int | None
    later_of_user: int


def leaks(fold: Fold) -> LeakReport:
    """Return how many training events of a fold are later than the earliest test event, of all users and per user.

    Events at the same time are not later. A log without timestamps raises an error. Validation events are not counted.

    >>> import polars as pl
    >>> from recassay.data.interactions import Interactions
    >>> frame = pl.DataFrame({"user_id": [*"aabb"], "item_id": [*range(4)], "timestamp": [1, 2, 3, 4]})
    >>> log = Interactions.from_frame(frame)
    >>> leaks(Fold(log.take(np.array([0, 2])), log.take(np.array([1, 3])), "per user", {}))
    LeakReport(train=2, later=1, later_of_user=0)
    """
    past, future = row_times(fold.train), row_times(fold.test)
    earliest = np.full(fold.train.n_users, np.inf)
    np.minimum.at(earliest, fold.test.users, future)
    later = past > future.min() if future.size else np.zeros(past.size, np.bool_)
    of_user = int(np.count_nonzero(past > earliest[fold.train.users]))
    return LeakReport(len(fold.train), None if fold.train.times == "user" else int(np.count_nonzero(later)), of_user)


@dataclass(frozen=True, eq=False, repr=False)
class Queries(Displayable):
    """The users to recommend to, without their relevant items: a recommender gets this object and never the truth.

    ``users`` are integer codes, ascending, and ``vocabulary`` maps them to ids; both are those of the log on which the
    system was fitted.
    """

    users: NDArray[np.int32]
    vocabulary: Vocabulary

    def __len__(self) -> int:
        return int(self.users.size)

    @property
    def ids(self) -> pl.Series:
        """Return the ids of the users."""
        return self.vocabulary.decode(self.users)
