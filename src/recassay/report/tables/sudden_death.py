"""Tables of Sudden Death, in which the system that shows a user the first relevant item wins the user."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from recassay.comparison.sudden_death import SuddenDeath
from recassay.errors import printable
from recassay.report.content import wording
from recassay.report.content.csv_text import csv_text
from recassay.report.tables import formats
from recassay.report.tables.latex import escape as escape_latex
from recassay.report.tables.markdown import escape as escape_markdown
from recassay.report.tables.text import bare_table

SYSTEM_WIDTH = 24


def sudden_death_text(contest: SuddenDeath, title: str) -> RenderableType:
    """Return a table of the shares of users that each system wins, by cut-off, and a table of pairs of systems.

    The second is at the deepest cut-off; it is left out for a single system.
    """
    note = (
        f"Sudden Death over {contest.over()}; no system hits {contest.nobody():,} of them. Won: no competitor has a "
        "relevant item at a better rank. Outright: none has one at the same rank either. Hit: the system's own list "
        f"has one. Another competitor would change the shares won. {_settings(contest)}"
    )
    head = Text(f"Sudden death: {printable(title)}", style="bold")
    if not contest.n:
        return Group(head, Text(f"Nobody can be won: no user has a relevant item. {_settings(contest)}"), Text())
    parts: list[RenderableType] = [
        head, _shares(contest), Text(),
        Text(note, style="dim"), Text(),
    ]  # fmt: skip
    if len(contest.competitors) > 1:
        parts += [Text(f"Duels within {contest.deepest} ranks", style="bold"), _duels(contest), Text()]
    return Group(*parts)


def _settings(contest: SuddenDeath) -> str:
    """Return a sentence with the rules of the contest that are not the defaults.

    It also has the smallest gain that makes an item relevant.
    """
    rules = contest.rules
    stated = [f"ties {rules.ties}" if rules.ties != "share" else "", "all users" if rules.users == "all" else ""]
    stated += ["the printed loop" if rules.loop == "printed" else "", f"relevant from {rules.relevant_from:g}"]
    return f"Rules: {', '.join(filter(None, stated))}."


def _shares(contest: SuddenDeath) -> Table:
    table = bare_table()
    table.add_column("system", no_wrap=True)
    for heading in ("cut-off", "won", f"{100 * contest.confidence.level:.4g} % interval", "outright", "hit"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in contest.summary().iter_rows(named=True):
        between = wording.NOTHING
        if row["low"] == row["low"]:
            between = f"{100 * row['low']:.1f}–{100 * row['high']:.1f} %"
        shares = (f"{100 * row[part]:.1f} %" for part in ("sudden_death", "outright", "hit"))
        won, *others = shares
        table.add_row(_system(row["system"]), str(row["at"]), won, between, *others)
    return table


def _duels(contest: SuddenDeath) -> Table:
    table = bare_table()
    for heading in ("system", "against"):
        table.add_column(heading, no_wrap=True)
    for heading in ("wins", "losses", "together", "neither"):
        table.add_column(heading, justify="right")
    order = {name: line for line, name in enumerate(contest.competitors)}
    for row in contest.duels().iter_rows(named=True):
        if order[row["system"]] < order[row["against"]]:
            shares = (f"{100 * row[part]:.1f} %" for part in ("wins", "losses", "together", "neither"))
            table.add_row(_system(row["system"]), _system(row["against"]), *shares)
    return table


def sudden_death_table(contests: Mapping[str, SuddenDeath], form: str) -> str:
    """Return the shares of users that each system wins as text; ``form`` is markdown, latex or csv.

    Letters mark significant wins. ``contests`` are results by name; each has a table of its own, except in CSV.
    """
    if form == "csv":
        return csv_text(shares_frame(contests))
    parts = []
    for name, contest in contests.items():
        comparison = contest.compare(contest.at) if len(contest.competitors) > 1 else None
        write = formats.to_markdown if form == "markdown" else formats.to_latex
        title = f"Sudden Death over {contest.over()}: {name}"
        head = f"## {escape_markdown(title)}\n\n" if form == "markdown" else f"% {escape_latex(title)}\n"
        parts.append(head + write(contest.scores(), comparison))
    return "\n".join(parts)


def shares_frame(contests: Mapping[str, SuddenDeath]) -> pl.DataFrame:
    """Return a row per contest, system and cut-off: the share of users won, and its interval.

    The column ``contest`` holds the names of ``contests``.
    """
    named = [contest.summary().with_columns(contest=pl.lit(name)) for name, contest in contests.items()]
    return pl.concat(named, how="diagonal_relaxed")


def duels_frame(contests: Mapping[str, SuddenDeath]) -> pl.DataFrame:
    """Return a row per contest and ordered pair of systems: how often each is first, at the deepest cut-off.

    The column ``contest`` holds the names of ``contests``.
    """
    named = [
        contest.duels().with_columns(at=pl.lit(contest.deepest), contest=pl.lit(name))
        for name, contest in contests.items()
    ]
    return pl.concat(named, how="diagonal_relaxed")


def _system(name: str) -> Text:
    return Text(wording.shorten(printable(name), SYSTEM_WIDTH))
