"""JSON parsing that rejects repeated keys, of which ordinary JSON readers silently keep only the last."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from recassay.errors import InputError

Pairs = list[tuple[str, Any]]


def parse_json(text: str, where: str) -> Any:
    """Return what ``json.loads`` makes of a text.

    Raise I113 for an object with a repeated key, and I117 for extreme nesting or numbers of extreme length. ``where``
    names the file.

    >>> parse_json('{"ann": {"x": 0.5}}', "run.json")
    {'ann': {'x': 0.5}}
    """
    repeating: list[Pairs] = []

    def checked(pairs: Pairs) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) < len(pairs):
            repeating.append(pairs)
        return made

    try:
        content = json.loads(text, object_pairs_hook=checked)
        if repeating:
            raise _repeated_keys(repeating, json.loads(text, object_pairs_hook=list), where)
    except RecursionError:
        raise _beyond_limit("it nests hundreds of levels", where) from None
    except json.JSONDecodeError:
        raise
    except ValueError as error:  # Python reads no whole number of more than 4,300 digits
        raise _beyond_limit(str(error).partition(";")[0], where) from None
    return content


def _beyond_limit(why: str, where: str) -> InputError:
    hint = "write the table as Parquet or CSV, with a row per item"
    return InputError("I117", f"the JSON document exceeds a limit: {why}", where=where, hint=hint)


def _repeated_keys(repeating: list[Pairs], document: Any, where: str) -> InputError:
    """Return the error I113 with the number of repeated keys, and the first of them with the keys that lead to it.

    ``repeating`` are objects with a repeated key, as lists of pairs, and ``document`` is the whole text so parsed.
    """
    repeats = sum(len(pairs) - len(dict(pairs)) for pairs in repeating)
    key, parents = next(_find_repeats(document, ()))
    inside = f" inside {' inside '.join(repr(parent) for parent in reversed(parents))}" if parents else ""
    return InputError(
        "I113",
        f"{repeats:,} keys are repeated in the same JSON object, the first is {key!r}{inside}",
        where=where,
        hint="write each key of an object once: all items of a user together, one number per item",
    )


def _find_repeats(value: Any, parents: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each repeated key with the keys that lead to it, outer objects first.

    Objects in ``value`` are lists of pairs, and ``parents`` are the keys that lead to ``value``.
    """
    if not isinstance(value, list):
        return
    pairs = [entry for entry in value if isinstance(entry, tuple)]
    seen = set()
    for key, _ in pairs:
        if key in seen:
            yield key, parents
        seen.add(key)
    for entry in value:
        key = (entry[0],) if isinstance(entry, tuple) else ()
        yield from _find_repeats(entry[1] if key else entry, (*parents, *key))
