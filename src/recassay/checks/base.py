"""Numbered checks: functions that look for one problem of an evaluation and describe it in words.

The parameters of a check's function name the facts that it looks at. :func:`diagnose` asks all checks about one kind
of thing, such as lists or a stream, for which the facts are there.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from recassay.naming.registry import Registry
from recassay.results.finding import Finding, Severity

TARGET_SET_COLUMN = "rho"  # a column that only summary rows of target sets have: the share of relevant items in them
Answer = str | tuple[Severity, str] | None


@dataclass(frozen=True)
class Check:
    """A numbered check: ``ask`` looks for one problem in the facts that its parameters name.

    It returns a text, or (severity, text), if there is the problem, else None ("Report if ..." in its docstring).
    ``about`` says what the facts are about: "lists", "designs", "stream" and so on. The check does not apply where a
    parameter without a default, or one of the other facts in ``needs``, is unknown.
    """

    code: str
    title: str
    severity: Severity
    ask: Callable[..., Answer]
    about: str = "lists"
    needs: frozenset[str] = frozenset()

    @cached_property
    def parameters(self) -> Mapping[str, inspect.Parameter]:
        """Return the parameters of the function: the facts that it looks at."""
        return inspect.signature(self.ask).parameters

    def __call__(self, facts: Mapping[str, Any]) -> Finding | None:
        """Return the finding if the facts have the problem; None if they do not, or if the check does not apply."""
        required = self.needs.union(name for name, one in self.parameters.items() if one.default is one.empty)
        known = {name: facts[name] for name in self.parameters if name in facts}
        answer = self.ask(**known) if required <= facts.keys() else None
        if answer is None:
            return None
        severity, detail = (self.severity, answer) if isinstance(answer, str) else answer
        return Finding(self.code, severity, self.title, detail, facts.get("system", ""))


CHECKS: Registry[Check] = Registry("check", "recassay.checks", Check, group="recassay.checks", values=True, key="code")


def check(
    code: str, title: str, severity: Severity, *, about: str = "lists", needs: tuple[str, ...] = ()
) -> Callable[[Callable[..., Answer]], Check]:
    """Return a decorator that registers a function as a check of facts about lists, or about another kind of thing.

    The parameters of the function name the facts that it looks at; it is not asked if one without a default, or one of
    the facts in ``needs``, is unknown. It returns a text, or (severity, text), if there is the problem, else None.
    """

    def register(ask: Callable[..., Answer]) -> Check:
        return CHECKS.add(Check(code, title, severity, ask, about, frozenset(needs)), module=ask.__module__)

    return register


def diagnose(about: str, **facts: Any) -> tuple[Finding, ...]:
    """Return the findings of all checks about one kind of thing, in the order of their codes.

    A fact that is None, or an empty collection, is unknown.

    >>> diagnose("re-ranking", rows=10, bare=9)[0].code
    'C017'
    """
    known = {
        name: fact
        for name, fact in facts.items()
        if fact is not None and not (isinstance(fact, list | tuple | dict | str) and not fact)
    }
    asked = [check for check in CHECKS.kinds.values() if check.about == about]
    return tuple(finding for check in asked if (finding := check(known)) is not None)


def format_share(part: int, whole: int) -> str:
    """Return a part, the whole and the percentage as text.

    >>> format_share(37, 6040)
    '37 of 6,040 (0.6 %)'
    """
    percent = 100 * part / max(whole, 1)
    return f"{part:,} of {whole:,} ({percent:.{0 if percent >= 10 or percent == 0 else 1 if percent >= 0.1 else 2}f} %)"


def format_count(count: int, noun: str) -> str:
    """Return a count with its noun in the singular or plural.

    >>> format_count(1, "list"), format_count(1200, "list")
    ('1 list', '1,200 lists')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def format_id(values: object) -> str:
    """Return a user or item id as text for a sentence: strings in quotes."""
    return repr(values.item() if isinstance(values, np.generic) else values)
