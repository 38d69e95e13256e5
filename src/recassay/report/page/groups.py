"""The page's section on groups of users or items: the gap of every system, and its means by group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from recassay.report.content import wording
from recassay.report.content.groups import groups_counts, groups_method, groups_title
from recassay.results.group_scores import GroupGap, GroupRow, GroupScores

DIGITS = 4


def groups_content(found: Sequence[tuple[str, GroupScores]]) -> list[dict[str, Any]]:
    """Return means by group as values for the page's template.

    Each comes with its data set, split and so on as text, which is shown if there are several.
    """
    several = len({where for where, _ in found}) > 1
    return [
        {
            "id": f"groups-{number}",
            "title": groups_title(groups),
            "where": where if several else "",
            "counts": groups_counts(groups),
            "method": groups_method(groups),
            "level": f"{100 * groups.level:.4g} %",
            "gaps": [_gap(groups, gap) for gap in groups.gaps],
            "systems": list(groups.systems),
            "metrics": [_metric(groups, metric) for metric in groups.metrics],
        }
        for number, (where, groups) in enumerate(found, start=1)
    ]


def _gap(groups: GroupScores, gap: GroupGap) -> dict[str, Any]:
    means = {}
    for name in ("worst", "best"):
        row = groups.row(gap.system, gap.metric, getattr(gap, name))
        means[name] = {"group": getattr(gap, name), "mean": "" if row is None else wording.number(row.mean, DIGITS)}
    return {
        "metric": gap.metric,
        "system": gap.system,
        "gap": wording.difference(gap.gap, DIGITS),
        "exact": repr(gap.gap),
        "interval": wording.interval(gap.low, gap.high, DIGITS),
        "p": wording.p_value(gap.p),
        "significant": gap.significant,
        **means,
    }


def _metric(groups: GroupScores, metric: str) -> dict[str, Any]:
    lines = []
    for group in groups.groups:
        rows = [groups.row(system, metric, group) for system in groups.systems]
        known = [row for row in rows if row is not None]
        if known:
            n = f"{max(row.n for row in known):,}"
            lines.append({"group": group, "n": n, "cells": [_cell(groups, row) for row in rows]})
    return {"metric": metric, "lines": lines}


def _cell(groups: GroupScores, row: GroupRow | None) -> dict[str, Any]:
    if row is None:
        return {"mean": wording.NOTHING, "exact": "", "interval": "", "noise": True, "badge": ""}
    gap = groups.gap(row.system, row.metric)
    extreme = "" if gap is None or not gap.significant else {gap.worst: "worst", gap.best: "best"}.get(row.group, "")
    bounds = wording.interval(row.low, row.high, DIGITS)
    return {
        "mean": wording.number(row.mean, DIGITS),
        "exact": repr(row.mean),
        "interval": "" if bounds == wording.NOTHING else bounds,
        "noise": not row.significant,
        "badge": extreme,
    }
