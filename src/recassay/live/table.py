"""The table of a live evaluation in a terminal: conclusion, arms, comparisons, and problems of the logs."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from recassay.live.results import Watched
from recassay.report.content.wording import number

Cells = tuple[list[str], list[list[str]]]  # headings and rows of a table
STYLES = {"error": "bold red", "warning": "yellow", "info": "cyan"}


def moment(time: int | None) -> str:
    """Return a time in microseconds since 1970 as text; "never" for None.

    >>> moment(1_767_571_200_000_000)
    '2026-01-05 00:00:00 UTC'
    """
    return "never" if time is None else datetime.fromtimestamp(time / 1e6, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def cell(value: float | None) -> str:
    """Return a number with four decimals as text; a dash for None.

    >>> cell(0.25), cell(None)
    ('0.2500', '–')
    """
    return "–" if value is None else number(value, 4)


def bounds(row: dict[str, Any]) -> str:
    """Return the bounds of a mean or difference as text; a dash if it has none."""
    return "–" if row["low"] is None else f"{cell(row['low'])} to {cell(row['high'])}"


def p_value(value: float) -> str:
    """Return a p-value as text."""
    return "below 0.0001" if value < 1e-4 else cell(value)


def verdict(document: dict[str, Any]) -> str:
    """Return the conclusion about the arms in one sentence; ``document`` is from ``Watched.to_dict``."""
    unit = document["settings"]["unit"]
    if any(finding["code"] == "W007" for finding in document["findings"]):
        return (
            "Units are not split between arms as stated (W007): differences between arms mean nothing until this is "
            "fixed."
        )
    decided = [rule for rule in document["rules"] if rule["decided"]]
    if decided:
        rule = min(decided, key=lambda one: one["decided"]["time"])
        then = decision_text(rule["decided"], unit)
        later = rule["units"] > rule["decided"]["n"]
        return f"{then} Now, after {rule['units']:,} {unit}s: {_how_large(rule)}." if later else then
    level = document["settings"]["alpha"]
    sure = [one for one in document["comparisons"] if one["p_adjusted"] is not None and one["p_adjusted"] <= level]
    if sure:
        said = [f"{_better(one)} by {one['metric']}" for one in sure]
        return f"Established: {'; '.join(said)}."
    waiting = [rule for rule in document["rules"] if rule["units_needed"]]
    if waiting:
        rule = waiting[0]
        return (
            f"Not decided: {rule['rule']}. If the adjusted difference stays {number(rule['adjusted'], 4)}, about "
            f"{rule['units_needed']:,} {unit}s are needed; {rule['units']:,} have been counted."
        )
    return _undecided(document)


def decision_text(decision: dict[str, Any], unit: str) -> str:
    """Return a decision of a rule in one sentence, with the differences and the rule's bound at that time."""
    head = f"Decided: {decision['rule']}, at {moment(decision['time'])} after {decision['n']:,} {unit}s"
    return f"{head}: {_how_large(decision)}."


def _how_large(row: dict[str, Any]) -> str:
    """Return the differences and the bound of a rule as text."""
    plain, adjusted, low = (cell(row[name]) for name in ("difference", "adjusted", "low"))
    return f"a difference of {plain} (adjusted {adjusted}), at least {low}"


def _undecided(document: dict[str, Any]) -> str:
    """Return the reason why no arm can be called better yet, as a sentence."""
    if document["comparisons"]:
        return "No difference between the arms is established yet."
    if len(document["arms"]) > 1:
        span = document["settings"]["user_window"]
        return f"No unit has been counted yet: a user counts {span} after its first exposure."
    return (
        "There is only one arm, so there is nothing to compare." if document["arms"] else "No exposure has matured yet."
    )


def _better(row: dict[str, Any]) -> str:
    better, worse = (row["a"], row["b"]) if row["adjusted"] > 0 else (row["b"], row["a"])
    return f"{better} above {worse}"


