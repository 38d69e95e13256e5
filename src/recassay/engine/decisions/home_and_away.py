"""``home_and_away``: ranks of every system by every metric, and which metrics are close to what a system optimises."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from recassay.checks import diagnose
from recassay.errors import UsageError
from recassay.metrics.base import Metric
from recassay.metrics.beyond.aspects import AspectMetric
from recassay.metrics.beyond.calibration import Calibration
from recassay.metrics.beyond.diversity import EILD, ILD
from recassay.metrics.beyond.intents import SubtopicRecall
from recassay.metrics.registry import parse_metric
from recassay.naming.arguments import checks_types
from recassay.naming.grammar import parse, suggest
from recassay.results.exhibit import Exhibit
from recassay.results.finding import Finding
from recassay.results.scores import Scores
from recassay.shown import Displayable

Kind = tuple[str, str]  # how diversity is measured (distance, aspects), and which distance or aspects
OBJECTIVES: Mapping[str, Kind] = {  # of re-rankers without a distance
    "calibrated": ("calibration", "features"),
    "xquad": ("aspects", "features"),
    "spad": ("aspects", "subprofiles"),
}


@dataclass(frozen=True, eq=False, repr=False)
class HomeAndAway(Displayable):
    """The mean and rank of every system under every metric, in ``table``.

    ``home`` maps a metric to the systems that optimise something close to it; it is their home metric.
    """

    systems: tuple[str, ...]
    metrics: tuple[str, ...]
    table: pl.DataFrame
    home: Mapping[str, tuple[str, ...]]
    findings: tuple[Finding, ...] = ()

    def ranks(self) -> pl.DataFrame:
        """Return a row per metric: the rank of every system, and which systems optimise something close to it."""
        wide = self.table.pivot("system", index="metric", values="rank", maintain_order=True)
        hosts = pl.Series("home", [", ".join(self.home.get(metric, ())) for metric in wide["metric"]])
        return wide.insert_column(1, hosts)

    def summary(self) -> pl.DataFrame:
        """Return a row per system: its mean ranks under its home metrics, the home metrics of others, and the rest.

        The home metrics of a system are close to what it optimises.
        """
        host = pl.col("metric").replace_strict(
            {metric: bool(self.home.get(metric)) for metric in self.metrics}, return_dtype=pl.Boolean
        )
        places = {"at_home": pl.col("home"), "as_guest": host & ~pl.col("home"), "on_neutral_ground": ~host}
        means = [pl.col("rank").filter(where).mean().alias(name) for name, where in places.items()]
        return self.table.group_by("system", maintain_order=True).agg(*means)

    def exhibit(self) -> Exhibit:
        """Return the ranks as a heat map that marks for each system its home metrics, close to what it optimises."""
        label = pl.format("{}{}", pl.col("rank"), pl.when(pl.col("home")).then(pl.lit(" home")).otherwise(pl.lit("")))
        return Exhibit(
            name="home-and-away",
            title="Home and away",
            caption="The rank of every system under every metric. At home means that the metric is close to what the "
            "system optimises: a win there says little.",
            table=self.table.with_columns(label=label),
            x="system",
            y="metric",
            kind="heat",
            value="rank",
            label="label",
        )


@checks_types
def home_and_away(*scores: Scores, objectives: Mapping[str, str] | None = None) -> HomeAndAway:
    """Rank every system under every metric, and mark the metrics that are close to what a system optimises.

    All ``scores`` are of the same systems; scores of Sudden Death may be among them, which no system optimises.
    ``objectives`` names what a system optimises: a metric (``"ild(distance='cosine')"``) or a re-ranker (``"MMR"`` or
    ``"DPP"``, with distance jaccard by default, ``"xQuAD"``, ``"SPAD"``, ``"Calibrated"``). Without it, a system whose
    name is that of a re-ranker, such as ``MMR(of='ALS()')``, optimises what the re-ranker does.

    >>> made = {"mf": {"ann": ["x", "y"]}, "mmr": {"ann": ["y", "x"]}}
    >>> items = pl.DataFrame({"item_id": ["x", "y"], "tags": [["a"], ["b"]]})
    >>> from recassay.api.score import score
    >>> table = home_and_away(score(made, {"ann": ["x"]}, "mrr ild@2", items=items), objectives={"mmr": "MMR"})
    >>> table.ranks().rows()
    [('mrr', '', 1.0, 2.0), ('ild@2', 'mmr', 1.5, 1.5)]
    """
    systems = scores[0].systems if scores else ()
    if len(systems) < 2:
        raise UsageError(
            "U113", f"a comparison needs two systems, got {len(systems)}", hint="give scores of two or more systems"
        )
    for sheet in scores[1:]:
        if set(sheet.systems) != set(systems):
            raise UsageError(
                "U204",
                f"scores of different systems: {', '.join(sheet.systems)} and {', '.join(systems)}",
                where="home_and_away",
                hint="score the same systems under all metrics",
            )
    optimised = _objectives(systems, objectives)
    rows: list[dict[str, Any]] = []
    home, ranks = dict[str, tuple[str, ...]](), dict[str, dict[str, float]]()
    for sheet, metric in [(each, metric) for each in scores for metric in each.metrics]:
        metric_rows = [sheet.row(system, metric) for system in systems]
        if metric_rows[0].higher_is_better is None or metric in home:
            continue
        kind = _kind_of(metric)
        home[metric] = tuple(name for name in systems if kind is not None and optimised.get(name) == kind)
        worse = pl.Series([-row.mean if row.higher_is_better else row.mean for row in metric_rows])
        ranks[metric] = dict(zip(systems, worse.rank("average").to_list(), strict=True))
        rows += [
            {
                "metric": metric,
                "system": name,
                "mean": row.mean,
                "rank": ranks[metric][name],
                "home": name in home[metric],
            }
            for name, row in zip(systems, metric_rows, strict=True)
        ]
    return HomeAndAway(
        systems,
        tuple(home),
        pl.DataFrame(rows),
        home,
        diagnose("home metrics", systems=systems, ranks=ranks, home=home),
    )


def _objectives(systems: tuple[str, ...], stated: Mapping[str, str] | None) -> dict[str, Kind]:
    """Return what each system optimises, as (what, how), such as ("distance", "cosine"); others are left out.

    ``stated`` are the objectives that the user gave; without them, a system is taken for the re-ranker that its name
    begins with, such as ``MMR(of='ALS()')``.
    """
    if stated is None:
        named = {name: _kind_of_reranker(name) for name in systems}
        return {name: kind for name, kind in named.items() if kind is not None}
    kinds = {}
    for name, text in stated.items():
        if name not in systems:
            raise UsageError("U108", f"there is no system '{name}'", hint=suggest(name, systems))
        kind = _kind_of_reranker(text) or _kind_of(text)
        if kind is None:
            raise UsageError(
                "U204",
                f"no diversity metric is close to the objective '{text}'",
                where=f"objective of {name}",
                hint="name a re-ranker such as MMR, or a metric such as ild",
            )
        kinds[name] = kind
    return kinds


def _kind_of_reranker(text: str) -> Kind | None:
    """Return what a re-ranker of this name optimises, such as ("distance", "cosine"); None for any other name.

    >>> _kind_of_reranker("MMR(of='ALS()', distance='cosine')"), _kind_of_reranker("popular")
    (('distance', 'cosine'), None)
    """
    try:
        named = parse(text)
    except UsageError:
        return None
    distance = "distance", str(named.parameters.get("distance", "jaccard"))
    return OBJECTIVES.get(named.name.lower()) or (distance if named.name.lower() in ("mmr", "dpp") else None)


def _kind_of(heading: str) -> Kind | None:
    """Return what the diversity metric with this heading measures, as (what, how), such as ("distance", "cosine").

    Return None for any other metric, and for an unknown name.
    """
    try:
        metric: Metric = parse_metric(heading)
    except UsageError:
        return None
    if isinstance(metric, ILD | EILD):
        return "distance", metric.distance
    if isinstance(metric, Calibration):
        return "calibration", metric.aspects
    if isinstance(metric, AspectMetric):
        return "aspects", metric.aspects
    return ("aspects", "features") if isinstance(metric, SubtopicRecall) else None
