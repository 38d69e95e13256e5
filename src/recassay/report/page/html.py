"""The report page: a single HTML file without external resources.

Text, tables and SVG figures are all visible without JavaScript. The results of a large page are in ``noscript``
elements: a browser without scripts shows them, and one with scripts reads them as text until they are selected, so that
the page opens at once. A small script adds controls to select data, metric,
cut-off and design, and buttons to save tables and figures (CSV, SVG, PNG).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from recassay._version import __version__
from recassay.comparison.verdict import Verdict
from recassay.errors import printable
from recassay.report.content import wording
from recassay.report.content.findings import FindingGroup, finding_groups, verdict_without, where_of
from recassay.report.content.grids import ResultGrids, Row, result_grids
from recassay.report.page.figures import SizeBudget, figure, means, ranks
from recassay.report.page.tables import FILTERS, groups_content, results_content
from recassay.report.page.verdict import picture, verdict_content
from recassay.results.exhibit import Exhibit
from recassay.results.finding import Finding
from recassay.results.group_scores import GroupScores
from recassay.results.scores import population

if TYPE_CHECKING:
    from jinja2 import Environment

AXES = (
    ("data", "Data"), ("split", "Split"), ("protocol", "Protocol"), ("seed", "Seed"), ("metric", "Metric"),
    ("cut", "Cut-off"), ("design", "Design"),
)  # fmt: skip
DESCRIPTIONS = {"lists": "ranked lists as given", "sequences": "generated sequences", "stream": "events of a stream"}
MAX_VIEWS = 60  # tables of a page that are laid out when it opens; a larger page unpacks those that are selected
Distributions = Mapping[tuple[tuple[Any, ...], str], Sequence[Exhibit]]  # by place with design, and metric


@dataclass(frozen=True, eq=False)
class Provenance:
    """How results were made: the lock of the study or the settings of a scoring, the command, and what failed.

    ``lock`` is the content of the study's lock file, empty without a study; ``failures`` come from ``summary.json``.
    """

    lock: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    command: str = ""
    failures: Iterable[Row] = ()


NO_PROVENANCE, NO_VERDICT = Provenance(), Verdict(())


def page(
    title: str,
    about: str,
    rows: Iterable[Row],
    *,
    comparisons: Iterable[Row] = (),
    findings: Iterable[Finding | Row] = (),
    exhibits: Iterable[Exhibit] = (),
    provenance: Provenance = NO_PROVENANCE,
    distributions: Distributions | None = None,
    verdict: Verdict = NO_VERDICT,
    groups: Sequence[tuple[str, GroupScores]] = (),
) -> str:
    """Return a study as one HTML file: verdict, findings, summary card, results, figures, failures and settings.

    ``rows``, ``comparisons`` and ``findings`` come from ``summary.json``. ``distributions`` are charts of the
    distribution behind each mean, ``groups`` the means by group, each with its data set, split and so on. Equal input
    gives equal bytes. Rows of single folds follow those over
    all folds; undefined numbers say "undefined".

    >>> row = {"system": "Popular", "design": "lists", "metric": "ndcg@10", "mean": 0.25, "n": 40}
    >>> text = page("First", "Is the popular good enough?", [row])
    >>> "0.2500" in text
    True
    """
    lock, settings = provenance.lock, provenance.settings
    comparisons = list(comparisons)
    level = float((lock.get("judge") or settings.get("interval") or {}).get("level") or 0.95)
    grids, budget = result_grids(rows, comparisons), SizeBudget()
    several = len(grids) > 1
    systems = picture(verdict, grids)
    first = None if systems is None else figure(systems, "systems")
    contents = [results_content(group, at, several=several) for at, group in enumerate(grids, start=1)]
    _add_figures(grids, contents, distributions or {}, budget)
    by_code = finding_groups(findings, verdict)
    found = [_finding(group) for group in by_code]
    template = _environment().get_template("page.html.jinja")
    return template.render(
        title=title,
        about=about,
        study=bool(lock),
        groups=contents,
        controls=_controls(contents),
        left_out=budget.left_out,
        packed=sum(len(grid.designs) for group in grids for grid in group.grids) > MAX_VIEWS,
        level=f"{100 * level:.4g} %",
        alpha=f"{_alpha(comparisons, level):.4g}",
        verdict=verdict_content(verdict, grids),
        picture=first,
        facts=_card(grids, lock, settings),
        by_groups=groups_content(groups),
        command=provenance.command,
        findings=[one for one in found if one["weight"] == 2],
        other_findings=[one for one in found if one["weight"] < 2],
        verdict_without=verdict_without(by_code, verdict),
        unknown=any(group.open for group in by_code),
        exhibits=[figure(exhibit, f"exhibit-{number}") for number, exhibit in enumerate(exhibits, start=1)],
        failures=[_failure(row) for row in provenance.failures],
        lock=_yaml(lock or settings) if lock or settings else "",
    )


@cache
def _environment() -> Environment:
    import jinja2
    from markupsafe import Markup

    home = files("recassay.report")

    def text(value: Any) -> Any:
        """Return text with control characters escaped in each line; markup and other values are returned unchanged."""
        if isinstance(value, str) and not isinstance(value, Markup) and not value.isprintable():
            return "\n".join(printable(line) for line in value.split("\n"))
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
    environment.filters |= {**FILTERS, "drawn": Markup}  # figures escape their text when they are drawn
    return environment


def _add_figures(
    groups: Sequence[ResultGrids],
    contents: Sequence[dict[str, Any]],
    distributions: Distributions,
    budget: SizeBudget,
) -> None:
    """Add figures to ``contents``, the values of each group for the template, as many as the size budget allows."""
    for group, content in zip(groups, contents, strict=True):
        for grid, grid_content in zip(group.grids, content["grids"], strict=True):
            ordered = grid.higher_is_better is not None and len(grid.systems) > 1
            rank_figures = (
                [figure(ranks(grid), f"{grid_content['id']}-ranks")] if len(grid.designs) > 1 and ordered else []
            )
            grid_content["figures"] = [item for item in rank_figures if item["panels"] and budget.take(item)]
            for number, view in enumerate(grid_content["views"], start=1):
                name = view["id"] = f"{grid_content['id']}-{number}"
                place = (*group.place, view["design"])
                exhibits = [means(grid, view["design"]), *distributions.get((place, grid.metric), ())]
                drawn = [figure(exhibit, f"{name}-{at}") for at, exhibit in enumerate(exhibits, start=1)]
                view["figures"] = [item for item in drawn if item["panels"] and budget.take(item)]


def _controls(contents: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the controls that select what the page shows, one for each property that has two or more values."""
    values: dict[str, dict[str, None]] = {key: {} for key, _ in AXES}
    for group in contents:
        for key, value in group["place"].items():
            values[key][value] = None
        for grid in group["grids"]:
            values["metric"][grid["base"]] = None
            values["cut"][grid["cut"]] = None
            values["design"].update(dict.fromkeys(view["design"] for view in grid["views"]))
    return [
        {"key": key, "label": label, "choices": list(values[key])} for key, label in AXES if len(values[key]) > 1
    ]  # fmt: skip


