"""Every metric by name: those of recassay, of installed plug-ins, and those defined by the caller."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from recassay.errors import RecassayError, UsageError
from recassay.metrics.base import Metric
from recassay.naming.arguments import checks_types
from recassay.naming.grammar import Expression, Value, parse, split
from recassay.naming.registry import Registry

Metrics = str | Metric | Iterable[str | Metric]


METRICS: Registry[type[Metric]] = Registry(
    "metric", "recassay.metrics", Metric, group="recassay.metrics", missing="U101"
)


def metrics() -> Mapping[str, type[Metric]]:
    """Return metric classes by their canonical name, in alphabetical order.

    >>> "ndcg" in metrics()
    True
    """
    return METRICS.kinds


def names() -> Mapping[str, type[Metric]]:
    """Return metric classes by every name they answer to, aliases too."""
    return METRICS.names


def find(name: str, *, where: str = "") -> type[Metric]:
    """Return the metric class of a name or alias, in any letter case; raise U101 with a suggestion for others."""
    return METRICS.find(name, where=where)


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
    return find(expression.name, where=text).build(expression, defaults or {})


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
    """Return metrics by column heading: the metric's name without aliases, and the parameters that the user wrote.

    ``build`` makes a metric from a parsed name; parameters that it fills in do not appear in the heading. A repeated
    metric is kept once. Raise U101 if no metric is named.
    """
    given = list(texts) if isinstance(texts, Iterable) and not isinstance(texts, str) else [texts]
    by_heading: dict[str, Metric] = {}
    for text in given:
        if isinstance(text, Metric):
            by_heading[str(text)] = text
            continue
        for part in split(text):
            expression = parse(part)
            expression = Expression(find(expression.name, where=part).name, expression.parameters, expression.k)
            by_heading[str(expression)] = build(expression)
    if not by_heading:
        raise UsageError("U101", "no metric was named", hint="for example -m ndcg@10 -m recall@20")
    return by_heading


def parse_metrics(texts: Metrics, defaults: Mapping[str, Value] | None = None) -> dict[str, Metric]:
    """Return metrics by heading from a list of names, or from one string with several.

    >>> parse_metrics("ndcg@10 RR, ndcg@10")
    {'ndcg@10': ndcg@10, 'mrr': mrr}
    """
    return headed(texts, lambda expression: find(expression.name).build(expression, defaults or {}))
