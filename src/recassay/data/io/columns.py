"""The columns of each kind of table, and the names that libraries, data sets and users give them."""

from __future__ import annotations

import difflib
import functools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from recassay.columnar.columns import normalised_name
from recassay.errors import InputError, UsageError
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


# Names are compared in lower case, without blanks, dashes and underscores: `userId`, `User ID` and `user_id` are equal.
# Each meaning has tiers of names: a later tier counts only if no name of an earlier one is present. So `session` is the
# user of a log without a user column, and `rating` is the score of a run without a score column.
QUERIES = "query_id query qid q_id topic topic_id request_id"
SESSIONS = "session_id session sid session_key"
ALIASES: dict[str, tuple[str, ...]] = {
    USER: (
        "user_id user uid user_idx user_index userno username",
        QUERIES,
        f"{SESSIONS} customer_id customer visitor_id visitor member_id account_id reviewer_id "
        "profile_id buyer_id household_id",
    ),
    ITEM: (
        "item_id item iid item_idx item_index itemno",
        "doc_id doc docno document_id document corpus_id",
        "movie_id movie product_id product asin parent_asin article_id article track_id track song_id song artist_id "
        "artist album_id book_id book isbn business_id venue_id venue poi_id poi place_id news_id video_id game_id "
        "app_id recipe_id sku anime_id content_id",
    ),
    TIMESTAMP: (
        "timestamp",
        "datetime time ts unix_timestamp unixtime unix_review_time event_time timestamp_ms event_timestamp "
        "transaction_timestamp transaction_time",
        "date created_at transaction_date order_date purchase_date",
    ),
    RATING: (
        "rating",
        "weight ratings stars overall",
        "value relevance rel label gain score play_count plays count target",
    ),
    SCORE: (
        "score",
        "prediction pred predicted_score predicted_rating prediction_score scores sim logit",
        "rating relevance weight value",
    ),
    RANK: ("rank", "position ranking rank_position pos"),
    POOL: ("pool pool_size",),  # not "candidates" or "negatives", which may mean the sampled ones
    SYSTEM: ("system system_id system_name", "model model_name algorithm algo recommender method approach run run_id"),
    GAIN: (
        "gain",
        "relevance rel grade",
        "rating weight ratings stars overall",
        "value label score play_count plays count target",
    ),
    SEQUENCE: ("sequence_id sequence",),
    POSITION: ("position pos", "rank"),
    PROBABILITY: ("probability prob",),
    SURPRISE: ("surprise",),
}
# In a table of items or users the id column is often just called `id`.
LAST_TIER = {"items": "id", "users": "id"}

SHORT_NAMES = {
    "user": USER,
    "item": ITEM,
    "timestamp": TIMESTAMP,
    "rating": RATING,
    "score": SCORE,
    "rank": RANK,
    "gain": GAIN,
    "pool": POOL,
    "system": SYSTEM,
    "sequence": SEQUENCE,
    "position": POSITION,
    "probability": PROBABILITY,
    "surprise": SURPRISE,
}
KEYS = {meaning: key for key, meaning in SHORT_NAMES.items()}


def parse_columns(columns: str | Mapping[str, str] | None) -> dict[str, str]:
    """Return the user's column names (``"user=uid,item=iid"`` or a mapping) by canonical name.

    >>> parse_columns("user=uid, item=iid")
    {'user_id': 'uid', 'item_id': 'iid'}
    """
    if not columns:
        return {}
    given: object = columns
    if isinstance(given, str):
        pairs = [tuple(part.strip() for part in text.split("=", 1)) for text in given.split(",") if text.strip()]
    elif isinstance(given, Mapping):
        pairs = list(given.items())
    else:
        raise UsageError(
            "U102", f"columns must be a text or a dict, got {columns!r:.80}", hint="columns='user=WHO,item=WHAT'"
        )
    chosen: dict[str, str] = {}
    for pair in pairs:
        key = pair[0]
        canonical = SHORT_NAMES.get(key, key if key in SHORT_NAMES.values() else None)
        if len(pair) != 2 or canonical is None or not pair[1] or canonical in chosen or pair[1] in chosen.values():
            close = difflib.get_close_matches(key, SHORT_NAMES, n=1)
            raise UsageError(
                "U102",
                f"{'='.join(pair)!r} is not a valid column choice",
                where=f"--columns {columns}",
                hint=(f"did you mean {close[0]!r}? " if close and close[0] != key else "")
                + f"write KEY=COLUMN, each once, with the keys {', '.join(SHORT_NAMES)}",
            )
        chosen[canonical] = pair[1]
    return chosen


