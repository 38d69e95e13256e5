"""Short forms of long names of systems in the sentences of the page, where a model's parameters would fill a phone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from markupsafe import Markup

from recassay.errors import printable
from recassay.naming.grammar import split
from recassay.report.content.wording import shorten

WIDTH = 30  # characters of the longest name that is shown whole
CALL = re.compile(r"(?P<name>[\w.]+)\((?P<parameters>.+)\)")


def short_names(systems: Iterable[str]) -> dict[str, str]:
    """Return a short form of each long name: of its parameters only those that tell it from the other systems.

    Other long names lose their middle. A name stays whole if its short form could be another system's.

    >>> names = [f"BPR(factors={number}, regularization=0.01)" for number in (16, 32)]
    >>> short_names(["Popular", *names])[names[0]]
    'BPR(factors=16, …)'
    """
    every = list(dict.fromkeys(systems))
    forms = {name: _forms(name, every) for name in every if len(name) > WIDTH}
    depth = max(map(len, forms.values()), default=0)
    for at in range(depth):
        found = {name: own[min(at, len(own) - 1)] for name, own in forms.items()}
        shown = [found.get(name, name) for name in every]
        if len(set(shown)) == len(shown):
            return {name: short for name, short in found.items() if len(short) < len(name)}
    return {}


def _forms(name: str, every: list[str]) -> list[str]:
    """Return possible short forms of a model's name, the shortest first; ``every`` are the names of all systems.

    They have more and more of the parameters that tell it from other systems. Any other name has one form, without its
    middle.
    """
    call = CALL.fullmatch(name)
    if call is None:
        return [shorten(name, WIDTH)]
    others = [match for other in every if other != name and (match := CALL.fullmatch(other))]
    alike = [set(split(other["parameters"])) for other in others if other["name"] == call["name"]]
    parts = split(call["parameters"])
    own = [part for part in parts if not all(part in other for other in alike)] if alike else []
    return [f"{call['name']}({', '.join([*own[:size], '…'])})" for size in range(min(1, len(own)), len(own) + 1)]


def with_short_names(text: str, short: Mapping[str, str]) -> Markup:
    """Return a sentence as markup in which every name of ``short`` has its short form; the full name is its title."""
    if not short:
        return Markup.escape(printable(text))
    longest_first = sorted(short, key=len, reverse=True)
    pieces = re.split(f"({'|'.join(map(re.escape, longest_first))})", text)
    abbreviated = Markup('<abbr title="{}">{}</abbr>')
    return Markup().join(
        abbreviated.format(printable(piece), printable(short[piece])) if piece in short else printable(piece)
        for piece in pieces
    )
