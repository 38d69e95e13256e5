"""JSON text as Python objects, in which no key may come twice: readers of JSON keep one of them and say nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from recassay.errors import InputError

Pairs = list[tuple[str, Any]]


def loads(text: str, where: str) -> Any:
    """What ``json.loads`` makes of a text; a key that comes twice in one object is I113.

    >>> loads('{"ann": {"x": 0.5}}', "run.json")
    {'ann': {'x': 0.5}}
    """
    repeating: list[Pairs] = []

    def once(pairs: Pairs) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) < len(pairs):
            repeating.append(pairs)
        return made

    content = json.loads(text, object_pairs_hook=once)
    if repeating:
        raise _twice(repeating, json.loads(text, object_pairs_hook=list), where)
    return content


def _twice(repeating: list[Pairs], document: Any, where: str) -> InputError:
    """How many keys come again, and the first of them with the keys of the objects around it."""
    again = sum(len(pairs) - len(dict(pairs)) for pairs in repeating)
    key, around = next(_repeats(document, ()))
    inside = f" in that of {' in '.join(repr(one) for one in reversed(around))}" if around else ""
    return InputError(
        "I113",
        f"{again:,} keys come again in the same JSON object, the first {key!r}{inside}",
        where=where,
        hint="write each key of an object once: a user with all items, an item with one number",
    )


def _repeats(value: Any, around: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Keys that come again, from the outermost object to the inner ones; objects are lists of pairs."""
    if not isinstance(value, list):
        return
    pairs = [one for one in value if isinstance(one, tuple)]
    seen = set()
    for key, _ in pairs:
        if key in seen:
            yield key, around
        seen.add(key)
    for one in value:
        key = (one[0],) if isinstance(one, tuple) else ()
        yield from _repeats(one[1] if key else one, (*around, *key))