def resolve(
    names: Sequence[str],
    role: Role,
    chosen: Mapping[str, str],
    *,
    where: str,
    by_position: bool = False,
    numeric_columns: Callable[[list[str]], Mapping[str, pl.Series]] = lambda _: {},
    time_columns: Callable[[list[str]], Iterable[str]] = lambda _: (),
) -> dict[str, str]:
    """Return canonical name -> name in the table, for every column of the role (run, truth, log, ...) that is present.

    The user's choice comes first, then the exact canonical name, then the known aliases. Aliases are in tiers of
    decreasing preference; the first tier with a match counts. Raise I203 if several columns match in that tier, and
    I201 for a required column without a match; its hint suggests a choice for all columns. ``numeric_columns`` returns
    those of some columns that hold numbers, and ``time_columns`` those that hold times; ``by_position`` says that names
    are made up, so columns are taken by position.

    >>> from recassay.data.io.columns import ROLES
    >>> resolve(["userId", "movieId", "rating"], ROLES["truth"], {}, where="ratings.csv")
    {'user_id': 'userId', 'item_id': 'movieId', 'gain': 'rating'}
    """
    if absent := [name for name in chosen.values() if name not in names]:
        raise _missing(
            f"there is no column {absent[0]!r}",
            names,
            where,
            absent[0],
            _choice(names, role, recognised(names, role), numeric_columns, time_columns),
        )
    wanted = [meaning for meaning in role.columns if meaning not in chosen]
    free = [name for name in names if name not in chosen.values()]
    found = {meaning: name for meaning, name in chosen.items() if meaning in role.columns}
    if by_position:
        # The k-th column has its default meaning unless the user assigned that column or that meaning.
        found |= {
            meaning: name
            for meaning, name in zip(role.positions, names, strict=False)
            if meaning in wanted and name in free
        }
    else:
        for meaning in wanted:
            if (name := _match(meaning, free, role, where)) is not None:
                found[meaning] = name
    lacking = [meaning for meaning in role.required if meaning not in found]
    if lacking:
        raise _missing(
            f"no column for {' and '.join(lacking)}",
            names,
            where,
            lacking[0],
            _choice(names, role, found, numeric_columns, time_columns),
        )
    return {meaning: found[meaning] for meaning in role.columns if meaning in found}


def could_be_named(names: Iterable[str], role: Role, chosen: Mapping[str, str]) -> list[str]:
    """Return those of the names that :func:`resolve` can find a meaning for; among thousands it takes long itself.

    >>> from recassay.data.io.columns import ROLES
    >>> could_be_named(["ann", "userId", "score"], ROLES["run"], {})
    ['userId', 'score']
    """
    words = frozenset[str]().union(*(_words(tier) for meaning in role.columns for tier in _tiers(meaning, role)))
    kept = set(chosen.values())
    return [name for name in names if name in kept or normalised_name(name) in words]


def is_column_name(name: str) -> bool:
    """Return whether a word is a known column name; a line that has one is a header.

    >>> is_column_name("movieId"), is_column_name("Toy Story")
    (True, False)
    """
    return bool(known_meanings(name))


def known_meanings(name: str) -> set[str]:
    """Return every meaning that a column of this name can have in some table.

    >>> sorted(known_meanings("Rating")), known_meanings("Bewertung")
    (['gain', 'rating', 'score'], set())
    """
    word = normalised_name(name)
    return {meaning for meaning, tiers in ALIASES.items() if any(word in _words(tier) for tier in tiers)}


def _match(meaning: str, names: list[str], role: Role, where: str) -> str | None:
    matches = _matches(meaning, names, role)
    if len(matches) > 1:
        choice = f"choose one: --columns {KEYS[meaning]}={matches[0]}"
        raise InputError(
            "I203",
            f"{len(matches)} columns can be {meaning}: {_listed(matches)}",
            where=where,
            hint=choice if len(set(matches)) > 1 else "rename one of them",
        )
    return matches[0] if matches else None


