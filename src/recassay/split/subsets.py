"""Filters that keep some users, some items or a sample: no bursts of events, items with given features, one in n."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np

from recassay.columnar.layout import row_groups
from recassay.columnar.time_kind import TimeKind
from recassay.data.features import SEPARATOR, Features
from recassay.data.interactions import Interactions
from recassay.errors import UsageError
from recassay.naming.grammar import suggest
from recassay.split.draws import row_draws, user_draws
from recassay.split.filters import Filter, absent_from
from recassay.split.partitions import ItemSums, PartitionedLog, Rows
from recassay.split.sessions import by_user_and_time, clock_times


@dataclass(frozen=True, repr=False)
class NoBursts(Filter):
    """Users without two events less than ``gap`` apart, as programs have them; all events of others are removed.

    ``gap`` is in the unit of the log's times, seconds for dates; needs clock times. Rows of a user at the same time are
    a burst, also if they repeat one event: apply ``distinct`` first if rows repeat.

    >>> import polars as pl
    >>> rows = [("ann", "a", 0), ("ann", "b", 60), ("bob", "a", 0), ("bob", "b", 59), ("bob", "c", 500)]
    >>> log = Interactions.from_frame(pl.DataFrame(rows, ["user_id", "item_id", "timestamp"], orient="row"))
    >>> kept = NoBursts(gap=60)(log)
    >>> kept.log.frame()["user_id"].unique().to_list(), dict(kept.removed)
    (['ann'], {'user with a burst': 3})
    """

    name: ClassVar[str] = "no_bursts"

    gap: float = 60

    def validate(self) -> None:
        """Raise an error unless ``gap`` is above 0."""
        if self.gap <= 0:
            raise self.refuse("gap", "it must be above 0", "no_bursts(gap=60) for a minute in seconds")

    @property
    def needs(self) -> TimeKind | None:
        """Return ``clock``: the gap is a duration, so the log must have clock times."""
        return "clock"

    def kept(self, log: Interactions, facts: None) -> tuple[Rows, Mapping[str, int]]:
        """Return a mask of the rows of users without a burst, and the number of the others."""
        time, gap = clock_times(log, self.gap)
        order = by_user_and_time(log.users, time)
        users, time = log.users[order], time[order]
        close = (users[1:] == users[:-1]) & (time[1:] - time[:-1] < gap)
        hasty = np.bincount(users[1:][close], minlength=log.n_users) > 0
        gone = hasty[log.users]
        return ~gone, {"user with a burst": int(np.count_nonzero(gone))}


@dataclass(frozen=True, repr=False)
class Featured(Filter):
    """Events of items with a feature of ``only`` and with none of ``without``, such as genres or categories.

    Names are joined by ``|``: ``featured(without='Office|Factory')``. Needs item features: ``items:`` of a study's
    data, ``--items`` of recassay split, ``items=`` of ``ra.split.filters.apply``. An item without a known feature has
    none of either.

    >>> import polars as pl
    >>> items = Features.from_frame(pl.DataFrame({"item_id": ["a", "b", "c"], "genres": ["War|Drama", "War", "Fun"]}))
    >>> log = Interactions.from_frame(pl.DataFrame({"user_id": [1] * 4, "item_id": [*"abcd"]}))
    >>> kept = Featured(without="Drama|Fun").bind(items)(log)
    >>> kept.log.frame()["item_id"].to_list(), dict(kept.removed)
    (['b', 'd'], {'item with an unwanted feature': 2})
    """

    name: ClassVar[str] = "featured"
    reads_items: ClassVar[bool] = True
    items: ClassVar[Features | None] = None  # set by bind

    only: str = ""
    without: str = ""

    def validate(self) -> None:
        """Raise an error unless ``only`` or ``without`` is given."""
        if not (self.only or self.without):
            raise self.refuse("only", "give only=, without=, or both", "featured(without='Office|Factory')")

    def bind(self, items: Features | None) -> Self:
        """Return a copy of the filter that holds the features of items, by which it selects events."""
        bound = copy.copy(self)
        object.__setattr__(bound, "items", items)
        return bound

    def facts(self, log: PartitionedLog) -> Mapping[str, ItemSums]:
        """Return ``{"only": items with a wanted feature, "without": items with an unwanted one}``.

        A key is there only if the filter was given this parameter.
        """
        named = {"only": self.only, "without": self.without}
        return {parameter: self._with(parameter, names) for parameter, names in named.items() if names}

    def kept(self, log: Interactions, facts: Mapping[str, ItemSums]) -> tuple[Rows, Mapping[str, int]]:
        """Return a mask of the rows of wanted items, and the number of the others by reason.

        ``facts`` are the items that have a wanted feature, and those that have an unwanted one.
        """
        kept, removed = np.ones(len(log), np.bool_), {}
        if "only" in facts:
            kept = ~absent_from(log, facts["only"])[log.items]
            removed["item without a wanted feature"] = int(np.count_nonzero(~kept))
        if "without" in facts:
            unwanted = kept & ~absent_from(log, facts["without"])[log.items]
            removed["item with an unwanted feature"] = int(np.count_nonzero(unwanted))
            kept = kept & ~unwanted
        return kept, removed

    def _with(self, parameter: str, names: str) -> ItemSums:
        """Return the items that have one of the features in ``names``, joined by ``|``; raise U102 for unknown ones."""
        if self.items is None:
            hint = "give the items: of the data in a study, recassay split --items FILE, or items= of filters.apply"
            raise UsageError("U105", f"{self.name} needs features of items", where=str(self), hint=hint)
        wanted, known = [name.strip() for name in names.split(SEPARATOR)], self.items.names.to_list()
        if unknown := [name for name in wanted if name not in known]:
            raise self.refuse(parameter, f"no item has the feature '{unknown[0]}'", suggest(unknown[0], known))
        chosen = self.items.names.is_in(wanted).to_numpy()
        found = np.zeros(self.items.n_items, np.bool_)
        found[row_groups(self.items.offsets)[chosen[self.items.codes]]] = True
        return ItemSums(self.items.vocabulary, np.ones(found.size, np.int64)).only(found)


@dataclass(frozen=True, repr=False)
class OneIn(Filter):
    """A random sample of about one in ``n`` users with all of their events, or of one in ``n`` rows.

    With ``ready_made`` sequences, where a user is a playlist, users are sequences. The draw of a user depends on the
    seed and the user's id, so a sample of one in 20 is part of that of one in 10. Rows are drawn by user and item.

    >>> from recassay.data.synthetic.tastes import log
    >>> made = log(users=1000, items=50, events=5000)
    >>> [OneIn(n=n)(made).log.n_users for n in (1, 10, 20)]
    [1000, 93, 43]
    """

    name: ClassVar[str] = "one_in"

    n: int
    of: Literal["users", "rows"] = "users"
    seed: int = 0

    def validate(self) -> None:
        """Raise an error if ``n`` is below 1."""
        if self.n < 1:
            raise self.refuse("n", "it must be at least 1", "one_in(n=10)")

    def kept(self, log: Interactions, facts: Any) -> tuple[Rows, Mapping[str, int]]:
        """Return a mask of the rows in the sample, and the number of the others."""
        users = self.of == "users"
        draws = user_draws(log, self.seed, self.name) if users else row_draws(log, self.seed, self.name)
        sampled = draws <= np.uint64((2**64 - 1) // self.n)
        kept = sampled[log.users] if users else sampled
        return kept, {"not in the sample": int(np.count_nonzero(~kept))}
