"""Pairwise comparison on a stream: who was better when, who is better overall, and since when that is certain."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import numpy as np
import polars as pl

from recassay.comparison.compare import pairs_of
from recassay.comparison.over_time.curves import thinned
from recassay.comparison.over_time.pair import Duel, Paired, StreamSignificanceOptions, Systems, systems_of
from recassay.comparison.over_time.windows import FEWEST, By, How, WindowOptions, threshold, windows
from recassay.errors import UsageError
from recassay.naming import choices
from recassay.naming.arguments import checks_types
from recassay.naming.named import Departure, departs
from recassay.results.exhibit import Exhibit
from recassay.results.outcomes import EVENT, Outcomes, Played
from recassay.stats.anytime import TUNED_FOR, anytime_bounds
from recassay.stats.significance import adjust, p_phrase

DESCRIPTIVE = (
    "The curve describes the stream and is not a test: there are as many windows as events, each nearly equal to the "
    "last, and a level of {alpha:.4g} does not bound how often it is crossed by chance."
)
SURE = (
    "Bounds hold at every event of every pair at once with a chance of {level:.4g}: watch them, and stop when you like."
)

WIDE = 10  # bounds more than this many times as wide as the last bounds are not drawn: they would fill the picture


@dataclass(frozen=True, eq=False)
class OverTime:
    """Comparisons of pairs of systems on one stream under one metric; ``duels`` has one comparison per pair.

    ``curve`` has a row per pair and event: both means in the window and the number of events in it; for a metric of 0
    and 1 the events at which only one system was right, signed McNemar, its p, and the ``better`` system (null: none);
    and the mean difference since the beginning with its anytime-valid bounds.
    """

    metric: str
    duels: tuple[Duel, ...]
    windows: WindowOptions
    testing: StreamSignificanceOptions
    correction: choices.Correction

    @property
    def curve(self) -> pl.DataFrame:
        """Return a row per pair and event that was scored for both; the columns ``a`` and ``b`` name the pair."""
        named = ((one, pl.lit(one.paired.a).alias("a"), pl.lit(one.paired.b).alias("b")) for one in self.duels)
        return pl.concat([one.curve().select(a, b, pl.all()) for one, a, b in named], how="diagonal")

    @property
    def stretches(self) -> pl.DataFrame:
        """Return a row per uninterrupted range of events in which McNemar's test in windows finds a system better.

        Among the columns are ``better`` (the system), ``from_event`` and ``to_event``.
        """
        return pl.concat([one.stretches() for one in self.duels])

    def summary(self) -> pl.DataFrame:
        """Return a row per pair: the test over all events, its p adjusted for all pairs, and the anytime-valid bounds.

        ``for`` is the system that the bounds find better at the last event, null if they include 0 there. ``decided``
        is the first event at which they exclude 0 for it, after any at which they did so for the other system.
        """
        return declared([self], correction=self.correction)

    def __str__(self) -> str:
        lines = [f"{self.metric} over time, over {self.windows}"]
        for row in self.summary().iter_rows(named=True):
            lines += ["", *_pair_sentences(row, self.testing.alpha)]
            mine = self.stretches.filter(a=row["a"], b=row["b"])
            if self._binary(row["a"], row["b"]):
                level = f"{100 * (1 - self.testing.alpha):.4g} %"
                lines.append(f"  windows at {level}: {_longest_stretches(mine) or 'neither is ahead in any'}")
        lines += ["", DESCRIPTIVE.format(alpha=self.testing.alpha), "", SURE.format(level=1 - self.testing.alpha)]
        indented = [(line, " " * 4 if line.startswith(" ") else "") for line in lines]
        return "\n".join(textwrap.fill(line, 100, subsequent_indent=indent) for line, indent in indented)

    __repr__ = __str__

    def _binary(self, a: str, b: str) -> bool:
        return any(one.signed is not None for one in self.duels if (one.paired.a, one.paired.b) == (a, b))

    def to_dict(self) -> dict[str, Any]:
        """Return the tests over all events, and the ranges of events with a better system, as plain values for JSON."""
        about = {"metric": self.metric, "windows": str(self.windows), "alpha": self.testing.alpha}
        return {**about, "summary": self.summary().to_dicts(), "stretches": self.stretches.to_dicts()}

    def exhibits(self) -> tuple[Exhibit, ...]:
        """Return figures: a curve per system, signed McNemar with its level, and the difference with its bounds."""
        named = pl.concat([self._thinned_curve(one) for one in self.duels], how="diagonal")
        signed = [self._signed(named)] if "mcnemar" in named.columns else []
        return (self._means(), *signed, self._bounds(named))

    def _means(self) -> Exhibit:
        means = {
            system: table.select(EVENT, "n", "partial", pl.col(column).alias("value"), pl.lit(system).alias("system"))
            for one in reversed(self.duels)
            for table in [thinned(one.curve())]
            for column, system in (("mean_b", one.paired.b), ("mean_a", one.paired.a))
        }
        title = f"{self.metric} over time"
        caption = f"Averages over {self.windows}, at events that were scored for both of a pair."
        return Exhibit("means-over-time", title, caption, pl.concat(reversed(means.values())), EVENT, "value", "system")

    def _signed(self, named: pl.DataFrame) -> Exhibit:
        signed = named.drop_nulls("mcnemar").with_columns(series=pl.lit("signed McNemar"))
        level = threshold(self.testing.alpha)
        ends = signed.group_by("pair", maintain_order=True).agg(pl.col(EVENT).min(), last=pl.col(EVENT).max())
        lines = [
            {EVENT: event, "mcnemar": value, "pair": pair, "series": f"level {self.testing.alpha:.4g}, {side}"}
            for pair, *events in ends.iter_rows()
            for value, side in ((level, "first"), (-level, "second"))
            for event in events
        ]
        return Exhibit(
            "mcnemar-over-time",
            f"Who is ahead in {self.metric}, window by window",
            f"Signed McNemar over {self.windows}: above 0 the first of a pair is ahead, below 0 the second. "
            + self._too_few()
            + DESCRIPTIVE.format(alpha=self.testing.alpha),
            pl.concat([signed, pl.DataFrame(lines)], how="diagonal"),
            EVENT,
            "mcnemar",
            "series",
            facet="pair",
            band="band",
        )

    def _too_few(self) -> str:
        fewest = self.testing.fewest
        return f"Nothing is claimed of windows where fewer than {fewest} events tell the two apart. " if fewest else ""

    def _bounds(self, named: pl.DataFrame) -> Exhibit:
        width = pl.col("high") - pl.col("low")
        narrow = width <= WIDE * width.last().over("pair")
        bounds = (pl.when(narrow).then(name).alias(name) for name in ("low", "high"))
        table = named.filter(narrow | pl.col("mark").is_not_null()).with_columns(*bounds)
        return Exhibit(
            "difference-over-time",
            f"Difference in {self.metric} since the beginning",
            f"The mean difference so far, first minus second. {SURE.format(level=1 - self.testing.alpha)} Bounds more "
            f"than {WIDE} times as wide as in the end are left out; a mark shows where they first "
            "exclude 0 for the system that is better in the end.",
            table,
            EVENT,
            "difference",
            "pair",
            low="low",
            high="high",
            mark="mark",
        )

    def _thinned_curve(self, duel: Duel) -> pl.DataFrame:
        """Return a few hundred points of the curve of a pair, for the figure.

        The event at which the bounds decide is among them. The table has columns for shaded bands and marked
        events.
        """
        curve, at = duel.curve(), duel.decided
        table = thinned(curve)
        if at is not None:
            table = pl.concat([table, curve[at]]).unique(EVENT, keep="first").sort(EVENT)
        said = pl.lit(None, pl.String) if at is None else pl.lit(f"{duel.row()['for']} better")
        columns = {"pair": pl.lit(f"{duel.paired.a} and {duel.paired.b}")}
        columns["mark"] = said if at is None else pl.when(pl.col(EVENT) == duel.row()["decided"]).then(said)
        if duel.signed is not None:
            columns["band"] = pl.col("better") + " better"
        return table.with_columns(**columns)


@departs(
    Departure(
        "prequential",
        "The paper calls a window significant at 1 % if the statistic exceeds 6.635, however few events distinguish "
        "two systems, such as 8 against 0; here at least 10 must, and p is exact below 25.",
        "ra.compare_over_time(fewest=0, exact=False)",
    ),
)
@checks_types
def compare_over_time(
    a: Systems,
    b: Outcomes | Played | None = None,
    *,
    metric: str,
    baseline: str | None = None,
    window: float | timedelta | None = None,
    how: How = "moving",
    by: By = "scored",
    fading: float | None = None,
    alpha: float = 0.01,
    continuity: bool = False,
    exact: bool | None = None,
    fewest: int = FEWEST,
    test: choices.StreamTest = "auto",
    correction: choices.Correction = "holm",
    largest: float = 1.0,
    tuned_for: float = TUNED_FOR,
) -> OverTime:
    """Compare two systems on a stream, or several systems in pairs, or each with a ``baseline``.

    The result answers three questions:

    * **When was one ahead?** Signed McNemar over windows: ``window`` is their length, ``how`` says whether they move or
      fade (by ``fading``), ``by`` whether scored events, all events or times are counted. ``continuity`` corrects the
      statistic; ``exact`` says whether p is exact. Neither is ahead in a window in which fewer than ``fewest`` events
      distinguish the two. It describes the stream. For metrics that are not 0 or 1 there is no such test, only the
      curve of each system.
    * **Is one better overall?** One test of all paired events (McNemar's for metrics of 0 or 1, else Student's
      t, or the ``test`` named), its p adjusted over all pairs by ``correction``. It assumes independent events.
    * **Since when is that certain?** Bounds of the mean difference so far. They hold at all events and for all pairs at
      once with probability 1 - alpha, whatever the stream does, so one may stop as soon as they exclude 0.
      ``largest`` is the largest possible difference at one event. The bounds are tightest where the sum of squared
      differences is ``tuned_for``.

    >>> a = Outcomes("a", np.arange(12), {"hit@1": np.array([1.0, 1, 0, 1, 1, 1, 0, 1, 1, 1, 1, 0])}, events=12)
    >>> b = Outcomes("b", np.arange(12), {"hit@1": np.array([0.0, 1, 0, 0, 0, 1, 0, 0, 1, 0, 0, 1])}, events=12)
    >>> found = compare_over_time(a, b, metric="hit@1", window=6)
    >>> found.curve["mcnemar"].to_list()
    [1.0, 1.0, 1.0, 2.0, 3.0, 3.0, 2.0, 3.0, 3.0, 3.0, 3.0, 1.0]
    >>> found.summary().select("only_a", "only_b", "p").rows()
    [(6, 1, 0.125)]
    """
    if not 0 < alpha < 1:
        raise UsageError("U102", f"alpha must be between 0 and 1, got {alpha:g}", hint="alpha=0.01")
    if fewest < 0:
        raise UsageError("U102", f"fewest must be at least 0, got {fewest}", hint="fewest=10")
    systems, testing = systems_of(a, b), StreamSignificanceOptions(alpha, continuity, exact, test, fewest)
    pairs = [Paired.of(systems[one], systems[other], metric) for one, other in pairs_of(tuple(systems), baseline)]
    options = windows(how, by, window, fading, scored=max(one.event.size for one in pairs), events=pairs[0].events)
    share = alpha / len(pairs)
    duels = [
        Duel.of(
            one, options, anytime_bounds(one.differences, alpha=share, largest=largest, tuned_for=tuned_for), testing
        )
        for one in pairs
    ]
    return OverTime(metric, tuple(duels), options, testing, correction)


@checks_types
def declared(
    compared: Iterable[OverTime] | Mapping[str, OverTime], *, correction: choices.Correction = "holm"
) -> pl.DataFrame:
    """Return the final tests of several comparisons, for instance on several streams, with p adjusted over all of them.

    There is a row per pair of systems and comparison, as in ``summary``. If ``compared`` is a mapping, its keys are in
    the column ``stream``.
    """
    named = list(compared.items() if isinstance(compared, Mapping) else ((None, one) for one in compared))
    if not named:
        raise UsageError("U113", "there are no comparisons", hint="ra.compare_over_time(a, b, metric=...) makes one")
    rows = [
        {**({"stream": name} if name else {}), **duel.row(), "alpha": one.testing.alpha}
        for name, one in named
        for duel in one.duels
    ]
    adjusted = adjust(np.array([row["p"] for row in rows]), correction)
    table = pl.DataFrame(rows, schema_overrides={"decided": pl.Int64, "for": pl.String}, infer_schema_length=None)
    after = table.columns.index("p") + 1
    table.insert_column(after, pl.Series("p_adjusted", adjusted))
    table.insert_column(after + 1, pl.Series("significant", adjusted < table["alpha"].to_numpy()))
    return table.drop("alpha")


def _pair_sentences(row: Mapping[str, Any], alpha: float) -> list[str]:
    """Return sentences about one pair of systems: who is better overall, and since when that is certain.

    ``row`` is its row of :meth:`OverTime.summary`, and ``alpha`` the level of significance.
    """
    verdict = "significant" if row["significant"] else "not significant"
    sure = "they include 0 at the last event"
    if row["decided"] is not None:
        sure = f"they exclude 0 at event {row['decided']:,} and at the last, with {row['for']} better"
    dropped = f", {row['dropped']:,} events that only one of them has left out" if row["dropped"] else ""
    return [
        f"{row['a']} {row['mean_a']:.4f}, {row['b']} {row['mean_b']:.4f}: difference {row['difference']:+.4f} "
        f"over {row['n']:,} events{dropped}",
        f"  all events: {p_phrase(row['p_adjusted'])} ({row['test']}, adjusted), {verdict} at {alpha:.4g}",
        f"  bounds {row['low']:+.4f} to {row['high']:+.4f}: {sure}",
    ]


def _longest_stretches(stretches: pl.DataFrame, shown: int = 3) -> str:
    """Return a sentence about the longest ranges of events in which one system is better, in stream order.

    At most ``shown`` ranges are named.
    """
    longest = stretches.sort("scored", descending=True).head(shown).sort("from_event")
    named = [
        f"{row['better']} better from event {row['from_event']:,} to {row['to_event']:,}"
        for row in longest.iter_rows(named=True)
    ]
    more = stretches.height - len(named)
    return ", ".join(named) + (f", and {more:,} shorter stretches" if more else "")
