"""The page of a study: one HTML file that needs nothing else, to be read from top to bottom.

Everything is there without JavaScript: text, tables, and pictures as SVG. A small script adds what a reader can choose
(data, metric, cut-off, design) and files to save (CSV, SVG, PNG).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from recassay.data.exhibit import Exhibit
from recassay.data.finding import SEVERITIES, Finding
from recassay.report import wording
from recassay.report.page.board import Board, Row, boards
from recassay.report.page.card import again, card
from recassay.report.page.figures import Room, figure, means, ranks
from recassay.report.page.tables import written

if TYPE_CHECKING:
    from jinja2 import Environment

AXES = (
    ("data", "Data"), ("split", "Split"), ("protocol", "Protocol"), ("seed", "Seed"), ("metric", "Metric"),
    ("cut", "Cut-off"), ("design", "Design"),
)  # fmt: skip
Spread = Mapping[tuple[tuple[Any, ...], str], Sequence[Exhibit]]  # by place with design, and metric


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
    settings: Mapping[str, Any] | None = None,
    command: str = "",
    spread: Spread | None = None,
) -> str:
    """A study as one HTML file: findings, its card, the verdict, results, exhibits, failures, and how it was made.

    ``rows``, ``comparisons``, ``findings`` and ``failures`` are those of ``summary.json``, ``lock`` is the study
    resolved, ``settings`` those of a scoring without one, ``spread`` what stands behind each mean. The same study gives
    the same bytes. Rows of single folds stand below those over all folds; an undefined number is called so.

    >>> row = {"system": "Popular", "design": "lists", "metric": "ndcg@10", "mean": 0.25, "n": 40}
    >>> text = page("First", "Is the popular good enough?", [row])
    >>> "Popular has 0.2500; there is no other system." in text
    True
    """
    lock, settings = dict(lock or {}), dict(settings or {})
    comparisons = list(comparisons)
    level = float((lock.get("judge") or settings.get("interval") or {}).get("level") or 0.95)
    shown, room = boards(rows, comparisons), Room()
    several = len(shown) > 1
    results = [written(board, at, level=level, several=several) for at, board in enumerate(shown, start=1)]
    _illustrate(shown, results, spread or {}, room)
    template = _environment().get_template("page.html.jinja")
    return template.render(
        title=title,
        about=about,
        study=bool(lock),
        boards=results,
        controls=_controls(results),
        left_out=room.left_out,
        level=f"{100 * level:.4g} %",
        alpha=f"{_alpha(comparisons, level):.4g}",
        lead=next(((grid["metric"], grid["sentences"][0]) for board in results for grid in board["grids"]), None),
        facts=card(shown, lock, settings),
        command=again(lock, command),
        findings=_findings(findings),
        exhibits=[figure(exhibit, f"exhibit-{place}") for place, exhibit in enumerate(exhibits, start=1)],
        failures=[_failure(row) for row in failures],
        lock=_yaml(lock or settings) if lock or settings else "",
    )


@cache
def _environment() -> Environment:
    import jinja2
    from markupsafe import Markup

    home = files("recassay.report")

    def text(value: Any) -> Any:
        """Text line by line without control characters; what is markup stays."""
        if isinstance(value, str) and not isinstance(value, Markup):
            return "\n".join(wording.printable(line) for line in value.split("\n"))
        return value

    def source(name: str) -> Markup:
        return Markup((home / name).read_text(encoding="utf-8"))

    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(lambda name: (home / "page" / name).read_text(encoding="utf-8")),
        autoescape=True,
        finalize=text,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.globals["source"] = source
    environment.filters["drawn"] = Markup  # a picture, whose texts are escaped where it is drawn
    return environment


def _illustrate(shown: Sequence[Board], results: Sequence[dict[str, Any]], spread: Spread, room: Room) -> None:
    """Pictures beside the tables, as many as there is room for."""
    for board, result in zip(shown, results, strict=True):
        for grid, made in zip(board.grids, result["grids"], strict=True):
            ordered = grid.higher_is_better is not None and len(grid.systems) > 1
            across = [figure(ranks(grid), f"{made['id']}-ranks")] if len(grid.designs) > 1 and ordered else []
            made["figures"] = [one for one in across if one["panels"] and room.take(one)]
            for number, view in enumerate(made["views"], start=1):
                name = view["id"] = f"{made['id']}-{number}"
                own = [means(grid, view["design"]), *spread.get(((*board.place, view["design"]), grid.metric), ())]
                drawn = [figure(one, f"{name}-{at}") for at, one in enumerate(own, start=1)]
                view["figures"] = [one for one in drawn if one["panels"] and room.take(one)]


def _controls(results: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """What a reader can choose: whatever has two or more answers."""
    found: dict[str, dict[str, None]] = {key: {} for key, _ in AXES}
    for board in results:
        for key, value in board["place"].items():
            found[key][value] = None
        for grid in board["grids"]:
            found["metric"][grid["base"]] = None
            found["cut"][grid["cut"]] = None
            found["design"].update(dict.fromkeys(view["design"] for view in grid["views"]))
    return [
        {"key": key, "label": label, "choices": list(found[key])} for key, label in AXES if len(found[key]) > 1
    ]  # fmt: skip


def _yaml(lock: Mapping[str, Any]) -> str:
    import yaml

    return str(yaml.safe_dump(dict(lock), sort_keys=False, allow_unicode=True, width=100))


def _alpha(comparisons: Iterable[Row], level: float) -> float:
    """What a p-value may be at most to be significant; comparisons over time have their own."""
    own = {row["alpha"] for row in comparisons if row.get("alpha")}
    return float(own.pop()) if len(own) == 1 else 1 - level


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
