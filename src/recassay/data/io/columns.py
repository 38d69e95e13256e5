"""Which column means what: one table of the names that libraries and data sets use, and how a user overrides it."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence

from recassay.data.io.roles import GAIN, ITEM, POOL, RANK, RATING, SCORE, SYSTEM, TIMESTAMP, USER, Role
from recassay.errors import InputError, UsageError

# Names are compared in lower case, without blanks, dashes and underscores: `userId`, `User ID` and `user_id` are one.
# Each meaning has tiers: a later tier counts only where no earlier one is present, so `session` is the user of a log
# that has no user, and `rating` is the score of a run that has no score.
ALIASES: dict[str, tuple[str, ...]] = {
    USER: (
        "user_id user uid user_idx user_index userno username",
        "query_id query qid q_id topic topic_id request_id",
        "session_id session sid session_key customer_id customer visitor_id visitor member_id account_id reviewer_id "
        "profile_id buyer_id",
    ),
    ITEM: (
        "item_id item iid item_idx item_index itemno",
        "doc_id doc docno document_id document",
        "movie_id movie product_id product asin parent_asin article_id article track_id track song_id song artist_id "
        "artist album_id book_id book isbn business_id venue_id venue poi_id poi place_id news_id video_id game_id "
        "app_id recipe_id sku anime_id content_id",
    ),
    TIMESTAMP: (
        "timestamp",
        "datetime time ts unix_timestamp unixtime unix_review_time event_time timestamp_ms event_timestamp",
        "date created_at",
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
    POOL: ("pool pool_size",),  # "candidates" and "negatives" could just as well be those that were sampled
    SYSTEM: ("system system_id system_name", "model model_name algorithm algo recommender method approach run run_id"),
    GAIN: (
        "gain",
        "relevance rel grade",
        "rating weight ratings stars overall",
        "value label score play_count plays count target",
    ),
}
# In a table of items the column is often just called `id`.
ITEMS_LAST_TIER = "id"

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
}


def parse_columns(columns: str | Mapping[str, str] | None) -> dict[str, str]:
    """The user's own names: ``"user=uid,item=iid"`` or a mapping, as canonical name -> name in the table.

    >>> parse_columns("user=uid, item=iid")
    {'user_id': 'uid', 'item_id': 'iid'}
    """
    if not columns:
        return {}
    if isinstance(columns, str):
        pairs = [tuple(part.strip() for part in text.split("=", 1)) for text in columns.split(",") if text.strip()]
    else:
        pairs = list(columns.items())
    chosen: dict[str, str] = {}
    for pair in pairs:
        key = pair[0]
        canonical = SHORT_NAMES.get(key, key if key in SHORT_NAMES.values() else None)
        if len(pair) != 2 or canonical is None or not pair[1] or canonical in chosen or pair[1] in chosen.values():
            close = difflib.get_close_matches(key, SHORT_NAMES, n=1)
            raise UsageError(
                "U102",
                f"cannot use {'='.join(pair)!r} as a column choice",
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
    numbers: Callable[[list[str]], Iterable[str]] = lambda _: (),
) -> dict[str, str]:
    """Canonical name -> name in the table, for every column of the role that is there.

    A choice by the user wins; then the exact canonical name; then the first tier of aliases with a match, which must be
    the only one in its tier (I203). A required column without a match is I201, whose hint names all columns that it
    takes; ``numbers`` says which of some columns hold numbers.

    >>> from recassay.data.io.roles import ROLES
    >>> resolve(["userId", "movieId", "rating"], ROLES["truth"], {}, where="ratings.csv")
    {'user_id': 'userId', 'item_id': 'movieId', 'gain': 'rating'}
    """
    if absent := [name for name in chosen.values() if name not in names]:
        raise _missing(f"there is no column {absent[0]!r}", names, where, absent[0], _choice(names, role, {}, numbers))
    wanted = [meaning for meaning in (*role.required, *role.optional) if meaning not in chosen]
    free = [name for name in names if name not in chosen.values()]
    found = {meaning: name for meaning, name in chosen.items() if meaning in (*role.required, *role.optional)}
    if by_position:
        # The k-th column keeps its meaning, unless the user has given that column or that meaning away.
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
        choice = _choice(names, role, found, numbers)
        raise _missing(f"no column for {' and '.join(lacking)}", names, where, lacking[0], choice)
    return {meaning: found[meaning] for meaning in (*role.required, *role.optional) if meaning in found}


def names_a_column(name: str) -> bool:
    """Whether a word is a known column name, so that the line it stands in is a header.

    >>> names_a_column("movieId"), names_a_column("Toy Story")
    (True, False)
    """
    return bool(known_meanings(name))


def known_meanings(name: str) -> set[str]:
    """Return every meaning that a column of this name can have in some table.

    >>> sorted(known_meanings("Rating")), known_meanings("Bewertung")
    (['gain', 'rating', 'score'], set())
    """
    return {meaning for meaning, tiers in ALIASES.items() if any(plain(name) in _words(tier) for tier in tiers)}


def _match(meaning: str, names: list[str], role: Role, where: str) -> str | None:
    if names.count(meaning) == 1:
        return meaning
    tiers = ALIASES[meaning] + ((ITEMS_LAST_TIER,) if role.name == "items" else ())
    for tier in tiers:
        matches = [name for name in names if plain(name) in _words(tier)]
        if len(matches) > 1:
            short = next(key for key, value in SHORT_NAMES.items() if value == meaning)
            say_which = f"say which: --columns {short}={matches[0]}"
            raise InputError(
                "I203",
                f"{len(matches)} columns can be {meaning}: {_listed(matches)}",
                where=where,
                hint=say_which if len(set(matches)) > 1 else "rename one of them",
            )
        if matches:
            return matches[0]
    return None


def _choice(
    names: Sequence[str], role: Role, found: Mapping[str, str], numbers: Callable[[list[str]], Iterable[str]]
) -> str:
    """A choice of columns that will do: those found, the first others for what lacks, and a column of numbers.

    Without its score a run would be taken in the order of its rows, without its gain a truth as all ones.
    """
    short = {meaning: key for key, meaning in SHORT_NAMES.items()}
    free = [name for name in names if name not in found.values()]
    chosen = {meaning: found.get(meaning) or (free.pop(0) if free else "NAME") for meaning in role.required}
    values = [meaning for meaning in (RANK, SCORE, GAIN) if meaning in role.optional]
    if values and not any(meaning in found for meaning in values):
        chosen |= dict(zip(values[-1:], numbers(free), strict=False))
    return ",".join(f"{short[meaning]}={name}" for meaning, name in chosen.items())


def _missing(what: str, names: Sequence[str], where: str, wanted: str, choice: str) -> InputError:
    known = [word for tier in ALIASES.get(wanted, (wanted,)) for word in tier.split()]
    guesses = {short: name for name in names if (short := plain(name))}
    close = [guess for word in known for guess in difflib.get_close_matches(plain(word), guesses, n=1, cutoff=0.75)]
    guess = f"did you mean {guesses[close[0]]!r}? " if close else ""
    return InputError(
        "I201",
        f"{what}; the {len(names)} columns found are {_listed(names)}",
        where=where,
        hint=f"{guess}name the columns, for example --columns {choice}",
    )


def _listed(names: Sequence[str], most: int = 12) -> str:
    shown = ", ".join(repr(name) for name in names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")


def plain(name: str) -> str:
    """Return a column name as names are compared: in lower case, without blanks, dashes and underscores."""
    return name.strip().lower().replace("_", "").replace("-", "").replace(" ", "")


def _words(tier: str) -> set[str]:
    return {plain(word) for word in tier.split()}
