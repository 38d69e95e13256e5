"""Options that map names to values: ``NAME:KEY=COLUMN,...``, ``a=1,b=2`` and ``novelty@10=0:20``."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TypeVar

from recassay.errors import UsageError
from recassay.naming.grammar import suggest

OPTION = "--columns"
Value = TypeVar("Value")


def columns_by_run(given: Sequence[str], systems: Collection[str]) -> tuple[str | None, dict[str, str]]:
    """Return the column names for all runs (None if not given), and those for single runs by the name of the run.

    ``given`` are the values of ``--columns``, and ``systems`` the names of the runs. Raise U102 if columns are given
    twice, and U108 for the name of a run that does not exist.

    >>> columns_by_run(["user=u,item=i", "als:user=uid,item=iid"], ["als", "pop"])
    ('user=u,item=i', {'als': 'user=uid,item=iid'})
    """
    shared: list[str] = []
    own: dict[str, str] = {}
    for text in given:
        name = max((name for name in systems if text.startswith(f"{name}:")), key=len, default=None)
        if name is not None and name in own:
            raise _twice(f"the columns of '{name}'", text)
        if name is not None:
            own[name] = text[len(name) + 1 :]
            continue
        prefix, colon, _ = text.partition("=")[0].rpartition(":")
        if colon:
            raise UsageError(
                "U108", f"there is no run '{prefix}'", where=f"{OPTION} {text}", hint=suggest(prefix, systems)
            )
        shared.append(text)
    if len(shared) > 1:
        raise _twice("the columns of all runs", shared[1])
    return (shared[0] if shared else None), own


def _twice(what: str, text: str) -> UsageError:
    return UsageError(
        "U102", f"{what} are given twice", where=f"{OPTION} {text}",
        hint="write all keys in one option; --columns NAME:KEY=COLUMN,... is for the run of that name alone",
    )  # fmt: skip


def numbers(text: str | None, name: str) -> dict[str, float]:
    """Return ``{"a": 1.0, "b": 2.0}`` for the text ``a=1,b=2``; a name without a number has 1.

    Raise U107 for a value that is not a number; ``name`` is the option that the error names.
    """
    parts = [part.partition("=") for part in filter(None, (text or "").split(","))]
    hint = f"{name} {text}", "a number", "write NAME=NUMBER,..."
    return {key.strip(): _read(lambda value: float(value or 1), value, *hint) for key, _, value in parts}


def ranges(text: str | None) -> dict[str, tuple[float, float]]:
    """Return ``{"novelty@10": (0.0, 20.0)}``, lowest and highest value, for the text ``novelty@10=0:20``.

    Several are separated by commas. Raise U107 for other texts.
    """

    def limits(value: str) -> tuple[float, float]:
        low, high = value.split(":")
        return float(low), float(high)

    parts = [part.rpartition("=") for part in filter(None, (text or "").split(","))]
    hint = f"--limits {text}", "a pair of limits", "write METRIC=LOW:HIGH"
    return {key.strip(): _read(limits, value, *hint) for key, _, value in parts}


def _read(convert: Callable[[str], Value], value: str, where: str, what: str, hint: str) -> Value:
    try:
        return convert(value)
    except ValueError:
        raise UsageError("U107", f"{value!r} is not {what}", where=where, hint=hint) from None
