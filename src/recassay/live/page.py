"""The web page of a live evaluation: its content as HTML, and the frame around it, which loads new content."""

from __future__ import annotations

from html import escape
from importlib.resources import files
from typing import Any

import polars as pl

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
DIFFERENCES = (
    "<p>Difference: of the means of units. Adjusted: with weights for the shares of the arms, the centre of the "
    "bounds.</p>"
)

SHELL = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>recassay watch</title><link rel="icon" href="data:,"><style>{style}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums; }}
th, td {{ padding: .3rem .8rem .3rem 0; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }}
th:first-child, td:first-child, th:nth-child(2), td:nth-child(2) {{ text-align: left; }}
.scroll {{ overflow-x: auto; }} .figures {{ display: grid; gap: 1.5rem;
grid-template-columns: repeat(auto-fit, minmax(min(100%, 34rem), 1fr)); }}
.figures figure {{ margin: 0; }} .figures svg {{ max-width: 100%; height: auto; }}
</style></head><body><a class="skip" href="#live">Skip to the results</a>
<header><p class="kind">recassay watch</p></header><main id="live" tabindex="-1">{content}</main>
<footer><p class="note" id="link" role="status">Connecting…</p></footer>
<script>
const link = document.getElementById("link"), live = document.getElementById("live");
const source = new EventSource("events");
source.onopen = () => {{ link.textContent = "Updates as events come."; }};
source.onerror = () => {{ link.textContent = "The watch does not answer. Trying again…"; }};
source.onmessage = async () => {{
  const answer = await fetch("content");
  if (answer.ok) show(await answer.text());
}};
function show(text) {{  // what is open, scrolled or in focus stays so
  const parts = "summary, .scroll", before = [...live.querySelectorAll(parts)];
  const state = new Map(before.map((one) => [one.ariaLabel || one.textContent,
    [one.parentNode.open, one.scrollLeft, one === document.activeElement]]));
  live.innerHTML = text;
  for (const one of live.querySelectorAll(parts)) {{
    const [open, left, focus] = state.get(one.ariaLabel || one.textContent) || [];
    if (open) one.parentNode.open = true;
    if (left) one.scrollLeft = left;
    if (focus) one.focus({{ preventScroll: true }});
  }}
}}
</script></body></html>
"""


def shell(content: str) -> str:
    """Return the whole HTML page around a content; a script in it loads new content when events come."""
    home = files("recassay.report")
    style = "\n".join((home / name).read_text(encoding="utf-8") for name in ("page/page.css", "figures/figure.css"))
    return SHELL.format(style=style, content=content)


def content_of(found: Watched, document: dict[str, Any]) -> str:
    """Return the results as HTML: conclusion, arms, curves, comparisons, clicks by position, and problems of the logs.

    ``document`` is what ``found.to_dict()`` returns.
    """
    parts = [
        f"<h1>{escape(verdict(document))}</h1>",
        f'<p class="lead">{_state(document)}</p>',
        *(f"<p>{escape(line)}.</p>" for line in found.waiting),
        _section("Rules", rules(document), "Rules"),
        "<h2>Arms</h2>",
        "<p>Matured: exposures whose window has closed. Bounds are valid at any time.</p>",
        _arms(document),
        _provisional(found),
        '<div class="figures">',
        *(_figure(exhibit) for exhibit in exhibits(found, document)),
        "</div>",
        _section("Differences", comparisons(document), "Differences of arms", DIFFERENCES),
        _models(document),
        "<h2>Health of the logs</h2>",
        _health(document),
    ]
    return "\n".join(part for part in parts if part)


def _state(document: dict[str, Any]) -> str:
    known = document["lag"] is not None and not document["finished"]
    lag = f", {max(0, round(document['lag'])):,} s behind" if known else ""
    text = closing(document)
    return f"{document['events']['received']:,} events received. {text[0].upper()}{text[1:]}{lag}."


def _table(headings: list[str], rows: list[list[str]], caption: str) -> str:
    head = "".join(f'<th scope="col">{escape(one)}</th>' for one in headings)
    body = "".join("<tr>" + "".join(f"<td>{escape(text)}</td>" for text in row) + "</tr>" for row in rows)
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(caption)}">'
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _arms(document: dict[str, Any]) -> str:
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
    return _table(headings, rows, "Means of the arms")


def _provisional(found: Watched) -> str:
    """Return provisional means as a collapsed part of the page; they also count exposures whose window is open.

    The result is "" if no window is open, or more than 200,000 are.
    """
    means = found.provisional()
    if not means or not found.watcher.join.n_open:
        return ""
    rows = [
        [arm, metric, f"{row['exposures']:,}", cell(value)]
        for arm, row in means.items()
        for metric, value in row["metrics"].items()
    ]
    table = _table(["arm", "metric", "exposures", "mean so far"], rows, "Provisional means")
    about = (
        "<p>Includes exposures whose window is open, with the feedback so far. These means are too low, and bounds do "
        "not use them.</p>"
    )
    return f"<details><summary>Provisional means</summary>{about}{table}</details>"


def _section(title: str, cells: Cells, caption: str, about: str = "") -> str:
    """Return a part of the page with a table; "" for a table without rows."""
    return f"<h2>{title}</h2>{about}{_table(*cells, caption)}" if cells[1] else ""


def _models(document: dict[str, Any]) -> str:
    """Return the means and comparisons of models that were judged on the same interactions, as HTML; "" without any."""
    judged = document["models"]
    if not judged["means"]:
        return ""
    means = [
        [model, metric, f"{row['n']:,}", cell(row["mean"])]
        for model, content in judged["means"].items()
        for metric, row in content.items()
    ]
    compared = _table(*models(document), "Models on the same interactions") if judged["comparisons"] else ""
    figures = "".join(_figure(one) for one in _signed_by_hour(document))
    return (
        "<h2>Models on interactions</h2>"
        + _table(["model", "metric", "interactions", "mean"], means, "Means of the models")
        + compared
        + (f'<div class="figures">{figures}</div>' if figures else "")
    )


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


def _health(document: dict[str, Any]) -> str:
    bins = _table(list(document["events"]), [[f"{n:,}" for n in document["events"].values()]], "Counts of events")
    shares = ", ".join(f"{escape(arm)} {n:,}" for arm, n in sorted(document["assignment"]["units"].items()))
    found = "".join(
        f'<li class="{one["severity"]}"><span class="badge">{one["severity"]}</span> <strong>{one["code"]} '
        f"{escape(one['title'])}</strong><p>{escape(one['detail'])}</p></li>"
        for one in document["findings"]
    )
    assigned = (
        f"<p>Units assigned: {shares}; p of the stated shares {p_value(document['assignment']['p'])}.</p>"
        if shares
        else ""
    )
    text = unjoined(document)
    lone = f"<p>{text.capitalize()}.</p>" if text else ""
    return f'{bins}{lone}{assigned}<ul class="findings">{found}</ul>'


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


def _figure(exhibit: Exhibit) -> str:
    return "".join(
        f"<figure><figcaption>{escape(exhibit.title)}</figcaption>{one.svg}</figure>" for one in panels(exhibit)
    )
