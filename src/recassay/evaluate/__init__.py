"""Evaluation engines for ranked lists, ranks under designs, streams and sequences, on the threads of this machine.

The module can be called: ``ra.evaluate(log, models)`` runs the function ``evaluate`` of ``recassay.api.evaluate``. A
function of that name in ``recassay`` would be replaced by this package as soon as something in here is imported.
``recassay`` installs the function, because it belongs to a package above this one.
"""

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

_verbs: list[Callable[[], Callable[..., Any]]] = []


def install_verb(load: Callable[[], Callable[..., Any]]) -> None:
    """Store ``load``, which imports and returns the function that a call of this module (``ra.evaluate(...)``) runs."""
    _verbs[:] = [load]


class _CallableModule(ModuleType):
    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Fit models on a part of a log, score them on the rest, test all pairs: ``recassay.api.evaluate.evaluate``."""
        return _verbs[0]()(*arguments, **options)


sys.modules[__name__].__class__ = _CallableModule
