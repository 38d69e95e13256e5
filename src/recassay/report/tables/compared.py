"""Tables of comparisons for a terminal: pairs, ranks across data sets, agreement of orders, users needed."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from recassay.comparison.across import Across, MeanRanks
from recassay.comparison.compare import Comparison, Row
from recassay.comparison.consistency import Consistency, OrderSwap
from recassay.comparison.power import Power
from recassay.errors import printable
from recassay.report.content import wording
from recassay.report.tables.shrinking import ShrinkingTable
from recassay.report.tables.text import bare_table
from recassay.stats.over_datasets import Friedman

SYSTEM_WIDTH = 24
EFFECTS = {"rank_biserial": "rank-biserial"}
MAX_ROWS = 12  # of the tables of agreement and of swaps


def pairs_table(comparison: Comparison, title: str = "", *, digits: int = 4) -> RenderableType:
    """Return a table with a row per metric and pair: difference, interval, adjusted p, effect size, users."""
    effect = EFFECTS.get(comparison.effect, comparison.effect)
    numbers = ("difference", f"{100 * comparison.level:.4g} % interval", "p", effect, "n")
    rows: list[tuple[Text, ...]] = []
    for metric, group in itertools.groupby(comparison.rows, key=lambda row: row.metric):
        rows += [()] if rows else []
        rows += [(_name("" if line else metric), *_pair_cells(row, digits)) for line, row in enumerate(group)]
    head = [Text(title, style="bold")] if title else []
    table = ShrinkingTable(("metric", "system", "against"), numbers, tuple(rows))
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


def comparison_note(comparison: Comparison) -> Text:
    """Return a note on the test, the correction and the interval of a table of pairs."""
    used = wording.test_phrase(comparison)
    text = f"{used[:1].upper()}{used[1:]}; bootstrap interval of the difference. Dim rows are not significant."
    return Text(text, style="dim")


def _notes(comparison: Comparison) -> Iterator[Text]:
    dropped = max((row.dropped for row in comparison.rows), default=0)
    if dropped:
        note = f"Each pair excludes users without a value for one of its systems, up to {dropped:,} users."
        yield Text(note, style="dim")
    for note in dict.fromkeys(row.note for row in comparison.rows if row.note):
        yield Text(f"{note[0].upper()}{note[1:]}.", style="yellow")


def across_tables(across: Across) -> RenderableType:
    """Return a table of mean ranks and a table of pairs for every metric, over all data sets.

    Bars join systems that Nemenyi's test does not separate.
    """
    parts: list[RenderableType] = []
    for ranking in across.rankings:
        parts += [*_ranking(ranking, across), Text()]
    note = (
        f"Systems joined by a bar do not differ significantly at {1 - across.level:.4g} (Nemenyi test). Better, same, "
        "worse: probabilities from the Bayesian signed-rank test that the first system is better by more than "
        f"{across.rope:g}, differs by at most {across.rope:g}, or is worse by more."
    )
    return Group(*parts, Text(note, style="dim"), *_warning(across), Text())


def across_summary(across: Across, metric: str) -> RenderableType:
    """Return the mean ranks by one metric, and the test of their differences.

    If there are several rankings by the metric, the first is shown.
    """
    rankings = [ranking for ranking in across.rankings if ranking.metric == metric] or list(across.rankings)
    return Group(*_ranks(rankings[0], across), *_warning(across), Text())


def _warning(across: Across) -> Iterator[Text]:
    if across.over != "dataset":
        yield Text(
            f"{across.over.capitalize()}s of the same data are not independent blocks: use the ranks, not the tests.",
            style="yellow",
        )


def _ranking(ranking: MeanRanks, across: Across) -> Iterator[RenderableType]:
    yield from _ranks(ranking, across)
    yield Text()
    yield _probabilities(ranking)
    if ranking.left_out:
        absent = ", ".join(map(printable, ranking.left_out))
        yield Text(f"Left out because they are not on every {across.over}: {absent}.")


def _ranks(ranking: MeanRanks, across: Across) -> Iterator[RenderableType]:
    name = printable(ranking.name)
    yield Text(f"Across {len(ranking.blocks)} {across.over}s: {name}", style="bold")
    if ranking.test is not None:
        yield Text(_friedman(ranking.test))
    yield Text()
    table = bare_table()
    table.add_column("rank", justify="right")
    table.add_column("system", no_wrap=True)
    table.add_column("")
    for system, rank in zip(ranking.systems, ranking.mean_ranks, strict=True):
        table.add_row(f"{rank:.2f}", _system(system), Text(bars(ranking.groups, system)))
    yield table


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
    """Return a bar for each group of systems that contains ``system``, and a blank for each other, in columns.

    >>> [bars((("a", "b"), ("b", "c")), name) for name in "abc"]
    ['│  ', '│ │', '  │']
    """
    return " ".join("│" if system in group else " " for group in groups)


def _probabilities(ranking: MeanRanks) -> RenderableType:
    rows = []
    for pair in ranking.pairs:
        probabilities = (f"{100 * probability:.1f} %" for probability in (pair.better, pair.equivalent, pair.worse))
        p = wording.NOTHING if pair.p is None else wording.p_value(pair.p)
        numbers = map(Text, (f"{pair.rank_difference:.2f}", p, *probabilities))
        rows.append((_system(pair.a), _system(pair.b), *numbers))
    return ShrinkingTable(("system", "against"), ("rank difference", "p", "better", "same", "worse"), tuple(rows))


def consistency_tables(consistency: Consistency) -> RenderableType:
    """Return a table of how far the orders of systems in two settings agree, and one of the pairs that swap places.

    The first table has a row per pair of settings, with the lowest agreement first.
    """
    rows = sorted(consistency.rows, key=lambda row: (row.tau, row.low))
    table = bare_table()
    for heading in ("axis", "first", "second", "setting"):
        table.add_column(heading, overflow="fold")
    for heading in ("tau-b", f"{100 * consistency.level:.4g} % interval", "swaps", "certain"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows[:MAX_ROWS]:
        between = wording.interval(row.low, row.high, 2)
        names = map(_name, (row.along, row.a, row.b, row.setting))
        table.add_row(*names, wording.number(row.tau, 3), between, str(row.swaps), str(row.sure))
    title = Text("Agreement of system orders", style="bold")
    parts: list[RenderableType] = [title, table, *_more(rows, "rows")]
    swaps = sorted(consistency.swaps, key=lambda swap: -swap.share)
    if swaps:
        parts += [Text(), _swaps_table(swaps[:MAX_ROWS]), *_more(swaps, "swaps")]
    note = (
        f"Kendall's tau-b of the two orders, with its interval over {consistency.resamples:,} resamples of users. A "
        f"swap is certain if both leads occur in {100 * consistency.level:.4g} % of the resamples."
    )
    return Group(*parts, Text(), Text(note, style="dim"), Text())


def consistency_summary(consistency: Consistency) -> RenderableType:
    """Return a sentence on the agreement of orders of systems: lowest Kendall's tau-b, number of certain swaps."""
    least = min(consistency.rows, key=lambda row: row.tau)
    sure, count = sum(row.sure for row in consistency.rows), len(consistency.rows)
    pair = f"{printable(str(least.a))} and {printable(str(least.b))}"
    text = (
        f"Agreement of system orders: {count:,} {'pair' if count == 1 else 'pairs'} of orders, lowest Kendall's tau-b "
        f"{wording.number(least.tau, 3)} ({least.along}: {pair}), {sure:,} certain {'swap' if sure == 1 else 'swaps'}."
    )
    return Group(Text(text), Text())


