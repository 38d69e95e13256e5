"""Comparisons for a terminal: every pair, ranks over data sets, how far orders agree, and users needed."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from recassay.comparison.across import Across, Ranking
from recassay.comparison.compare import Comparison, Row
from recassay.comparison.consistency import Consistency, Swap
from recassay.comparison.power import Power
from recassay.comparison.sudden_death import SuddenDeath
from recassay.data.score_set import AXES, GIVEN, Place
from recassay.report import wording
from recassay.report.text import bare_table

SYSTEM_WIDTH = 24
EFFECTS = {"rank_biserial": "rank-biserial"}
SHOWN = 12  # swaps and agreements that a terminal is given


def place_names(places: Iterable[Place]) -> dict[Place, str]:
    """Places in words: of several what they differ in, of one all that is said.

    >>> list(place_names([Place("ml-1m", design="P1R", seed=3)]).values())
    ['ml-1m, P1R, seed 3']
    >>> list(place_names([Place("ml-1m", seed=3), Place("steam", seed=3)]).values())
    ['ml-1m', 'steam']
    """
    places = list(places)
    alike = {axis for axis in AXES if len({getattr(place, axis) for place in places}) == 1}
    hidden = alike if len(places) > 1 else set[str]()
    return {
        place: ", ".join(
            f"seed {value}" if axis == "seed" else wording.printable(str(value))
            for axis, value in place._asdict().items()
            if value not in (None, GIVEN) and axis not in hidden
        )
        for place in places
    }


def pairs_table(comparison: Comparison, title: str = "", *, digits: int = 4) -> RenderableType:
    """A line per metric and pair: difference, its interval, the adjusted p, effect size and number of users."""
    table = bare_table()
    table.add_column("metric", no_wrap=True)
    for heading in ("system", "against"):
        table.add_column(heading, no_wrap=True)
    effect = EFFECTS.get(comparison.effect, comparison.effect)
    for heading in ("difference", f"{100 * comparison.level:.4g} % interval", "p", effect, "n"):
        table.add_column(heading, justify="right", no_wrap=True)
    for number, (metric, rows) in enumerate(itertools.groupby(comparison.rows, key=lambda row: row.metric)):
        if number:
            table.add_row()
        for line, row in enumerate(rows):
            table.add_row(_name(metric if line == 0 else ""), *_pair_cells(row, digits))
    head = [Text(title, style="bold")] if title else []
    return Group(*head, table, *_notes(comparison), Text())


def _pair_cells(row: Row, digits: int) -> Iterator[Text]:
    style = "" if row.significant else "dim"
    yield _system(row.a)
    yield _system(row.b)
    cells = (
        wording.difference(row.difference, digits),
        wording.interval(row.low, row.high, digits),
        wording.p_value(row.p_adjusted),
        wording.difference(row.effect, 2),
        f"{row.n:,}",
    )
    yield from (Text(cell, style=style) for cell in cells)


def how_compared(comparison: Comparison) -> Text:
    """The test, the correction and the interval of a table of pairs."""
    used = wording.test_used(comparison)
    text = f"{used[:1].upper()}{used[1:]}; bootstrap interval of the difference. What is not significant is dim."
    return Text(text, style="dim")


def _notes(comparison: Comparison) -> Iterator[Text]:
    dropped = max((row.dropped for row in comparison.rows), default=0)
    if dropped:
        what = f"Up to {dropped:,} users without a value for one of two systems are left out of a pair."
        yield Text(what, style="dim")
    for note in dict.fromkeys(row.note for row in comparison.rows if row.note):
        yield Text(f"{note[0].upper()}{note[1:]}.", style="yellow")


def across_tables(found: Across) -> RenderableType:
    """For every metric the mean ranks with bars that join what Nemenyi's test does not tell apart, and the pairs."""
    parts: list[RenderableType] = []
    for ranking in found.rankings:
        parts += [*_ranking(ranking, found), Text()]
    told = (
        f"Systems that share a bar do not differ at {1 - found.level:.4g} (Nemenyi). Better, same, worse: chances "
        "by the Bayesian signed-rank test that the first system is better by more than "
        f"{found.rope:g}, within it, or worse."
    )
    return Group(*parts, Text(told, style="dim"), *_warning(found), Text())


def _warning(found: Across) -> Iterator[Text]:
    if found.over != "dataset":
        yield Text(
            f"{found.over.capitalize()}s of the same data are no independent blocks: read the ranks, not the tests.",
            style="yellow",
        )


def _ranking(ranking: Ranking, found: Across) -> Iterator[RenderableType]:
    name = wording.printable(ranking.name)
    yield Text(f"Across {len(ranking.blocks)} {found.over}s: {name}", style="bold")
    if ranking.test is not None:
        test = ranking.test
        yield Text(
            f"Friedman chi-square {test.chi_square:.3f}, {wording.p_words(test.p)}; Iman-Davenport F {test.f:.3f}, "
            f"{wording.p_words(test.p_f)}; critical difference {test.critical_difference:.3f}"
        )
    yield Text()
    table = bare_table()
    table.add_column("rank", justify="right")
    table.add_column("system", no_wrap=True)
    table.add_column("")
    for system, rank in zip(ranking.systems, ranking.mean_ranks, strict=True):
        table.add_row(f"{rank:.2f}", _system(system), Text(bars(ranking.groups, system)))
    yield table
    yield Text()
    yield _chances(ranking)
    if ranking.left_out:
        absent = ", ".join(map(wording.printable, ranking.left_out))
        yield Text(f"Not on every {found.over}, and so left out: {absent}.")


