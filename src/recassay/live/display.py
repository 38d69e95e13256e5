"""What a live evaluation shows: its conclusion, tables and charts, in a terminal and on its web page."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from typing import Any

import polars as pl
from markupsafe import Markup
from rich.console import Group, RenderableType
from rich.text import Text

from recassay.comparison.over_time.windows import threshold
from recassay.live.clock import HOUR
from recassay.live.results import Watched
from recassay.report.content.wording import NOTHING, number, p_value
from recassay.report.figures import panels
from recassay.report.tables.model import Field, ResultTable, Row, Terminal, count, name, table, words
from recassay.results.exhibit import Exhibit

MOST_METRICS = 4  # of which curves are drawn
PAIR, METRIC = Field("a b", "arms", "{} − {}".format, "name"), name("metric")
DIFFERENCE, ADJUSTED = Field("difference", "difference"), Field("adjusted", "adjusted")
BOUNDS = Field("low high", "bounds (anytime-valid)", lambda low, high: f"{number(low)} to {number(high)}")


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
    return NOTHING if value is None else number(value)


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
        return f"{then} Now, after {rule['units']:,} {unit}s: {_differences_and_bound(rule)}." if later else then
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
    """Return a sentence about a decision of a rule, with the differences and the rule's bound at that time.

    ``decision`` is a row of ``Watched.decisions``, and ``unit`` the word for what is assigned to arms: user or
    exposure.
    """
    head = f"Decided: {decision['rule']}, at {moment(decision['time'])} after {decision['n']:,} {unit}s"
    return f"{head}: {_differences_and_bound(decision)}."


def _differences_and_bound(row: dict[str, Any]) -> str:
    """Return the differences of two arms and the lower bound of a rule (a row of ``rules``) as text."""
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


def tables(document: dict[str, Any], *, recent: bool) -> dict[str, ResultTable]:
    """Return the tables of a document (``Watched.to_dict``): arms, their differences, rules, models, and counts.

    With ``recent``, the table of arms also has the means of the last hour and of the last day.
    """
    unit, level = document["settings"]["unit"], f"{100 * (1 - document['settings']['alpha']):g} %"
    late = [Field("hour", "last hour"), Field("day", "last day")] if recent else []
    arms = [Field("mean", "mean"), *late, count("units", f"{unit}s")]
    arms += [Field("unit_mean", f"mean of {unit}s"), replace(BOUNDS, heading=f"bounds ({level}, anytime-valid)")]
    pairs = [count("n", "interactions"), count("only_a", "first ahead"), count("only_b", "second ahead")]
    means = document["models"]["means"].items()
    return {
        "arms": table(_rows_of_arms(document), [name("arm"), METRIC, count("exposures"), *arms]),
        "comparisons": table(
            document["comparisons"],
            [PAIR, METRIC, count("n", "units"), DIFFERENCE, ADJUSTED, BOUNDS, Field("p_adjusted", "p (Holm)", p_value)],
        ),
        "rules": table(
            [{**row, "state": _state(row), "kind": "harm" if row["harm"] else "goal"} for row in document["rules"]],
            [Field("rule kind", "rule", "{} ({})".format, "name"), name("state"), count("units"), DIFFERENCE, ADJUSTED,
             Field("low", "at least")],
        ),
        "means": table(
            [{"model": model, "metric": metric, **row} for model, rows in means for metric, row in rows.items()],
            [name("model"), METRIC, pairs[0], Field("mean", "mean")],
        ),
        "models": table(
            document["models"]["comparisons"],
            [replace(PAIR, heading="models"), METRIC, *pairs, Field("signed", "signed McNemar"), DIFFERENCE, BOUNDS],
        ),
        "counts": table([document["events"]], map(count, document["events"])),
    }  # fmt: skip


def _rows_of_arms(document: dict[str, Any]) -> list[Row]:
    """Return a row per arm and metric of a results document, for a table.

    A row has the mean over exposures whose feedback window has ended (``mean``), over those of the last hour (``hour``)
    and day (``day``), and over units (users or exposures) the ``unit_mean`` with its bounds ``low`` and ``high``.
    """
    return [
        {**row, **{key: content["windows"][f"last {key}"]["metrics"][metric] for key in ("hour", "day")}}
        for content in document["arms"].values()
        for metric, row in content["metrics"].items()
    ]


def _state(rule: Row) -> str:
    needed = rule["units_needed"]
    return "decided" if rule["decided"] else f"about {needed:,} units are needed" if needed else "not decided"


def live_table(found: Watched) -> RenderableType:
    """Return the results of a live evaluation as tables for a terminal."""
    document = found.to_dict()
    shown = tables(document, recent=False)
    bins = document["events"]
    counted = ", ".join(f"{bin_name} {n:,}" for bin_name, n in bins.items() if bin_name != "received")
    lines = [f"{bins['received']:,} events received: {counted}", unjoined(document)]
    lines.append(f"newest event {moment(document['newest'])}; {closing(document)}")
    parts: list[RenderableType] = [Text(verdict(document), style="bold"), Text("")]
    for one in (shown[part] for part in ("arms", "comparisons", "rules", "models")):
        parts += [Terminal(one), Text("")] if one.rows else []
    parts += [Text(line, style="dim") for line in lines if line]
    parts += [Text(line, style="yellow") for line in found.waiting]
    for finding in document["findings"]:
        line = words(f"{finding['severity']} {finding['code']} ", finding["severity"])
        parts.append(line.append(f"{finding['title']}: {finding['detail']}", style="default"))
    return Group(*parts)


def unjoined(document: dict[str, Any]) -> str:
    """Return a text that says how much feedback joins no exposure, from ``Watched.to_dict``; "" if all does."""
    counts = document["unjoined"]
    text = ", ".join(f"{name} {n:,}" for name, n in counts.items())
    return f"feedback without an open window: {text}" if sum(counts.values()) else ""


def closing(document: dict[str, Any]) -> str:
    """Return a text that says up to which time feedback windows have ended, from ``Watched.to_dict``."""
    if document["finished"]:
        return "all windows are closed"
    if document["watermark"] is None:
        return "no window is closed yet"
    return f"closed up to {moment(document['watermark'])}"


@cache
def _template(name: str) -> Any:
    import jinja2  # loaded when a page is shown

    text = (files("recassay.live") / name).read_text(encoding="utf-8")
    return jinja2.Template(text, autoescape=True, undefined=jinja2.StrictUndefined)


def shell(content: str) -> str:
    """Return the whole HTML page around ``content``; a script in it loads new content when events come."""
    home = files("recassay.report")
    style = "\n".join((home / name).read_text(encoding="utf-8") for name in ("page/page.css", "figures/figure.css"))
    return str(_template("shell.html.jinja").render(style=Markup(style), content=Markup(content)))


def content_of(found: Watched, document: dict[str, Any]) -> str:
    """Return the results as HTML: conclusion, arms, curves, comparisons, clicks by position, and problems of logs.

    ``document`` is what ``found.to_dict()`` returns.
    """
    known = document["lag"] is not None and not document["finished"]
    lag = f", {max(0, round(document['lag'])):,} s behind" if known else ""
    text, units = closing(document), sorted(document["assignment"]["units"].items())
    html = _template("content.html.jinja").render(
        **tables(document, recent=True),
        verdict=verdict(document),
        state=f"{document['events']['received']:,} events received. {text[0].upper()}{text[1:]}{lag}.",
        waiting=found.waiting,
        provisional=_provisional(found),
        curves=_drawn(exhibits(found, document)),
        signed=_drawn(_signed_by_hour(document)),
        unjoined=unjoined(document).capitalize(),
        shares=", ".join(f"{arm} {n:,}" for arm, n in units),
        p=p_value(document["assignment"]["p"]),
        findings=document["findings"],
    )
    return str(html)


def _drawn(exhibits: list[Exhibit]) -> list[tuple[str, str]]:
    return [(exhibit.title, panel.svg) for exhibit in exhibits for panel in panels(exhibit)]


def _provisional(found: Watched) -> ResultTable | None:
    """Return a table of provisional means, which also count exposures whose feedback window has not ended.

    The result is None if no window is open, or more than 200,000 are.
    """
    means = found.provisional()
    if not means or not found.watcher.join.n_open:
        return None
    rows = [
        {"arm": arm, "metric": metric, "exposures": row["exposures"], "mean": mean}
        for arm, row in means.items()
        for metric, mean in row["metrics"].items()
    ]
    return table(rows, [name("arm"), METRIC, count("exposures"), Field("mean", "mean so far")])


def _signed_by_hour(document: dict[str, Any]) -> list[Exhibit]:
    """Return a chart per metric of signed McNemar by hour, with a curve per pair of models.

    Only the first 4 metrics are drawn, and only those with at least two hours.
    """
    rows = document["models"]["over_time"]
    alpha, made = document["settings"]["alpha"], []
    for metric in list(dict.fromkeys(row["metric"] for row in rows))[:MOST_METRICS]:
        own = [row for row in rows if row["metric"] == metric]
        begin = min(row["begin"] for row in own)
        points = [
            {"hour": (row["begin"] - begin) / HOUR, "signed McNemar": row["signed"], "pair": f"{row['a']} − {row['b']}"}
            for row in own
        ]
        last = max(row["hour"] for row in points)
        if last:
            level = threshold(alpha)
            points += [
                {"hour": hour, "signed McNemar": sign * level, "pair": f"level {alpha:g}, {side}"}
                for sign, side in ((1, "first"), (-1, "second"))
                for hour in (0.0, last)
            ]
            title = f"Who is ahead in {metric}, by hour since {moment(begin)}"
            made.append(Exhibit("signed", title, "", pl.DataFrame(points), "hour", "signed McNemar", series="pair"))
    return made


def exhibits(found: Watched, document: dict[str, Any]) -> list[Exhibit]:
    """Return charts of the means by hour, for the first 4 metrics, and of clicks by position.

    Drift alarms and new model versions are marked in the charts of means. Only whole hours are drawn: a mean of the
    first few exposures of an hour misleads. ``document`` is what ``found.to_dict()`` returns.
    """
    made = []
    for metric in found.metrics[:MOST_METRICS]:
        curve = found.curve(metric).filter(pl.col("begin").dt.epoch("us") + HOUR <= found.complete)
        if curve["begin"].n_unique() < 2:
            continue
        start = curve["begin"].min()
        hours = curve.select(
            ((pl.col("begin") - start).dt.total_seconds() / 3600).alias("hour"), "arm", pl.col("mean").alias(metric)
        )
        marks = [(one["time"], f"{one['arm']} version {one['version']}") for one in _deployments(document)]
        marks += [(one["time"], f"alarm: {one['arm']}") for one in document["alarms"] if one["metric"] == metric]
        begin = int(curve["begin"].dt.epoch("us").min())  # type: ignore[arg-type]
        at: dict[int, str] = {}
        for time, text in marks:
            hour = max(0, int((time - begin) / HOUR))
            at[hour] = f"{at[hour]}, {text}" if hour in at else text
        silent = _silent_hours(hours)
        whole = pl.col("hour").cast(pl.Int64)
        rows = hours.with_columns(
            whole.replace_strict(at, default=None, return_dtype=pl.String).alias("mark"),
            whole.replace_strict(silent, default=None, return_dtype=pl.String).alias("band"),
        )
        title = f"{metric} by hour since {moment(begin)}"
        made.append(
            Exhibit(
                "curve", title, "Matured exposures.", rows, "hour", metric, series="arm", mark="mark",
                band="band" if silent else None,
            )
        )  # fmt: skip
    places = [
        {"position": row["position"], "clicks per view": row["clicked"] / row["shown"], "arm": arm}
        for arm, content in document["arms"].items()
        for row in content["by_position"][:20]
    ]
    if places:
        made.append(
            Exhibit(
                "positions", "Clicks by position", "", pl.DataFrame(places), "position", "clicks per view", series="arm"
            )
        )
    return made


def _silent_hours(hours: pl.DataFrame) -> dict[int, str]:
    """Return ``{hour: text that names the arms}`` for hours in which an arm that had exposures before has none.

    A line would otherwise join the hours before and after an outage as if nothing had happened.
    """
    own = {arm: set(rows["hour"].cast(pl.Int64)) for (arm,), rows in hours.group_by("arm")}
    silent = {}
    for hour in sorted(set().union(*own.values())):
        if missing := sorted(arm for arm, met in own.items() if hour not in met and hour > min(met)):
            silent[hour] = f"no exposures: {', '.join(missing)}"
    return silent


def _deployments(document: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of ``document["versions"]`` that replaced another model version in their arm."""
    first: dict[str, int] = {}
    for one in document["versions"]:
        first[one["arm"]] = min(first.get(one["arm"], one["time"]), one["time"])
    return [one for one in document["versions"] if one["time"] > first[one["arm"]]]