def _swaps_table(swaps: Iterable[OrderSwap]) -> Table:
    table = bare_table()
    for heading in ("leader", "second", "under", "reversed under", "setting"):
        table.add_column(heading, overflow="fold")
    for heading in ("lead", "reversed", "in resamples"):
        table.add_column(heading, justify="right", no_wrap=True)
    for swap in swaps:
        names = map(_name, (swap.ahead, swap.behind, swap.a, swap.b, swap.setting))
        leads = (wording.difference(lead, 4) for lead in (swap.lead_a, swap.lead_b))
        table.add_row(*names, *leads, f"{100 * swap.share:.0f} %")
    return table


def _more(rows: Sequence[object], what: str) -> Iterator[Text]:
    if len(rows) > MAX_ROWS:
        yield Text(f"{len(rows) - MAX_ROWS:,} more {what}: --json or -o lists all", style="dim")


def power_table(power: Power, title: str = "", *, digits: int = 4) -> RenderableType:
    """Return a table with a row per pair of systems: how many users are needed, and what the given users can detect.

    The last column is the smallest difference that the given users can detect.
    """
    rows = []
    for row in power.rows:
        needed = wording.NOTHING if row.users is None else f"{row.users:,}"
        verdict = Text("enough", style="green") if row.enough else Text("too few", style="yellow")
        goal = wording.difference(row.difference, digits) if power.observed else wording.number(row.wanted, digits)
        numbers = map(Text, (goal, wording.number(row.sd, digits), f"{row.n:,}", needed))
        last = Text(wording.number(row.detectable, digits))
        rows.append((_name(row.metric), _system(row.a), _system(row.b), *numbers, verdict, last))
    headings = ("observed" if power.observed else "target", "sd", "users", "needed", "", "detectable")
    table = ShrinkingTable(("metric", "system", "against"), headings, tuple(rows))
    name = f"Users needed{f': {title}' if title else ''}"
    return Group(Text(name, style="bold"), table, Text(), Text(power.assumptions, style="dim"), Text())


def _name(text: str) -> Text:
    return Text(printable(text))


def _system(name: str) -> Text:
    return Text(wording.shorten(printable(name), SYSTEM_WIDTH))
