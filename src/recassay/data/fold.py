"""One past and one future of a log: what a system may learn from, and what it is asked about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from recassay.data.interactions import Interactions

Leakage = Literal["none", "per user", "global"]


@dataclass(frozen=True, eq=False)
class Fold:
    """Train and test rows of one log (and perhaps validation rows), over the same users and items.

    ``leakage`` says what of the future a system can see: ``none``, if all training events are earlier than all test
    events; ``per user``, if that holds for each user alone, while others' training events may be later than a user's
    test events; ``global``, if time played no part. ``removed`` counts the rows that are in no part, by reason.
    ``how`` is the split and its parameters.
    """

    train: Interactions
    test: Interactions
    leakage: Leakage
    how: Mapping[str, Any]
    validation: Interactions | None = None
    removed: Mapping[str, int] = field(default_factory=dict)
    number: int = 0
