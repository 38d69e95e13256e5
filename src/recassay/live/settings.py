"""Settings of a live evaluation, and rules that end it: ``ndcg@10: new > old + 0.01``, or a YAML file of several.

The settings affect every number, so a state folder only works with its own settings.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import yaml
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from recassay.errors import UsageError
from recassay.live.clock import DAY, HOUR, MINUTE, SECOND
from recassay.metrics.registry import parse_metrics

DEFAULT_METRICS = ("ndcg@10", "hit@10", "mrr@10", "precision@10", "recall@10", "map@10")

CHANGEABLE = ("rules", "control", "idle")  # between runs on one folder

Unit = Literal["user", "exposure"]

PATTERN = re.compile(
    r"^\s*(?P<metric>.+?)\s*:\s*(?P<a>\S+)\s*(?P<sign>[<>])\s*(?P<b>\S+)(?:\s*\+\s*(?P<margin>[\d.eE-]+))?\s*$"
)
EXAMPLE = 'write METRIC: ARM > ARM, such as "ndcg@10: new > old + 0.01"'


@dataclass(frozen=True)
class Rule:
    """The claim that the first of two ``arms`` exceeds the second by more than ``margin`` in the mean of a metric.

    ``alpha`` is the probability of deciding for it although it is false; with None the rules share the level of the
    live evaluation equally. ``harm`` marks a rule that detects a harmful arm: the command then ends with status 1.
    """

    __pydantic_config__: ClassVar = ConfigDict(extra="forbid", coerce_numbers_to_str=True)

    metric: str
    arms: tuple[str, str]
    margin: Annotated[float, Field(allow_inf_nan=False)] = 0.0
    alpha: Annotated[float, Field(gt=0, lt=1)] | None = None
    harm: bool = False

    def __str__(self) -> str:
        return f"{self.metric}: {' > '.join(self.arms)}{f' + {self.margin:g}' if self.margin else ''}"


@dataclass(frozen=True)
class WatchSettings:
    """Settings of a live evaluation: what is computed, and when; durations are in microseconds.

    window:      how long after an exposure its feedback counts
    lateness:    how far behind the newest event of its partition an event may come
    idle:        wall time without an event after which a partition no longer holds the watermark back
    ahead:       how far in the future of the wall clock an event may be dated
    remember:    how far apart two copies of an event are recognised; at least the window
    every:       length of a period; the bounds are updated at the end of each
    unit:        what is assigned to arms, and counts once in the bounds: a ``user`` or an ``exposure``
    user_window: how long after a user's first exposure further exposures of the user count
    forget:      a user who is seen this long after the first exposure is a new unit
    control:     the arm that the others are compared with; by default all pairs are compared
    """

    metrics: tuple[str, ...] = DEFAULT_METRICS
    window: int = 30 * MINUTE
    lateness: int = 5 * MINUTE
    idle: int = MINUTE
    ahead: int = 5 * MINUTE
    remember: int = HOUR
    every: int = 5 * MINUTE
    unit: Unit = "user"
    user_window: int = DAY
    forget: int = 30 * DAY
    segments: tuple[str, ...] = ()
    shares: Mapping[str, float] = field(default_factory=dict)
    alpha: float = 0.05
    limits: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    gains: Mapping[str, float] = field(default_factory=dict)
    max_items: int = 1000
    rules: tuple[Rule, ...] = ()
    control: str | None = None

    def __post_init__(self) -> None:
        checks = [
            ("window", self.window > 0, "be above 0"),
            ("lateness", self.lateness >= 0, "be at least 0"),
            ("every", self.every >= SECOND and DAY % self.every == 0 and (self.every >= HOUR or HOUR % self.every == 0),
             "divide an hour or a day, and be a second or more"),
            ("idle", self.idle > 0, "be above 0"),
            ("alpha", 0 < self.alpha < 1, "be between 0 and 1"),
            ("unit", self.unit in ("user", "exposure"), "be user or exposure"),
            ("user_window", self.user_window > 0, "be above 0"),
            ("max_items", self.max_items > 0, "be above 0"),
            ("shares", all(share > 0 for share in self.shares.values()), "be above 0"),
            ("gains", all(0 <= gain < math.inf for gain in self.gains.values()), "be numbers of at least 0"),
            ("limits", all(low < high for low, high in self.limits.values()), "have the lower number first"),
            ("segments", len(set(self.segments)) == len(self.segments), "name each field once"),
            ("segments", "items" not in self.segments, "be fields of one value, not lists"),
        ]  # fmt: skip
        for name, valid, rule in checks:
            if not valid:
                raise UsageError(
                    "U107", f"{name} must {rule}, got {getattr(self, name)!r}", hint="leave it out for the default"
                )
        object.__setattr__(self, "remember", max(self.remember, self.window))
        object.__setattr__(self, "forget", max(self.forget, 2 * self.user_window))

    def to_json(self, **more: Any) -> str:
        """Return the settings and ``more`` as JSON text, without settings that may change between runs."""
        kept = {one.name: asdict(self)[one.name] for one in fields(self) if one.name not in CHANGEABLE}
        return json.dumps({**kept, **more}, sort_keys=True)

    def check_same(self, stored: str, where: str, **more: Any) -> None:
        """Raise U134 if what :meth:`to_json` returns differs from ``stored``, which the folder ``where`` has."""
        before: dict[str, Any] = json.loads(stored)
        now: dict[str, Any] = json.loads(self.to_json(**more))
        changed = [name for name in now if now[name] != before.get(name)]
        if changed:
            name = changed[0]
            raise UsageError(
                "U134",
                f"the folder was written with {name} = {before.get(name)!r}, now it is {now[name]!r}",
                where=where,
                hint="keep the setting (of models also their training log), or choose another folder with -o",
            )


def parse_rule(text: str) -> Rule:
    """Return the rule written in a line of text, such as ``ndcg@10: new > old``; raise U255 for any other text.

    >>> print(parse_rule("ndcg@10: new > old + 0.01"))
    ndcg@10: new > old + 0.01
    >>> parse_rule("hit@5: new < old").arms
    ('old', 'new')
    """
    found = PATTERN.match(text)
    if not found:
        raise UsageError("U255", f"{text!r} is not a rule", hint=EXAMPLE)
    arms = (found["b"], found["a"]) if found["sign"] == "<" else (found["a"], found["b"])
    return _rule_of({"metric": found["metric"], "arms": arms, "margin": found["margin"] or 0.0}, text)


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
        given, where = _rules_in_file(Path(given)), str(given)
    return tuple(rule for one in given for rule in read_rules(one, where))


def _rules_in_file(path: Path) -> list[Any]:
    """Return the rules in a YAML file as texts or dicts, not parsed yet."""
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
        rule = TypeAdapter(Rule).validate_python(dict(row))
    except ValidationError as error:
        problem = error.errors()[0]
        what = f"{'.'.join(map(str, problem['loc']))} of a rule: {problem['msg'].lower()}"
        hint = "metric: ndcg@10, arms: [new, old], the better one first, and margin, alpha, harm"
        raise UsageError("U255", what, where=where, hint=hint) from None
    return replace(rule, metric=next(iter(parse_metrics(rule.metric))))
