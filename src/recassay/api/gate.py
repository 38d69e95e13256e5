"""``gate``: whether a candidate may replace the baseline, from their lists or from the scores of the last release."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from recassay.api.score import score, several
from recassay.comparison.gate import (
    BASELINE,
    CANDIDATE,
    Criterion,
    Gate,
    Limit,
    Margin,
    against_baseline,
    suspicions_of,
    within_limit,
)
from recassay.comparison.pairs import scores_of_users
from recassay.data.io.edge import is_folder
from recassay.data.memberships import Memberships
from recassay.data.nouns import kind_of
from recassay.data.read import TableSource
from recassay.engine.finish import table_findings
from recassay.engine.lists.score import ScoreInputs, user_memberships
from recassay.engine.lists.score_joins import join_scorings
from recassay.engine.lists.score_sets import FILE, read_scores
from recassay.engine.options import GroupOptions, ReadOptions, population_or_table
from recassay.errors import UsageError
from recassay.metrics.registry import known_metric, parse_metrics
from recassay.naming.arguments import checks_types
from recassay.naming.grammar import require_known
from recassay.results.score_set import Place, ScoreSet
from recassay.results.scores import Scores, worded

SMALLEST_GROUP = GroupOptions().smallest_group
Margins = str | Sequence[str] | Mapping[str, str | float]


@checks_types
def gate(
    candidate: Any,
    baseline: Any,
    truth: TableSource,
    metrics: Margins,
    *,
    margin: str | float = "1%",
    require: str | Sequence[str] = (),
    by: Margins = (),
    users: TableSource = None,
    believable: str | float = "50%",
    level: float = 0.95,
    **scoring: Any,
) -> Gate:
    """Return whether a candidate may replace the baseline: pass, fail, undecided or suspicious, with all numbers.

    ``candidate`` is a run. ``baseline`` is a run too, or the scores of an earlier release: scores, or a folder that
    ``recassay score -o`` or ``recassay gate -o`` wrote (``FOLDER:SYSTEM`` if it has several systems). Stored scores of
    another truth, or under other conventions, are refused (I311, U204). If the candidate is stored scores too, no
    ``truth`` is needed.

    The candidate passes by a metric if it loses at most ``margin`` with the one-sided confidence ``level``: a share of
    the baseline's mean (``"1%"``) or an absolute difference (``0.002``). ``metrics`` may be a mapping from metric to
    margin. It fails if it loses more with that confidence, and else more users must decide. ``require`` are limits that
    the candidate must keep, such as ``"coverage@10 >= 0.3"``. ``by`` names columns of ``users``, or of the truth: the
    candidate must also pass in each group of users, by the same margins or by that of a mapping from column to margin.
    The gate passes if every criterion does; as all must, a bad candidate passes with at most ``1 - level``.

    It is suspicious if the improvement is larger than ``believable`` even at its lower bound, if there is a leak, or if
    the candidate has findings that the baseline has not: training items in its lists, repeated items, missing lists.
    ``scoring`` are keywords of :func:`~recassay.score`, such as ``train`` and ``profile``.

    >>> import recassay as ra
    >>> truth = {user: ["x"] for user in range(200)}
    >>> old = {user: ["x", "y"] if user % 2 else ["y", "x"] for user in truth}
    >>> new = {user: ["x", "y"] if user % 3 else ["y", "x"] for user in truth}
    >>> result = ra.gate(new, old, truth, "mrr", margin="2%")
    >>> result.verdict, round(result.criteria[0].difference, 4)
    ('pass', 0.0825)
    """
    if not 0.5 < level < 1:
        raise UsageError("U102", f"the level of a gate is between 0.5 and 1, got {level:g}", hint="such as 0.95")
    limits = [Limit.of(text) for text in several(require)]
    limits = [limit._replace(metric=_heading(limit.metric)) for limit in limits]
    margins = {
        heading: Margin.of(own) for text, own in _margins(metrics, margin).items() for heading in parse_metrics(text)
    }
    stored, fresh = _stored_scores(baseline, BASELINE), _stored_scores(candidate, CANDIDATE)
    if fresh is None:
        runs = {CANDIDATE: candidate} if stored is not None else {CANDIDATE: candidate, BASELINE: baseline}
        wanted = [*margins, *(limit.metric for limit in limits)]
        fresh = score(runs, truth, wanted, users=users, **{"first_hits": True, "interval": None} | scoring)
    elif stored is None:
        hint = "give the baseline as stored scores too, or the run of the candidate"
        raise UsageError("U105", "the scores of a candidate are compared with those of a baseline", hint=hint)
    both = fresh if stored is None else _joined(fresh, stored, str(baseline))
    _refuse_unfit(both, margins)
    criteria = [against_baseline(both, metric, own, level) for metric, own in margins.items()]
    findings = both.findings if stored is None else (*both.findings, *table_findings(both.rows))
    suspicions = suspicions_of(both, criteria, findings, _share(believable))
    columns = scoring.get("columns")
    reading = columns if isinstance(columns, ReadOptions) else ReadOptions(columns)
    tables = ScoreInputs(None, truth, scoring.get("train"), users=population_or_table(users)[1])
    for column, own in _margins(by, "").items():
        groups = user_memberships(tables, reading, column)
        allowed = {metric: Margin.of(own) if own != "" else margins[metric] for metric in margins}
        criteria += _group_criteria(both, groups, allowed, level)
    criteria += [within_limit(fresh, limit, level) for limit in limits]
    settings = {**fresh.settings, "margin_level": level, "believable": believable}
    scores = replace(both, findings=findings, settings=settings)
    criteria = [replace(one, why=worded(one.why, scores.unit)) for one in criteria]
    return Gate(tuple(criteria), suspicions, level, scores)


def _margins(names: Margins, default: str | float) -> dict[str, str | float]:
    """Return the margin of each name (of a metric or a column); names without a margin get ``default``."""
    return dict(names) if isinstance(names, Mapping) else dict.fromkeys(several(names), default)


def _heading(metric: str) -> str:
    return next(iter(parse_metrics(metric)))


def _share(text: str | float) -> float:
    """Return the share that a text such as ``50%``, or a number such as 0.5, stands for."""
    margin = Margin.of(text)
    return margin.share or margin.absolute


def _stored_scores(source: Any, role: str) -> Scores | None:
    """Return the stored scores that ``source`` is or names, with ``role`` as the name of the system; None for a run.

    ``source`` is an object of scores, or the text FOLDER or FOLDER:SYSTEM. ``role`` is candidate or baseline.
    """
    path, _, system = str(source).rpartition(":") if isinstance(source, str | Path) else ("", "", "")
    folder = next((str(name) for name in (source, path) if _has_results(name)), None)
    if folder is None and kind_of(source) != "scores":
        return None
    scores = read_scores(source if folder is None else folder)
    if len(scores) > 1:
        raise UsageError(
            "U115", f"these scores are of {len(scores):,} data sets, splits or designs", where=str(source),
            hint="give the folder of recassay score -o, or one of `ra.read_scores(FOLDER).where(dataset=...)`",
        )  # fmt: skip
    sheet = next(iter(scores.sheets.values()))
    others = [name for name in sheet.systems if name != BASELINE]
    chosen = system if folder == path else (others or [BASELINE])[0]
    if chosen not in sheet.systems or (folder != path and len(others) > 1):
        what = f"the scores of {folder or f'the {role}'} have the systems {', '.join(sheet.systems)}"
        raise UsageError(
            "U108", what, where=str(source)[:200], hint=f"name one: {folder or 'FOLDER'}:{sheet.systems[0]}"
        )
    return _renamed(sheet, chosen, role)


def _has_results(source: Any) -> bool:
    """Return whether a source is the path of a folder with scores per user."""
    return isinstance(source, str | Path) and is_folder(Path(source)) and (Path(source) / FILE).exists()


def _renamed(scores: Scores, system: str, role: str) -> Scores:
    """Return the scores of one system, renamed to its ``role`` (candidate or baseline)."""

    def named(columns: Mapping[tuple[str, str], Any]) -> dict[tuple[str, str], Any]:
        return {(role, metric): column for (name, metric), column in columns.items() if name == system}

    rows = tuple(replace(row, system=role) for row in scores.rows if row.system == system)
    findings = tuple(
        replace(one, system=role) for one in scores.findings if not one.system or system in one.system.split(", ")
    )
    return replace(
        scores, systems=(role,), per_unit=named(scores.per_unit), per_unit_weights=named(scores.per_unit_weights),
        rows=rows, findings=findings, named=None, tie_orders={}, first_hits=None, groups=(),
    )  # fmt: skip


def _joined(candidate: Scores, baseline: Scores, where: str) -> Scores:
    """Return the scores of candidate and baseline together; ``where`` names the baseline in errors.

    Raise I311 if their truths differ, and U204 if their metrics or conventions do.
    """
    sources = [(where, ScoreSet({Place(): baseline})), (CANDIDATE, ScoreSet({Place(): candidate}))]
    return next(iter(join_scorings(sources).sheets.values()))


def _refuse_unfit(scores: Scores, margins: Mapping[str, Margin]) -> None:
    """Raise U101 for a metric that only the candidate has, U113 for a metric that has no value per user."""
    for metric in margins:
        require_known(metric, scores.metrics, "U101", f"the baseline has no {metric}")
        known, row = known_metric(metric), scores.row(CANDIDATE, metric)
        if metric not in scores.unit_metrics or row.higher_is_better is None or getattr(known, "power", 1) != 1:
            what = f"{metric} has no values of users whose mean says which system is better"
            raise UsageError("U113", what, hint=f"state a limit: --require '{metric} >= 0.3'; or take another metric")


def _group_criteria(
    scores: Scores, groups: Memberships, margins: Mapping[str, Margin], level: float
) -> Iterator[Criterion]:
    """Yield a criterion for each metric in each group of at least ten users: whether the candidate passes there."""
    for name, places in zip(groups.names, groups.places(scores.units, "user"), strict=True):
        kept = np.zeros(scores.units.len(), np.bool_)
        kept[places] = True
        if places.size >= SMALLEST_GROUP:
            for metric, margin in margins.items():
                within = scores_of_users(scores, metric, kept)
                yield against_baseline(within, metric, margin, level, f"{groups.by}={name}")
