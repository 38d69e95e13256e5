"""The content of the report page beside its figures: verdict, means, groups, summary card, as text for the template."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from recassay._version import __version__
from recassay.comparison.pairs import judges
from recassay.comparison.verdict import Lead, Verdict
from recassay.errors import printable
from recassay.report.content import wording
from recassay.report.content.findings import counted, family_sentences, where_of
from recassay.report.content.grids import Grid, ResultGrids, Row, design_of, heading, notes, real
from recassay.report.content.verdict import MAX_NAMED, listed, verdict_text
from recassay.report.tables.verdict import groups_counts, groups_method, groups_title
from recassay.results.group_scores import GroupRow, GroupScores
from recassay.results.score_set import GIVEN
from recassay.results.scores import UNIT, population, worded

# columns next to every mean: field, heading, whether it is a count, and its meaning
COLUMNS = (
    ("n", "n", True, "users averaged"),
    ("random", "chance", False, "exact mean of a random ranking"),
    ("best", "maximum", False, "largest possible mean"),
    ("corrected", "corrected", False, "(mean − chance) / (maximum − chance): 0 is chance level, 1 is perfect"),
    ("rho", "rho", False, "share of relevant items in a target set"),
    ("t", "t", False, "harmonic mean of the sizes of target sets"),
    ("sd_draws", "sd over draws", False, "standard deviation of the mean over draws of candidates"),
    ("sets", "sets", True, "target sets"),
    ("missing", "missing", True, "users without a list"),
    ("short", "short", True, "lists or target sets shorter than the cut-off"),
    ("duplicate", "duplicate", True, "items listed twice"),
    ("undefined", "undefined", True, "users for whom the metric is undefined"),
    ("unlisted", "unlisted", True, "relevant items whose rank is unknown"),
)
DIRECTIONS = {True: "higher is better", False: "lower is better", None: "neither direction is better"}
ALWAYS = ("n", "random", "corrected", "rho")  # shown even if they are 0
DESCRIPTIONS = {"lists": "ranked lists as given", "sequences": "generated sequences", "stream": "events of a stream"}
CONTROLS = {
    "data": "Data", "split": "Split", "protocol": "Protocol", "seed": "Seed", "metric": "Metric", "cut": "Cut-off",
    "design": "Design",
}  # fmt: skip


# --- the verdict ---


def verdict_content(verdict: Verdict, groups: Sequence[ResultGrids], unit: str = "user") -> dict[str, Any]:
    """Return the verdict as values for the template; ``unit`` is the word for what has a value, such as user or query.

    They are its sentences, whether the verdict is another without the users or ties that a finding names, a sentence
    for each other family of metrics, a row per metric that says which system is better, and ranges of other metrics.
    """
    text, leads = verdict_text(verdict, unit), (*verdict.leads, *verdict.others)
    headline = text.headline
    if not any(group.grids for group in groups):
        headline = "No system has results in every fold, so there is no verdict." if groups else "There are no results."
    short = wording.short_names(system for lead in leads for system in lead.systems)
    lines = {"families": family_sentences(verdict, groups), "details": text.details, "against": text.against}
    by_metric: dict[tuple[str, str], list[Lead]] = {}
    for lead in leads:
        by_metric.setdefault((lead.metric, lead.place.design), []).append(lead)
    return {
        "headline": with_short_names(headline, short),
        "turned": bool(verdict.turned),
        **{name: [with_short_names(line, short) for line in several] for name, several in lines.items()},
        "rows": [_metric_row(*key, several, verdict) for key, several in by_metric.items()] if len(leads) > 1 else [],
        "several_designs": len({design for _, design in by_metric}) > 1,
        "described": list(_ranges_of_means(groups)),
    }


def _metric_row(metric: str, design: str, leads: Sequence[Lead], verdict: Verdict) -> dict[str, Any]:
    """Return the row of a metric and design (items ranked): who leads, by how much, how often significantly.

    If the verdict is another without the users or ties that a finding names, no lead counts as established.
    """
    leaders = {lead.leader for lead in leads}
    sure, places, tested = sum(lead.significant for lead in leads), len(leads), [lead for lead in leads if lead.tested]
    sizes = [wording.number(size) for size in sorted(abs(lead.difference) for lead in tested)] or [wording.NOTHING]
    some = "everywhere" if sure == places else f"on {sure} of {places}" if sure else "nowhere"
    how = "not tested" if not tested else ("yes" if sure else "no") if places == 1 else some
    return {
        "metric": metric,
        "design": "ranked lists" if design in ("lists", GIVEN) else design,
        "leader": listed(list(counted(lead.leader for lead in leads)) if len(leaders) > 1 else list(leaders)),
        "runner_up": listed(list(dict.fromkeys(lead.runner_up or wording.NOTHING for lead in leads))),
        "lead": sizes[0] if sizes[0] == sizes[-1] else f"{sizes[0]}–{sizes[-1]}",
        "p": wording.p_value(max(lead.p for lead in tested)) if tested else wording.NOTHING,
        "sure": how + (", over all users" if sure and verdict.turned else ""),
        "established": sure == places and not verdict.turned,
    }


def _ranges_of_means(groups: Sequence[ResultGrids]) -> Iterable[tuple[str, str]]:
    """Yield (metric, range over all systems as text) for each metric that does not say which system is better."""
    ranges: dict[str, list[tuple[float, str]]] = {}
    for group in groups:
        for grid in group.grids:
            if grid.higher_is_better is None or not judges(grid.metric):
                values = [(grid.value(system, grid.designs[0]), system) for system in grid.systems]
                ranges.setdefault(grid.metric, []).extend(pair for pair in values if not math.isnan(pair[0]))
    for metric, values in ranges.items():
        if values:
            (low, lowest), (high, highest) = min(values), max(values)
            yield metric, f"{wording.number(low)} ({lowest}) to {wording.number(high)} ({highest})"


def with_short_names(text: str, short: Mapping[str, str]) -> Markup:
    """Return a sentence as markup in which every name of ``short`` has its short form; the full name is its title."""
    if not short:
        return Markup.escape(printable(text))
    longest_first = sorted(short, key=len, reverse=True)
    pieces = re.split(f"({'|'.join(map(re.escape, longest_first))})", text)
    abbreviated = Markup('<abbr title="{}">{}</abbr>')
    return Markup().join(
        abbreviated.format(printable(piece), printable(short[piece])) if piece in short else printable(piece)
        for piece in pieces
    )


# --- the results by each metric ---


def metric_parts(metric: str) -> tuple[str, str]:
    """Return a metric without its cut-off, and the cut-off, or "none".

    >>> metric_parts("ndcg@10"), metric_parts("mrr")
    (('ndcg', '10'), ('mrr', 'none'))
    """
    base, _, cut = metric.rpartition("@")
    return (base, cut) if base and cut.isdigit() else (metric, "none")


def mean_cell(grid: Grid, system: str, design: str) -> dict[str, Any]:
    """Return the mean of a system under a design (items ranked): texts, difference to the best, position on a bar.

    The difference is None for the best system itself, and if no system is best. The bar begins at 0 and ends at the
    largest mean or bound under the design; positions on it are in percent.
    """
    mean, low, high = (grid.value(system, design, name) for name in ("mean", "low", "high"))
    best, bounded = grid.best(design), not (math.isnan(low) or math.isnan(high))
    compared = best and system not in best and not math.isnan(mean)
    every = [0.0, *(grid.value(other, design, name) for other in grid.systems for name in ("mean", "low", "high"))]
    finite = [value for value in every if math.isfinite(value)]
    start, width = min(finite), max(finite) - min(finite)
    strip = None
    if math.isfinite(mean) and width:
        ends = (mean, low, high) if bounded else (mean, mean, mean)
        at, left, right = (100 * (value - start) / width for value in ends)
        strip = {"at": f"{min(at, 99):.2f}", "left": f"{left:.2f}", "wide": f"{right - left:.2f}"}
    return {
        "mean": wording.number(mean) if (system, design) in grid.rows else wording.NOTHING,
        "exact": "" if math.isnan(mean) else repr(mean),
        "interval": wording.interval(low, high) if bounded else "",
        "best": system in best,
        "gap": mean - grid.value(best[0], design) if compared else None,
        "close": grid.close_to_best(system, design),
        "strip": strip,
    }


def informative(grid: Grid, *designs: str) -> list[tuple[str, str, bool, str]]:
    """Return those of the columns ``COLUMNS`` that have a number other than 0 under some of the designs.

    A design says which items are ranked as candidates.

    A column is (key in a row, heading, whether it is a count, explanation). Columns in ``ALWAYS`` may be 0 throughout.
    """
    rows = [row for (_, design), row in grid.rows.items() if design in designs]
    known = [column for column in COLUMNS if any(row.get(column[0]) is not None for row in rows)]
    return [column for column in known if column[0] in ALWAYS or any(row.get(column[0]) for row in rows)]


def reordered(grid: Grid) -> dict[str, str]:
    """Return ``{design: Kendall's tau as text}`` of the designs that order the systems unlike the first design.

    A design says which items are ranked as candidates; tau is between its order and that of the first.
    """
    moved = [design for design in grid.designs if grid.higher_is_better is not None and not grid.same_order(design)]
    return {design: wording.number(grid.agreement(design), 2) for design in moved}


def _count(value: Any) -> str:
    return wording.NOTHING if value is None else f"{int(value):,}"


def controls(groups: Sequence[ResultGrids]) -> list[dict[str, Any]]:
    """Return the controls that select what the page shows, one for each property that has two or more values."""
    grids = [grid for group in groups for grid in group.grids]
    values: dict[str, list[Any]] = {
        "data": [group.place.dataset for group in groups],
        "split": [group.place.split for group in groups],
        "protocol": [group.place.protocol for group in groups],
        "seed": [group.place.seed for group in groups],
        "metric": [metric_parts(grid.metric)[0] for grid in grids],
        "cut": [metric_parts(grid.metric)[1] for grid in grids],
        "design": [design for grid in grids for design in grid.designs],
    }
    choices = {key: list(dict.fromkeys(map(str, several))) for key, several in values.items()}
    return [{"key": key, "label": CONTROLS[key], "choices": known} for key, known in choices.items() if len(known) > 1]


def design_sentences(grid: Grid) -> list[str]:
    """Return sentences on whether leader and order are the same under all designs; none for a single design.

    A design says which items are ranked as candidates.
    """
    first, total = grid.designs[0], len(grid.designs)
    if total < 2 or grid.higher_is_better is None or len(grid.ranked(first)) < 2:
        return []
    every = f"all {total} designs" if total > 2 else "both designs"
    moved = [design for design in grid.designs if not grid.same_order(design)]
    if not moved:
        return [f"{every.capitalize()} rank the systems in the same order."]
    others = [design for design in grid.designs if (best := grid.best(design)) and not {*best} & {*grid.best(first)}]
    leaders = "; ".join(_other_leader(grid, design) for design in others[:MAX_NAMED])
    more = len(others) - MAX_NAMED
    rest = f"; {more} more {'design has' if more == 1 else 'designs have'} another leader" if more > 0 else ""
    depends = f"The leader depends on the design: {leaders}{rest}."
    taus = {design: tau for design in moved if not math.isnan(tau := grid.agreement(design))}
    least = min(taus, key=taus.__getitem__, default="")
    change = f"; the largest change is under {least} (Kendall's tau {wording.number(taus[least], 2)})" if least else ""
    return [
        depends if others else f"The leader is the same under {every}.",
        f"{_how_many(len(moved), total - 1)} the systems differently than {first}{change}.",
    ]


def _other_leader(grid: Grid, design: str) -> str:
    """Return a phrase that names the systems with the best mean under a design other than the first.

    A design says which items are ranked as candidates.

    If it was tested, the phrase also says whether the first of them is significantly better than the leader under the
    first design.
    """
    best = grid.best(design)
    pair = grid.versus(design, best[0], grid.best(grid.designs[0])[0])
    tested = "" if pair is None else f" ({'significant' if pair['significant'] else 'not significant'})"
    return f"under {design} {listed(best)} {'leads' if len(best) == 1 else 'lead'}{tested}"


def _how_many(moved: int, others: int) -> str:
    if others == 1:
        return "The other design ranks"
    if moved == others:
        return f"All {others} other designs rank"
    return f"{moved} of the {others} other designs {'ranks' if moved == 1 else 'rank'}"


# --- groups, failures and the summary card ---


def extreme(groups: GroupScores, row: GroupRow) -> str:
    """Return "best" or "worst" for a group at an end of a significant gap, else an empty text."""
    gap = groups.gap(row.system, row.metric)
    ends = {gap.worst: "worst", gap.best: "best"} if gap is not None and gap.significant else {}
    return ends.get(row.group, "")


def _failed_at(row: Row) -> str:
    where = [str(row[key]) for key in ("dataset", "split") if row.get(key)]
    where += [f"{key} {row[key]}" for key in ("fold", "seed") if row.get(key) is not None and not row.get("dry_run")]
    return " · ".join([*where, *(["left out after the dry run"] if row.get("dry_run") else [])])


def card(results: Sequence[ResultGrids], lock: Mapping[str, Any], settings: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the lines of the summary card of a study as (name, text) pairs; what is unknown is left out.

    ``lock`` is the content of the study's lock file, and ``settings`` are those of a scoring without a study.
    """
    grids = [grid for group in results for grid in group.grids]
    systems = dict.fromkeys(system for grid in grids for system in grid.systems)
    designs = dict.fromkeys(design for grid in grids for design in grid.designs)
    data = [
        f"{data['name']} ({data['events']:,} events, {data['users']:,} users, {data['items']:,} items)"
        for data in lock.get("data") or []
    ]
    facts = {
        "Data": data or _distinct(results, "dataset"),
        "Split": _distinct(results, "split"),
        "Protocol": _distinct(results, "protocol"),
        "Systems": [_system(name, lock) for name in systems],
        "Designs": [DESCRIPTIONS.get(design, design) if len(designs) == 1 else design for design in designs],
        "Users": [worded(population(settings), str(settings.get(UNIT)))],
        "Metrics": dict.fromkeys(grid.metric for grid in grids),
        "Settings": [_tuning(lock)],
        "Seeds": map(str, lock.get("seeds") or _distinct(results, "seed")),
        "Uncertainty": [_uncertainty(results, lock.get("judge") or settings.get("interval") or {})],
        "Versions": [
            f"{name} {version}" for name, version in (lock.get("versions") or {"recassay": __version__}).items()
        ],
    }
    return [(name, text) for name, texts in facts.items() if systems and (text := ", ".join(texts))]


def _distinct(results: Sequence[ResultGrids], axis: str) -> list[str]:
    values = dict.fromkeys(getattr(group.place, axis) for group in results)
    return [str(value) for value in values if value not in (None, GIVEN)]


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
    level, method = wording.percent(float(judge.get("level") or 0.95)), judge.get("method") or judge.get("interval")
    intervals = [f"{level} {wording.INTERVALS.get(str(method), f'{method} interval')}"] if method else []
    pairs = [row for group in results for row in group.comparisons]
    tests = dict.fromkeys(wording.test_name(str(row.get("test")), str(row.get("correction"))) for row in pairs)
    return "; ".join([*intervals, *tests])


FILTERS = {  # of the template
    "number": lambda value, digits=4: wording.number(real(value), digits),
    "difference": lambda value: wording.difference(real(value)),
    "interval": lambda low, high: wording.interval(real(low), real(high)),
    "percent": wording.percent,
    "p": lambda value: wording.p_value(real(value)),
    "count": _count,
    "design": design_of,
    "heading": lambda place: heading(place, " · "),
    "worded": worded,
    "where": lambda row: " · ".join(where_of(row)),
    "failed_at": _failed_at,
    "test": lambda row: wording.test_name(row["test"], row["correction"]),
}
FUNCTIONS = {
    "mean_cell": mean_cell, "informative": informative, "reordered": reordered, "notes": notes,
    "metric_parts": metric_parts, "design_sentences": design_sentences, "directions": DIRECTIONS,
    "extreme": extreme, "groups_title": groups_title, "groups_counts": groups_counts, "groups_method": groups_method,
}  # fmt: skip
