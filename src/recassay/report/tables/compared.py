"""Results of ``recassay compare`` for a terminal, for papers and as a folder of files: verdict, pairs, ranks, duels."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import Group, RenderableType
from rich.text import Text

from recassay.checks.base import format_count
from recassay.comparison.across import Across, MeanRanks
from recassay.comparison.compare import Comparison
from recassay.comparison.consistency import Consistency
from recassay.comparison.power import Power
from recassay.comparison.verdict import Verdict
from recassay.engine.decisions.contest import SuddenDeath
from recassay.engine.decisions.decide import Decision
from recassay.report.content import wording
from recassay.report.content.csv_text import csv_text, write_tables
from recassay.report.content.verdict import verdict_document
from recassay.report.tables.formats import paper
from recassay.report.tables.model import (
    DIFFERENCE,
    SYSTEM_WIDTH,
    Cell,
    Column,
    Field,
    P,
    ResultTable,
    Terminal,
    count,
    dim_unless_significant,
    interval,
    name,
    share,
    system,
    table,
    words,
)
from recassay.report.tables.scores import paper_tables
from recassay.report.tables.verdict import findings_block, verdict_block
from recassay.results.finding import Finding
from recassay.results.score_set import ScoreSet
from recassay.results.scores import worded
from recassay.stats.over_datasets import Friedman

EFFECTS = {"rank_biserial": "rank-biserial"}
MAX_ROWS = 12  # of the tables of agreement, of swaps and of leads
MAX_PLACES = 2  # whose power is printed
ON_EVENTS = (
    "Events of one user are not independent, so users are compared, each weighted by its number of events. "
    "The page of recassay report compares systems over time (McNemar test, alarms); see also ra.compare_over_time."
)
LEFT_OUT = "more leads: select with -m, --dataset, --split, --design; -o writes all"
DETAILS = "\nEvery pair, ranking and order: --details; as files: -o FOLDER"
PAIR = (system("a", "system"), system("b", "against"))


def decision_text(
    scores: ScoreSet,
    decision: Decision,
    findings: Iterable[Mapping[str, Any]] = (),
    *,
    folder: Path | None = None,
    details: bool = False,
) -> RenderableType:
    """Return a comparison as one screen: verdict, best systems by metric, ranks over data sets, and findings.

    Users needed and Sudden Death follow if they were computed. ``findings`` are those of the ``folder`` that holds the
    scores. ``details`` adds every pair, ranking and order.
    """
    verdict, comparisons = decision.verdict, decision.compared.comparisons
    names, unit = wording.place_names(comparisons), decision.unit
    parts: list[RenderableType] = [verdict_block(verdict, unit=unit)]
    if details or sum(len(comparison.rows) for comparison in comparisons.values()) <= MAX_ROWS:
        parts += [pairs_text(comparison, names[place], unit) for place, comparison in comparisons.items()]
        note = comparison_note(next(iter(comparisons.values())))
    else:
        left_out, note = len(verdict.leads) + len(verdict.others) - MAX_ROWS, leads_note(verdict)
        parts.append(Terminal(leads_table(verdict)))
        parts += [words(f"{left_out:,} {LEFT_OUT}", "dim")] if left_out > 0 else []
        parts.append(Text())
    parts += [words(note, "dim"), Text()]
    if any(place.on_events for place in comparisons):
        parts += [words(ON_EVENTS, "dim"), Text()]
    if decision.across is not None:
        parts.append(across_tables(decision.across) if details else across_summary(decision.across, verdict.metric))
    if decision.consistency is not None and decision.consistency.rows:
        agreed = decision.consistency
        parts.append(consistency_tables(agreed, unit) if details else consistency_summary(agreed))
    for place in list(decision.power)[: None if details else MAX_PLACES]:
        parts.append(power_table(decision.power[place], names[place], unit))
    parts += [sudden_death_text(contest, name) for name, contest in decision.sudden_deaths.items()]
    first = next(iter(scores.sheets.values()))
    every: list[Finding | Mapping[str, Any]] = [*findings, *first.with_findings(*decision.findings).findings]
    hint = [] if details else [Text(DETAILS, style="dim")]
    return Group(*parts, findings_block(every, verdict, folder=folder), *hint)


def decision_document(decision: Decision) -> dict[str, Any]:
    """Return all results of a comparison as plain values for JSON, with the sentences of the verdict."""
    return {**decision.to_dict(), "verdict": verdict_document(decision.verdict, decision.unit)}


def decision_table(scores: ScoreSet, decision: Decision, form: str) -> str:
    """Return every pair as CSV, or a table of means per data set, split and so on; then Sudden Death.

    ``form`` is csv, markdown or latex. Letters mark significant wins. An empty line separates two tables.
    """
    if form == "csv":
        frames = [
            decision.compared.frame(),
            *([shares_frame(decision.sudden_deaths)] if decision.sudden_deaths else []),
        ]
        return "\n".join(map(csv_text, frames))
    comparisons = decision.compared.comparisons
    means = [
        (name, paper_tables(scores.sheets[at], comparisons[at]))
        for at, name in wording.place_names(comparisons).items()
    ]
    contests = [
        (
            f"Sudden Death over {contest.over()}: {title}",
            paper_tables(contest.scores(), contest.compare(contest.at) if len(contest.competitors) > 1 else None),
        )
        for title, contest in decision.sudden_deaths.items()
    ]
    return paper(form, [*means, *contests])


def shares_frame(contests: Mapping[str, SuddenDeath]) -> pl.DataFrame:
    """Return a row per result of Sudden Death, system and cut-off: the share of users won, and its interval.

    The system that shows a user the first relevant item wins the user. ``contests`` maps names to results.
    """
    named = [contest.summary().with_columns(contest=pl.lit(name)) for name, contest in contests.items()]
    return pl.concat(named, how="diagonal_relaxed")


def write_decision(decision: Decision, folder: str | Path) -> Path:
    """Write ``comparison.json``, a CSV per table, and the exhibits for ``recassay report``; return the folder.

    Raise U111 if the folder has files that recassay did not write.
    """
    frames = {"comparisons": decision.compared.frame()}
    if decision.across is not None:
        frames |= {"ranks": decision.across.ranks(), "ranked-pairs": decision.across.frame()}
    if decision.consistency is not None:
        frames |= {"agreement": decision.consistency.frame(), "swaps": decision.consistency.swapped()}
    if decision.power:
        frames["power"] = pl.concat([place.stamped(power.frame()) for place, power in decision.power.items()])
    if decision.sudden_deaths:
        duels = [
            contest.duels().with_columns(at=pl.lit(contest.deepest), contest=pl.lit(name))
            for name, contest in decision.sudden_deaths.items()
        ]
        frames["sudden-death"] = shares_frame(decision.sudden_deaths)
        frames["duels"] = pl.concat(duels, how="diagonal_relaxed")
    return write_tables(folder, "comparison.json", decision_document(decision), frames, decision.exhibits)


def pairs_text(comparison: Comparison, title: str = "", unit: str = "user") -> RenderableType:
    """Return a row per metric and pair: difference, interval, adjusted p, effect size, users.

    Notes say which users were dropped, and which tests were not exact.
    """
    effect = EFFECTS.get(comparison.effect, comparison.effect)
    fields = (
        name("metric"), *PAIR, DIFFERENCE, interval(comparison.level), P,
        Field("effect", effect, lambda value: wording.difference(value, 2)), count("n"),
    )  # fmt: skip
    parts: list[RenderableType] = [
        Terminal(table(map(vars, comparison.rows), fields, dim_unless_significant, grouped=True, title=title))
    ]
    if dropped := max((row.dropped for row in comparison.rows), default=0):
        note = f"Each pair excludes users without a value for one of its systems, up to {dropped:,} users."
        parts.append(words(worded(note, unit), "dim"))
    parts += [
        words(f"{note[0].upper()}{note[1:]}.", "warning")
        for note in dict.fromkeys(row.note for row in comparison.rows if row.note)
    ]
    return Group(*parts, Text())


def comparison_note(comparison: Comparison) -> str:
    """Return a note on the test, the correction and the interval of a table of pairs."""
    used = wording.test_phrase(comparison)
    return f"{used[:1].upper()}{used[1:]}; bootstrap interval of the difference. Dim rows are not significant."


def leads_table(verdict: Verdict) -> ResultTable:
    """Return a line per lead: the best system by a metric, the second, and their difference with its test.

    A lead says which system is best by a metric on one data set, split and so on. Leads by the main metric come first,
    then those by other metrics and designs, as many as a screen holds. What all lines share has no column.
    """
    leads = [*verdict.leads, *verdict.others][:MAX_ROWS]
    names = wording.place_names(dict.fromkeys(lead.place for lead in leads))
    rows = [
        {
            **vars(lead), "place": names[lead.place], "difference": lead.difference if lead.tested else None,
            "p": wording.p_value(lead.p) if lead.tested else "not tested",
        }
        for lead in leads
    ]  # fmt: skip
    fields = [
        *([system("place", "setting")] if len(names) > 1 else []),
        *([name("metric")] if len({lead.metric for lead in leads}) > 1 else []),
        system("leader", "best"), system("runner_up", "runner-up"), Field("difference", "lead", wording.difference),
        interval(verdict.level, "difference_low difference_high"),
        Field("p", "p", str),
    ]  # fmt: skip
    return table(rows, fields, dim_unless_significant)


def leads_note(verdict: Verdict) -> str:
    """Return a note on how leads (best system minus second) were tested: test, correction of p, and interval."""
    tested = next((lead for lead in verdict.leads if lead.tested), None)
    if tested is None:
        return "No lead was tested."
    test = wording.TESTS.get(tested.test, f"{tested.test} test")
    adjusted = "p uncorrected" if tested.correction == "none" else wording.CORRECTIONS[tested.correction]
    return (
        f"{test[0].upper()}{test[1:]}, {adjusted} over all pairs of systems by one metric; bootstrap interval of the "
        "difference. Dim rows are not significant."
    )


def across_tables(across: Across) -> RenderableType:
    """Return a table of mean ranks and a table of pairs for every metric, over all data sets.

    Bars join systems that Nemenyi's test does not separate.
    """
    parts: list[RenderableType] = []
    fields = (*PAIR, Field("rank_difference", "rank difference", "{:.2f}".format), Field("p", "p", wording.p_value))
    shares = (share("better"), share("equivalent", "same"), share("worse"))
    for ranking in across.rankings:
        parts += [*_ranks(ranking, across), Text(), Terminal(table(map(vars, ranking.pairs), (*fields, *shares)))]
        if ranking.left_out:
            parts.append(words(f"Left out because they are not on every {across.over}: {', '.join(ranking.left_out)}."))
        parts.append(Text())
    note = (
        f"Systems joined by a bar do not differ significantly at {1 - across.level:.4g} (Nemenyi test). Better, same, "
        "worse: probabilities from the Bayesian signed-rank test that the first system is better by more than "
        f"{across.rope:g}, differs by at most {across.rope:g}, or is worse by more."
    )
    return Group(*parts, words(note, "dim"), *_warning(across), Text())


def across_summary(across: Across, metric: str) -> RenderableType:
    """Return the mean ranks by one metric, and the test of their differences.

    If there are several rankings by the metric, the first is shown.
    """
    rankings = [ranking for ranking in across.rankings if ranking.metric == metric] or list(across.rankings)
    return Group(*_ranks(rankings[0], across), *_warning(across), Text())


def _warning(across: Across) -> Iterator[Text]:
    if across.over != "dataset":
        over = f"{across.over.capitalize()}s of the same data are not independent blocks"
        yield words(f"{over}: use the ranks, not the tests.", "warning")


def _ranks(ranking: MeanRanks, across: Across) -> Iterator[RenderableType]:
    yield words(f"Across {len(ranking.blocks)} {across.over}s: {ranking.name}", "bold")
    if ranking.test is not None:
        yield Text(_friedman(ranking.test))
    yield Text()
    rows = tuple(
        (Cell(f"{rank:.2f}"), Cell(system), Cell(bars(ranking.groups, system)))
        for system, rank in zip(ranking.systems, ranking.mean_ranks, strict=True)
    )
    yield Terminal(ResultTable((Column("rank"), Column("system", "system", SYSTEM_WIDTH), Column("", "name")), rows))


def _friedman(test: Friedman) -> str:
    """Return Friedman's test in words: the exact p if it was computed, else the two approximations."""
    tested = f"Friedman chi-square {test.chi_square:.3f}, "
    if not math.isnan(test.p_exact):
        tested += f"exact {wording.p_phrase(test.p_exact)}"
    else:
        tested += wording.p_phrase(test.p)
        if math.isfinite(test.f):
            tested += f"; Iman-Davenport F {test.f:.3f}, {wording.p_phrase(test.p_f)}"
    return f"{tested}; critical difference {test.critical_difference:.3f}"


