"""What a metric says of itself: its docstring under headings, its parameters with choices and defaults."""

from __future__ import annotations

import inspect
import re
import typing
from dataclasses import asdict, dataclass
from typing import Any, Literal

from recassay.metrics.base import Metric
from recassay.named import parameter_kinds
from recassay.spec import Value

HEADINGS = ("Formula", "Edges", "Libraries", "Reference")


@dataclass(frozen=True)
class Parameter:
    """A parameter of a metric: what it may be and what it is when unstated."""

    name: str
    default: Value
    choices: tuple[str, ...]


@dataclass(frozen=True)
class Description:
    """A metric in words."""

    name: str
    aliases: tuple[str, ...]
    family: str
    title: str
    sections: dict[str, str]
    parameters: tuple[Parameter, ...]
    cutoff: str
    needs: tuple[str, ...]
    bounds: tuple[float, float]
    higher_is_better: bool | None

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON; an unbounded side is None."""
        low, high = (bound if abs(bound) != float("inf") else None for bound in self.bounds)
        return {**asdict(self), "bounds": [low, high]}


def describe(metric: type[Metric]) -> Description:
    """The description of a metric class.

    >>> from recassay.metrics.registry import find
    >>> describe(find("precision")).title
    'Share of the first k places that hold a relevant item.'
    """
    title, sections = sections_of(inspect.getdoc(metric) or "")
    kinds = parameter_kinds(metric)
    parameters = tuple(Parameter(name, value, _choices(kinds[name])) for name, value in metric.defaults().items())
    return Description(
        metric.name, metric.aliases, metric.family, title, sections, parameters, metric.cutoff,
        tuple(sorted(metric.needs)), metric.bounds, metric.higher_is_better,
    )  # fmt: skip


def sections_of(text: str) -> tuple[str, dict[str, str]]:
    """A docstring's first paragraph, and its paragraphs by heading, each on one line.

    >>> sections_of("Title.\\n\\nFormula: a\\nb.\\n\\nMore.\\n\\nEdges: c.")
    ('Title.', {'Formula': 'a b. More.', 'Edges': 'c.'})
    """
    paragraphs = [" ".join(part.split()) for part in re.split(r"\n\s*\n", text.strip())]
    title, sections, current = paragraphs[0], {}, ""
    for paragraph in paragraphs[1:]:
        heading, colon, rest = paragraph.partition(":")
        if colon and heading in HEADINGS:
            current = heading
            sections[current] = rest.strip()
        elif current:
            sections[current] += " " + paragraph
        else:
            title += " " + paragraph
    return title, sections


def _choices(kind: Any) -> tuple[str, ...]:
    if typing.get_origin(kind) is Literal:
        return tuple(repr(choice) for choice in typing.get_args(kind))
    words = {float: "number", int: "whole number", bool: "True or False", str: "text", type(None): "None"}
    return tuple(words[one] for one in (typing.get_args(kind) or (kind,)))
