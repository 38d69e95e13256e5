"""A profile is a set of conventions: how lists are read, and which of our metrics a library means by a name."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Literal

from recassay.errors import UsageError
from recassay.metrics.base import Metric
from recassay.metrics.registry import Metrics, headed
from recassay.metrics.registry import find as find_metric
from recassay.spec import Expression, Value, parse, suggest

Circumstance = Literal[
    "always",
    "tied scores",
    "scores of 0 or less",
    "repeated items",
    "users without truth",
    "users without a hit",
    "few judged non-relevant items",
]


@dataclass(frozen=True)
class Exclusion:
    """What of a library is knowingly not reproduced, and why: some of its metrics (none named: all of them), always or
    only on inputs of one kind.
    """

    why: str
    metrics: tuple[str, ...] = ()
    when: Circumstance = "always"

    def concerns(self, metrics: Collection[str]) -> bool:
        """Whether any of these metrics is meant."""
        return not self.metrics or any(metric in self.metrics for metric in metrics)

    def covers(self, metric: str, circumstances: Collection[str] = ()) -> bool:
        """Whether the number of a metric is excluded on an input with these circumstances."""
        return self.concerns([metric]) and (self.when == "always" or self.when in circumstances)

    def __str__(self) -> str:
        what = ", ".join(self.metrics) or "all metrics"
        return f"{what}{'' if self.when == 'always' else f' with {self.when}'}: {self.why}"


@dataclass(frozen=True)
class Profile:
    """The conventions of one library.

    ``metrics`` maps our name of a metric to the expression that reproduces the library's number, without cut-off:
    ``{"precision": "precision(divide_by='list', missing='skip')"}``. ``conventions`` are those of
    :class:`recassay.metrics.align.Conventions` that differ from ours. ``differs`` says in a sentence each what a reader
    of that library's numbers should know. ``excludes`` says what is not reproduced: what the library leaves undefined,
    contradicts itself in or gets wrong. ``transcribed`` marks profiles held to the library's source, not to a run.
    """

    name: str
    title: str
    version: str
    metrics: Mapping[str, str]
    conventions: Mapping[str, str] = field(default_factory=dict)
    differs: tuple[str, ...] = ()
    excludes: tuple[Exclusion, ...] = ()
    transcribed: bool = False

    def exclusion(self, metric: str, circumstances: Collection[str] = ()) -> Exclusion | None:
        """Why the library's number of a metric is not reproduced on an input, if it is not."""
        return next((one for one in self.excludes if one.covers(metric, circumstances)), None)

    def build(self, asked: Expression, defaults: Mapping[str, Value]) -> Metric:
        """Our metric for a name as this library would compute it; stated parameters win over the profile's."""
        if asked.name not in self.metrics:
            excluded = self.exclusion(asked.name)
            raise UsageError(
                "U106",
                f"the profile of {self.title} does not reproduce its {asked.name}: {excluded.why}" if excluded
                else f"the profile of {self.title} has no {asked.name}",
                where=f"--profile {self.name} -m {asked}",
                hint=f"it has {', '.join(sorted(self.metrics))}",
            )  # fmt: skip
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
