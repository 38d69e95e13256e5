"""The web page of a live evaluation: its content as HTML, and the frame around it, which loads new content."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

import polars as pl
from markupsafe import Markup

from recassay.comparison.over_time.windows import threshold
from recassay.live.clock import HOUR
from recassay.live.results import Watched
from recassay.live.table import (
    Cells,
    bounds,
    cell,
    closing,
    comparisons,
    models,
    moment,
    p_value,
    rules,
    unjoined,
    verdict,
)
from recassay.report.figures import panels
from recassay.results.exhibit import Exhibit

MOST_METRICS = 4  # of which curves are drawn


@cache
def _template(name: str) -> Any:
    import jinja2  # loaded when a page is shown

    text = (files("recassay.live") / name).read_text(encoding="utf-8")
    return jinja2.Template(text, autoescape=True, undefined=jinja2.StrictUndefined)


def shell(content: str) -> str:
    """Return the whole HTML page around a content; a script in it loads new content when events come."""
    home = files("recassay.report")
    style = "\n".join((home / name).read_text(encoding="utf-8") for name in ("page/page.css", "figures/figure.css"))
    return str(_template("shell.html.jinja").render(style=Markup(style), content=Markup(content)))


def content_of(found: Watched, document: dict[str, Any]) -> str:
    """Return the results as HTML: conclusion, arms, curves, comparisons, clicks by position, and problems of the logs.

    ``document`` is what ``found.to_dict()`` returns.
    """
    known = document["lag"] is not None and not document["finished"]
    lag = f", {max(0, round(document['lag'])):,} s behind" if known else ""
    text, units = closing(document), sorted(document["assignment"]["units"].items())
    models_means = [
        [model, metric, f"{row['n']:,}", cell(row["mean"])]
        for model, content in document["models"]["means"].items()
        for metric, row in content.items()
    ]
    html = _template("content.html.jinja").render(
        verdict=verdict(document),
        state=f"{document['events']['received']:,} events received. {text[0].upper()}{text[1:]}{lag}.",
        waiting=found.waiting,
        rules=rules(document),
        arms=_arms(document),
        provisional=_provisional(found),
        curves=_drawn(exhibits(found, document)),
        comparisons=comparisons(document),
        means=(["model", "metric", "interactions", "mean"], models_means),
        models=models(document),
        signed=_drawn(_signed_by_hour(document)),
        counts=(list(document["events"]), [[f"{n:,}" for n in document["events"].values()]]),
        unjoined=unjoined(document).capitalize(),
        shares=", ".join(f"{arm} {n:,}" for arm, n in units),
        p=p_value(document["assignment"]["p"]),
        findings=document["findings"],
    )
    return str(html)


def _drawn(exhibits: list[Exhibit]) -> list[tuple[str, str]]:
    return [(exhibit.title, panel.svg) for exhibit in exhibits for panel in panels(exhibit)]


def _arms(document: dict[str, Any]) -> Cells:
    unit = document["settings"]["unit"]
    headings = ["arm", "metric", "exposures", "mean", "last hour", "last day", f"{unit}s", f"mean of {unit}s", "bounds"]
    rows = [
        [
            arm, metric, f"{row['exposures']:,}", cell(row["mean"]),
            *(cell(content["windows"][name]["metrics"][metric]) for name in ("last hour", "last day")),
            f"{row['units']:,}", cell(row["unit_mean"]), bounds(row),
        ]
        for arm, content in document["arms"].items()
        for metric, row in content["metrics"].items()
    ]  # fmt: skip
    return headings, rows


def _provisional(found: Watched) -> Cells | None:
    """Return provisional means, which also count exposures whose window is open.

    The result is None if no window is open, or more than 200,000 are.
    """
    means = found.provisional()
    if not means or not found.watcher.join.n_open:
        return None
    rows = [
        [arm, metric, f"{row['exposures']:,}", cell(value)]
        for arm, row in means.items()
        for metric, value in row["metrics"].items()
    ]
    return ["arm", "metric", "exposures", "mean so far"], rows


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
