"""All declared departures from the papers: of classes with a name, of designs, and of public functions."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from recassay import designs
from recassay.metrics.registry import metrics
from recassay.naming.departures import Departure

HEADING = "Departs from the paper"
MODULES = ("recassay",)  # public functions of these may have departures


@dataclass(frozen=True)
class Declared:
    """A departure from a paper, with the name and kind (metric, split, ...) of the class or function declaring it."""

    name: str
    kind: str
    departure: Departure


def departures_of(named: Any) -> tuple[Departure, ...]:
    """Return the departures that a class or function declares itself; a subclass does not repeat those of its base."""
    return tuple(vars(named).get("departures", ()))


def declared(registries: Mapping[str, Any]) -> Iterator[Declared]:
    """Yield every departure: of the classes in ``registries`` (by kind), metrics, designs and public functions."""
    for kind, registry in registries.items():
        for name, one in registry.kinds.items():
            yield from (Declared(name, kind, departure) for departure in departures_of(one))
    for name, metric in metrics().items():
        yield from (Declared(name, "metric", departure) for departure in departures_of(metric))
    for name, several in designs.DEPARTURES.items():
        yield from (Declared(name, "design", departure) for departure in several)
    for module in map(importlib.import_module, MODULES):
        for name in module.__all__:
            one = getattr(module, name)
            if not isinstance(one, type) and callable(one):
                yield from (Declared(f"ra.{name}", "function", departure) for departure in departures_of(one))


def section(several: tuple[Departure, ...]) -> dict[str, str]:
    """Return the section of an ``explain`` page about departures; empty if there are none."""
    return {HEADING: "\n".join(map(str, several))} if several else {}