def _yaml(lock: Mapping[str, Any]) -> str:
    import yaml

    return str(yaml.safe_dump(dict(lock), sort_keys=False, allow_unicode=True, width=100))


def _alpha(comparisons: Iterable[Row], level: float) -> float:
    """Return the largest p-value that counts as significant: the alpha that comparisons state, or else 1 - level."""
    stated = {row["alpha"] for row in comparisons if row.get("alpha")}
    return float(stated.pop()) if len(stated) == 1 else 1 - level


def _finding(group: FindingGroup) -> dict[str, Any]:
    """Return the findings with one code as values for the page's template."""
    cases = [{"where": " · ".join(where_of(row)), "detail": str(row["detail"])} for row in group.rows]
    about = {"code": group.code, "severity": group.severity, "title": group.title, "weight": group.weight}
    return {**about, "first": cases[0], "others": cases[1:], "count": group.count}


def _failure(row: Row) -> dict[str, Any]:
    where = [str(row[key]) for key in ("dataset", "split") if row.get(key)]
    if row.get("dry_run"):
        where.append("left out after the dry run")
    else:
        where += [f"{key} {row[key]}" for key in ("fold", "seed") if row.get(key) is not None]
    texts = {key: str(row.get(key) or "") for key in ("system", "code", "message", "traceback")}
    return {**texts, "where": " · ".join(where)}


