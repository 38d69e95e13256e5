"""Checks of a study that find mistakes before any model is fitted: of its file alone, and of its logs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from recassay.columnar.times import require_times
from recassay.data.interactions import Interactions, no_ratings_to_compare
from recassay.errors import UsageError
from recassay.models.base.model import BuiltIn, no_ratings_to_learn
from recassay.models.rerank.base import Reranker
from recassay.study.config.reading import Value, read_document
from recassay.study.config.schema import read_study
from recassay.study.plan.parsing import make_plan
from recassay.study.plan.plan import LISTS, AnyPlan, Plan, StreamPlan
from recassay.study.plan.run_files import RunFiles
from recassay.study.plan.systems import System


def read_plan(path: str | Path, *, quick: bool = False, values: Mapping[str, Value] | None = None) -> AnyPlan:
    """Return the plan of the study in a file (its texts parsed into objects); raise an error for the first mistake.

    The mistakes are those that show in the study file alone. ``quick`` takes the small version of the study, and
    ``values`` override its parameters.
    """
    document = read_document(path)
    plan = make_plan(document, read_study(document, quick=quick, values=values), quick=quick)
    if isinstance(plan, Plan):
        _check_item_groups(plan)
        _check_paths(plan)
        _check_rerankers(plan)
    if isinstance(plan, Plan | StreamPlan):
        _check_items(plan)
    for name in plan.data:
        for split in plan.splits_of(name):
            require_run_files(plan, name, str(split))
    return plan


def require_run_files(plan: AnyPlan, name: str, split: str, folds: Sequence[int] | None = None) -> None:
    """Raise I109 or U132 if a system reads its lists from run files, and one is missing or serves several folds.

    Checked are the files for the split ``split`` of data set ``name``, every seed, and the ``folds`` with these
    numbers; while the numbers are unknown (None), a file of any fold will do.
    """
    for system, runs in _systems_with_runs(plan):
        with plan.document.locating(system.key):
            runs.require(system.name, name, split, plan.study.seeds, folds)


def _systems_with_runs(plan: AnyPlan) -> list[tuple[System, RunFiles]]:
    return [(system, system.model) for system in plan.systems if isinstance(system.model, RunFiles)]


def _check_paths(plan: Plan) -> None:
    """Raise U132 if a system would use the same run file for several data sets, or for several splits of one."""
    several = {"data": len(plan.data), "split": max(len(plan.splits_of(name)) for name in plan.data)}
    things = {"data": "data sets", "split": "splits"}
    for system, runs in _systems_with_runs(plan):
        for name, number in several.items():
            if number > 1 and name not in runs.names:
                what = f"{system.name} has one run file for {number} {things[name]}: {runs}"
                hint = f"write a file for each, and {{{name}}} in the path"
                raise UsageError("U132", what, where=plan.document.where(system.key), hint=hint)


def _check_item_groups(plan: Plan) -> None:
    """Raise an error if the study wants means by group of items and cannot have them.

    U132: its designs have no ranked lists; U215: none of its metrics has a value for a group of items.
    """
    if not plan.study.by_item:
        return
    if LISTS not in plan.designs:
        what = "groups of items are of ranked lists, and the designs do not have these"
        raise plan.reader.error(("by_item",), what, f"add `{LISTS}` to the designs, or remove `by_item:`")
    from recassay.engine.lists.groups import metrics_of_item_groups

    with plan.reader.locating("by_item"):
        metrics_of_item_groups(plan.metrics, plan.study.by_item[0])


def _check_items(plan: Plan | StreamPlan) -> None:
    """Raise U105 if a metric needs the features of items and no data set has them, or if one has no other metric.

    On streams the other metric must have a value for each event.
    """
    metrics = plan.of_events if isinstance(plan, StreamPlan) else plan.metrics
    needing = [heading for heading, metric in metrics.items() if "items" in metric.needed]
    lacking = [name for name, data in plan.data.items() if data.items is None]
    if needing and lacking and (len(lacking) == len(plan.data) or len(needing) == len(metrics)):
        what = f"{needing[0]} needs the features of items, and {lacking[0]} has none"
        error = UsageError("U105", what, hint="name their file next to the data, `items: FILE`, or remove the metric")
        raise plan.locate_metric(needing[0], error)


def _check_rerankers(plan: Plan) -> None:
    """Raise U201 if a re-ranker needs the features of items, and some data set has none."""
    lacking = [name for name, data in plan.data.items() if data.items is None]
    for system in plan.systems:
        model = system.model
        while isinstance(model, Reranker) and lacking:
            if model.needs_items:
                what = f"{model.name} needs the features of items, and {lacking[0]} has none"
                error = UsageError("U201", what, hint="name their file next to the data, `items: FILE`")
                raise plan.document.locate(system.key, error)
            model = model.of


def check_log(plan: AnyPlan, name: str, log: Interactions) -> None:
    """Raise an error, with its line, if the log of data set ``name`` lacks times or ratings that the study needs."""
    for number, split in enumerate(plan.splits_of(name)):
        with plan.locating_split(name, number):
            require_times(log, split.needs, split)
    if log.ratings is not None:
        return
    if isinstance(plan, Plan) and plan.protocol.relevant_from is not None:
        raise plan.reader.locate(("protocol",), no_ratings_to_compare(plan.protocol.relevant_from, log.origin))
    for system in plan.systems:
        if isinstance(system.model, BuiltIn) and system.model.reads_ratings:
            raise plan.document.locate(system.key, no_ratings_to_learn(system.model.name, log.origin))
