"""Metrics from functions of one list: ``@ra.metric`` above ``def misses(items, truth)``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, make_dataclass
from functools import partial
from typing import Any, ClassVar, TypeVar, overload

import numpy as np

from recassay.columnar.layout import is_one_number
from recassay.errors import UsageError
from recassay.metrics.align import AlignedBlock
from recassay.metrics.base import Accuracy, Values
from recassay.metrics.context import ContextLookup

Function = TypeVar("Function", bound=Callable[..., float])
INPUTS = ("items", "truth")


@dataclass(frozen=True, repr=False)
class FunctionMetric(Accuracy):
    """The base of metrics that call a function with the items and the truth of each list."""

    no_formula: ClassVar[str] = "it is a function of whole lists"
    function: ClassVar[Callable[..., float]]
    columns: ClassVar[tuple[str, ...]] = ()

    def bind(self, lookup: ContextLookup) -> Mapping[str, Mapping[Any, float]]:
        """Return the number of each item, by column."""
        items = lookup.context.items
        return {name: items.numbers_of(name) for name in self.columns} if items else {}

    def judge(self, lists: AlignedBlock) -> Values:
        self.need_strict_order(lists)
        places, rows = lists.places(self.k)
        run, truth = lists.alignment.run, lists.truth
        listed = run.vocabulary.decode(run.items[rows]).to_list()
        judged = truth.vocabulary.decode(truth.items[lists.truth_rows]).to_list()
        gains = np.broadcast_to(truth.gains, truth.items.size) if is_one_number(truth.gains) else truth.gains
        gains, bounds = gains[lists.truth_rows], lists.truth_offsets
        values = np.full(lists.size, np.nan)
        parameters = {name: value for name, value in self.parameters.items() if name not in Accuracy.defaults()}
        for query in np.flatnonzero(self.judgeable(lists)).tolist():
            one = slice(int(bounds[query]), int(bounds[query + 1]))
            pairs = zip(judged[one], gains[one].tolist(), strict=True)
            relevant = {item: gain for item, gain in pairs if gain >= self.relevant_from}
            items = listed[places[query] : places[query + 1]]
            try:
                values[query] = type(self).function(items, relevant, **lists.bound(self), **parameters)
            except Exception as error:
                user = truth.queries[lists.begin + query]
                what = f"{self} fails for user {user!r}: {type(error).__name__}: {error}"
                hint = f"it got {len(items)} items and {len(relevant)} relevant ones: correct the function"
                raise UsageError("U243", what, where=str(self), hint=hint) from error
        return values


@overload
def metric(function: Function, /) -> Function: ...
@overload
def metric(
    *, name: str = "", bounds: tuple[float, float] = (0.0, 1.0), higher_is_better: bool = True
) -> Callable[[Function], Function]: ...
def metric(
    function: Any = None,
    /,
    *,
    name: str = "",
    bounds: tuple[float, float] = (0.0, 1.0),
    higher_is_better: bool = True,
) -> Any:
    """Make a function of one list a metric of that name, and return the function; for use as a decorator.

    The function gets ``items``, the ids in the first k places in order, and ``truth``, a dict from each relevant item
    of the user to its gain, and returns a number. A further parameter without a default is the name of a numeric column
    of the table of items, and gets a dict from item to number; one with a default is a parameter of the metric.

    ``name`` is the function's own unless given. ``bounds`` are the smallest and largest value possible: a value outside
    is an error. A user without a relevant item is left out and counted, a missing list is an empty one, and both can be
    changed as for other metrics of relevance (``no_relevant``, ``missing``).

    >>> import polars as pl
    >>> import recassay as ra
    >>> @ra.metric(bounds=(0, float("inf")))
    ... def revenue(items, truth, price, share=1.0):
    ...     '''Sum of the prices of relevant items in the list.'''
    ...     return share * sum(price[item] for item in items if item in truth)
    >>> prices = {"item": ["x", "y"], "price": [3.0, 5.0]}
    >>> lists, truth = {"ann": ["x", "q", "y"]}, {"ann": ["y"]}
    >>> ra.score({"a": lists}, truth, ["revenue@3", "revenue(share=0.1)@3"], items=pl.DataFrame(prices)).rows[0].mean
    5.0
    """
    if function is None:
        return partial(metric, name=name, bounds=bounds, higher_is_better=higher_is_better)
    name = name or function.__name__
    of_lists = list(inspect.signature(function).parameters.values())
    if tuple(one.name for one in of_lists[:2]) != INPUTS:
        what = f"the metric {name} does not begin with the parameters items and truth"
        raise UsageError("U243", what, where="ra.metric", hint=f"write def {name}(items, truth): ...")
    of_lists = of_lists[2:]
    columns = tuple(one.name for one in of_lists if one.default is inspect.Parameter.empty)
    parameters = [
        (one.name, type(one.default), field(default=one.default)) for one in of_lists if one.name not in columns
    ]
    about = {
        "__doc__": inspect.getdoc(function) or f"The function {name}.",
        "__module__": function.__module__ or "__main__",  # executed text has no module
        "name": name,
        "bounds": bounds,
        "higher_is_better": higher_is_better,
        "needs": frozenset({"items"} if columns else ()),
        "columns": columns,
        "function": staticmethod(function),
    }
    # Registries find subclasses that somebody holds.
    function.as_metric = make_dataclass(
        name, parameters, bases=(FunctionMetric,), namespace=about, frozen=True, repr=False
    )
    return function
