"""Column names that the command line gives: for all runs, or for one run as ``NAME:KEY=COLUMN,...``."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from recassay.errors import UsageError
from recassay.naming.grammar import suggest

OPTION = "--columns"


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
