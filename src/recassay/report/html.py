"""The page of a study: one HTML file that needs nothing else, to be read from top to bottom.

Text and tables are there without JavaScript; figures are drawn by Plotly, which the page holds whole if there are any.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from recassay.data.exhibit import Exhibit
from recassay.data.finding import SEVERITIES, Finding
from recassay.report import wording
from recassay.report.page.board import Board, Row, boards
from recassay.report.page.figures import panels, undrawn
from recassay.report.page.tables import DIGITS, written

if TYPE_CHECKING:
    from jinja2 import Environment

PLAIN = {"lists": "ranked lists as given", "sequences": "generated sequences"}  # alone, they are no design
MOST_ROWS = 1000  # of the table behind a figure


def page(
    title: str,
    about: str,
    rows: Iterable[Row],
    *,
    comparisons: Iterable[Row] = (),
    findings: Iterable[Finding | Row] = (),
    exhibits: Iterable[Exhibit] = (),
    lock: Mapping[str, Any] | None = None,
    failures: Iterable[Row] = (),
) -> str:
    """A study as one HTML file: the verdict, findings, results, exhibits, failures, and how it was made.

    ``rows``, ``comparisons``, ``findings`` and ``failures`` are those of ``summary.json``, ``lock`` is the study
    resolved. The same study gives the same bytes. Rows of single folds stand below those over all folds; an undefined
    number is called so.

    >>> row = {"system": "Popular", "design": "lists", "metric": "ndcg@10", "mean": 0.25, "n": 40}
    >>> text = page("First", "Is the popular good enough?", [row])
    >>> "Popular has 0.2500; there is no other system." in text, "<script" in text
    (True, False)
    """
    settings = dict(lock or {})
    level = float((settings.get("judge") or {}).get("level") or 0.95)
    shown = boards(rows, comparisons)
    figures = [_figure(exhibit, place) for place, exhibit in enumerate(exhibits, start=1)]
    drawn = any(figure["panels"] for figure in figures)
    template = _environment().get_template("page.html.jinja")
    return template.render(
        title=title,
        about=about,
        boards=[written(board, level=level, several=len(shown) > 1) for board in shown],
        level=f"{100 * level:.4g} %",
        facts=_facts(shown, settings),
        findings=_findings(findings),
        exhibits=figures,
        plotly=_plotly() if drawn else "",
        failures=[_failure(row) for row in failures],
        lock=_yaml(settings) if settings else "",
        versions=settings.get("versions") or {},
    )


@cache
def _environment() -> Environment:
    import jinja2
    from markupsafe import Markup

    home = files("recassay.report") / "page"

    def text(value: Any) -> Any:
        """Text line by line without control characters; what is markup stays."""
        if isinstance(value, str) and not isinstance(value, Markup):
            return "\n".join(wording.printable(line) for line in value.split("\n"))
        return value

    def source(name: str) -> Markup:
        return Markup((home / name).read_text(encoding="utf-8"))

    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(lambda name: (home / name).read_text(encoding="utf-8")),
        autoescape=True,
        finalize=text,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.globals["source"] = source
    return environment


def _plotly() -> Any:
    """Plotly's script, which holds no end tag of a script."""
    from markupsafe import Markup
    from plotly.offline import get_plotlyjs

    return Markup(get_plotlyjs())


def _yaml(lock: Mapping[str, Any]) -> str:
    import yaml

    return str(yaml.safe_dump(dict(lock), sort_keys=False, allow_unicode=True, width=100))


def _findings(findings: Iterable[Finding | Row]) -> list[dict[str, Any]]:
    """Errors first; where a finding is not about everything, it says about what."""
    rows = [one.to_dict() if isinstance(one, Finding) else one for one in findings]
    found = []
    for row in sorted(rows, key=lambda one: (-SEVERITIES.index(one["severity"]), one["code"])):
        where = [str(row[key]) for key in ("system", "dataset", "split", "design") if row.get(key)]
        cases = int(row.get("cases", 1))
        found.append({**row, "where": " · ".join(where), "cases": cases})
    return found


def _failure(row: Row) -> dict[str, Any]:
    where = [str(row[key]) for key in ("dataset", "split") if row.get(key)]
    where += [f"{key} {row[key]}" for key in ("fold", "seed") if row.get(key) is not None]
    told = {key: str(row.get(key) or "") for key in ("system", "code", "message", "traceback")}
    return {**told, "where": " · ".join(where)}


def _facts(shown: Sequence[Board], lock: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What was studied, in a few lines."""
    grids = [grid for board in shown for grid in board.grids]
    systems = list(dict.fromkeys(system for grid in grids for system in grid.systems))
    designs = list(dict.fromkeys(design for grid in grids for design in grid.designs))
    data = [
        f"{one['name']} ({one['events']:,} events of {one['users']:,} users with {one['items']:,} items)"
        for one in lock.get("data") or []
    ]
    data = data or _distinct(shown, 0)
    facts = [
        ("Data", ", ".join(data)),
        ("Split", ", ".join(_distinct(shown, 1))),
        ("Systems", ", ".join(systems)),
        ("Designs", ", ".join(PLAIN.get(design, design) if len(designs) == 1 else design for design in designs)),
    ]
    return [(name, text) for name, text in facts if text and systems]


def _distinct(shown: Sequence[Board], part: int) -> list[str]:
    return list(dict.fromkeys(str(board.place[part]) for board in shown if board.place[part]))


def _figure(exhibit: Exhibit, place: int) -> dict[str, Any]:
    table = exhibit.table
    numeric = [dtype.is_numeric() for dtype in table.dtypes]
    bounds = {exhibit.y, exhibit.low, exhibit.high}
    lines = [
        [_shown(value, exact=name in bounds) for name, value in row.items()]
        for row in table.head(MOST_ROWS).to_dicts()
    ]  # fmt: skip
    return {
        "id": f"exhibit-{place}",
        "title": exhibit.title,
        "caption": exhibit.caption,
        "panels": [
            {"heading": one.heading, "draw": {"data": one.data, "layout": one.layout}} for one in panels(exhibit)
        ],
        "undrawn": undrawn(exhibit),
        "columns": list(zip(table.columns, numeric, strict=True)),
        "lines": lines,
        "left_out": max(0, table.height - MOST_ROWS),
    }


def _shown(value: Any, *, exact: bool) -> str:
    """A value of an exhibit's table; ``exact`` ones have the digits of a mean."""
    if value is None:
        return wording.UNDEFINED
    if isinstance(value, float):
        return wording.number(value, DIGITS) if exact or math.isnan(value) else f"{value:.6g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
