"""Descriptions of metrics for ``recassay explain`` and the reference pages: docstrings by heading, and parameters."""

from __future__ import annotations

import inspect
import re
import typing
from dataclasses import asdict, dataclass
from typing import Any, Literal

from recassay.metrics.base import Metric
from recassay.naming.grammar import Value
from recassay.naming.named import parameter_kinds

HEADINGS = ("Formula", "Edges", "Libraries", "Reference")


@dataclass(frozen=True)
class Parameter:
    """A parameter of a metric: its name, its default and the values it can take."""

    name: str
    default: Value
    choices: tuple[str, ...]


@dataclass(frozen=True)
class Description:
    """The description of a metric: its docstring by heading, and what its class declares (cut-off, needs, bounds)."""

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
        """Return the description as JSON values; an infinite bound is None."""
        low, high = (bound if abs(bound) != float("inf") else None for bound in self.bounds)
        return {**asdict(self), "bounds": [low, high]}


def describe(metric: type[Metric]) -> Description:
    """Return the description of a metric class.

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
    """Return two parts of a docstring: its first paragraph, and the text under each heading such as ``Formula:``.

    Each text is on one line; a paragraph without a heading belongs to the heading before it.

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
