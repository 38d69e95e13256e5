"""What each kind of table needs: its columns, and what a column means when nobody has named it."""

from __future__ import annotations

from dataclasses import dataclass

from recassay.errors import UsageError
from recassay.spec import suggest

USER, ITEM, TIMESTAMP, RATING, SCORE, RANK, GAIN, POOL, SYSTEM = (
    "user_id",
    "item_id",
    "timestamp",
    "rating",
    "score",
    "rank",
    "gain",
    "pool",
    "system",
)


@dataclass(frozen=True)
class Role:
    """One kind of table: required and optional columns, and their order in a file without a header."""

    name: str
    required: tuple[str, ...]
    optional: tuple[str, ...]
    positions: tuple[str, ...]
    value: str
    """What the number means in ``{user: {item: number}}``."""
    whole_ranks: bool = True
    """Whether a rank that is a fraction is refused by the reader, and not by whoever can say more about it."""
    others: bool = False
    """Whether every other column is read too, untouched."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column that means something."""
        return (*self.required, *self.optional)


ROLES = {
    role.name: role
    for role in (
        Role("run", (USER, ITEM), (RANK, SCORE), (USER, ITEM, SCORE), SCORE),
        Role("truth", (USER, ITEM), (GAIN,), (USER, ITEM, GAIN), GAIN),
        Role("log", (USER, ITEM), (TIMESTAMP, RATING), (USER, ITEM, RATING, TIMESTAMP), RATING),
        Role("items", (ITEM,), (), (ITEM,), "", others=True),
        Role("ranks", (USER, RANK), (POOL,), (USER, RANK, POOL), RANK, whole_ranks=False),
        Role("scores", (USER,), (SYSTEM,), (), "", others=True),
    )
}


def role_named(name: str) -> Role:
    """The role of that name, or U107.

    >>> role_named("truth").optional
    ('gain',)
    """
    if name not in ROLES:
        raise UsageError("U107", f"there is no table role {name!r}", hint=suggest(name, ROLES))
    return ROLES[name]
