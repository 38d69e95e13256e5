"""Sudden Death: whoever is the first to show a user something relevant wins that user.

A contest, not an estimate: what a system scores depends on who else competes, so every number here travels with the
names of all competitors, and numbers of different fields of competitors are never put together.

Reference: Bridge, Kaya and Castells, Sudden Death: a new way to compare recommendation diversification, REVEAL 2019.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.comparison.compare import Comparison, compare
from recassay.comparison.intervals import BOOTSTRAP, Uncertainty, intervals
from recassay.comparison.resampling import Floats
from recassay.data.exhibit import Exhibit
from recassay.data.finding import Finding
from recassay.data.scores import Scores, Summary
from recassay.errors import UsageError
from recassay.spec import Expression, Value, suggest

Ties = Literal["share", "split"]
Users = Literal["with_relevant", "all"]
Loop = Literal["whole", "printed"]

NAME = "sudden_death"
NEVER = np.iinfo(np.int32).max  # the place of a first hit that there is not
DEFAULTS: dict[str, Value] = {"ties": "share", "users": "with_relevant", "loop": "whole", "relevant_from": 1.0}


@dataclass(frozen=True)
class Rules:
    """How a contest is decided.

    ties:   ``share``: every system with the earliest hit wins the user; ``split``: they win equal parts of it
    users:  those ``with_relevant`` items, or ``all``, of which the others are lost to everybody
    loop:   the ``whole`` list down to the cut-off; ``printed`` stops one place short, as the published listing does
    """

    ties: Ties = "share"
    users: Users = "with_relevant"
    loop: Loop = "whole"
    relevant_from: float = 1.0

    def heading(self, at: int) -> str:
        """The name of the column at a cut-off.

        >>> Rules(ties="split").heading(10)
        "sudden_death(ties='split')@10"
        """
        stated = {name: value for name, value in dataclasses.asdict(self).items() if value != DEFAULTS[name]}
        return str(Expression(NAME, stated, at))

    def depth(self, at: int) -> int:
        """The last place that counts at a cut-off."""
        return at - 1 if self.loop == "printed" else at


@dataclass(frozen=True, eq=False)
class SuddenDeath:
    """A contest of systems on the same users, decided at every cut-off down to the deepest of ``at``.

    ``first`` has a row per competitor: for each user the place of its first relevant item, or ``NEVER``.
    ``has_relevant`` are the users with something to find, ``missing`` and ``short`` count, by system, users without a
    list and lists that end above the deepest cut-off. ``unit`` says what is won: a user, or an event of a stream.

    >>> first = np.array([[1, 3, NEVER], [2, 3, NEVER]], np.int32)
    >>> contest = SuddenDeath(("a", "b"), pl.Series([7, 8, 9]), first, np.array([True, True, True]), (3,))
    >>> contest.share("a"), contest.share("b"), contest.nobody()
    (0.6666666666666666, 0.3333333333333333, 1)
    """

    competitors: tuple[str, ...]
    units: pl.Series
    first: NDArray[np.int32]
    has_relevant: NDArray[np.bool_]
    at: tuple[int, ...]
    rules: Rules = Rules()
    confidence: Uncertainty = BOOTSTRAP
    missing: Mapping[str, int] = field(default_factory=dict)
    short: Mapping[str, int] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    unit: str = "user"
    threads: int | None = None

    @functools.cached_property
    def earliest(self) -> NDArray[np.int32]:
        """For each user the place of the first hit of any system."""
        return np.asarray(self.first.min(axis=0))

    @functools.cached_property
    def winners(self) -> NDArray[np.int16]:
        """For each user the number of systems that hit at the earliest place, whatever the cut-off."""
        found = np.zeros(self.earliest.size, np.int16)
        for own in self.first:
            found += own == self.earliest
        return found

    @property
    def n(self) -> int:
        """The number of users that are counted."""
        return int(self.has_relevant.sum()) if self.rules.users == "with_relevant" else self.has_relevant.size

    @functools.cached_property
    def _tallies(self) -> dict[str, Floats]:
        """By competitor and place, what was won down to that place: of all, outright, and the users hit at all."""
        places = self.deepest + 1
        tallies = {kind: np.zeros((len(self.competitors), places)) for kind in ("won", "outright", "hit")}
        inside = np.minimum(self.first, places)  # one place behind the last stands for none
        for line, own in enumerate(self.first):
            wins = own == self.earliest
            best, sharers = inside[line, wins], self.winners[wins]
            weights = 1.0 / sharers if self.rules.ties == "split" else None
            for kind, where, weight in (
                ("won", best, weights),
                ("outright", best[sharers == 1], None),
                ("hit", inside[line], None),
            ):
                tallies[kind][line] = np.bincount(where, weight, minlength=places + 1)[:places].cumsum()
        return tallies

    @property
    def deepest(self) -> int:
        """The largest cut-off."""
        return max(self.at)

    def _of(self, kind: str, system: str, at: int | None) -> float:
        counted = self._tallies[kind][self._line(system), self.rules.depth(self._cutoff(at))]
        return float(counted) / self.n if self.n else float("nan")

    def share(self, system: str, at: int | None = None) -> float:
        """The Sudden Death score: the share of users that a system wins, at the deepest cut-off unless told."""
        return self._of("won", system, at)

    def outright(self, system: str, at: int | None = None) -> float:
        """The share of users that a system wins alone."""
        return self._of("outright", system, at)

    def hit(self, system: str, at: int | None = None) -> float:
        """The share of users that a system hits at all, whoever else does: 1-call."""
        return self._of("hit", system, at)

    def nobody(self, at: int | None = None) -> int:
        """The number of counted users whom no system hits."""
        hit = self.earliest <= self.rules.depth(self._cutoff(at))
        return self.n - int(hit.sum())

    def values(self, system: str, at: int | None = None) -> Floats:
        """What a system wins of each user; NaN for users that are not counted."""
        own = self.first[self._line(system)]
        wins = (own == self.earliest) & (own <= self.rules.depth(self._cutoff(at)))
        won = wins / self.winners if self.rules.ties == "split" else wins.astype(np.float64)
        if self.rules.users == "with_relevant":
            won[~self.has_relevant] = np.nan
        return np.asarray(won)

    def scores(self, at: int | Iterable[int] | None = None) -> Scores:
        """The values per user as scores, which everything that takes scores works on: tests, reports, files."""
        asked = self.at if at is None else (at,) if isinstance(at, int) else tuple(at)
        columns = {
            (system, self.rules.heading(cutoff)): self.values(system, cutoff)
            for cutoff in asked
            for system in self.competitors
        }
        rows = [row for cutoff in asked for row in self._rows(cutoff)]
        headings = tuple(self.rules.heading(cutoff) for cutoff in asked)
        settings = {"competitors": list(self.competitors), "rules": dataclasses.asdict(self.rules)}
        settings["interval"] = dataclasses.asdict(self.confidence)
        return Scores(
            self.units, self.competitors, headings, columns,
            rows=tuple(rows), findings=self.findings, settings=settings,
        )  # fmt: skip

    def _rows(self, at: int) -> list[Summary]:
        bounds = self._bounds(at)
        return [
            Summary(
                system=system,
                metric=self.rules.heading(at),
                mean=self.share(system, at),
                n=self.n,
                missing=self.missing.get(system, 0),
                short=self.short.get(system, 0),
                duplicate=0,
                undefined=self.units.len() - self.n,
                low=low,
                high=high,
                parameters=dataclasses.asdict(self.rules),
                accompanying={
                    "outright": self.outright(system, at),
                    "hit": self.hit(system, at),
                    "nobody": float(self.nobody(at)),
                },
            )
            for system, (low, high) in zip(self.competitors, bounds, strict=True)
        ]

    def _bounds(self, at: int) -> list[tuple[float, float]]:
        how = self.confidence
        if how.method is None:
            return [(float("nan"), float("nan"))] * len(self.competitors)
        counted = self.has_relevant if self.rules.users == "with_relevant" else np.ones(self.units.len(), np.bool_)
        low, high = intervals(
            np.column_stack([self.values(system, at)[counted] for system in self.competitors]),
            method=how.method, level=how.level, resamples=how.resamples, seed=how.seed, threads=self.threads,
        )  # fmt: skip
        return list(zip(low.tolist(), high.tolist(), strict=True))

    def summary(self, at: int | Iterable[int] | None = None) -> pl.DataFrame:
        """A row per cut-off and system: the score with its interval, what was won outright and shared, and counts.

        ``hit`` is the share of users a system hits whoever else does (1-call), ``nobody`` the users nobody hits.
        """
        asked = self.at if at is None else (at,) if isinstance(at, int) else tuple(at)
        rows = [
            {
                "at": cutoff,
                "system": row.system,
                NAME: row.mean,
                "low": row.low,
                "high": row.high,
                "outright": row.accompanying["outright"],
                "shared": self._shared(row.system, cutoff),
                "hit": row.accompanying["hit"],
                "nobody": int(row.accompanying["nobody"]),
                "n": row.n,
                "missing": row.missing,
                "short": row.short,
            }
            for cutoff in asked
            for row in self._rows(cutoff)
        ]
        return pl.DataFrame(rows)

    def _shared(self, system: str, at: int) -> float:
        """The share of users that a system wins together with others, counted whole."""
        if self.rules.ties == "share":
            return self.share(system, at) - self.outright(system, at)
        depth = self.rules.depth(self._cutoff(at))
        wins = self.first[self._line(system)] == self.earliest
        together = wins & (self.winners > 1) & (self.earliest <= depth)
        return float(together.sum()) / self.n if self.n else float("nan")

    def curve(self, *, interval: bool = True) -> Exhibit:
        """The score at every cut-off from 1 to the deepest."""
        rows = []
        for at in range(1, self.deepest + 1):
            bounds = self._bounds(at) if interval else [(float("nan"), float("nan"))] * len(self.competitors)
            for system, (low, high) in zip(self.competitors, bounds, strict=True):
                rows.append({"at": at, NAME: self.share(system, at), "low": low, "high": high, "system": system})
        return Exhibit(
            name="sudden-death",
            title="Sudden Death",
            caption=f"The share of {self.n:,} {self.unit}s to whom a system is the first to show something relevant "
            f"within N places, ties counted for each. It says who wins among {', '.join(self.competitors)}, and "
            "nothing of how good any of them is: another field gives other numbers.",
            table=pl.DataFrame(rows),
            x="at",
            y=NAME,
            series="system",
            low="low",
            high="high",
        )

    def duels(self, at: int | None = None) -> pl.DataFrame:
        """A row per ordered pair: the share of users whom the one hits before the other does, whoever else competes.

        ``wins`` and ``losses`` are first hits at an earlier and a later place, ``together`` at the same one,
        ``neither`` no hit of both. Unlike the score, a duel does not hang on the rest of the field.
        """
        depth, n = self.rules.depth(self._cutoff(at)), max(self.n, 1)
        rows: list[dict[str, Any]] = []
        for one, own in zip(self.competitors, self.first, strict=True):
            for other, theirs in zip(self.competitors, self.first, strict=True):
                if one != other:
                    wins = int(((own < theirs) & (own <= depth)).sum())
                    losses = int(((theirs < own) & (theirs <= depth)).sum())
                    together = int(((own == theirs) & (own <= depth)).sum())
                    neither = self.n - wins - losses - together
                    shares = {"wins": wins, "losses": losses, "together": together, "neither": neither}
                    rows.append({"system": one, "against": other} | {kind: count / n for kind, count in shares.items()})
        return pl.DataFrame(rows)

    def compare(self, at: int | None = None, **options: Any) -> Comparison:
        """Every pair tested on the users, by McNemar with Holm unless told otherwise; see :func:`recassay.compare`.

        Users that are split are not won or lost, so under ``ties="split"`` the test is the permutation test.
        """
        test = "mcnemar" if self.rules.ties == "share" else "permutation"
        how = {"test": test, "level": self.confidence.level, "seed": self.confidence.seed}
        return compare(self.scores(self._cutoff(at)), **{**how, "threads": self.threads, **options})

    def over_time(self, window: int, at: int | None = None) -> Exhibit:
        """The score in a moving window of so many events, in the order of the stream; its first point has a full one.

        >>> first = np.array([[1, 1, NEVER], [2, 1, 1]], np.int32)
        >>> stream = SuddenDeath(("a", "b"), pl.Series([0, 1, 2]), first, np.ones(3, bool), (2,), unit="event")
        >>> stream.over_time(2).table.rows()
        [(1, 1.0, 'a'), (2, 0.5, 'a'), (1, 0.5, 'b'), (2, 1.0, 'b')]
        """
        if not 1 <= window <= max(self.units.len(), 1):
            what = f"a window of {window:,} does not fit {self.units.len():,} {self.unit}s"
            raise UsageError("U102", what, where="over_time", hint="a whole number from 1 to their number")
        parts = []
        for system in self.competitors:
            total = np.append(0.0, np.cumsum(np.nan_to_num(self.values(system, at))))
            shares = (total[window:] - total[:-window]) / window
            ends = self.units[window - 1 :].alias(self.unit)
            parts.append(pl.DataFrame([ends, pl.Series(NAME, shares)]).with_columns(system=pl.lit(system)))
        return Exhibit(
            name="sudden-death-over-time",
            title="Who hits first, over time",
            caption=f"The share of the last {window:,} {self.unit}s that a system won: nobody placed what came next "
            f"higher. Competitors: {', '.join(self.competitors)}.",
            table=pl.concat(parts),
            x=self.unit,
            y=NAME,
            series="system",
        )

    def pooled(self, *others: SuddenDeath) -> SuddenDeath:
        """One contest on the users of several, such as the folds of a study; of the same competitors and rules.

        A user of several contests counts once in each; intervals, which would be too narrow then, are left out.
        """
        every = [self, *(other.aligned_with(self) for other in others)]
        at = tuple(sorted(set.intersection(*(set(one.at) for one in every))))
        if not at:
            raise UsageError("U204", "these contests share no cut-off", where="pooled", hint="give all the same `at`")
        units = pl.concat([one.units for one in every])
        how = self.confidence if units.is_unique().all() else dataclasses.replace(self.confidence, method=None)
        return dataclasses.replace(
            self,
            units=units,
            confidence=how,
            first=np.concatenate([one.first for one in every], axis=1),
            has_relevant=np.concatenate([one.has_relevant for one in every]),
            at=at,
            missing={name: sum(one.missing.get(name, 0) for one in every) for name in self.competitors},
            short={name: sum(one.short.get(name, 0) for one in every) for name in self.competitors},
            findings=tuple(finding for one in every for finding in one.findings),
        )

    def change(self, before: SuddenDeath, at: int | None = None) -> pl.DataFrame:
        """How much more each system wins than in an earlier contest of the same field: other data, or other lists."""
        before = before.aligned_with(self)
        rows = [(name, before.share(name, at), self.share(name, at)) for name in self.competitors]
        return pl.DataFrame(rows, ["system", "before", "after"], orient="row").with_columns(
            change=pl.col("after") - pl.col("before")
        )

    def aligned_with(self, other: SuddenDeath) -> SuddenDeath:
        """This contest with its competitors in the other's order; raises where field or rules are not the same."""
        if set(self.competitors) != set(other.competitors):
            odd = sorted(set(self.competitors) ^ set(other.competitors))
            raise UsageError(
                "U204",
                f"one contest has {', '.join(other.competitors)} and the other {', '.join(self.competitors)}: a Sudden "
                f"Death score means nothing beside one of another field ({', '.join(odd)} competed in one only)",
                hint="let the same systems compete in both, or compare what needs no field: duels, hit@k, mrr",
            )
        if self.rules != other.rules:
            raise UsageError(
                "U204", f"the contests have other rules: {other.rules} and {self.rules}",
                hint="decide both by the same rules",
            )  # fmt: skip
        lines = [self.competitors.index(name) for name in other.competitors]
        return dataclasses.replace(self, competitors=other.competitors, first=self.first[lines])

    def _line(self, system: str) -> int:
        if system not in self.competitors:
            raise UsageError("U108", f"'{system}' does not compete", hint=suggest(system, self.competitors))
        return self.competitors.index(system)

    def _cutoff(self, at: int | None) -> int:
        if at is None:
            return self.deepest
        if not 1 <= at <= self.deepest:
            what = f"the contest was decided at cut-offs 1 to {self.deepest}, not at {at}"
            raise UsageError("U103", what, where=NAME, hint="ask for the deepest one first: at=20 has all from 1 to 20")
        return at