def bars(groups: Sequence[Sequence[str]], system: str) -> str:
    """Return a bar for each group (not told apart by Nemenyi's test) that contains ``system``, and blanks for others.

    >>> [bars((("a", "b"), ("b", "c")), name) for name in "abc"]
    ['│  ', '│ │', '  │']
    """
    return " ".join("│" if system in group else " " for group in groups)


def consistency_tables(consistency: Consistency, unit: str = "user") -> RenderableType:
    """Return a table of how far the orders of systems in two settings agree, and one of the pairs that swap places.

    The first table has a row per pair of settings, with the lowest agreement first.
    """
    rows = sorted(map(vars, consistency.rows), key=lambda row: (row["tau"], row["low"]))
    fields = (
        name("along", "axis"), name("a", "first"), name("b", "second"), name("setting"),
        Field("tau", "tau-b", lambda value: wording.number(value, 3)),
        Field("low high", interval(consistency.level).heading, lambda low, high: wording.interval(low, high, 2)),
        count("swaps"), count("sure", "certain"),
    )  # fmt: skip
    parts: list[RenderableType] = [
        Terminal(table(rows[:MAX_ROWS], fields, title="Agreement of system orders")),
        *_note_on_more(rows, "rows"),
    ]
    swaps = sorted(map(vars, consistency.swaps), key=lambda swap: -swap["share"])
    if swaps:
        fields = (
            name("ahead", "leader"), name("behind", "second"), name("a", "under"), name("b", "reversed under"),
            name("setting"), Field("lead_a", "lead", wording.difference),
            Field("lead_b", "reversed", wording.difference), share("share", "in resamples", 0),
        )  # fmt: skip
        parts += [Text(), Terminal(table(swaps[:MAX_ROWS], fields)), *_note_on_more(swaps, "swaps")]
    note = (
        f"Kendall's tau-b of the two orders, with its interval over {consistency.resamples:,} resamples of users. A "
        f"swap is certain if both leads occur in {wording.percent(consistency.level)} of the resamples."
    )
    return Group(*parts, Text(), words(worded(note, unit), "dim"), Text())