def bars(groups: Sequence[Sequence[str]], system: str) -> str:
    """The bars of the groups that a system belongs to, each in its column.

    >>> [bars((("a", "b"), ("b", "c")), name) for name in "abc"]
    ['│  ', '│ │', '  │']
    """
    return " ".join("│" if system in group else " " for group in groups)


def _chances(ranking: Ranking) -> Table:
    table = bare_table()
    for heading in ("system", "against"):
        table.add_column(heading, no_wrap=True)
    for heading in ("ranks apart", "p", "better", "same", "worse"):
        table.add_column(heading, justify="right")
    for pair in ranking.pairs:
        chances = (f"{100 * chance:.1f} %" for chance in (pair.better, pair.equivalent, pair.worse))
        p = wording.NOTHING if pair.p is None else wording.p_value(pair.p)
        table.add_row(_system(pair.a), _system(pair.b), f"{pair.rank_difference:.2f}", p, *chances)
    return table


def consistency_tables(found: Consistency) -> RenderableType:
    """How far orders agree, the least first, and the pairs that swap, the surest first."""
    rows = sorted(found.rows, key=lambda row: (row.tau, row.low))
    table = bare_table()
    for heading in ("along", "between", "and", "in"):
        table.add_column(heading, overflow="fold")
    for heading in ("tau-b", f"{100 * found.level:.4g} % interval", "swaps", "sure"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows[:SHOWN]:
        between = wording.interval(row.low, row.high, 2)
        names = map(_name, (row.along, row.a, row.b, row.setting))
        table.add_row(*names, wording.number(row.tau, 3), between, str(row.swaps), str(row.sure))
    title = Text("Do systems stand in the same order?", style="bold")
    parts: list[RenderableType] = [title, table, *_more(rows, "orders")]
    swaps = sorted(found.swaps, key=lambda swap: -swap.share)
    if swaps:
        parts += [Text(), _swaps_table(swaps[:SHOWN]), *_more(swaps, "swaps")]
    told = (
        f"Kendall's tau-b of the orders, with its interval over {found.resamples:,} resamples of users. A swap is sure "
        f"if both leads are there in {100 * found.level:.4g} % of them."
    )
    return Group(*parts, Text(), Text(told, style="dim"), Text())


def _swaps_table(swaps: Iterable[Swap]) -> Table:
    table = bare_table()
    for heading in ("leads", "whom", "under", "not under", "in"):
        table.add_column(heading, overflow="fold")
    for heading in ("lead", "there", "in resamples"):
        table.add_column(heading, justify="right", no_wrap=True)
    for swap in swaps:
        names = map(_name, (swap.ahead, swap.behind, swap.a, swap.b, swap.setting))
        leads = (wording.difference(lead, 4) for lead in (swap.lead_a, swap.lead_b))
        table.add_row(*names, *leads, f"{100 * swap.share:.0f} %")
    return table


def _more(rows: Sequence[object], what: str) -> Iterator[Text]:
    if len(rows) > SHOWN:
        yield Text(f"and {len(rows) - SHOWN:,} more {what}: --json or -o has all", style="dim")


def power_table(found: Power, title: str = "", *, digits: int = 4) -> RenderableType:
    """Users needed for every pair, and the smallest difference that those there are would find."""
    table = bare_table()
    for heading in ("metric", "system", "against"):
        table.add_column(heading, no_wrap=True)
    wanted = "observed" if found.observed else "wanted"
    for heading in (wanted, "sd", "users", "needed", "", "smallest found"):
        table.add_column(heading, justify="right")
    for row in found.rows:
        needed = wording.NOTHING if row.users is None else f"{row.users:,}"
        verdict = Text("enough", style="green") if row.enough else Text("too few", style="yellow")
        goal = wording.difference(row.difference, digits) if found.observed else wording.number(row.wanted, digits)
        table.add_row(
            _name(row.metric), _system(row.a), _system(row.b), goal, wording.number(row.sd, digits), f"{row.n:,}",
            needed, verdict, wording.number(row.detectable, digits),
        )  # fmt: skip
    name = f"How many users it takes{f': {title}' if title else ''}"
    return Group(Text(name, style="bold"), table, Text(), Text(found.assumptions, style="dim"), Text())


def contest_table(contest: SuddenDeath, title: str) -> RenderableType:
    """Who was first, at every cut-off."""
    table = bare_table()
    table.add_column("system", no_wrap=True)
    for heading in ("at", "won", "outright", "hit"):
        table.add_column(heading, justify="right")
    for at in contest.at:
        for system in contest.competitors:
            shares = (getattr(contest, kind)(system, at) for kind in ("share", "outright", "hit"))
            table.add_row(_system(system), str(at), *(f"{100 * share:.1f} %" for share in shares))
    told = (
        f"Sudden Death over {contest.n:,} {contest.unit}s, nobody hits {contest.nobody():,}: the share won, won alone, "
        "and hit at all. It is a contest: another competitor changes every number."
    )
    return Group(
        Text(f"Sudden Death: {wording.printable(title)}", style="bold"), table, Text(), Text(told, style="dim"), Text()
    )


def _name(text: str) -> Text:
    return Text(wording.printable(text))


def _system(name: str) -> Text:
    return Text(wording.shorten(wording.printable(name), SYSTEM_WIDTH))
