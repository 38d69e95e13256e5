"""The verdict in sentences: which system is best, by how much, how certain that is, and where it does not hold.

This is the only wording of a verdict. The page, the terminal, ``recassay compare`` and JSON documents all show it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from recassay.comparison.pairs import Recheck
from recassay.comparison.verdict import Lead, Verdict
from recassay.report.content import wording
from recassay.report.content.wording import place_names
from recassay.results.score_set import GIVEN, Place
from recassay.results.scores import worded

MAX_NAMED = 4  # places or systems that a sentence names; further ones are counted
NO_VERDICT = "There is no verdict: no system has a value by a metric that says which system is better."
WITHOUT = {  # what a finding names: the beginning of a sentence about the verdict without it
    "C001": "over the {n:,} users with a list from every system",
    "C002": "over the {n:,} users whose lists reach the cut-off in every system or in none",
    "C010": "over the {n:,} users with training events",
    "C013": "over the {n:,} users with a value for every system",
    "L001": "over the {n:,} users whose lists hold no training items",
    "L003": "over the {n:,} users whose truth repeats no training event",
    "T001": "with ties in the worst order for {leader} and in the best order for the others",
}
AXIS_NAMES = {"dataset": "data set", "split": "split", "protocol": "protocol", "seed": "seed"}


@dataclass(frozen=True)
class VerdictText:
    """The sentences of a verdict: the headline, details, and results that speak ``against`` the headline."""

    headline: str
    details: tuple[str, ...] = ()
    against: tuple[str, ...] = ()


def verdict_text(verdict: Verdict, unit: str = "user") -> VerdictText:
    """Return the sentences of a verdict; ``unit`` is the word for what has a value, such as user or query."""
    leads = verdict.leads
    if not leads:
        return VerdictText(NO_VERDICT)
    names = lead_names(leads)
    headline = (
        _headline_of_one(leads[0], verdict.level, names) if len(leads) == 1 else _headline_of_several(leads, names)
    )
    details = (*_changed_verdicts(leads, names), *_against_baseline(leads))
    said = partial(worded, unit=unit)
    return VerdictText(said(headline), tuple(map(said, details)), tuple(map(said, _contradictions(verdict))))


def verdict_document(verdict: Verdict, unit: str = "user") -> dict[str, Any]:
    """Return the verdict as plain values for JSON, together with its sentences; ``unit`` is as in `verdict_text`."""
    return {**asdict(verdict_text(verdict, unit)), **verdict.to_dict()}


def lead_names(leads: Iterable[Lead]) -> Mapping[Place, str]:
    """Return a name for each place (data set, split, protocol, seed) of the leads: only what tells the places apart.

    A lead is a result that says which system is best by a metric.

    >>> leads = [Lead(Place(name, "whole", seed=0), "mrr", (), "als", 0.5, 0.4, 0.6) for name in ("a", "b")]
    >>> list(lead_names(leads).values()), list(lead_names(leads[:1]).values())
    (['a', 'b'], ['a, whole'])
    """
    places = list(dict.fromkeys(_place_without_design(lead) for lead in leads))
    if len(places) == 1:
        only = places[0]  # without a split the data set is a file that the reader has named
        return {only: f"{only.dataset}, {only.split}" if only.split != GIVEN else ""}
    for axis in AXIS_NAMES:
        if len({getattr(place, axis) for place in places}) == len(places):
            short = [Place(**{axis: getattr(place, axis)}) for place in places]
            return dict(zip(places, place_names(short).values(), strict=True))
    return place_names(places)


def _place_without_design(lead: Lead) -> Place:
    return lead.place._replace(design=GIVEN)


# --- the headline -----------------------------------------------------------------------------------------------------


def _headline_of_one(lead: Lead, level: float, names: Mapping[Place, str]) -> str:
    where = f" on {names[_place_without_design(lead)]}" if names[_place_without_design(lead)] else ""
    by = f"by {lead.metric}{where}"
    mean = wording.number(lead.mean)
    if lead.runner_up is None:
        bounds = f" ({wording.percent(level)} interval {wording.interval(lead.low, lead.high)})"
        between = "" if math.isnan(lead.low) else bounds
        return f"{lead.leader} has {mean}{between} {by}; there is no other system to compare it with."
    if not lead.tested:
        return f"{lead.leader} leads {by} with {mean}, but its lead over {lead.runner_up} was not tested."
    over = f" over the {lead.common:,} users that both have" if lead.common else ""
    tested = f"{_interval_of_difference(lead, level)}{wording.p_phrase(lead.p)}, {_over_pairs(lead)}"
    if not lead.difference:
        return f"{lead.leader} and {lead.runner_up} tie {by} with {mean}{over}.{_still_beats(lead)}"
    if (lead.difference > 0) != lead.higher_is_better:
        return (
            f"No system is established as best {by}: {lead.leader} has the best mean, {mean}, but {lead.runner_up} is "
            f"better by {_ahead(lead)}{over} ({tested})."
        )
    above = f"{_ahead(lead)} {'above' if lead.higher_is_better else 'below'} {lead.runner_up}{over}"
    if lead.established:
        return f"{lead.leader} is best {by}: {mean}, {above} ({tested})."
    sure = "" if lead.significant else ", which is not significant"
    rest = f", but {_changed_verdict(lead, lead.turned[0])}." if lead.turned else f".{_still_beats(lead)}"
    return f"No system is established as best {by}: {lead.leader} leads with {mean}, {above}{sure} ({tested}){rest}"


def _changed_verdict(lead: Lead, other: Recheck) -> str:
    """Return, as text, the verdict without the users or ties that a finding (warning) names (``other``).

    ``lead`` is the verdict with them, in which another system is best, or the significance differs.
    """
    who = WITHOUT[other.code].format(n=other.n, leader=lead.leader)
    size, p = wording.number(abs(other.difference)), wording.p_phrase(other.p)
    if other.leader == lead.leader:
        sure = "is significant" if other.significant else "is not significant"
        return f"{who} its lead of {size} over {other.runner_up} {sure} ({p}, {other.code})"
    sure = "" if other.significant else "not significant, "
    ahead = f"{size} {'above' if lead.higher_is_better else 'below'} {other.runner_up}"
    return f"{who} {other.leader} leads with {wording.number(other.mean)}, {ahead} ({sure}{p}, {other.code})"


def _changed_verdicts(leads: Sequence[Lead], names: Mapping[Place, str]) -> Iterable[str]:
    """Yield a sentence for each finding (warning) that changes the verdict, except that of the headline.

    A finding changes the verdict if the verdict is another without the users or ties that the finding names. ``names``
    are the names of places (data set, split and so on).
    """
    turned = [(lead, other) for lead in leads for other in lead.turned]
    for lead, other in turned[1:] if len(leads) == 1 and leads[0].difference else turned[:MAX_NAMED]:
        where = f"{names[_place_without_design(lead)]}: " if len(leads) > 1 else ""
        text = f"{where}{_changed_verdict(lead, other)}."
        yield f"{text[:1].upper()}{text[1:]}" if not where else text
    if len(leads) > 1 and len(turned) > MAX_NAMED:
        yield f"{len(turned) - MAX_NAMED} more verdicts are others without what a finding names."


def _headline_of_several(leads: Sequence[Lead], names: Mapping[Place, str]) -> str:
    metric, places = leads[0].metric, _count_places(leads)
    winners: dict[str, list[Lead]] = {}
    for lead in leads:
        winners.setdefault(lead.leader, []).append(lead)
    if len(winners) > 1:
        by_wins = sorted(winners.items(), key=lambda winner: -len(winner[1]))
        parts = [_leads_where(system, wins, names, first=not at) for at, (system, wins) in enumerate(by_wins)]
        return f"No system is best by {metric} on all {places}: {wording.series(parts, '; ')}."
    leader, sure = leads[0].leader, [lead for lead in leads if lead.established]
    seconds = {str(lead.runner_up) for lead in leads}
    lead_range = f"by {_range_of_leads(leads)} over {seconds.pop() if len(seconds) == 1 else 'the runner-up'}"
    if not any(lead.tested for lead in leads):
        return f"{leader} leads by {metric} on all {places}, {lead_range}; no lead was tested."
    if len(sure) == len(leads):
        p = wording.p_phrase(max(lead.p for lead in leads))
        over = _over_pairs(max(leads, key=lambda lead: lead.pairs))
        return f"{leader} is best by {metric} on all {places}, {lead_range}, significant on each (largest {p}, {over})."
    unsure = [lead for lead in leads if not lead.established]
    if not sure:
        none = "not established on any" if any(lead.significant for lead in leads) else "significantly on none"
        return (
            f"No system is established as best by {metric}: {leader} leads on all {places}, {lead_range}, and {none}."
        )
    return (
        f"{leader} leads by {metric} on all {places}, {lead_range}; the lead is significant on {len(sure)} and not on "
        f"{_listed_places(unsure, names, with_p=True)}."
    )


def _leads_where(system: str, leads: Sequence[Lead], names: Mapping[Place, str], *, first: bool) -> str:
    """Return a phrase on where a system leads, by how much, and whether significantly.

    ``leads`` are the results by which the system is best, and ``names`` the names of places (data set, split and so
    on). With ``first`` the phrase contains the verb "leads".
    """
    sure = sum(lead.significant for lead in leads)
    some = "significantly" if sure == len(leads) else f"significantly on {sure}" if sure else "not significantly"
    how = some if any(lead.tested for lead in leads) else "not tested"
    where = str(len(leads)) if len(leads) > MAX_NAMED else _listed_places(leads, names)
    return f"{system} {'leads ' if first else ''}on {where} (by {_range_of_leads(leads)}, {how})"


def _listed_places(leads: Sequence[Lead], names: Mapping[Place, str], *, with_p: bool = False) -> str:
    settings = [
        f"{names[_place_without_design(lead)]} ({_why_unsure(lead)})" if with_p else names[_place_without_design(lead)]
        for lead in leads
    ]
    if len(settings) > MAX_NAMED:
        return f"{len(settings)} settings, such as {settings[0]}"
    return wording.series(settings, "; " if any("," in one for one in settings) else ", ")


def _why_unsure(lead: Lead) -> str:
    return f"another without {lead.turned[0].code}" if lead.turned else wording.p_phrase(lead.p)


def _count_places(leads: Sequence[Lead]) -> str:
    """Return how many data sets, splits, ... the leads are on, such as ``6 settings (3 data sets, 2 splits)``.

    A lead is a result that says which system is best by a metric.
    """
    sizes = {name: len({getattr(lead.place, axis) for lead in leads}) for axis, name in AXIS_NAMES.items()}
    for name, size in sizes.items():
        if size == len(leads):
            return f"{size} {name}s"
    return f"{len(leads)} settings ({', '.join(f'{size} {name}s' for name, size in sizes.items() if size > 1)})"


def _range_of_leads(leads: Sequence[Lead]) -> str:
    sizes = sorted(_ahead(lead) for lead in leads)
    return sizes[0] if sizes[0] == sizes[-1] else f"{sizes[0]} to {sizes[-1]}"


def _ahead(lead: Lead) -> str:
    """Return the absolute difference between leader and runner-up, as text."""
    return wording.number(abs(lead.difference))


def _still_beats(lead: Lead) -> str:
    return f" {lead.leader} is significantly better than {listed(lead.beaten)}." if lead.beaten else ""


def _interval_of_difference(lead: Lead, level: float) -> str:
    low, high = lead.difference_low, lead.difference_high
    bounds = (low, high) if lead.higher_is_better else (-high, -low)  # the lead is how far the leader is below
    between = f"{wording.percent(level)} interval of the difference {wording.interval(*bounds)}; "
    return "" if math.isnan(low) else between


def _over_pairs(lead: Lead) -> str:
    if lead.pairs == 1:
        return "one pair of systems"
    return f"{'not adjusted' if lead.correction == 'none' else 'adjusted'} over {lead.pairs:,} pairs of systems"


# --- the baseline, and what contradicts the headline ------------------------------------------------------------------


def _against_baseline(leads: Sequence[Lead]) -> Iterable[str]:
    """Yield a sentence on which systems are better or worse than the baseline, or neither; none without a baseline."""
    baseline = leads[0].baseline
    if baseline is None:
        return
    everywhere = "" if len(leads) == 1 else " everywhere"
    by_kinds: dict[str, list[str]] = {}
    for name in dict.fromkeys(name for lead in leads for name in (*lead.better, *lead.worse, *lead.unclear)):
        kinds = {kind for lead in leads for kind in ("better", "worse", "unclear") if name in getattr(lead, kind)}
        by_kinds.setdefault(kinds.pop() if len(kinds) == 1 else "mixed", []).append(name)
    texts = {  # for one name, and for several
        "better": (f"is significantly better{everywhere}", f"are significantly better{everywhere}"),
        "worse": (f"is significantly worse{everywhere}", f"are significantly worse{everywhere}"),
        "unclear": ("does not differ significantly", "do not differ significantly"),
        "mixed": ("is better or worse in some settings only", "are better or worse in some settings only"),
    }
    parts = [
        f"{listed(by_kinds[kind])} {text[len(by_kinds[kind]) > 1]}" for kind, text in texts.items() if kind in by_kinds
    ]
    if parts:
        over = " over all users" if any(lead.turned for lead in leads) else ""
        yield f"Against the baseline {baseline}{over}: {'; '.join(parts)}."


def _contradictions(verdict: Verdict) -> Iterable[str]:
    """Yield sentences on the metrics and designs (items ranked) by which another system than the verdict's is best.

    There is a sentence for each metric or design with a significant lead of another system, one for all those with
    insignificant leads, and one on how many metrics have the same leader.
    """
    main = {lead.place.without("design"): lead for lead in verdict.leads}
    groups: dict[tuple[str, str], list[Lead]] = {}
    metrics: dict[str, None] = {}
    for lead in verdict.others:
        first = main.get(lead.place.without("design"))
        if first is None or lead.runner_up is None:
            continue
        if lead.place.design == first.place.design:
            groups.setdefault((f"By {lead.metric}", lead.metric), []).append(lead)
            metrics[lead.metric] = None
        elif lead.metric == verdict.metric:
            groups.setdefault((f"Under {lead.place.design}", ""), []).append(lead)
    agree, unsure = 0, []
    for (by, metric), leads in groups.items():
        other = [lead for lead in leads if lead.leader != main[lead.place.without("design")].leader]
        sure = [lead for lead in other if lead.significant]
        agree += not other and bool(metric)
        if sure:
            yield f"{by}, {_other_leaders(sure, leads)}."
        elif other:
            unsure.append((by, other, leads))
    if len(unsure) == 1:
        by, other, leads = unsure[0]
        yield f"{by}, {_other_leaders(other, leads)}."
    elif unsure:
        by = listed([one[0] if not at else one[0].removeprefix("By ") for at, one in enumerate(unsure)])
        tested = any(lead.tested for _, other, _ in unsure for lead in other)
        some = " in some settings" if len(verdict.leads) > 1 else ""
        yield f"{by}, another system leads{some}, {'but nowhere significantly' if tested else 'which was not tested'}."
    if agree and agree < len(metrics):
        yield f"only {agree} of the {len(metrics)} other metrics {'has' if agree == 1 else 'have'} the same leader."


def _other_leaders(other: Sequence[Lead], leads: Sequence[Lead]) -> str:
    if len(leads) == 1:
        return f"{other[0].leader} leads instead{_how_sure(other[0])}"
    names = lead_names(leads)
    others = [f"{lead.leader} on {names[_place_without_design(lead)]}{_how_sure(lead)}" for lead in other[:2]]
    more = f" and {len(other) - 2} more" if len(other) > 2 else ""
    return f"another system leads in {len(other)} of {len(leads)} settings: {'; '.join(others)}{more}"


def _how_sure(lead: Lead) -> str:
    if not lead.tested:
        return ", not tested"
    sure = "significantly" if lead.significant else "not significantly"
    return f" ({_ahead(lead)} ahead of {lead.runner_up}, {sure}, {wording.p_phrase(lead.p)})"


def listed(names: Sequence[str]) -> str:
    """Return up to four names as a list in a sentence, and the number of further ones.

    >>> listed(["a"]), listed(["a", "b", "c"]), listed(list("abcdefg"))
    ('a', 'a, b and c', 'a, b, c, d and 3 more')
    """
    if len(names) > MAX_NAMED:
        return f"{', '.join(names[:MAX_NAMED])} and {len(names) - MAX_NAMED} more"
    return wording.series(names)
