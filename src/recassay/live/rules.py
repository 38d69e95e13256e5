"""Rules that end a live evaluation: ``ndcg@10: new > old + 0.01`` on the command line, or a YAML file of several."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from recassay.errors import UsageError
from recassay.metrics.registry import parse_metrics

PATTERN = re.compile(
    r"^\s*(?P<metric>.+?)\s*:\s*(?P<a>\S+)\s*(?P<sign>[<>])\s*(?P<b>\S+)(?:\s*\+\s*(?P<margin>[\d.eE-]+))?\s*$"
)
EXAMPLE = 'write METRIC: ARM > ARM, such as "ndcg@10: new > old + 0.01"'


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
    arms = (found["b"], found["a"]) if found["sign"] == "<" else (found["a"], found["b"])
    return _rule_of({"metric": found["metric"], "arms": arms, "margin": found["margin"] or 0.0}, text)


class _Fields(BaseModel):
    """The fields of a rule in a YAML file; the better arm is the first one."""

    model_config = ConfigDict(extra="forbid", coerce_numbers_to_str=True)
    metric: str
    arms: tuple[str, str]
    margin: Annotated[float, Field(allow_inf_nan=False)] = 0.0
    alpha: Annotated[float, Field(gt=0, lt=1)] | None = None
    harm: bool = False


# A line of text, the path of a YAML file, a rule, or several of these.
RuleSource = str | Path | Rule | Iterable[str | Rule | Mapping[str, Any]] | None


def read_rules(given: RuleSource, where: str = "rules") -> tuple[Rule, ...]:
    """Return rules from a line of text, the path of a YAML file with a list of rules, or a list of either.

    Errors name ``where``, if the rules are not in a file.
    """
    if given is None or isinstance(given, Rule):
        return () if given is None else (given,)
    if isinstance(given, Mapping):
        return (_rule_of(given, where),)
    if isinstance(given, str | Path):
        if Path(given).suffix not in (".yaml", ".yml"):
            return (parse_rule(str(given)),)
        given, where = _rows(Path(given)), str(given)
    return tuple(rule for one in given for rule in read_rules(one, where))


def _rows(path: Path) -> list[Any]:
    """Return the rules in a YAML file, unread."""
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError, UnicodeDecodeError) as error:
        raise UsageError("U255", f"the rules cannot be read: {error}", where=str(path), hint=EXAMPLE) from None
    rows = content.get("rules") if isinstance(content, dict) else content
    if not isinstance(rows, list) or not all(isinstance(row, str | dict) for row in rows) or not rows:
        raise UsageError("U255", "the file does not hold a list of rules", where=str(path), hint=EXAMPLE)
    return rows


def _rule_of(row: Mapping[str, Any], where: str) -> Rule:
    """Return the rule with these fields; raise U255, which names ``where``, if one is missing or wrong."""
    try:
        rule = _Fields.model_validate(dict(row))
    except ValidationError as error:
        problem = error.errors()[0]
        what = f"{'.'.join(map(str, problem['loc']))} of a rule: {problem['msg'].lower()}"
        hint = "metric: ndcg@10, arms: [new, old], the better one first, and margin, alpha, harm"
        raise UsageError("U255", what, where=where, hint=hint) from None
    return Rule(next(iter(parse_metrics(rule.metric))), *rule.arms, rule.margin, rule.alpha, rule.harm)
