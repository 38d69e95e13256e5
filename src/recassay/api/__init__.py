"""The public functions that can run on several back ends (score, play, judge and compare), and functions built on them.

Each function turns its keywords into options, chooses a back end (:func:`~recassay.backends.base.engine_of`) and hands
it the request. Nothing below this package knows which back end runs it.
"""

from __future__ import annotations

from typing import Any, TypeVar

from recassay.errors import UsageError

Thing = TypeVar("Thing")


def register(thing: Thing, name: str = "") -> Thing:
    """Make a model, profile or file format known by name, and return it, so that this also serves as a decorator.

    A subclass of a metric, split, filter, protocol, experiment, estimator, detector or built-in model is known from its
    definition on, and needs no registration; neither does a check, whose decorator registers it. A model that is any
    other class with ``fit(log)`` must be registered. Without ``name``, a model is known by its attribute ``name``, or
    else by the name of its class.

    >>> import recassay as ra
    >>> @ra.register
    ... class Constant:
    ...     name = "Constant"
    ...     def fit(self, log):
    ...         return ra.models.Popular().fit(log)
    >>> ra.models.parse("Constant").__class__ is Constant
    True
    """
    from recassay.data.io.formats import FORMATS, Format
    from recassay.metrics.base import Metric
    from recassay.models import REGISTRY as MODELS
    from recassay.naming.named import Named
    from recassay.profiles.base import PROFILES, Profile

    if isinstance(thing, Profile):
        PROFILES.add(thing, name)
    elif isinstance(thing, Format):
        FORMATS.add(thing, name)
    elif isinstance(thing, type) and issubclass(thing, Named | Metric):
        pass  # known since it was defined
    elif isinstance(thing, type) and callable(getattr(thing, "fit", None)):
        MODELS.add(thing, name or getattr(thing, "name", "") or thing.__name__)
    else:
        shown: Any = thing
        what = f"{shown!r} is neither a model class (with fit), a profile nor a file format"
        raise UsageError("U124", what, where="ra.register", hint="metrics, splits and checks register themselves")
    return thing
