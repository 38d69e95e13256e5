"""Rules that end a live evaluation: ``ndcg@10: new > old + 0.01`` on the command line, or a YAML file of several."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from recassay.errors import UsageError
from recassay.metrics.registry import parse_metrics

PATTERN = re.compile(
    r"^\s*(?P<metric>.+?)\s*:\s*(?P<a>\S+)\s*(?P<sign>[<>])\s*(?P<b>\S+)(?:\s*\+\s*(?P<margin>[\d.eE-]+))?\s*$"
)
EXAMPLE = 'write METRIC: ARM > ARM, such as "ndcg@10: new > old + 0.01"'
KEYS = {"metric", "arms", "margin", "alpha", "harm"}


@dataclass(frozen=True)
class Rule:
    """The claim that arm ``better`` exceeds arm ``worse`` by more than ``margin`` in the mean of a metric.

    ``alpha`` is the probability of deciding for it wrongly; with None the rules share the level of the live evaluation
    equally. ``harm`` marks a rule that detects a harmful arm: the command then ends with status 1.
    """

    metric: str
    better: str
    worse: str
    margin: float = 0.0
    alpha: float | None = None
    harm: bool = False

    def __str__(self) -> str:
        return f"{self.metric}: {self.better} > {self.worse}{f' + {self.margin:g}' if self.margin else ''}"


def parse_rule(text: str) -> Rule:
    """Return the rule written in a line of text, such as ``ndcg@10: new > old``; raise U255 for any other text.

    >>> print(parse_rule("ndcg@10: new > old + 0.01"))
    ndcg@10: new > old + 0.01
    >>> parse_rule("hit@5: new < old").better
    'old'
    """
    found = PATTERN.match(text)
    if not found:
        raise UsageError("U255", f"{text!r} is not a rule", hint=EXAMPLE)
    below = found["sign"] == "<"
    a, b = (found["b"], found["a"]) if below else (found["a"], found["b"])
    return Rule(_heading(found["metric"]), a, b, _number(found["margin"] or "0", text))


# A line of text, the path of a YAML file, a rule, or several of these.
RuleSource = str | Path | Rule | Iterable[str | Rule | Mapping[str, Any]] | None


def read_rules(given: RuleSource) -> tuple[Rule, ...]:
    """Return rules from a line of text, the path of a YAML file with a list of rules, or a list of either."""
    if given is None:
        return ()
    if isinstance(given, Rule):
        return (given,)
    if isinstance(given, str | Path):
        path = Path(given)
        if path.suffix in (".yaml", ".yml"):
            return _of_file(path)
        return (parse_rule(str(given)),)
    return tuple(
        rule
        for one in given
        for rule in ((_of_mapping(one, "rules"),) if isinstance(one, Mapping) else read_rules(one))
    )


def _of_file(path: Path) -> tuple[Rule, ...]:
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError, UnicodeDecodeError) as error:
        raise UsageError("U255", f"the rules cannot be read: {error}", where=str(path), hint=EXAMPLE) from None
    rows = content.get("rules") if isinstance(content, dict) else content
    if not isinstance(rows, list) or not rows:
        raise UsageError("U255", "the file does not hold a list of rules", where=str(path), hint=EXAMPLE)
    return tuple(parse_rule(row) if isinstance(row, str) else _of_mapping(row, str(path)) for row in rows)


def _of_mapping(row: Any, where: str) -> Rule:
    """Return the rule in a mapping with the keys metric, arms, margin, alpha and harm; the last three are optional.

    ``arms`` is a list of two names, the better arm first. ``harm`` is true for a rule that detects a harmful arm.
    ``where`` names the file in the error U255.
    """
    arms = row.get("arms") if isinstance(row, Mapping) else None
    if arms is None or len(arms) != 2 or "metric" not in row or set(row) - KEYS:
        unknown = sorted(set(row) - KEYS) if isinstance(row, Mapping) else []
        what = (
            f"a rule has no key '{unknown[0]}'"
            if unknown
            else "a rule needs metric, and arms: the better and the worse one"
        )
        raise UsageError("U255", what, where=where, hint="metric: ndcg@10, arms: [new, old], and margin, alpha, harm")
    alpha = row.get("alpha")
    if alpha is not None and not 0 < _number(alpha, str(row)) < 1:
        raise UsageError(
            "U255", f"alpha must be between 0 and 1, got {alpha}", where=where, hint="leave it out for 0.05"
        )
    margin = _number(row.get("margin", 0.0), str(row))
    better, worse = (str(arm) for arm in arms)
    return Rule(
        _heading(str(row["metric"])),
        better,
        worse,
        margin,
        None if alpha is None else float(alpha),
        bool(row.get("harm", False)),
    )


def _heading(metric: str) -> str:
    return next(iter(parse_metrics(metric)))


def _number(text: Any, where: str) -> float:
    try:
        return float(text)
    except (TypeError, ValueError):
        raise UsageError("U255", f"{text!r} is not a number", where=where, hint=EXAMPLE) from None
