"""One past and one future of a log: what a system may learn from, and what it is asked about."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from recassay.data.features import Features
from recassay.data.interactions import Interactions

Leakage = Literal["none", "per user", "global"]


@dataclass(frozen=True, eq=False)
class Fold:
    """Train and test rows of one log (and perhaps validation rows), over the same users and items.

    ``leakage`` says what of the future a system can see: ``none``, if all training events are earlier than all test
    events; ``per user``, if that holds for each user alone, while others' training events may be later than a user's
    test events; ``global``, if time played no part. ``removed`` counts the rows that are in no part, by reason.
    ``how`` is the split and its parameters, and what came out of them.

    ``profile`` marks training rows of users that are asked about but not to be learned from (strong generalisation).
    Models are fitted on all of ``train``, which has the profiles in it; a model that can answer for users it has not
    learned from may leave these rows out of its learning. ``items`` are features of items, for models and metrics that
    look at them.
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

    @functools.cached_property
    def fingerprint(self) -> str:
        """A digest of all parts and of how they were made, to find again what was made of this fold."""
        parts = (self.train, self.test, self.validation)
        learned = None if self.profile is None else self.train.take(self.profile)
        digests = ["" if part is None else part.fingerprint for part in (*parts, learned)]
        seen = [] if self.items is None else [self.items.fingerprint]
        text = "\n".join([*digests, self.leakage, repr(sorted(self.how.items())), *seen])
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
