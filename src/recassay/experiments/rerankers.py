"""Experiments on lists: metrics and Sudden Death at every cut-off, what diversity costs, and the claims of a paper."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Literal, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.comparison.trade_off import QUADRANTS, TradeOff, trade_off
from recassay.engine.decisions.sudden_death import sudden_death
from recassay.errors import UsageError
from recassay.experiments.base import Experiment, Trial, played
from recassay.metrics.registry import parse_metric, parse_metrics
from recassay.models.rerank import FittedReranker
from recassay.naming.grammar import parse, split, suggest
from recassay.naming.named import AT_LEAST_2, COUNT
from recassay.results.exhibit import Exhibit
from recassay.stats.intervals import Uncertainty

SYSTEMS = ("MF", "MMR", "xQuAD", "SPAD")  # of the paper, in the order of the claims
RELEVANCE = {"precision": "precision", "mrr": "MRR", "hit": "1-call"}
MOST = 0.5  # of the weights

Curve = NDArray[np.float64]  # means (systems, cut-offs)


@dataclass(frozen=True, repr=False)
class Cutoffs(Experiment):
    """Metrics of the ranked lists at every cut-off from 1 to ``at``; ``metrics`` are names with blanks between."""

    name: ClassVar[str] = "cutoffs"

    metrics: str = "precision mrr hit"
    at: Annotated[int, COUNT] = 20
    resamples: int = 1000
    seed: int = 0

    def validate(self) -> None:
        """Raise U102 unless all metrics can have a cut-off."""
        for metric in split(self.metrics):
            if parse(metric).k is not None:
                raise self.refuse("metrics", f"{metric} already has a cut-off", "metrics='precision mrr hit'")
            parse_metric(heading_at(metric, self.at))

    def __call__(self, trial: Trial) -> tuple[Exhibit, ...]:
        """Return a figure of the mean of each system in ``trial`` at every cut-off, one panel per metric."""
        headings = {heading_at(metric, k): (metric, k) for metric in split(self.metrics) for k in range(1, self.at + 1)}
        how = Uncertainty("percentile", resamples=self.resamples, seed=self.seed)
        rows = [
            {"at": k, "mean": row.mean, "low": row.low, "high": row.high, "system": row.system, "metric": metric}
            for row in trial.score(list(headings), interval=how).rows
            for metric, k in [headings[row.metric]]
        ]
        names = dict.fromkeys(parse(metric).name for metric in split(self.metrics))
        return (
            Exhibit(
                "-".join(["cutoffs", *names]), f"At every cut-off: {', '.join(names)}", "Means of the ranked lists at "
                f"cut-offs up to {self.at}. Where lines cross, the better system depends on the cut-off.",
                pl.DataFrame(rows, infer_schema_length=None), "at", "mean", "system", "metric", low="low", high="high",
            ),
        )  # fmt: skip


def heading_at(metric: str, k: int) -> str:
    """Return the name of a metric at the cut-off ``k``, as used in results.

    >>> heading_at("alpha_ndcg(alpha=0.9)", 5)
    'alpha_ndcg(alpha=0.9)@5'
    """
    return str(replace(parse(metric), k=k))


@dataclass(frozen=True, repr=False)
class Contest(Experiment):
    """The share of users to whom a system is the first to recommend a relevant item, at every cut-off from 1 to ``at``.

    Systems that rank a relevant item equally high all win the user, or equal parts of the user with ``ties="split"``.
    ``competitors`` are the names of the systems that compete, by default all; shares depend on them. A second exhibit
    has pairwise results at the deepest cut-off: the share of users for whom one system has a hit before the other.
    """

    name: ClassVar[str] = "sudden_death"

    at: int = 20
    ties: Literal["share", "split"] = "share"
    resamples: int = 1000
    seed: int = 0
    competitors: str = ""

    def __call__(self, trial: Trial) -> tuple[Exhibit, ...]:
        """Return the share of users that each system in ``trial`` wins at every cut-off, and a table of all pairs.

        The system that ranks its first relevant item highest wins the user.
        """
        contest = sudden_death(
            dict(trial.runs), trial.truth, self.at, competitors=self.competitors.split() or None, ties=self.ties,
            resamples=self.resamples, seed=self.seed, threads=trial.threads,
        )  # fmt: skip
        return (
            contest.curve(),
            Exhibit(
                "duels", "Duels", f"The share of {contest.n:,} users for whom the system of the row has a hit "
                f"within the first {self.at} ranks, and before the system of the column. Unlike Sudden Death it does "
                "not depend on the other competitors.", contest.duels(), "against", "system", kind="heat", value="wins",
            ),
        )  # fmt: skip


def rerankers(trial: Trial, experiment: Experiment) -> dict[str, FittedReranker]:
    """Return ``{name: fitted re-ranker}`` of the re-rankers in a trial; raise U201 if there are none."""
    found = {name: one for name, one in trial.fitted.items() if isinstance(one, FittedReranker)}
    if not found:
        raise UsageError(
            "U201",
            f"{experiment} studies re-rankers, but no system is one",
            where=", ".join(trial.models),
            hint="add MMR(of='NAME', weight=0.3), xQuAD or SPAD of a system, or leave the experiment out",
        )
    return found


def base_of(name: str, trial: Trial) -> str:
    """Return the name of the system whose lists the re-ranker ``name`` re-ranks.

    If that system is not part of the trial, return the text of its model.
    """
    text = str(trial.models[name].of)
    return next((system for system, model in trial.models.items() if str(model) == text), text)


@dataclass(frozen=True, repr=False)
class Costs(Experiment):
    """Accuracy against diversity for weights 1/``steps``, 2/``steps``, ..., 1 of every re-ranker among the systems.

    ``diversity`` are metrics separated by blanks. Every point lies in a quadrant relative to the system that is
    re-ranked: both gained, accuracy lost for diversity, or worse. The Pareto front and its hypervolume summarise them.
    """

    name: ClassVar[str] = "trade_off"

    accuracy: str = "precision@10"
    diversity: str = "ild@10 alpha_ndcg@10"
    steps: Annotated[int, COUNT] = 10

    def validate(self) -> None:
        """Raise an error unless all metrics exist."""
        parse_metrics([self.accuracy, self.diversity])

    def __call__(self, trial: Trial) -> tuple[Exhibit, ...]:
        """Return figures of accuracy against diversity for the re-rankers in ``trial`` at every weight.

        For each system that is re-ranked there are: the points, the share of weights that gain both or pay with one,
        and the hypervolume of the points.
        """
        bases: dict[str, dict[str, FittedReranker]] = {}
        for name, fitted in rerankers(trial, self).items():
            bases.setdefault(base_of(name, trial), {})[name] = fitted
        found = [self.seen_from(base, several, trial) for base, several in bases.items()]
        return tuple(exhibit for costs in found for exhibit in _exhibits(costs, several=len(found) > 1))

    def seen_from(self, base: str, rerankers: dict[str, FittedReranker], trial: Trial) -> TradeOff:
        """Return the trade-off of some re-rankers of the system ``base``, at every weight, relative to ``base``.

        ``rerankers`` maps the names of these re-rankers to the fitted re-rankers.
        """
        placed = {
            f"{name} {weight:g}": (name, weight)
            for name in rerankers
            for weight in (step / self.steps for step in range(1, self.steps + 1))
        }
        known = {base: trial.runs[base]} if base in trial.runs else {}
        fitted = {base: next(iter(rerankers.values())).fitted} if not known else {}
        fitted |= {run: rerankers[name].with_weight(weight) for run, (name, weight) in placed.items()}
        runs = known | played(fitted, trial.fold, trial.ask, trial.ask.k, trial.threads)
        accuracy, *diversity = metrics = list(parse_metrics([self.accuracy, self.diversity]))
        return trade_off(trial.score(metrics, runs), accuracy, diversity, baseline=base, weights=placed)


def _exhibits(costs: TradeOff, *, several: bool) -> Sequence[Exhibit]:
    """Return figures of a trade-off: points, the share of weights per quadrant, and hypervolumes.

    A quadrant says whether accuracy and diversity are gained or lost. With ``several`` trade-offs, the figures' names
    end in the baseline.
    """
    shares = costs.share_of_weights()
    met = [name for name in QUADRANTS if name != "as before" or shares[name].sum()]
    quadrants = shares.unpivot(
        on=met, index=["system", "diversity"], variable_name="quadrant", value_name="share of weights"
    )
    areas = costs.hypervolume().filter(pl.col("system") != costs.baseline)
    found = (
        *(costs.exhibit(metric) for metric in costs.diversity),
        Exhibit(
            "trade-off-quadrants", "Weights that improve both", "The share of weights whose point lies in each "
            f"quadrant, relative to {costs.baseline}, by {costs.accuracy} and a metric of diversity.", quadrants,
            "quadrant", "share of weights", "system", "diversity", kind="bar",
        ),
        Exhibit(
            "trade-off-hypervolume", "The whole curve in one number", f"The area that the points of a system and of "
            f"{costs.baseline} dominate, as a share of the box of all points. It depends on the other points.", areas,
            "diversity", "hypervolume", "system", kind="bar",
        ),
    )  # fmt: skip
    return [replace(one, name=f"{one.name}-{costs.baseline}") for one in found] if several else found


class Claim(NamedTuple):
    """A claim in words (``text``), with the number of ``cases`` in which it holds, out of the number examined (``of``).

    ``noun`` names a case, such as a cut-off, and ``holds`` says whether the claim as a whole holds.
    """

    text: str
    cases: int
    of: int
    noun: str
    holds: bool


@dataclass(frozen=True, repr=False)
class DiversityClaims(Experiment):
    """The claims of Bridge, Kaya and Castells (2019) on MMR, xQuAD and SPAD, with a verdict on each.

    ``ours`` and ``literal`` each name three systems, MMR, xQuAD and SPAD in this order, that re-rank the system
    ``base``. ``literal`` are variants that follow the paper to the letter; they may be left out. A claim about all
    cut-offs from 1 to ``at`` holds if it holds at each of them. A claim about most weights holds if it holds at more
    than half of 1/``steps``, 2/``steps``, ..., 1. ``subprofiles`` is the metric of how many tastes of a user (groups of
    similar items) a list serves.
    """

    name: ClassVar[str] = "diversity_claims"

    base: str
    ours: str = "MMR xQuAD SPAD"
    literal: str = ""
    subprofiles: str = "alpha_ndcg(aspects='subprofiles')"
    at: Annotated[int, AT_LEAST_2] = 20
    steps: Annotated[int, COUNT] = 10

    def validate(self) -> None:
        """Raise an error unless there are three names each."""
        for field in ("ours", "literal"):
            if len(getattr(self, field).split()) not in ((3,) if field == "ours" else (0, 3)):
                raise self.refuse(field, "it must name an MMR, an xQuAD and a SPAD", f"{field}='MMR xQuAD SPAD'")
        parse_metric(heading_at(self.subprofiles, 10))

    def __call__(self, trial: Trial) -> tuple[Exhibit, ...]:
        """Return a table of the claims, with the share of cases in which each holds for the systems in ``trial``."""
        forms = {name: text.split() for name, text in (("ours", self.ours), ("literal", self.literal)) if text}
        known = rerankers(trial, self)
        for name, kind, names in [*((one, "re-ranker", known) for one in itertools.chain(*forms.values())),
                                  (self.base, "system", trial.runs)]:  # fmt: skip
            if name not in names:
                raise UsageError(
                    "U108", f"there is no {kind} '{name}' among the systems", where=str(self), hint=suggest(name, names)
                )
        rows = [
            {
                "form": form,
                "claim": claim.text,
                "cases": claim.cases / claim.of,
                "verdict": f"{'holds' if claim.holds else 'fails'}: {claim.cases} of {claim.of} {claim.noun}",
            }
            for form, names in forms.items()
            for claim in self._claims(trial, (self.base, *names))
        ]
        return (
            Exhibit(
                "diversity-claims",
                "The claims of the paper",
                "Claims of Bridge, Kaya and Castells (2019), and in how many cases each holds here. Ours: the systems "
                "of this study. Literal: the equations as they are printed. The verdict holds for these data, one fold "
                "and these weights.",
                pl.DataFrame(rows), "form", "claim", kind="heat", value="cases", label="verdict",
            ),
        )  # fmt: skip

    def _claims(self, trial: Trial, systems: tuple[str, ...]) -> Iterator[Claim]:
        """Yield the claims of the paper, and in how many cases each holds; ``systems`` stand for ``SYSTEMS``."""
        diversity = {
            "ild": "ILD",
            "alpha_ndcg": "alpha-nDCG of features",
            self.subprofiles: "alpha-nDCG of subprofiles",
        }
        spad = SYSTEMS.index("SPAD")
        curves = self._curves(trial, systems, (*diversity, *RELEVANCE))
        for best, (metric, text) in enumerate(diversity.items(), start=1):
            first = 1 if metric == "ild" else 0  # a list of one item has no distances
            yield _claim_of_all(f"{text} is highest for {SYSTEMS[best]}", _leads(curves[metric], best)[first:] >= 0)
        for metric, text in RELEVANCE.items():
            yield _claim_of_all(f"{text} is highest for SPAD", _leads(curves[metric], spad) >= 0)
        orders = [np.argsort(-curves[metric][:spad], axis=0, kind="stable") for metric in RELEVANCE]
        changing = sum(bool((order != order[:, :1]).any()) for order in orders)
        yield Claim(
            "Relevance orders MF, MMR and xQuAD differently by N", changing, len(orders), "metrics", changing > 0
        )
        metrics = [heading_at(metric, 10) for metric in diversity]
        costs = Costs(diversity=" ".join(metrics), steps=self.steps)
        shares = costs.seen_from(self.base, {systems[spad]: trial.fitted[systems[spad]]}, trial).share_of_weights()
        for metric, text in zip(metrics, diversity.values(), strict=True):
            gained = round(shares.filter(diversity=metric)["gains both"].item() * self.steps)
            words = f"For most weights SPAD gains precision and {text}"
            yield Claim(words, gained, self.steps, "weights", gained / self.steps > MOST)
        contest = sudden_death(
            {name: trial.runs[name] for name in systems}, trial.truth, self.at, interval=None, threads=trial.threads
        )
        won = np.array([[contest.share(name, at + 1) for at in range(self.at)] for name in systems])
        yield _claim_of_all("Sudden Death is highest for SPAD", _leads(won, spad) >= 0)
        farther = _leads(won, spad) > np.maximum(_leads(curves["hit"], spad), 0.0)
        yield _claim_of_all("Sudden Death puts SPAD farther ahead than 1-call", farther)

    def _curves(self, trial: Trial, systems: tuple[str, ...], metrics: tuple[str, ...]) -> dict[str, Curve]:
        """Return ``{metric: means of the systems at every cut-off from 1 on}``."""
        headings = {metric: [heading_at(metric, k + 1) for k in range(self.at)] for metric in metrics}
        scores = trial.score(list(itertools.chain(*headings.values())), {name: trial.runs[name] for name in systems})
        return {
            metric: np.array([[scores.row(system, heading).mean for heading in of_metric] for system in systems])
            for metric, of_metric in headings.items()
        }


def _claim_of_all(text: str, cases: NDArray[np.bool_]) -> Claim:
    return Claim(text, int(cases.sum()), cases.size, "cut-offs", bool(cases.all()))


def _leads(curve: Curve, system: int) -> Curve:
    """Return the lead of a system at every cut-off: its mean, minus the largest mean of the other systems."""
    return np.asarray(curve[system] - np.delete(curve, system, axis=0).max(axis=0))
