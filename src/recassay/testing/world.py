"""A small log, a truth and ranked lists with which contract checks try metrics, models, splits and so on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from recassay.api.play import play
from recassay.data.features import Features
from recassay.data.fold import Fold
from recassay.data.interactions import Interactions
from recassay.data.read import read_items
from recassay.data.run import Run
from recassay.data.synthetic import log as generated_log
from recassay.models.factors import PureSVD
from recassay.protocols.ranking import Ranking
from recassay.split.chance import RandomSplit


def require(holds: bool, otherwise: str) -> None:
    """Raise AssertionError with the text ``otherwise`` unless ``holds`` is true."""
    if not holds:
        raise AssertionError(otherwise)


USERS, ITEMS, EVENTS = 40, 50, 800


@dataclass(frozen=True)
class World:
    """A small fold of a generated log, and a run on it that ranks every item without ties."""

    fold: Fold
    run: Run

    @property
    def grades(self) -> dict[str, dict[int, float]]:
        """Return the test part as judgements with gains from 0 to 4: user -> item -> gain."""
        found: dict[str, dict[int, float]] = {}
        for user, item, gain in self.fold.test.frame().select("user_id", "item_id", "rating").iter_rows():
            found.setdefault(user, {})[item] = float(gain) - 1
        return found

    @property
    def items(self) -> Features:
        """Return item features: a table with two features for every item."""
        return read_items({item: {"genre": [f"g{item % 5}", f"h{item % 3}"]} for item in range(1, ITEMS + 1)})

    @property
    def relevant(self) -> dict[str, dict[int, float]]:
        """Return the test part as judgements with a gain of 1 for every item."""
        return {user: dict.fromkeys(items, 1.0) for user, items in self.grades.items()}


def log_of_world() -> Interactions:
    """Return a small generated log with distinct times and ratings from 1 to 5."""
    frame = generated_log(users=USERS, items=ITEMS, events=EVENTS, seed=3).frame()
    row = np.arange(frame.height)
    return Interactions.from_frame(
        frame.with_columns(timestamp=pl.col("timestamp") + pl.Series(row), rating=pl.Series(row % 5 + 1.0))
    )


def world() -> World:
    """Return a small fold and run for checks; they are the same in every call."""
    fold = RandomSplit(test=0.2, seed=7)(log_of_world())[0]
    return World(fold, play(PureSVD(factors=4), fold, Ranking(k=ITEMS, bins=0), name="system"))