def _card(
    results: Sequence[ResultGrids], lock: Mapping[str, Any], settings: Mapping[str, Any]
) -> list[tuple[str, str]]:
    """Return the lines of the summary card of a study as (name, text) pairs; what is unknown is left out.

    ``lock`` is the content of the study's lock file, and ``settings`` are those of a scoring without a study.
    """
    grids = [grid for group in results for grid in group.grids]
    systems = list(dict.fromkeys(system for grid in grids for system in grid.systems))
    designs = list(dict.fromkeys(design for grid in grids for design in grid.designs))
    facts = [
        ("Data", ", ".join(_data(lock) or _distinct(results, 0))),
        ("Split", ", ".join(_distinct(results, 1))),
        ("Protocol", ", ".join(_distinct(results, 2))),
        ("Systems", ", ".join(_system(name, lock) for name in systems)),
        ("Designs", ", ".join(DESCRIPTIONS.get(design, design) if len(designs) == 1 else design for design in designs)),
        ("Users", population(settings)),
        ("Metrics", ", ".join(dict.fromkeys(grid.metric for grid in grids))),
        ("Settings", _tuning(lock)),
        ("Seeds", ", ".join(map(str, lock.get("seeds") or _distinct(results, 3)))),
        ("Uncertainty", _uncertainty(results, lock.get("judge") or settings.get("interval") or {})),
        ("Versions", ", ".join(f"{name} {version}" for name, version in _versions(lock).items())),
    ]
    return [(name, text) for name, text in facts if text and systems]


def _data(lock: Mapping[str, Any]) -> list[str]:
    return [
        f"{data['name']} ({data['events']:,} events, {data['users']:,} users, {data['items']:,} items)"
        for data in lock.get("data") or []
    ]


def _system(name: str, lock: Mapping[str, Any]) -> str:
    """Return the name of a system, with its model unless that is the name."""
    about = (lock.get("models") or {}).get(name)
    model = about.get("model") if isinstance(about, Mapping) else None
    return name if not model or model == name else f"{name}: {model}"


def _tuning(lock: Mapping[str, Any]) -> str:
    """Return how the settings of models were chosen on a stream, as text; empty without tuning."""
    tune = lock.get("tune")
    if not isinstance(tune, Mapping):
        return ""
    tried = ", ".join(f"{len(models)} of {name}" for name, models in (tune.get("tried") or {}).items())
    return f"selected by {tune['metric']} on the first {tune['share']:.0%}, which is not scored; tried {tried}"


def _uncertainty(results: Sequence[ResultGrids], judge: Mapping[str, Any]) -> str:
    parts = []
    if judge.get("method") or judge.get("interval"):
        method = judge.get("method") or judge.get("interval")
        level = wording.percent(float(judge.get("level") or 0.95))
        parts.append(f"{level} {wording.INTERVALS.get(str(method), f'{method} interval')}")
    pairs = [row for group in results for row in group.comparisons]
    kinds = dict.fromkeys((row.get("test"), row.get("correction")) for row in pairs)
    for test, correction in kinds:
        name, correction_name = (
            wording.TESTS.get(str(test), str(test)),
            wording.CORRECTIONS.get(str(correction), str(correction)),
        )
        parts.append(f"{name}, {'p uncorrected' if correction == 'none' else correction_name}")
    return "; ".join(parts)


def _versions(lock: Mapping[str, Any]) -> Mapping[str, Any]:
    return lock.get("versions") or {"recassay": __version__}


def _distinct(results: Sequence[ResultGrids], part: int) -> list[str]:
    """Return the distinct values of one part of where results belong: 0 data set, 1 split, 2 protocol, 3 seed."""
    values = (group.place[part] for group in results)
    return list(dict.fromkeys(str(value) for value in values if value not in (None, "given")))