def _matches(meaning: str, names: Sequence[str], role: Role) -> list[str]:
    """Return the columns with the exact name, or else those that match the first tier of aliases with a match."""
    if list(names).count(meaning) == 1:
        return [meaning]
    tiers = ([name for name in names if normalised_name(name) in _words(tier)] for tier in _tiers(meaning, role))
    return next(filter(None, tiers), [])


def recognised(names: Sequence[str], role: Role) -> dict[str, str]:
    """Return the columns that have a meaning by their names, by canonical name.

    >>> from recassay.data.io.columns import ROLES
    >>> recognised(["userId", "movieId", "year"], ROLES["run"])
    {'user_id': 'userId', 'item_id': 'movieId'}
    """
    found = {meaning: _matches(meaning, names, role) for meaning in role.columns}
    return {meaning: matches[0] for meaning, matches in found.items() if matches}


def _tiers(meaning: str, role: Role) -> tuple[str, ...]:
    return ALIASES[meaning] + ((LAST_TIER[role.name],) if role.name in LAST_TIER else ())


def _choice(
    names: Sequence[str],
    role: Role,
    found: Mapping[str, str],
    numeric_columns: Callable[[list[str]], Mapping[str, pl.Series]],
    time_columns: Callable[[list[str]], Iterable[str]],
) -> str:
    """Return a command-line option that names columns which would work for this table, for the hint of an error.

    ``found`` are the columns that were recognised. The first other columns stand in for missing required ones, except
    those of fractions; a column of numbers is named as the value of a run or truth, and one of times for a log. Without
    a score a run would be ordered by its rows, and without a gain every gain of a truth would be 1.
    """
    free = [name for name in names if name not in found.values()]
    numbers = numeric_columns(free)
    ids = [name for name in free if name not in numbers or (numbers[name] == numbers[name].floor()).all()]
    chosen = {meaning: found.get(meaning) or (ids.pop(0) if ids else "NAME") for meaning in role.required}
    free = [name for name in free if name not in chosen.values()]
    values = [meaning for meaning in (RANK, SCORE, GAIN) if meaning in role.optional]
    if values and not any(meaning in found for meaning in values):
        chosen |= dict(zip(values[-1:], (name for name in numbers if name in free), strict=False))
    if TIMESTAMP in role.optional and TIMESTAMP not in found:
        # Its values do not tell that a column holds times: large numbers may be ids as well.
        named = re.compile("time|date")
        times = sorted(time_columns(free), key=lambda name: named.search(normalised_name(name)) is None)
        chosen |= dict(zip((TIMESTAMP,), times, strict=False))
    option = "--truth-columns" if role.name == "truth" else "--columns"
    return f"{option} {','.join(f'{KEYS[meaning]}={name}' for meaning, name in chosen.items())}"


def _missing(what: str, names: Sequence[str], where: str, wanted: str, choice: str) -> InputError:
    known = [word for tier in ALIASES.get(wanted, (wanted,)) for word in tier.split()]
    guesses = {short: name for name in names if (short := normalised_name(name))}
    close = [
        guess for word in known for guess in difflib.get_close_matches(normalised_name(word), guesses, n=1, cutoff=0.75)
    ]
    near = guesses[close[0]] if close else ""
    # A guess from known names is not shown beside an example that takes another column.
    guess = near and (wanted not in ALIASES or f"{KEYS[wanted]}={near}" in choice)
    plain = wanted in (USER, ITEM) and where.endswith((".txt", ".dat")) and not any(map(is_column_name, names))
    lines = "; if a line holds a user and then the user's items: --format user_lines" if plain else ""
    return InputError(
        "I201",
        f"{what}; the {len(names)} columns found are {_listed(names)}",
        where=where,
        hint=(f"did you mean {near!r}? " if guess else "") + f"name the columns, for example {choice}{lines}",
    )


def _listed(names: Sequence[str], most: int = 12) -> str:
    shown = ", ".join(repr(name) for name in names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")


def unit_of(name: str) -> str:
    """Return what the rows of one id in a column of users are: a query, a session, or else a user.

    >>> unit_of("query-id"), unit_of("sessionId"), unit_of("customer")
    ('query', 'session', 'user')
    """
    words = {"query": QUERIES, "session": SESSIONS}
    return next((unit for unit, tier in words.items() if normalised_name(name) in _words(tier)), "user")


@functools.cache  # asked for every cell of the first lines of a file
def _words(tier: str) -> frozenset[str]:
    return frozenset(normalised_name(word) for word in tier.split())
