"""Settings of scores: which users were scored, and a value that is computed when it is read, as it is rarely needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

POPULATION = "population"  # key of the settings: the numbers of users with training events, and ``of`` all users


def population(settings: Mapping[str, Any]) -> str:
    """Return which users the numbers are over, if only users with training events were scored; else "".

    >>> population({"population": {"users": 9400, "of": 13712}})
    'users with training events: 9,400 of 13,712'
    """
    counts = settings.get(POPULATION)
    return f"users with training events: {counts['users']:,} of {counts['of']:,}" if counts else ""


class DeferredSettings(Mapping[str, Any]):
    """Settings with one more value, which ``compute`` returns when it is first read.

    >>> settings = DeferredSettings({"level": 0.95}, "truth", lambda: print("computed") or {"users": 3})
    >>> list(settings)
    ['level', 'truth']
    >>> settings["truth"], settings == {"level": 0.95, "truth": {"users": 3}}
    computed
    ({'users': 3}, True)
    """

    def __init__(self, known: Mapping[str, Any], name: str, compute: Callable[[], Any]) -> None:
        self._values = {**known, name: None}
        self._name = name
        self._compute: Callable[[], Any] | None = compute

    def __getitem__(self, name: str) -> Any:
        compute = self._compute
        if compute is not None and name == self._name:
            self._values[name] = compute()
            self._compute = None  # what it refers to need not stay in memory
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return repr(dict(self))

    def __reduce__(self) -> tuple[type[dict[str, Any]], tuple[dict[str, Any]]]:
        """Return the settings as a plain dict for pickle."""
        return dict, (dict(self),)
