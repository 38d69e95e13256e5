"""Sudden Death: the system that shows a user the first relevant item wins that user.

The score of a system depends on its competitors, so every number is kept with the names of all competitors, and scores
from different sets of competitors are never combined.

Reference: Bridge, Kaya and Castells, Sudden Death: a new way to compare recommendation diversification, REVEAL 2019.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.arrays import Float
from recassay.columnar.vocabulary import Vocabulary
from recassay.comparison.compare import Comparison, SignificanceOptions, compare
from recassay.comparison.rules import NAME, PLAIN, Rules
from recassay.engine.finish import finish
from recassay.errors import UsageError
from recassay.naming import choices
from recassay.naming.grammar import suggest
from recassay.results.exhibit import Exhibit
from recassay.results.finding import Finding
from recassay.results.scores import Scores, Summary, plural
from recassay.shown import Displayable
from recassay.stats.group_means import pooled_values
from recassay.stats.intervals import BOOTSTRAP, Uncertainty

Users = NDArray[np.bool_]  # a mask of the units


@dataclass(frozen=True, eq=False, repr=False)
class SuddenDeath(Displayable):
    """Results of Sudden Death between systems on the same users, at every cut-off down to the deepest of ``at``.

    The first system to show a user a relevant item wins that user.

    ``first`` has a row per system: for each user the rank of its first relevant item, or ``NEVER``. ``has_relevant``
    marks users with relevant items. ``missing`` and ``short`` map a system to its number of users without a list, and
    of lists that end before the deepest cut-off. ``unit`` is what a system wins: a user, or an event of a stream. A
    user who occurs in several of the ``folds`` is one unit in each of them.

    >>> from recassay.comparison.rules import NEVER
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
    rules: Rules = PLAIN
    confidence: Uncertainty = BOOTSTRAP
    missing: Mapping[str, int] = field(default_factory=dict)
    short: Mapping[str, int] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    unit: str = "user"
    folds: int = 1
    threads: int | None = None

    @functools.cached_property
    def earliest(self) -> NDArray[np.int32]:
        """Return, for each user, the rank of the first hit (relevant item) of any system."""
        return np.asarray(self.first.min(axis=0))

    @functools.cached_property
    def winners(self) -> NDArray[np.int16]:
        """Return, for each user, how many systems have the first relevant item at the best rank of all."""
        return np.asarray((self.first == self.earliest).sum(axis=0, dtype=np.int16))

    @functools.cached_property
    def n(self) -> int:
        """Return the number of users (or events) that shares are of: those with relevant items, or all by the rules."""
        return int(self.counted.sum())

    @functools.cached_property
    def counted(self) -> Users:
        """Return a mask of the users that shares are of: those with relevant items, or all with ``users="all"``."""
        everyone = self.rules.users == "all"
        return np.ones(self.units.len(), np.bool_) if everyone else self.has_relevant

    @property
    def n_distinct(self) -> int:
        """Return the number of distinct users that shares are of: a user who occurs in several folds counts once."""
        return self.units.filter(pl.Series(self.counted)).n_unique()

    def over(self) -> str:
        """Return what shares of users are shares of, as text: the number of users, or of pairs of user and fold."""
        if self.folds == 1:
            return f"{self.n:,} {plural(self.unit)}"
        return f"{self.n_distinct:,} {plural(self.unit)} in {self.folds} folds ({self.n:,} pairs of user and fold)"

    @property
    def deepest(self) -> int:
        """Return the largest cut-off."""
        return max(self.at)

    def share(self, system: str, at: int | None = None) -> float:
        """Return the share of users that a system wins (shows the first relevant item to) down to cut-off ``at``."""
        won = self._won(system, at)
        return self._share(1 / self.winners[won] if self.rules.ties == "split" else won)

    def outright(self, system: str, at: int | None = None) -> float:
        """Return the share of users that a system wins alone: all others show a relevant item later, or not at all."""
        return self._share(self._won(system, at) & (self.winners == 1))

    def hit(self, system: str, at: int | None = None) -> float:
        """Return the share of users to whom a system shows a relevant item, whatever the others do (1-call)."""
        return self._share(self.first[self._line(system)] <= self._last_rank(at))

    def nobody(self, at: int | None = None) -> int:
        """Return the number of users that nobody wins: no system shows a relevant item down to the cut-off ``at``."""
        return self.n - int((self.earliest <= self._last_rank(at)).sum())

    def values(self, system: str, at: int | None = None) -> Float:
        """Return 1 for each user that a system wins down to a cut-off, else 0; NaN for users whom no share counts.

        A system wins a user if no other one shows a relevant item earlier. Under the rule ``ties="split"``, k systems
        that are equally early get 1 / k each, else 1 each. By default users without relevant items do not count.
        """
        won = self._won(system, at)
        return np.where(self.counted, won / self.winners if self.rules.ties == "split" else won, np.nan)

    def _won(self, system: str, at: int | None) -> Users:
        ranks = self.first[self._line(system)]
        return np.asarray((ranks == self.earliest) & (ranks <= self._last_rank(at)))

    def _share(self, parts: Float | Users) -> float:
        return float(parts.sum()) / self.n if self.n else float("nan")

    def scores(self, at: int | Iterable[int] | None = None) -> Scores:
        """Return Sudden Death as scores: a metric for each cut-off in ``at``, with a value per user and system.

        The value is 1 if the system wins the user, that is, shows the first relevant item, else 0. The default is all
        cut-offs. The value of a user who occurs in several folds is the mean over those folds where the user has
        relevant items (or all folds, by the rules), with the number of these folds as weight.
        """
        keys = list(itertools.product(self._cutoffs(at), self.competitors))
        values = {(system, self.rules.heading(cutoff)): self.values(system, cutoff) for cutoff, system in keys}
        users, weights = self.units, {}
        if self.folds > 1:
            vocabulary, codes = Vocabulary.dense(self.units)
            users, counted = (
                vocabulary.decode(np.arange(vocabulary.size, dtype=np.int32)),
                self.counted.astype(np.float64),
            )
            pooled = {
                key: pooled_values([(codes.astype(np.int64), each, counted)], users.len())
                for key, each in values.items()
            }
            values, weights = ({key: pair[place] for key, pair in pooled.items()} for place in (0, 1))
        rows = [
            Summary(
                system=system, metric=self.rules.heading(cutoff), mean=self.share(system, cutoff), n=self.n,
                missing=self.missing.get(system, 0), short=self.short.get(system, 0),
                undefined=self.units.len() - self.n, parameters=asdict(self.rules),
                accompanying={
                    "outright": self.outright(system, cutoff),
                    "hit": self.hit(system, cutoff),
                    "nobody": float(self.nobody(cutoff)),
                },
            )
            for cutoff, system in keys
        ]  # fmt: skip
        settings = {"competitors": list(self.competitors), "rules": asdict(self.rules)}
        settings["interval"] = asdict(self.confidence)
        return finish(
            users, dict.fromkeys(row.metric for row in rows), rows, values, weights, self.confidence,
            threads=self.threads, findings=self.findings, settings=settings,
        )  # fmt: skip

    def summary(self, at: int | Iterable[int] | None = None) -> pl.DataFrame:
        """Return a row per cut-off and system: the score with its interval, shares won outright and shared, and counts.

        ``hit`` is the share of users to whom the system shows a relevant item, ``nobody`` counts those without one.
        """
        rows = [
            {
                "at": cutoff, "system": row.system, NAME: row.mean, "low": row.low, "high": row.high,
                "outright": row.accompanying["outright"],
                "shared": self._share(self._won(row.system, cutoff) & (self.winners > 1)),  # 1 even if wins are split
                "hit": row.accompanying["hit"], "nobody": int(row.accompanying["nobody"]),
                "n": row.n, "missing": row.missing, "short": row.short,
            }
            for cutoff in self._cutoffs(at)
            for row in self.scores(cutoff).rows
        ]  # fmt: skip
        return pl.DataFrame(rows)

    def curve(self) -> Exhibit:
        """Return a chart of the share of users that each system wins, at every cut-off from 1 to the deepest.

        A system wins a user if no other shows the user a relevant item at a better rank.
        """
        return Exhibit(
            name="sudden-death",
            title="Sudden Death",
            caption=f"The share of {self.over()} for whom a system has the first hit within N ranks; a tie counts for "
            f"each. The numbers hold for these competitors only: {', '.join(self.competitors)}.",
            table=self.summary(range(1, self.deepest + 1)).select("at", NAME, "low", "high", "system"),
            x="at",
            y=NAME,
            series="system",
            low="low",
            high="high",
        )

    def duels(self, at: int | None = None) -> pl.DataFrame:
        """Return a row per ordered pair of systems: shares of users for which the first one is ahead, behind or level.

        A hit is a relevant item at a rank up to ``at``. ``wins`` and ``losses`` are shares of users with the first hit
        at an earlier and a later rank, ``together`` at the same rank, ``neither`` without a hit of either. Unlike
        shares of users won, these shares do not depend on the other competitors.
        """
        depth, n = self._last_rank(at), max(self.n, 1)
        rows: list[dict[str, Any]] = []
        for (one, own), (other, theirs) in itertools.permutations(zip(self.competitors, self.first, strict=True), 2):
            wins = int(((own < theirs) & (own <= depth)).sum())
            losses = int(((theirs < own) & (theirs <= depth)).sum())
            together = int(((own == theirs) & (own <= depth)).sum())
            shares = {
                "wins": wins,
                "losses": losses,
                "together": together,
                "neither": self.n - wins - losses - together,
            }
            rows.append({"system": one, "against": other} | {kind: count / n for kind, count in shares.items()})
        return pl.DataFrame(rows)

    def compare(
        self,
        at: int | tuple[int, ...] | None = None,
        how: SignificanceOptions | None = None,
        baseline: str | None = None,
    ) -> Comparison:
        """Test which system of each pair (or of each system and the ``baseline``) wins more users.

        The test is McNemar's, or with several folds or ``ties="split"`` a permutation test, unless ``how`` names
        another. ``at`` is one cut-off (default: the deepest) or several.
        """
        test: choices.TestName = "mcnemar" if self.rules.ties == "share" and self.folds == 1 else "permutation"
        how = how or SignificanceOptions(test, level=self.confidence.level, seed=self.confidence.seed)
        return compare(self.scores(self.deepest if at is None else at), how, baseline=baseline, threads=self.threads)

    def over_time(self, window: int, at: int | None = None) -> Exhibit:
        """Return a chart of the share of events that each system wins among the last ``window`` events of a stream.

        A system wins an event if no other ranks the event's item higher, within the cut-off ``at``. The first point is
        at the end of the first full window.

        >>> from recassay.comparison.rules import NEVER
        >>> first = np.array([[1, 1, NEVER], [2, 1, 1]], np.int32)
        >>> stream = SuddenDeath(("a", "b"), pl.Series([0, 1, 2]), first, np.ones(3, bool), (2,), unit="event")
        >>> stream.over_time(2).table.rows()
        [(1, 1.0, 'a'), (2, 0.5, 'a'), (1, 0.5, 'b'), (2, 1.0, 'b')]
        """
        if not 1 <= window <= max(self.units.len(), 1):
            raise UsageError(
                "U102",
                f"a window of {window:,} does not fit {self.units.len():,} {plural(self.unit)}",
                where="over_time",
                hint="a whole number from 1 to their number",
            )
        parts = []
        for system in self.competitors:
            total = np.append(0.0, np.cumsum(np.nan_to_num(self.values(system, at))))
            shares = {self.unit: self.units[window - 1 :], NAME: (total[window:] - total[:-window]) / window}
            parts.append(pl.DataFrame(shares).with_columns(system=pl.lit(system)))
        return Exhibit(
            name="sudden-death-over-time",
            title="Who hits first, over time",
            caption=f"The share of the last {window:,} {plural(self.unit)} that a system won: no other system ranked "
            f"the next item higher. Competitors: {', '.join(self.competitors)}.",
            table=pl.concat(parts),
            x=self.unit,
            y=NAME,
            series="system",
        )

    def pooled(self, *others: SuddenDeath) -> SuddenDeath:
        """Return the results of this and other objects as one, such as those of the folds of a study.

        All have the same competitors and rules. A user who occurs in several of them counts once in each; intervals and
        tests draw users with all their folds.
        """
        every = [self, *(other.aligned_with(self) for other in others)]
        at = tuple(sorted(set.intersection(*(set(one.at) for one in every))))
        if not at:
            raise UsageError("U204", "these contests share no cut-off", where="pooled", hint="use the same `at`")
        units = pl.concat([one.units for one in every])
        return replace(
            self,
            units=units,
            folds=sum(one.folds for one in every),
            first=np.concatenate([one.first for one in every], axis=1),
            has_relevant=np.concatenate([one.has_relevant for one in every]),
            at=at,
            missing={name: sum(one.missing.get(name, 0) for one in every) for name in self.competitors},
            short={name: sum(one.short.get(name, 0) for one in every) for name in self.competitors},
            findings=tuple(finding for one in every for finding in one.findings),
        )

    def change(self, before: SuddenDeath, at: int | None = None) -> pl.DataFrame:
        """Return a row per system: the share of users won in ``before``, in this object (``after``), and the change.

        The system that shows a user a relevant item first wins the user; ``at`` is the cut-off (default: the deepest).
        """
        before = before.aligned_with(self)
        rows = [(name, before.share(name, at), self.share(name, at)) for name in self.competitors]
        return pl.DataFrame(rows, ["system", "before", "after"], orient="row").with_columns(
            change=pl.col("after") - pl.col("before")
        )

    def with_findings(self, *findings: Finding) -> SuddenDeath:
        """Return a copy with more findings (warnings about the results)."""
        return replace(self, findings=(*self.findings, *findings))

    def aligned_with(self, other: SuddenDeath) -> SuddenDeath:
        """Return these results with systems in the order of ``other``; raise if systems or rules differ."""
        if set(self.competitors) != set(other.competitors):
            odd = sorted(set(self.competitors) ^ set(other.competitors))
            raise UsageError(
                "U204",
                f"one contest has {', '.join(other.competitors)} and the other {', '.join(self.competitors)}: Sudden "
                f"Death scores depend on the set of competitors ({', '.join(odd)} competed in one only)",
                hint="let the same systems compete in both, or compare duels, hit@k or mrr, which do not depend on it",
            )
        if self.rules != other.rules:
            raise UsageError(
                "U204",
                f"the contests have different rules: {other.rules} and {self.rules}",
                hint="decide both by the same rules",
            )
        lines = [self.competitors.index(name) for name in other.competitors]
        return replace(self, competitors=other.competitors, first=self.first[lines])

    def _line(self, system: str) -> int:
        if system not in self.competitors:
            raise UsageError("U108", f"'{system}' does not compete", hint=suggest(system, self.competitors))
        return self.competitors.index(system)

    def _cutoffs(self, at: int | Iterable[int] | None) -> tuple[int, ...]:
        """Return one cut-off or several as a tuple, by default all."""
        return self.at if at is None else (at,) if isinstance(at, int) else tuple(at)

    def _last_rank(self, at: int | None) -> int:
        """Return the last rank that counts at the cut-off ``at``, by default the deepest."""
        at = self.deepest if at is None else at
        if not 1 <= at <= self.deepest:
            raise UsageError(
                "U103",
                f"the contest was decided at cut-offs 1 to {self.deepest}, not at {at}",
                where=NAME,
                hint="use a larger cut-off first: at=20 covers 1 to 20",
            )
        return self.rules.depth(at)
