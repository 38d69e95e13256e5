"""Every metric by its name (of recassay, installed plug-ins and the user), and what its docstring says of it."""

from __future__ import annotations

import inspect
import math
import re
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, asdict, dataclass, fields
from typing import Any, Literal

from recassay.errors import RecassayError, UsageError
from recassay.metrics.base import Metric
from recassay.naming.arguments import checks_types
from recassay.naming.grammar import Expression, Value, parse, split
from recassay.naming.named import parameter_kinds
from recassay.naming.registry import Registry

Metrics = str | Metric | Iterable[str | Metric]


METRICS: Registry[type[Metric]] = Registry(
    "metric", "recassay.metrics", Metric, group="recassay.metrics", missing="U101"
)


@checks_types
def parse_metric(text: str | Metric, defaults: Mapping[str, Value] | None = None) -> Metric:
    """Return a metric from its name; ``defaults`` replace defaults of parameters that the text leaves out.

    >>> parse_metric("ndcg(gain='exp2')@10")
    ndcg(gain='exp2')@10
    >>> parse_metric("recall@5", {"relevant_from": 4.0})
    recall(relevant_from=4.0)@5
    """
    if isinstance(text, Metric):
        return text
    expression = parse(text)
    return METRICS.find(expression.name, where=text).build(expression, defaults or {})


def known_metric(heading: str) -> Metric | None:
    """Return the metric with a heading of a table; None if recassay has no such metric.

    >>> known_metric("ndcg@10"), known_metric("my own number")
    (ndcg@10, None)
    """
    try:
        return parse_metric(heading)
    except RecassayError:
        return None


Build = Callable[[Expression], Metric]


def headed(texts: Metrics, build: Build) -> dict[str, Metric]:
    """Return {heading: metric}; a heading is the metric's name without aliases, and the parameters that the user wrote.

    ``build`` makes a metric from a parsed name; parameters that it fills in do not appear in the heading. A repeated
    metric is kept once. Raise U101 if no metric is named.
    """
    names = list(texts) if isinstance(texts, Iterable) and not isinstance(texts, str) else [texts]
    by_heading: dict[str, Metric] = {}
    for text in names:
        if isinstance(text, Metric):
            by_heading[str(text)] = text
            continue
        for part in split(text):
            expression = parse(part)
            expression = Expression(METRICS.find(expression.name, where=part).name, expression.parameters, expression.k)
            by_heading[str(expression)] = build(expression)
    if not by_heading:
        raise UsageError("U101", "no metric was named", hint="for example -m ndcg@10 -m recall@20")
    return by_heading


def parse_metrics(texts: Metrics, defaults: Mapping[str, Value] | None = None) -> dict[str, Metric]:
    """Return {heading: metric} from a list of names, or from one string with several.

    >>> parse_metrics("ndcg@10 RR, ndcg@10")
    {'ndcg@10': ndcg@10, 'mrr': mrr}
    """
    return headed(texts, lambda expression: METRICS.find(expression.name).build(expression, defaults or {}))


HEADINGS = ("Formula", "Edges", "Libraries", "Reference")


@dataclass(frozen=True)
class Parameter:
    """A parameter of a metric: its name, its default and the values it can take."""

    name: str
    default: Value
    choices: tuple[str, ...]


@dataclass(frozen=True)
class Description:
    """The description of a metric: its docstring in ``sections``, and what its class declares (cut-off, needs, bounds).

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
        fields = asdict(self)
        for name in ("bounds", "widest"):
            fields[name] = [None if math.isinf(bound) else bound for bound in fields[name]]
        return fields


def describe(metric: type[Metric]) -> Description:
    """Return the description of a metric class.

    >>> describe(METRICS.find("precision")).title
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
