"""All declared departures from papers: of classes with a name, of designs, and of public functions.

A departure is a documented way in which the implementation deviates from the paper that it follows.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from recassay.designs import grammar
from recassay.metrics.registry import metrics
from recassay.naming.named import Departure

HEADING = "Departs from the paper"
MODULES = ("recassay",)  # public functions of these may have departures


@dataclass(frozen=True)
class Declared:
    """A documented deviation from a paper, with the name and kind (metric, split, ...) of what deviates."""

    name: str
    kind: str
    departure: Departure


def departures_of(named: Any) -> tuple[Departure, ...]:
    """Return the deviations from papers that a class or function declares itself, without those of base classes."""
    return tuple(vars(named).get("departures", ()))


def declared(registries: Mapping[str, Any]) -> Iterator[Declared]:
    """Yield every deviation from a paper that a class, metric, design or public function documents.

    ``registries`` maps each kind of class, such as split, to the registry of its classes.
    """
    for kind, registry in registries.items():
        for name, one in registry.kinds.items():
            yield from (Declared(name, kind, departure) for departure in departures_of(one))
    for name, metric in metrics().items():
        yield from (Declared(name, "metric", departure) for departure in departures_of(metric))
    for name, several in grammar.DEPARTURES.items():
        yield from (Declared(name, "design", departure) for departure in several)
    for module in map(importlib.import_module, MODULES):
        for name in module.__all__:
            one = getattr(module, name)
            if not isinstance(one, type) and callable(one):
                yield from (Declared(f"ra.{name}", "function", departure) for departure in departures_of(one))


def section(several: tuple[Departure, ...]) -> dict[str, str]:
    """Return ``{heading: text}`` for an ``explain`` page: the section on deviations from papers; empty without any."""
    return {HEADING: "\n".join(map(str, several))} if several else {}
