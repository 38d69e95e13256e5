"""Pairwise comparison on a stream: who was better when, who is better overall, and since when that is certain."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from recassay.comparison.compare import pairs_of
from recassay.comparison.over_time.curves import (
    Folds,
    PairedValues,
    Systems,
    moments_of,
    outcomes_of_folds,
    paired_values,
    systems_of,
    thinned,
)
from recassay.comparison.over_time.windows import FEWEST, By, How, WindowOptions, signed_mcnemar, threshold, windows
from recassay.errors import UsageError
from recassay.naming import choices
from recassay.naming.arguments import checks_types
from recassay.naming.named import Departure, departs
from recassay.results.exhibit import Exhibit
from recassay.results.outcomes import EVENT, TIME, Outcomes, Played, is_error
from recassay.stats.anytime import TUNED_FOR, AnytimeBounds, anytime_bounds
from recassay.stats.significance import adjust, mcnemar_p, p_phrase, run_test

DESCRIPTIVE = (
    "The curve describes the stream and is not a test: there are as many windows as events, each nearly equal to the "
    "last, and a level of {alpha:.4g} does not bound how often it is crossed by chance."
)
SURE = (
    "Bounds hold at every event of every pair at once with a chance of {level:.4g}: watch them, and stop when you like."
)

WIDE = 10  # bounds more than this many times as wide as the last bounds are not drawn: they would fill the picture


class Duel(NamedTuple):
    """The comparison of two systems on a stream: a row per event (``curve``), and one of tests (``summary``).

    They are the pair's rows of :attr:`OverTime.curve` and of :meth:`OverTime.summary`.
    """

    curve: pl.DataFrame
    row: Mapping[str, Any]


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
    alpha: float
    fewest: int
    correction: choices.Correction

    @property
    def curve(self) -> pl.DataFrame:
        """Return a row per pair and event that was scored for both; the columns ``a`` and ``b`` name the pair."""
        return pl.concat([duel.curve for duel in self.duels], how="diagonal")

    @property
    def stretches(self) -> pl.DataFrame:
        """Return a row per uninterrupted range of events in which McNemar's test in windows finds a system better.

        ``better`` names the system. The row has the first and the last event (and times if known), the number of events
        ``scored`` in between, and ``strongest``, the value of signed McNemar that is farthest from 0.
        """
        curve = self.curve
        if "better" not in curve.columns:  # there is no test in windows
            curve = curve.with_columns(better=pl.lit(None, pl.String), mcnemar=pl.lit(None, pl.Float64))
        ends = [
            end(column).alias(f"{side}_{what}")
            for what, column in (("event", EVENT), ("time", TIME))
            for side, end in (("from", pl.first), ("to", pl.last))
            if column in curve.columns
        ]
        strongest = pl.col("mcnemar").get(pl.col("mcnemar").abs().arg_max())
        claims = curve.with_columns(run=pl.col("better").rle_id().over("a", "b")).drop_nulls("better")
        runs = claims.group_by("a", "b", "run", maintain_order=True)
        ranges = runs.agg(pl.first("better"), *ends, scored=pl.len().cast(pl.Int64), strongest=strongest)
        return ranges.drop("run")

    def summary(self) -> pl.DataFrame:
        """Return a row per pair: the test over all events, its p adjusted for all pairs, and the anytime-valid bounds.

        ``for`` is the system that the bounds find better at the last event, null if they include 0 there. ``decided``
        is the first event at which they exclude 0 for it, after any at which they did so for the other system.
        """
        return declared([self], correction=self.correction)

    def __str__(self) -> str:
        lines = [f"{self.metric} over time, over {self.windows}"]
        for row, duel in zip(self.summary().iter_rows(named=True), self.duels, strict=True):
            lines += ["", *_pair_sentences(row, self.alpha)]
            if "better" in duel.curve.columns:
                longest = _longest_stretches(self.stretches.filter(a=row["a"], b=row["b"]))
                lines.append(f"  windows at {100 * (1 - self.alpha):.4g} %: {longest or 'neither is ahead in any'}")
        lines += ["", DESCRIPTIVE.format(alpha=self.alpha), "", SURE.format(level=1 - self.alpha)]
        indented = [(line, " " * 4 if line.startswith(" ") else "") for line in lines]
        return "\n".join(textwrap.fill(line, 100, subsequent_indent=indent) for line, indent in indented)

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        """Return the tests over all events, and the ranges of events with a better system, as plain values for JSON."""
        about = {"metric": self.metric, "windows": str(self.windows), "alpha": self.alpha}
        return {**about, "summary": self.summary().to_dicts(), "stretches": self.stretches.to_dicts()}

    def exhibits(self) -> tuple[Exhibit, ...]:
        """Return figures: a curve per system, signed McNemar with its level, and the difference with its bounds."""
        drawn = pl.concat([_curve_points(duel) for duel in self.duels], how="diagonal")
        signed = [self._signed(drawn)] if "mcnemar" in drawn.columns else []
        return (self._means(), *signed, self._bounds(drawn))

    def _means(self) -> Exhibit:
        means = {
            duel.row[side]: thinned(duel.curve).select(
                EVENT, "n", "partial", pl.col(f"mean_{side}").alias("value"), pl.col(side).alias("system")
            )
            for duel in reversed(self.duels)
            for side in "ba"
        }
        title = f"{self.metric} over time"
        caption = f"Averages over {self.windows}, at events that were scored for both of a pair."
        return Exhibit("means-over-time", title, caption, pl.concat(reversed(means.values())), EVENT, "value", "system")

    def _signed(self, drawn: pl.DataFrame) -> Exhibit:
        signed = drawn.drop_nulls("mcnemar").with_columns(series=pl.lit("signed McNemar"))
        level = threshold(self.alpha)
        ends = signed.group_by("pair", maintain_order=True).agg(pl.col(EVENT).min(), last=pl.col(EVENT).max())
        lines = [
            {EVENT: event, "mcnemar": value, "pair": pair, "series": f"level {self.alpha:.4g}, {side}"}
            for pair, *events in ends.iter_rows()
            for value, side in ((level, "first"), (-level, "second"))
            for event in events
        ]
        few = f"Nothing is claimed of windows where fewer than {self.fewest} events tell the two apart. "
        return Exhibit(
            "mcnemar-over-time",
            f"Who is ahead in {self.metric}, window by window",
            f"Signed McNemar over {self.windows}: above 0 the first of a pair is ahead, below 0 the second. "
            f"{few if self.fewest else ''}{DESCRIPTIVE.format(alpha=self.alpha)}",
            pl.concat([signed, pl.DataFrame(lines)], how="diagonal"),
            EVENT,
            "mcnemar",
            "series",
            facet="pair",
            band="band",
        )

    def _bounds(self, drawn: pl.DataFrame) -> Exhibit:
        width = pl.col("high") - pl.col("low")
        narrow = width <= WIDE * width.last().over("pair")
        bounds = (pl.when(narrow).then(name).alias(name) for name in ("low", "high"))
        return Exhibit(
            "difference-over-time",
            f"Difference in {self.metric} since the beginning",
            f"The mean difference so far, first minus second. {SURE.format(level=1 - self.alpha)} Bounds more "
            f"than {WIDE} times as wide as in the end are left out; a mark shows where they first "
            "exclude 0 for the system that is better in the end.",
            drawn.filter(narrow | pl.col("mark").is_not_null()).with_columns(*bounds),
            EVENT,
            "difference",
            "pair",
            low="low",
            high="high",
            mark="mark",
        )


def _curve_points(duel: Duel) -> pl.DataFrame:
    """Return a few hundred points of the curve of a pair, with columns for shaded bands and marked events.

    The event at which the bounds decide is among them.
    """
    decides = pl.col(EVENT) == pl.lit(duel.row["decided"], pl.Int64)
    table = pl.concat([thinned(duel.curve), duel.curve.filter(decides)]).unique(EVENT, keep="first").sort(EVENT)
    mark = pl.when(decides).then(pl.lit(f"{duel.row['for']} better"))
    bands = {"band": pl.col("better") + " better"} if "better" in table.columns else {}
    return table.select(pl.exclude("a", "b"), pair=pl.format("{} and {}", "a", "b"), mark=mark, **bands)


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
    systems = systems_of(a, b)
    pairs = [paired_values(systems[one], systems[other], metric) for one, other in pairs_of(tuple(systems), baseline)]
    events = next(iter(systems.values())).events
    options = windows(how, by, window, fading, scored=max(pair.event.size for pair in pairs), events=events)
    bounds = partial(anytime_bounds, alpha=alpha / len(pairs), largest=largest, tuned_for=tuned_for)
    mcnemar = {"alpha": alpha, "correction": continuity, "exact": exact, "fewest": fewest}
    duels = (_duel(pair, options, mcnemar, test, bounds(pair.values_a - pair.values_b)) for pair in pairs)
    return OverTime(metric, tuple(duels), options, alpha, fewest, correction)


def _duel(pair: PairedValues, options: WindowOptions, how: Mapping[str, Any], test: str, bounds: AnytimeBounds) -> Duel:
    """Return the comparison of a pair in the windows that ``options`` describe, and over all events.

    ``how`` has the options of McNemar's test, ``bounds`` are those of the mean difference so far, and ``test`` names
    the test over all events.
    """
    a, b = pair.values_a, pair.values_b
    past = options.over(pair.event, moments_of(pair.times, pair.a) if options.by == "time" else None)
    names = [pair.b, None, pair.a]  # of the better system, by the sign of a - b: -1, 0 and 1
    better = pl.Series("better", names[::-1] if is_error(pair.metric) else names, dtype=pl.String)
    columns: dict[str, Any] = {EVENT: pair.event} | ({} if pair.times is None else {TIME: pair.times})
    columns |= {"mean_a": past.means(a), "mean_b": past.means(b), "n": past.sizes(), "partial": past.partial}
    values = np.concatenate([a, b])
    binary = bool(np.isin(values, (0.0, values.max())).all())  # wrong or right
    if binary:
        signed = signed_mcnemar(a, b, past, **how)
        kind = np.int64 if past.fading is None else np.float64
        columns |= {"only_a": signed.only_a.astype(kind), "only_b": signed.only_b.astype(kind)}
        columns |= {"mcnemar": signed.signed, "p": signed.p, "better": better.gather(signed.claim.astype(np.int64) + 1)}
    columns |= {"difference": bounds.mean, "low": bounds.low, "high": bounds.high}
    only_a, only_b = np.array([np.count_nonzero(a > b)]), np.array([np.count_nonzero(b > a)])
    test = test if test != "auto" else "mcnemar" if binary else "t"
    if test == "mcnemar" and binary:
        p = mcnemar_p(only_a, only_b, correction=how["correction"], exact=how["exact"])
    else:
        p = run_test(test, (a - b)[:, None]).p
    side = (bounds.low > 0).astype(np.int64) - (bounds.high < 0)
    begin = int(np.flatnonzero(side == -side[-1]).max(initial=-1)) + 1  # after it they never exclude 0 otherwise
    row = {
        "metric": pair.metric,
        "a": pair.a,
        "b": pair.b,
        "mean_a": float(a.mean()),
        "mean_b": float(b.mean()),
        "difference": float((a - b).mean()),
        "n": a.size,
        "dropped": pair.dropped,
        "only_a": int(only_a[0]),
        "only_b": int(only_b[0]),
        "test": test,
        "p": float(p[0]),
        "low": float(bounds.low[-1]),
        "high": float(bounds.high[-1]),
        "decided": int(pair.event[begin + int((side[begin:] == side[-1]).argmax())]) if side[-1] else None,
        "for": better[int(side[-1]) + 1],
    }
    curve = pl.DataFrame(columns).select(pl.lit(pair.a).alias("a"), pl.lit(pair.b).alias("b"), pl.all())
    return Duel(curve, row)


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
        {**({"stream": name} if name else {}), **duel.row, "alpha": one.alpha}
        for name, one in named
        for duel in one.duels
    ]
    adjusted = adjust(np.array([row["p"] for row in rows]), correction)
    table = pl.DataFrame(rows, schema_overrides={"decided": pl.Int64, "for": pl.String}, infer_schema_length=None)
    after = table.columns.index("p") + 1
    table.insert_column(after, pl.Series("p_adjusted", adjusted))
    table.insert_column(after + 1, pl.Series("significant", adjusted < table["alpha"].to_numpy()))
    return table.drop("alpha")


@checks_types
def compare_folds(a: Folds, b: Folds, *, metric: str, **options: Any) -> dict[str, OverTime]:
    """Return the comparison of two systems in each fold, by label such as ``fold 0``; raise U113 for unequal numbers.

    The other keywords are those of :func:`~recassay.compare_over_time`. The function ``declared`` puts the final tests
    of all folds into one table, with p adjusted for their number.

    >>> a, b = (
    ...     [Outcomes(name, np.arange(30), {"hit@1": hits}, events=30, settings={"fold": f}) for f in (0, 1)]
    ...     for name, hits in (("a", np.ones(30)), ("b", np.zeros(30)))
    ... )
    >>> declared(compare_folds(a, b, metric="hit@1")).select("stream", "only_a", "only_b", "significant").rows()
    [('fold 0', 30, 0, True), ('fold 1', 30, 0, True)]
    """
    first, second = outcomes_of_folds(a), outcomes_of_folds(b)
    if len(first) != len(second):
        what = f"{first[0].system} has {len(first)} folds and {second[0].system} {len(second)}"
        raise UsageError("U113", what, hint="play both with the same protocol")
    return {
        f"fold {one.settings.get('fold', number)}": compare_over_time(one, other, metric=metric, **options)
        for number, (one, other) in enumerate(zip(first, second, strict=True))
    }


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