def live_table(found: Watched) -> RenderableType:
    """Return the results as tables for a terminal."""
    document = found.to_dict()
    parts: list[RenderableType] = [Text(verdict(document), style="bold"), Text("")]
    parts.append(_grid(_arms(document)))
    parts += [_grid(cells) for cells in (comparisons(document), rules(document), models(document)) if cells[1]]
    bins = document["events"]
    counted = ", ".join(f"{name} {bins[name]:,}" for name in bins if name != "received")
    parts.append(Text(f"\n{bins['received']:,} events received: {counted}", style="dim"))
    if text := unjoined(document):
        parts.append(Text(text, style="dim"))
    parts.append(Text(f"newest event {moment(document['newest'])}; {closing(document)}", style="dim"))
    parts += [Text(line, style="yellow") for line in found.waiting]
    for finding in document["findings"]:
        line = Text(f"{finding['severity']} {finding['code']} ", style=STYLES[finding["severity"]])
        parts.append(line.append(f"{finding['title']}: {finding['detail']}", style="default"))
    return Group(*parts)


def unjoined(document: dict[str, Any]) -> str:
    """Return a text that says how much feedback joins no exposure, from ``Watched.to_dict``; "" if all does."""
    counts = document["unjoined"]
    text = ", ".join(f"{name} {n:,}" for name, n in counts.items())
    return f"feedback without an open window: {text}" if sum(counts.values()) else ""


def closing(document: dict[str, Any]) -> str:
    """Return a text that says up to which time feedback windows are closed, from ``Watched.to_dict``."""
    if document["finished"]:
        return "all windows are closed"
    if document["watermark"] is None:
        return "no window is closed yet"
    return f"closed up to {moment(document['watermark'])}"


def _arms(document: dict[str, Any]) -> Cells:
    """Return the means of arms over closed exposures, with the bounds of the mean over units."""
    level, unit = f"{100 * (1 - document['settings']['alpha']):g} %", document["settings"]["unit"]
    rows = [
        [
            arm, metric, f"{row['exposures']:,}", "undefined" if row["mean"] is None else cell(row["mean"]),
            f"{row['units']:,}", cell(row["unit_mean"]), bounds(row),
        ]
        for arm, content in document["arms"].items()
        for metric, row in content["metrics"].items()
    ]  # fmt: skip
    headings = ["exposures", "mean", f"{unit}s", f"mean of {unit}s", f"bounds ({level}, anytime-valid)"]
    return ["arm", "metric", *headings], rows


def comparisons(document: dict[str, Any]) -> Cells:
    """Return the differences of arms: headings, and a row of cells per pair of arms and metric."""
    rows = [
        [
            f"{row['a']} − {row['b']}", row["metric"], f"{row['n']:,}", cell(row["difference"]), cell(row["adjusted"]),
            bounds(row), p_value(row["p_adjusted"]),
        ]
        for row in document["comparisons"]
    ]  # fmt: skip
    return ["arms", "metric", "units", "difference", "adjusted", "bounds (anytime-valid)", "p (Holm)"], rows


def rules(document: dict[str, Any]) -> Cells:
    """Return the rules: headings, and a row of cells per rule; its bound is one-sided, at the level of the rule."""
    rows = []
    for row in document["rules"]:
        needed = row["units_needed"]
        waits = "not decided" if needed is None else f"about {needed:,} units are needed"
        kind, state = "harm" if row["harm"] else "goal", "decided" if row["decided"] else waits
        numbers = [cell(row[name]) for name in ("difference", "adjusted", "low")]
        rows.append([f"{row['rule']} ({kind})", state, f"{row['units']:,}", *numbers])
    return ["rule", "state", "units", "difference", "adjusted", "at least"], rows


def models(document: dict[str, Any]) -> Cells:
    """Return models compared on the same interactions: headings, and a row of cells per pair of models and metric."""
    rows = [
        [
            f"{row['a']} − {row['b']}", row["metric"], *(f"{row[name]:,}" for name in ("n", "only_a", "only_b")),
            cell(row["signed"]), cell(row["difference"]), bounds(row),
        ]
        for row in document["models"]["comparisons"]
    ]  # fmt: skip
    headings = ["interactions", "first ahead", "second ahead", "signed McNemar", "difference", "bounds (anytime-valid)"]
    return ["models", "metric", *headings], rows


def _grid(cells: Cells) -> Table:
    """Return a table for a terminal; all but the first two columns are aligned to the right."""
    headings, rows = cells
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for place, heading in enumerate(headings):
        table.add_column(heading, justify="left" if place < 2 else "right")
    for row in rows:
        table.add_row(*row)
    return table
