"""The top of the page: the verdict, the figure of all systems, and which system leads by every metric."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from markupsafe import Markup

from recassay.comparison.pairs import judges
from recassay.comparison.verdict import Lead, Verdict
from recassay.errors import printable
from recassay.naming.grammar import split
from recassay.report.content import wording
from recassay.report.content.families import family_sentences
from recassay.report.content.grids import Grid, ResultGrids
from recassay.report.content.verdict import lead_names, listed, verdict_text
from recassay.results.exhibit import Exhibit
from recassay.results.score_set import GIVEN, Place

DIGITS = 4
WIDTH = 30  # characters of the longest name that is shown whole
CALL = re.compile(r"(?P<name>[\w.]+)\((?P<parameters>.+)\)")
MAX_PICTURES = 12  # places whose systems the first picture shows


def verdict_content(verdict: Verdict, groups: Sequence[ResultGrids]) -> dict[str, Any]:
    """Return the verdict as values for the template.

    They are its sentences, whether a finding turns it, one sentence for each other family of metrics, a row per metric
    that says which system is better, and the ranges of other metrics.
    """
    text = verdict_text(verdict)
    headline = text.headline
    if not any(group.grids for group in groups):
        headline = "No system has results in every fold, so there is no verdict." if groups else "There are no results."
    short = short_names(system for lead in (*verdict.leads, *verdict.others) for system in lead.systems)
    return {
        "headline": with_short_names(headline, short),
        "turned": bool(verdict.turned),
        "families": [with_short_names(line, short) for line in family_sentences(verdict, groups)],
        "details": [with_short_names(line, short) for line in text.details],
        "against": [with_short_names(line, short) for line in text.against],
        "rows": _metric_rows(verdict) if len(verdict.leads) + len(verdict.others) > 1 else [],
        "described": list(_described(groups)),
    }


def picture(verdict: Verdict, groups: Sequence[ResultGrids]) -> Exhibit | None:
    """Return a figure of the means of all systems by the main metric, or None without a verdict.

    It has a panel per data set, split, protocol and seed.
    """
    import polars as pl

    leads = {lead.place.without("design"): lead for lead in verdict.leads}
    names = lead_names(verdict.leads)
    grids = [(group, grid) for group in groups for grid in group.grids if grid.metric == verdict.metric]
    rows = []
    for group, grid in grids[:MAX_PICTURES]:
        lead = leads.get(_place(group).without("design"))
        if lead is None:
            continue
        design = lead.place.design if lead.place.design in grid.designs else grid.designs[0]
        for system in _order(grids):
            if (system, design) in grid.rows:
                numbers = {name: grid.value(system, design, name) for name in ("mean", "low", "high")}
                rows.append({"setting": names[lead.place._replace(design=GIVEN)], "system": system, **numbers})
    if not rows:
        return None
    kinds = dict.fromkeys(("mean", "low", "high"), pl.Float64)
    table = pl.DataFrame(rows, schema={"setting": pl.String, "system": pl.String, **kinds})
    order = "best on top" if _best_first(rows, verdict) else "systems are in order of their mean rank over all settings"
    left_out = f" The first {MAX_PICTURES} of {len(grids)} settings are shown." if len(grids) > MAX_PICTURES else ""
    return Exhibit(
        "systems",
        f"{verdict.metric} of every system",
        f"Dots are means, lines are {100 * verdict.level:.4g} % intervals; {order}. Systems can differ "
        f"significantly in the paired test although their intervals overlap.{left_out}",
        table,
        "mean",
        "system",
        facet="setting" if len(set(table["setting"])) > 1 else None,
        low="low",
        high="high",
        kind="dot",
        own_scales=True,
    )


def _best_first(rows: Sequence[Mapping[str, Any]], verdict: Verdict) -> bool:
    """Return whether no system in the figure is below a worse one; systems without a mean are last."""
    sign = 1 if verdict.leads[0].higher_is_better else -1
    means: dict[str, list[float]] = {}
    for row in rows:
        means.setdefault(row["setting"], []).append(-math.inf if math.isnan(row["mean"]) else sign * row["mean"])
    return all(above >= below for several in means.values() for above, below in pairwise(several))


def _order(grids: Sequence[tuple[ResultGrids, Grid]]) -> list[str]:
    """Return all systems, ordered by their mean rank over data sets, splits, protocols and seeds."""
    ranks: dict[str, list[int]] = {}
    for _, grid in grids:
        for rank, system in enumerate(grid.ranked(grid.designs[0])):
            ranks.setdefault(system, []).append(rank)
    return sorted(ranks, key=lambda system: sum(ranks[system]) / len(ranks[system]))


def _place(group: ResultGrids) -> Place:
    dataset, split, protocol, seed = group.place
    return Place(str(dataset or GIVEN), str(split or GIVEN), str(protocol or GIVEN), GIVEN, seed)


def _metric_rows(verdict: Verdict) -> list[dict[str, Any]]:
    """Return a row per metric and design for the template: which systems lead, by how much, how often significantly."""
    groups: dict[tuple[str, str], list[Lead]] = {}
    for lead in (*verdict.leads, *verdict.others):
        groups.setdefault((lead.metric, lead.place.design), []).append(lead)
    several, turned = len({design for _, design in groups}) > 1, bool(verdict.turned)
    return [
        _metric_row(metric, design if several else "", leads, turned=turned)
        for (metric, design), leads in groups.items()
    ]


def _metric_row(metric: str, design: str, leads: Sequence[Lead], *, turned: bool) -> dict[str, Any]:
    """Return the row of one metric and design for the template.

    ``turned`` says that the verdict is another without what a finding names: no lead then counts as established.
    """
    winners: dict[str, int] = {}
    for lead in leads:
        winners[lead.leader] = winners.get(lead.leader, 0) + 1
    named = sorted(winners, key=lambda name: -winners[name])
    leaders = [f"{name} on {winners[name]}" for name in named] if len(winners) > 1 else named
    tested = [lead for lead in leads if lead.tested]
    sure = sum(lead.significant for lead in leads)
    ahead = sorted(abs(lead.difference) for lead in tested)
    sizes = [wording.number(size, DIGITS) for size in ahead]
    return {
        "metric": metric,
        "design": "ranked lists" if design in ("lists", GIVEN) else design,
        "leader": listed(leaders),
        "runner_up": listed(list(dict.fromkeys(lead.runner_up or wording.NOTHING for lead in leads))),
        "lead": wording.NOTHING if not sizes else sizes[0] if sizes[0] == sizes[-1] else f"{sizes[0]}–{sizes[-1]}",
        "p": wording.p_value(max(lead.p for lead in tested)) if tested else wording.NOTHING,
        "sure": _sure(sure, len(leads), tested=bool(tested)) + (", over all users" if sure and turned else ""),
        "established": sure == len(leads) and not turned,
    }


def _sure(sure: int, places: int, *, tested: bool) -> str:
    if not tested:
        return "not tested"
    if places == 1:
        return "yes" if sure else "no"
    return "everywhere" if sure == places else "nowhere" if not sure else f"on {sure} of {places}"


def _described(groups: Sequence[ResultGrids]) -> Iterable[tuple[str, str]]:
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
            yield metric, f"{wording.number(low, DIGITS)} ({lowest}) to {wording.number(high, DIGITS)} ({highest})"


def short_names(systems: Iterable[str]) -> dict[str, str]:
    """Return a short form of each long name: of its parameters only those that tell it from the other systems.

    Other long names lose their middle. A name stays whole if its short form could be another system's.

    >>> names = [f"BPR(factors={number}, regularization=0.01)" for number in (16, 32)]
    >>> short_names(["Popular", *names])[names[0]]
    'BPR(factors=16, …)'
    """
    every = list(dict.fromkeys(systems))
    forms = {name: _forms(name, every) for name in every if len(name) > WIDTH}
    depth = max(map(len, forms.values()), default=0)
    for at in range(depth):
        found = {name: own[min(at, len(own) - 1)] for name, own in forms.items()}
        shown = [found.get(name, name) for name in every]
        if len(set(shown)) == len(shown):
            return {name: short for name, short in found.items() if len(short) < len(name)}
    return {}


def _forms(name: str, every: list[str]) -> list[str]:
    """Return possible short forms of a model's name, the shortest first; ``every`` are the names of all systems.

    They have more and more of the parameters that tell it from other systems. Any other name has one form, without its
    middle.
    """
    call = CALL.fullmatch(name)
    if call is None:
        return [wording.shorten(name, WIDTH)]
    others = [match for other in every if other != name and (match := CALL.fullmatch(other))]
    alike = [set(split(other["parameters"])) for other in others if other["name"] == call["name"]]
    parts = split(call["parameters"])
    own = [part for part in parts if not all(part in other for other in alike)] if alike else []
    return [f"{call['name']}({', '.join([*own[:size], '…'])})" for size in range(min(1, len(own)), len(own) + 1)]


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
