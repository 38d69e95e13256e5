"""The columns of each kind of table, and the names that libraries, data sets and users give them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

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

    ``positions`` are the columns of a file without a header, in order. ``value`` is the column that the number in
    ``{user: {item: number}}`` becomes. With ``whole_ranks`` the reader rejects fractional ranks; else the caller does,
    with a better message. With ``others`` all other columns are read too, unchanged. ``describes`` says that a row
    describes an item or a user; text columns of numbers are then numbers.
    """

    name: str
    required: tuple[str, ...]
    optional: tuple[str, ...]
    positions: tuple[str, ...]
    value: str
    whole_ranks: bool = True
    others: bool = False
    describes: bool = False

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
    GAIN: (
        "gain",
        "relevance rel grade",
        "rating weight ratings stars overall",
        "value label score play_count plays count target",
    ),
    POOL: ("pool pool_size",),  # not "candidates" or "negatives", which may mean the sampled ones
    SYSTEM: ("system system_id system_name", "model model_name algorithm algo recommender method approach run run_id"),
    SEQUENCE: ("sequence_id sequence",),
    POSITION: ("position pos", "rank"),
    PROBABILITY: ("probability prob",),
    SURPRISE: ("surprise",),
}
# In a table of items or users the id column is often just called `id`.
LAST_TIER = {"items": frozenset({"id"}), "users": frozenset({"id"})}
# The tiers as they are compared.
TIERS = {
    meaning: [frozenset(map(normalised_name, tier.split())) for tier in tiers] for meaning, tiers in ALIASES.items()
}
UNITS = {
    normalised_name(word): unit for unit, words in (("query", QUERIES), ("session", SESSIONS)) for word in words.split()
}

SHORT_NAMES = {name.removesuffix("_id"): name for name in ALIASES}
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
    I201 for a required column without a match; its hint suggests a choice for all columns. ``numeric_columns`` takes
    column names and returns the columns that hold numbers, and ``time_columns`` the names of those that hold times.
    ``by_position`` says that names are made up, so columns are taken by position.

    >>> from recassay.data.io.columns import ROLES
    >>> resolve(["userId", "movieId", "rating"], ROLES["truth"], {}, where="ratings.csv")
    {'user_id': 'userId', 'item_id': 'movieId', 'gain': 'rating'}
    """
    advisers = numeric_columns, time_columns
    if absent := [name for name in chosen.values() if name not in names]:
        what = f"there is no column {absent[0]!r}"
        raise _missing(what, absent[0], names, role, recognised(names, role), where, *advisers)
    free = [name for name in names if name not in chosen.values()]
    found = {meaning: name for meaning, name in chosen.items() if meaning in role.columns}
    if by_position:
        # The k-th column has its default meaning unless the user assigned that column or that meaning.
        by_place = zip(role.positions, names, strict=False)
        found = {meaning: name for meaning, name in by_place if name in free} | found
    else:
        for meaning, matches in _matches(free, role).items():
            if meaning not in chosen and len(matches) > 1:
                choice = f"choose one: --columns {KEYS[meaning]}={matches[0]}"
                raise InputError(
                    "I203",
                    f"{len(matches)} columns can be {meaning}: {_listed(matches)}",
                    where=where,
                    hint=choice if len(set(matches)) > 1 else "rename one of them",
                )
            found.setdefault(meaning, matches[0])
    lacking = [meaning for meaning in role.required if meaning not in found]
    if lacking:
        what = f"no column for {' and '.join(lacking)}"
        raise _missing(what, lacking[0], names, role, found, where, *advisers)
    return {meaning: found[meaning] for meaning in role.columns if meaning in found}


def known_meanings(name: str) -> set[str]:
    """Return every meaning that a column of this name can have in some table; a line with a known name is a header.

    >>> sorted(known_meanings("Rating")), known_meanings("Bewertung")
    (['gain', 'rating', 'score'], set())
    """
    word = normalised_name(name)
    return {meaning for meaning, tiers in TIERS.items() if any(word in tier for tier in tiers)}


def recognised(names: Iterable[str], role: Role) -> dict[str, str]:
    """Return the columns whose names recassay knows, as {canonical name: column name}.

    >>> from recassay.data.io.columns import ROLES
    >>> recognised(["userId", "movieId", "year"], ROLES["run"])
    {'user_id': 'userId', 'item_id': 'movieId'}
    """
    return {meaning: matches[0] for meaning, matches in _matches(names, role).items()}


def _matches(names: Iterable[str], role: Role) -> dict[str, list[str]]:
    """Return the matching columns of each canonical name: that of this name, else those of the first matching tier."""
    tiers = {meaning: [*TIERS[meaning], LAST_TIER.get(role.name, frozenset())] for meaning in role.columns}
    known = frozenset[str]().union(*chain.from_iterable(tiers.values()))
    words = [(name, word) for name in names if (word := normalised_name(name)) in known]  # of thousands, perhaps
    found = {}
    for meaning, aliases in tiers.items():
        exact = [name for name, _ in words if name == meaning]
        alike = ([name for name, word in words if word in tier] for tier in aliases)
        if matches := exact if len(exact) == 1 else next(filter(None, alike), []):
            found[meaning] = matches
    return found


def _choice(
    names: Sequence[str],
    role: Role,
    found: Mapping[str, str],
    numeric_columns: Callable[[list[str]], Mapping[str, pl.Series]],
    time_columns: Callable[[list[str]], Iterable[str]],
) -> str:
    """Return a command-line option that names columns which would work for this table, for the hint of an error.

    ``found`` are the columns that were recognised. The first other columns stand in for missing required ones, unless
    they hold fractions; a column of numbers is named as the value of a run or truth, and one of times for a log.
    Without a score a run would be ordered by its rows, and without a gain every gain of a truth would be 1.
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


def _missing(
    what: str,
    wanted: str,
    names: Sequence[str],
    role: Role,
    found: Mapping[str, str],
    where: str,
    numeric_columns: Callable[[list[str]], Mapping[str, pl.Series]],
    time_columns: Callable[[list[str]], Iterable[str]],
) -> InputError:
    """Return the error I201 for a missing column, with advice that fits the table; ``found`` has the known columns."""
    choice = _choice(names, role, found, numeric_columns, time_columns)
    known = [word for tier in ALIASES.get(wanted, (wanted,)) for word in tier.split()]
    guesses = {short: name for name in names if (short := normalised_name(name))}
    close = [
        guess for word in known for guess in difflib.get_close_matches(normalised_name(word), guesses, n=1, cutoff=0.75)
    ]
    near = guesses[close[0]] if close else ""
    # A guess from known names is not shown beside an example that takes another column.
    guess = near and (wanted not in ALIASES or f"{KEYS[wanted]}={near}" in choice)
    plain = wanted in (USER, ITEM) and where.endswith((".txt", ".dat")) and not any(map(known_meanings, names))
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
    """Return what the ids in a column of users stand for, by its name: ``query``, ``session``, or else ``user``.

    >>> unit_of("query-id"), unit_of("sessionId"), unit_of("customer")
    ('query', 'session', 'user')
    """
    return UNITS.get(normalised_name(name), "user")