def consistency_summary(consistency: Consistency) -> RenderableType:
    """Return a sentence on the agreement of orders of systems: lowest Kendall's tau-b, number of certain swaps."""
    least = min(consistency.rows, key=lambda row: row.tau)
    sure, rows = sum(row.sure for row in consistency.rows), len(consistency.rows)
    text = (
        f"Agreement of system orders: {format_count(rows, 'pair')} of orders, lowest Kendall's tau-b "
        f"{wording.number(least.tau, 3)} ({least.along}: {least.a} and {least.b}), "
        f"{format_count(sure, 'certain swap')}."
    )
    return Group(words(text), Text())


def _note_on_more(rows: Sequence[object], what: str) -> Iterator[Text]:
    if len(rows) > MAX_ROWS:
        yield words(f"{len(rows) - MAX_ROWS:,} more {what}: --json or -o lists all", "dim")


def power_table(power: Power, title: str = "", unit: str = "user") -> RenderableType:
    """Return a table with a row per pair of systems: how many users are needed, and what the given users can detect.

    The last column is the smallest difference that the given users can detect.
    """
    goal = Field("difference", "observed", wording.difference) if power.observed else Field("wanted", "target")
    enough = Field("enough", "", lambda enough: "enough" if enough else "too few")
    fields = (
        name("metric"), *PAIR, goal, Field("sd", "sd"),
        count("n", worded("users", unit)), count("users", "needed"), enough,
    )  # fmt: skip
    heading = f"{worded('Users', unit)} needed{f': {title}' if title else ''}"
    needed = table(map(vars, power.rows), (*fields, Field("detectable", "detectable")), title=heading)
    return Group(Terminal(needed), Text(), words(worded(power.assumptions, unit), "dim"), Text())


