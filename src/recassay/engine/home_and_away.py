"""``home_and_away``: every metric by every system, and which metric is at home for whose objective."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from recassay.data.exhibit import Exhibit
from recassay.data.finding import Finding
from recassay.data.scores import Scores
from recassay.diagnose import Hosting, diagnose
from recassay.errors import UsageError
from recassay.metrics.base import Metric
from recassay.metrics.beyond.aspects import AspectMetric
from recassay.metrics.beyond.diversity import EILD, ILD
from recassay.metrics.beyond.subtopics import SubtopicRecall
from recassay.metrics.registry import parse_metric
from recassay.spec import parse, suggest

Kind = tuple[str, str]  # what a diversity is made of, and of which things


@dataclass(frozen=True, eq=False)
class HomeAndAway:
    """Means and ranks of every system under every metric. ``home`` are, by metric, the systems it is at home for."""

    systems: tuple[str, ...]
    metrics: tuple[str, ...]
    table: pl.DataFrame
    home: Mapping[str, tuple[str, ...]]
    findings: tuple[Finding, ...] = ()

    def ranks(self) -> pl.DataFrame:
        """A row per metric: for whom it is at home, and the rank of every system."""
        wide = self.table.pivot("system", index="metric", values="rank", maintain_order=True)
        hosts = pl.Series("home", [", ".join(self.home.get(metric, ())) for metric in wide["metric"]])
        return wide.insert_column(1, hosts)

    def summary(self) -> pl.DataFrame:
        """A row per system: its mean rank under metrics at home for it, for others, and for nobody."""
        host = pl.col("metric").replace_strict(
            {metric: bool(self.home.get(metric)) for metric in self.metrics}, return_dtype=pl.Boolean
        )
        places = {"at_home": pl.col("home"), "as_guest": host & ~pl.col("home"), "on_neutral_ground": ~host}
        means = [pl.col("rank").filter(where).mean().alias(name) for name, where in places.items()]
        return self.table.group_by("system", maintain_order=True).agg(*means)

    def exhibit(self) -> Exhibit:
        """Ranks as a heat map; a metric that is at home for a system is marked."""
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


def home_and_away(*scores: Scores, objectives: Mapping[str, str] | None = None) -> HomeAndAway:
    """Let every system be judged by every metric, and say which metrics are close to what a system optimises.

    ``scores`` are of the same systems; Sudden Death may stand beside other metrics, at home for nobody. ``objectives``
    says by system what it optimises, as a metric (``"ild(distance='cosine')"``) or as a re-ranker (``"MMR"``, whose
    ``distance`` is jaccard unless told, ``"xQuAD"``, ``"SPAD"``). Without it, systems that are named like re-rankers
    are taken for them.

    >>> made = {"mf": {"ann": ["x", "y"]}, "mmr": {"ann": ["y", "x"]}}
    >>> items = pl.DataFrame({"item_id": ["x", "y"], "tags": [["a"], ["b"]]})
    >>> from recassay.engine.score import score
    >>> table = home_and_away(score(made, {"ann": ["x"]}, "mrr ild@2", items=items), objectives={"mmr": "MMR"})
    >>> table.ranks().rows()
    [('mrr', '', 1.0, 2.0), ('ild@2', 'mmr', 1.5, 1.5)]
    """
    systems = scores[0].systems if scores else ()
    if len(systems) < 2:
        raise UsageError("U113", f"there are {len(systems)} systems to compare", hint="give scores of two or more")
    for one in scores[1:]:
        if set(one.systems) != set(systems):
            what = f"these scores are of {', '.join(one.systems)} and of {', '.join(systems)}"
            raise UsageError("U207", what, where="home_and_away", hint="score the same systems by all metrics")
    optimised = _objectives(systems, objectives)
    rows: list[dict[str, Any]] = []
    home: dict[str, tuple[str, ...]] = {}
    for one in scores:
        for metric in one.metrics:
            own = [one.row(system, metric) for system in systems]
            if own[0].higher_is_better is None or metric in home:
                continue
            kind = _kind_of(metric)
            home[metric] = tuple(name for name in systems if kind is not None and optimised.get(name) == kind)
            better = np.array([row.mean if row.higher_is_better else -row.mean for row in own])
            ranks = pl.Series(-better).rank("average").to_list()
            rows += [
                {
                    "metric": metric,
                    "system": row.system,
                    "mean": row.mean,
                    "rank": rank,
                    "home": row.system in home[metric],
                }
                for row, rank in zip(own, ranks, strict=True)
            ]
    table = pl.DataFrame(rows)
    by_metric = {
        name: dict(part.select("system", "rank").rows())
        for (name,), part in table.group_by("metric", maintain_order=True)
    }
    findings = diagnose(Hosting(systems, by_metric, home))
    return HomeAndAway(systems, tuple(home), table, home, findings)


def _objectives(systems: tuple[str, ...], stated: Mapping[str, str] | None) -> dict[str, Kind]:
    """What each system optimises, if anything that a metric measures."""
    if stated is None:
        named = {name: _kind_of_reranker(name) for name in systems}
        return {name: kind for name, kind in named.items() if kind is not None}
    found = {}
    for name, text in stated.items():
        if name not in systems:
            raise UsageError("U108", f"there is no system '{name}'", hint=suggest(name, systems))
        kind = _kind_of_reranker(text) or _kind_of(text)
        if kind is None:
            what = f"'{text}' is no objective that a metric of diversity is close to"
            raise UsageError(
                "U207", what, where=f"objective of {name}", hint="MMR, xQuAD, SPAD, or a metric such as ild"
            )
        found[name] = kind
    return found


def _kind_of_reranker(text: str) -> Kind | None:
    """What a re-ranker of this name optimises.

    >>> _kind_of_reranker("MMR(of='ALS()', distance='cosine')"), _kind_of_reranker("popular")
    (('distance', 'cosine'), None)
    """
    try:
        named = parse(text)
    except UsageError:
        return None
    aspects = {"xquad": "features", "spad": "subprofiles"}
    if named.name.lower() == "mmr":
        return "distance", str(named.parameters.get("distance", "jaccard"))
    return ("aspects", aspects[named.name.lower()]) if named.name.lower() in aspects else None


def _kind_of(heading: str) -> Kind | None:
    """What a metric measures the variety of; None for all others, and for headings that are no metric's name."""
    try:
        metric: Metric = parse_metric(heading)
    except UsageError:
        return None
    if isinstance(metric, ILD | EILD):
        return "distance", metric.distance
    if isinstance(metric, AspectMetric):
        return "aspects", metric.aspects
    return ("aspects", "features") if isinstance(metric, SubtopicRecall) else None
