"""Descriptions of metrics for ``recassay explain`` and the reference pages: docstrings by heading, and parameters."""

from __future__ import annotations

import inspect
import math
import re
import typing
from dataclasses import MISSING, asdict, dataclass, fields
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
    """The description of a metric: its docstring by heading, and what its class declares (cut-off, needs, bounds).

    ``bounds`` are the smallest and the largest value under the default parameters, ``widest`` those under any.
    """

    name: str
    aliases: tuple[str, ...]
    family: str
    title: str
    sections: dict[str, str]
    parameters: tuple[Parameter, ...]
    cutoff: str
    needs: tuple[str, ...]
    bounds: tuple[float, float]
    widest: tuple[float, float]
    higher_is_better: bool | None

    @property
    def range(self) -> str:
        """Return the smallest and the largest value as text, such as "0 to 1"."""
        default, widest = (
            f"{low:g} to {'any size' if math.isinf(high) else f'{high:g}'}" for low, high in (self.bounds, self.widest)
        )
        return default if default == widest else f"{default} (with other parameters {widest})"

    def to_dict(self) -> dict[str, Any]:
        """Return the description as JSON values; an infinite bound is None."""
        found = asdict(self)
        for name in ("bounds", "widest"):
            found[name] = [None if math.isinf(bound) else bound for bound in found[name]]
        return found


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
        tuple(sorted(metric.needs)), _default_bounds(metric), metric.bounds, metric.higher_is_better,
    )  # fmt: skip


def _default_bounds(metric: type[Metric]) -> tuple[float, float]:
    """Return the range of a metric under its default parameters; that of the class if a parameter has no default."""
    if any(one.default is MISSING for one in fields(metric)):
        return metric.bounds
    return metric(k=None if metric.cutoff == "none" else 1).limits


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
