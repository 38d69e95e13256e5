"""The kinds of tables: their required and optional columns, and the order of columns in a file without a header."""

from __future__ import annotations

from dataclasses import dataclass

from recassay.errors import UsageError
from recassay.naming.grammar import suggest

USER, ITEM, TIMESTAMP, RATING, SCORE, RANK, GAIN, POOL, SYSTEM, SEQUENCE, POSITION, PROBABILITY, SURPRISE = (
    "user_id",
    "item_id",
    "timestamp",
    "rating",
    "score",
    "rank",
    "gain",
    "pool",
    "system",
    "sequence_id",
    "position",
    "probability",
    "surprise",
)


@dataclass(frozen=True)
class Role:
    """A kind of table: the canonical names of required and optional columns.

    ``positions`` are the columns of a file without a header, in order.
    """

    name: str
    required: tuple[str, ...]
    optional: tuple[str, ...]
    positions: tuple[str, ...]
    value: str
    """The column that the number in ``{user: {item: number}}`` becomes."""
    whole_ranks: bool = True
    """Whether the reader rejects fractional ranks; if False, the caller does, with a better message."""
    others: bool = False
    """Whether all other columns are read too, unchanged."""
    describes: bool = False
    """Whether a row describes an item or a user; text columns of numbers are then numbers."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the names of the required and the optional columns."""
        return (*self.required, *self.optional)


ROLES = {
    role.name: role
    for role in (
        Role("run", (USER, ITEM), (RANK, SCORE), (USER, ITEM, SCORE), SCORE),
        Role("truth", (USER, ITEM), (GAIN,), (USER, ITEM, GAIN), GAIN),
        Role("log", (USER, ITEM), (TIMESTAMP, RATING), (USER, ITEM, RATING, TIMESTAMP), RATING),
        Role("items", (ITEM,), (), (ITEM,), "", others=True, describes=True),
        Role("users", (USER,), (), (USER,), "", others=True, describes=True),
        Role("ranks", (USER, RANK), (POOL,), (USER, RANK, POOL), RANK, whole_ranks=False),
        Role("scores", (USER,), (SYSTEM,), (), "", others=True),
        Role("finished", (SYSTEM,), (USER,), (), "", others=True),
        Role("seeds", (), (SEQUENCE, USER, TIMESTAMP, POSITION), (), "", others=True, describes=True),
        Role(
            "sequences",
            (SEQUENCE, POSITION, ITEM),
            (USER, TIMESTAMP, PROBABILITY, SURPRISE),
            (SEQUENCE, POSITION, ITEM, PROBABILITY),
            PROBABILITY,
        ),
    )
}


def role_named(name: str) -> Role:
    """Return the role of that name; raise U107 if it is unknown.

    >>> role_named("truth").optional
    ('gain',)
    """
    if name not in ROLES:
        raise UsageError("U107", f"there is no table role {name!r}", hint=suggest(name, ROLES))
    return ROLES[name]
