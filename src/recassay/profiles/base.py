"""Profiles of other libraries: how each reads lists, and which of our metrics its metric names mean."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Literal

from recassay.errors import UsageError
from recassay.metrics.base import Metric
from recassay.metrics.registry import METRICS, Metrics, headed
from recassay.naming.grammar import Expression, Value, parse
from recassay.naming.registry import Registry

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
    """A difference from a library's numbers that its profile does not reproduce, and why.

    It concerns the named ``metrics`` (all if none is named), always or only for inputs with the property ``when``, such
    as tied scores.
    """

    why: str
    metrics: tuple[str, ...] = ()
    when: Circumstance = "always"

    def concerns(self, metrics: Collection[str]) -> bool:
        """Return whether this difference from the library's numbers concerns any of ``metrics``."""
        return not self.metrics or any(metric in self.metrics for metric in metrics)

    def covers(self, metric: str, circumstances: Collection[str] = ()) -> bool:
        """Return whether the library's number of ``metric`` differs on an input with these ``circumstances``."""
        return self.concerns([metric]) and (self.when == "always" or self.when in circumstances)

    def __str__(self) -> str:
        what = ", ".join(self.metrics) or "all metrics"
        return f"{what}{'' if self.when == 'always' else f' with {self.when}'}: {self.why}"


@dataclass(frozen=True)
class Profile:
    """The conventions of one library.

    ``metrics`` maps our name of a metric to the expression that reproduces the library's number, without cut-off:
    ``{"precision": "precision(divide_by='list', missing='skip')"}``. ``conventions`` are those of
    :class:`recassay.metrics.align.Conventions` that differ from ours. ``differs`` lists what a reader of that library's
    numbers should know, a sentence each. ``excludes`` lists what is not reproduced because the library leaves it
    undefined, is inconsistent or is wrong. ``transcribed`` marks profiles tested against formulas from the library's
    source, not against the installed library.
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
        """Return why the library's number of a metric is not reproduced on an input; None if it is.

        ``circumstances`` are properties of the input, such as tied scores.
        """
        return next((excluded for excluded in self.excludes if excluded.covers(metric, circumstances)), None)

    def build(self, expression: Expression, defaults: Mapping[str, Value]) -> Metric:
        """Return our metric with the parameters that reproduce this library's number of it.

        Parameters that ``expression`` states override those of the profile. ``defaults`` are parameters for metrics
        whose expression does not state them.
        """
        if expression.name not in self.metrics:
            excluded = self.exclusion(expression.name)
            raise UsageError(
                "U115",
                f"the profile of {self.title} does not reproduce its {expression.name}: {excluded.why}" if excluded
                else f"the profile of {self.title} has no {expression.name}",
                where=f"--profile {self.name} -m {expression}",
                hint=f"it has {', '.join(sorted(self.metrics))}",
            )  # fmt: skip
        own = parse(self.metrics[expression.name])
        merged = Expression(own.name, {**own.parameters, **expression.parameters}, expression.k)
        return METRICS.find(own.name).build(merged, defaults)

    def translate(self, texts: Metrics, defaults: Mapping[str, Value]) -> dict[str, Metric]:
        """Return recassay's metrics by heading, with parameters that reproduce the numbers of the profile's library.

        ``texts`` name the metrics as recassay writes them, such as ``"ndcg@10"``. ``defaults`` are parameters for
        metrics whose text does not state them.
        """
        return headed(texts, lambda expression: self.build(expression, defaults))


PROFILES: Registry[Profile] = Registry(
    "profile", "recassay.profiles", Profile, group="recassay.profiles", values=True, missing="U115"
)
