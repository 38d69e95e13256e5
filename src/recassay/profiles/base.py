"""A profile is a set of conventions: how lists are read, and which of our metrics a library means by a name."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass, field

from recassay.errors import UsageError
from recassay.metrics.base import Metric
from recassay.metrics.registry import Metrics, headed
from recassay.metrics.registry import find as find_metric
from recassay.spec import Expression, Value, parse, suggest


@dataclass(frozen=True)
class Profile:
    """The conventions of one library.

    ``metrics`` maps our name of a metric to the expression that reproduces the library's number, without cut-off:
    ``{"precision": "precision(divide_by='list', missing='skip')"}``. ``conventions`` are those of
    :class:`recassay.metrics.align.Conventions` that differ from ours. ``differs`` says in a sentence each what a reader
    of that library's numbers should know. ``transcribed`` marks profiles held to the library's source, not to a run.
    """

    name: str
    title: str
    version: str
    metrics: Mapping[str, str]
    conventions: Mapping[str, str] = field(default_factory=dict)
    differs: tuple[str, ...] = ()
    transcribed: bool = False

    def build(self, asked: Expression, defaults: Mapping[str, Value]) -> Metric:
        """Our metric for a name as this library would compute it; stated parameters win over the profile's."""
        if asked.name not in self.metrics:
            raise UsageError(
                "U106",
                f"{self.title} has no metric '{asked.name}', so there is nothing to reproduce",
                where=f"--profile {self.name} -m {asked}",
                hint=f"it has {', '.join(sorted(self.metrics))}",
            )
        own = parse(self.metrics[asked.name])
        merged = Expression(own.name, {**own.parameters, **asked.parameters}, asked.k)
        return find_metric(own.name).build(merged, defaults)

    def translate(self, texts: Metrics, defaults: Mapping[str, Value]) -> dict[str, Metric]:
        """Metrics by heading, each as this library would compute it."""
        return headed(texts, lambda asked: self.build(asked, defaults))


@functools.cache
def profiles() -> Mapping[str, Profile]:
    """Every profile by name.

    >>> "trec_eval" in profiles()
    True
    """
    import recassay.profiles as package

    found = {}
    for module in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        profile = getattr(importlib.import_module(module.name), "PROFILE", None)
        if profile is not None:
            found[profile.name] = profile
    return dict(sorted(found.items()))


def find(name: str) -> Profile:
    """The profile of a library."""
    if name not in profiles():
        raise UsageError("U106", f"there is no profile '{name}'", hint=suggest(name, profiles()))
    return profiles()[name]
