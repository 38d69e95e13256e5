"""Every metric there is, by name. A metric joins by standing in a module below ``recassay.metrics``."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Mapping

from recassay.errors import UsageError
from recassay.metrics.base import Metric
from recassay.spec import Expression, Value, parse, split, suggest

Metrics = str | Metric | Iterable[str | Metric]


@functools.cache
def metrics() -> Mapping[str, type[Metric]]:
    """Metric classes by their canonical name, in alphabetical order.

    >>> "ndcg" in metrics()
    True
    """
    import recassay.metrics

    for module in pkgutil.walk_packages(recassay.metrics.__path__, "recassay.metrics."):
        importlib.import_module(module.name)
    return {kind.name: kind for kind in sorted(_named(Metric), key=lambda kind: kind.name)}


def _named(kind: type[Metric]) -> Iterator[type[Metric]]:
    for child in kind.__subclasses__():
        if child.name:
            yield child
        yield from _named(child)


@functools.cache
def names() -> Mapping[str, type[Metric]]:
    """Metric classes by every name they answer to, aliases too."""
    found = {alias: kind for kind in metrics().values() for alias in kind.aliases}
    return {**found, **metrics()}


def find(name: str, *, where: str = "") -> type[Metric]:
    """The metric class of a name or alias; names are forgiving of case, and say what was meant otherwise."""
    known = names()
    kind = known.get(name) or {key.lower(): value for key, value in known.items()}.get(name.lower())
    if kind is None:
        raise UsageError("U101", f"there is no metric '{name}'", where=where or name, hint=suggest(name, known))
    return kind


def parse_metric(text: str | Metric, defaults: Mapping[str, Value] | None = None) -> Metric:
    """One metric from its name; ``defaults`` stand in for parameters that the text leaves out.

    >>> parse_metric("ndcg(gain='exp2')@10")
    ndcg(gain='exp2')@10
    >>> parse_metric("recall@5", {"relevant_from": 4.0})
    recall(relevant_from=4.0)@5
    """
    if isinstance(text, Metric):
        return text
    expression = parse(text)
    return find(expression.name, where=text).build(expression, defaults or {})


Build = Callable[[Expression], Metric]


def headed(texts: Metrics, build: Build) -> dict[str, Metric]:
    """Metrics by the heading of their column: the name as it was asked for, aliases resolved, parameters as stated.

    ``build`` makes the metric of an expression; what it fills in beyond the stated parameters does not change the
    heading and stands in the parameters of the result. A repeated metric is kept once.
    """
    given = [texts] if isinstance(texts, str | Metric) else list(texts)
    found: dict[str, Metric] = {}
    for text in given:
        if isinstance(text, Metric):
            found[str(text)] = text
            continue
        for part in split(text):
            asked = parse(part)
            asked = Expression(find(asked.name, where=part).name, asked.parameters, asked.k)
            found[str(asked)] = build(asked)
    if not found:
        raise UsageError("U101", "no metric was named", hint="say for example -m ndcg@10 -m recall@20")
    return found


def parse_metrics(texts: Metrics, defaults: Mapping[str, Value] | None = None) -> dict[str, Metric]:
    """Metrics by heading from a list of names, or from one string with several.

    >>> parse_metrics("ndcg@10 RR, ndcg@10")
    {'ndcg@10': ndcg@10, 'mrr': mrr}
    """
    return headed(texts, lambda asked: find(asked.name).build(asked, defaults or {}))