def sudden_death_text(contest: SuddenDeath, title: str) -> RenderableType:
    """Return a table of the shares of users that each system wins, by cut-off, and a table of pairs of systems.

    The second is at the deepest cut-off; it is left out for a single system.
    """
    note = (
        f"Sudden Death over {contest.over()}; no system hits {contest.nobody():,} of them. Won: no competitor has a "
        "relevant item at a better rank. Outright: none has one at the same rank either. Hit: the system's own list "
        f"has one. Another competitor would change the shares won. {_settings(contest)}"
    )
    head = f"Sudden death: {title}"
    if not contest.n:
        nobody = f"Nobody can be won: no {contest.unit} has a relevant item. {_settings(contest)}"
        return Group(words(head, "bold"), words(nobody), Text())
    heading = interval(contest.confidence.level).heading
    between = Field("low high", heading, lambda low, high: f"{100 * low:.1f}–{100 * high:.1f} %")
    won = (share("sudden_death", "won"), between, share("outright"), share("hit"))
    shares = table(contest.summary().to_dicts(), (system(), count("at", "cut-off"), *won), title=head)
    parts: list[RenderableType] = [Terminal(shares), Text(), words(note, "dim"), Text()]
    if len(contest.competitors) > 1:
        pairs = set(itertools.combinations(contest.competitors, 2))
        rows = [row for row in contest.duels().to_dicts() if (row["system"], row["against"]) in pairs]
        fields = (system(), system("against", "against"), *map(share, ("wins", "losses", "together", "neither")))
        parts += [Terminal(table(rows, fields, title=f"Duels within {contest.deepest} ranks")), Text()]
    return Group(*parts)


def _settings(contest: SuddenDeath) -> str:
    """Return a sentence with the rules of the contest that are not the defaults, and the smallest relevant gain."""
    rules = contest.rules
    stated = [f"ties {rules.ties}" if rules.ties != "share" else "", "all users" if rules.users == "all" else ""]
    stated += ["the printed loop" if rules.loop == "printed" else "", f"relevant from {rules.relevant_from:g}"]
    return f"Rules: {', '.join(filter(None, stated))}."
