"""One train/test split of a log: what a system may learn from, and what it must predict."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from recassay.data.features import Features
from recassay.data.interactions import Interactions
from recassay.data.population import nobody_is_known
from recassay.shown import Displayable

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

        Models learn the same as before. Under designs, a user without training events no longer counts 0.

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
        """Return a digest of all parts and of how they were made; results stored for this fold are found by it."""
        parts = (self.train, self.test, self.validation)
        profiles = None if self.profile is None else self.train.take(self.profile)
        digests = ["" if part is None else part.fingerprint for part in (*parts, profiles)]
        features = [] if self.items is None else [self.items.fingerprint]
        text = "\n".join([*digests, self.leakage, repr(sorted(self.how.items())), *features])
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
