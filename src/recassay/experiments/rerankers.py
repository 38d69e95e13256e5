"""Experiments on re-rankers: accuracy against diversity, the choice of a weight, and claims of a paper on them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import polars as pl

from recassay.api.weight import Weights, choose_weight, criterion
from recassay.comparison.trade_off import QUADRANTS, TradeOff, trade_off
from recassay.data.fold import Fold
from recassay.engine.decisions.sudden_death import sudden_death
from recassay.errors import UsageError
from recassay.experiments.base import Experiment, Trial, played
from recassay.experiments.lists import heading_at
from recassay.metrics.registry import parse_metric, parse_metrics
from recassay.models.base.capabilities import fitted_on_fold
from recassay.models.rerank import FittedReranker
from recassay.naming.grammar import require_known
from recassay.results.exhibit import Exhibit
from recassay.rng import derive_seed
from recassay.split.chance import RandomSplit

RELEVANCE = {"precision": "precision", "mrr": "MRR", "hit": "1-call"}
MOST = 0.5  # of the weights
Curves = Mapping[tuple[str, str], list[float]]  # means by system and metric, at every cut-off


def rerankers(trial: Trial, experiment: Experiment) -> dict[str, FittedReranker]:
    """Return the fitted re-rankers among the systems of a trial, by name; raise U201 if there are none."""
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
    steps: int = 10

    def validate(self) -> None:
        """Raise an error unless there is at least one weight and all metrics exist."""
        self.require_at_least(steps=1)
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

        ``rerankers`` are these re-rankers, by name.
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


@dataclass(frozen=True, repr=False)
class Weight(Experiment):
    """Choice of a re-ranker's weight by a criterion on part of the training data; test data are not used.

    A share ``validation`` of the training events is held out, the base model of ``system`` is fitted on the rest, and
    its lists are re-ranked with weights 0, 1/``steps``, ..., 1. The choice is the weight with the best mean of ``best``
    among those that lose at most a share ``loss`` of ``keep``, if that is given. The system keeps its weight in the
    study; the caption names both.
    """

    name: ClassVar[str] = "choose_weight"

    system: str
    best: str
    keep: str | None = None
    loss: float = 0.0
    steps: int = 10
    validation: float = 0.2
    seed: int = 0

    def validate(self) -> None:
        """Raise an error if ``best`` or ``keep`` names an unknown metric, or if another parameter is out of range.

        ``steps`` must be at least 1, and ``validation`` strictly between 0 and 1 (else U102).
        """
        for text in (self.best, *([] if self.keep is None else [self.keep])):
            criterion(text)
        self.require_at_least(steps=1)
        if not 0 < self.validation < 1:
            raise self.refuse("validation", "it must be a share between 0 and 1", "validation=0.2")

    def __call__(self, trial: Trial) -> tuple[Exhibit, ...]:
        """Return a figure of the metrics at every weight of the re-ranker, with the weight chosen on held-out data."""
        known = rerankers(trial, self)
        what = f"there is no re-ranker '{self.system}' among the systems"
        require_known(self.system, known, "U108", what, where=str(self))
        model = trial.models[self.system]
        held = held_out(trial.fold, self.validation, self.seed)
        base = fitted_on_fold(model.base_model(), held)
        deep = max(trial.ask.k, model.candidates)
        (run,) = played({str(model): base}, held, trial.ask, deep, trial.threads).values()
        chosen = choose_weight(
            run, replace(model, of=None), trial.ask.truth(held), self.best, keep=self.keep, loss=self.loss,
            grid=[step / self.steps for step in range(self.steps + 1)], items=held.items, train=held.train,
            threads=trial.threads,
        )  # fmt: skip
        return (self._exhibit(chosen, model.weight),)

    def _exhibit(self, chosen: Weights, weight: float) -> Exhibit:
        metrics = chosen.table.columns[1 : chosen.table.columns.index("moved")]
        table = chosen.table.unpivot(
            on=metrics, index=["weight", "within", "chosen"], variable_name="metric", value_name="mean"
        ).with_columns(system=pl.lit(self.system), mark=pl.when("chosen").then(pl.lit("chosen")))
        return Exhibit(
            f"choose-weight-{self.system}", f"The weight of {self.system}", f"Chosen on {100 * self.validation:g} % of "
            f"the training data by {chosen.criterion}: {chosen.weight:g}. In this study {self.system} has {weight:g}.",
            table, "weight", "mean", "system", "metric", mark="mark",
        )  # fmt: skip


def held_out(fold: Fold, share: float, seed: int = 0) -> Fold:
    """Return a fold of the training part of ``fold``: a ``share`` of its events is for test, the others for training.

    The test events are drawn at random by ``seed``.
    """
    draws = derive_seed(seed, Weight.name)  # not those of the split: what is left has none below its share
    return replace(RandomSplit(test=share, seed=draws)(fold.train)[0], items=fold.items)


class Claim(NamedTuple):
    """A claim in words (``text``), with the number of ``cases`` in which it holds, out of the number examined (``of``).

    ``noun`` names a case, such as a cut-off, and ``holds`` says whether the claim as a whole holds.
    """

    text: str
    cases: int
    of: int
    noun: str
    holds: bool


class Trio(NamedTuple):
    """The names of the systems that stand for the three re-rankers of the paper."""

    mmr: str
    xquad: str
    spad: str


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
    at: int = 20
    steps: int = 10

    def validate(self) -> None:
        """Raise an error unless there are three names each, ``at`` is at least 2 and ``steps`` at least 1."""
        for field in ("ours", "literal"):
            if len(getattr(self, field).split()) not in ((3,) if field == "ours" else (0, 3)):
                raise self.refuse(field, "it must name an MMR, an xQuAD and a SPAD", f"{field}='MMR xQuAD SPAD'")
        self.require_at_least(at=2, steps=1)
        parse_metric(heading_at(self.subprofiles, 10))

    def __call__(self, trial: Trial) -> tuple[Exhibit, ...]:
        """Return a table of the claims, with the share of cases in which each holds for the systems in ``trial``."""
        forms = {name: Trio(*text.split()) for name, text in (("ours", self.ours), ("literal", self.literal)) if text}
        known = rerankers(trial, self)
        for name, kind, names in [*((one, "re-ranker", known) for one in itertools.chain(*forms.values())),
                                  (self.base, "system", trial.runs)]:  # fmt: skip
            require_known(name, names, "U108", f"there is no {kind} '{name}' among the systems", where=str(self))
        rows = [
            {
                "form": form,
                "claim": claim.text,
                "cases": claim.cases / claim.of,
                "verdict": f"{'holds' if claim.holds else 'fails'}: {claim.cases} of {claim.of} {claim.noun}",
            }
            for form, trio in forms.items()
            for claim in self._claims(trial, trio)
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

    def _claims(self, trial: Trial, trio: Trio) -> Iterator[Claim]:
        """Yield the claims of the paper about three re-rankers (``trio``) and the number of cases where each holds."""
        systems = (self.base, *trio)
        diversity = {"ild": trio.mmr, "alpha_ndcg": trio.xquad, self.subprofiles: trio.spad}
        curves = self._curves(trial, systems, (*diversity, *RELEVANCE))
        for (metric, best), text in zip(
            diversity.items(), ("ILD", "alpha-nDCG of features", "alpha-nDCG of subprofiles"), strict=True
        ):
            cases = _leads(curves, systems, metric, best, first=2 if metric == "ild" else 1)
            yield _always(f"{text} is highest for {('MMR', 'xQuAD', 'SPAD')[trio.index(best)]}", cases)
        for metric, text in RELEVANCE.items():
            yield _always(f"{text} is highest for SPAD", _leads(curves, systems, metric, trio.spad))
        orders = {
            metric: {_order(curves, systems[:3], metric, place) for place in range(self.at)} for metric in RELEVANCE
        }
        changing = sum(len(found) > 1 for found in orders.values())
        yield Claim(
            "Relevance orders MF, MMR and xQuAD differently by N", changing, len(orders), "metrics", changing > 0
        )
        yield from self._improvements(trial, trio, tuple(diversity))
        runs = {name: trial.runs[name] for name in systems}
        contest = sudden_death(runs, trial.truth, self.at, interval=None, threads=trial.threads)
        won = {(name, "won"): [contest.share(name, at + 1) for at in range(self.at)] for name in systems}
        yield _always("Sudden Death is highest for SPAD", _leads(won, systems, "won", trio.spad))
        farther = [
            _lead(won, systems, "won", trio.spad, place) > max(_lead(curves, systems, "hit", trio.spad, place), 0.0)
            for place in range(self.at)
        ]
        yield _always("Sudden Death puts SPAD farther ahead than 1-call", farther)

    def _curves(self, trial: Trial, systems: tuple[str, ...], metrics: tuple[str, ...]) -> Curves:
        """Return the means of the systems at every cut-off from 1 on, as a list for each (system, metric)."""
        headings = [heading_at(metric, k + 1) for metric in metrics for k in range(self.at)]
        scores = trial.score(headings, {name: trial.runs[name] for name in systems})
        means = {(row.system, row.metric): row.mean for row in scores.rows}
        return {
            (system, metric): [means[system, heading_at(metric, k + 1)] for k in range(self.at)]
            for system in systems
            for metric in metrics
        }

    def _improvements(self, trial: Trial, trio: Trio, diversity: tuple[str, ...]) -> Iterator[Claim]:
        """Yield the claims that SPAD gains both precision@10 and a diversity metric at 10, for most weights.

        There is a claim for each of three diversity metrics; ``trio`` names the system that stands for SPAD.
        """
        only = {trio.spad: trial.fitted[trio.spad]}
        metrics = [heading_at(metric, 10) for metric in diversity]
        costs = Costs(diversity=" ".join(metrics), steps=self.steps).seen_from(self.base, only, trial)
        shares = costs.share_of_weights()
        for metric, text in zip(metrics, ("ILD", "alpha-nDCG of features", "alpha-nDCG of subprofiles"), strict=True):
            gained = round(shares.filter(diversity=metric)["gains both"].item() * self.steps)
            words = f"For most weights SPAD gains precision and {text}"
            yield Claim(words, gained, self.steps, "weights", gained / self.steps > MOST)


def _always(text: str, cases: list[bool]) -> Claim:
    return Claim(text, sum(cases), len(cases), "cut-offs", all(cases))


def _leads(curves: Curves, systems: tuple[str, ...], metric: str, best: str, *, first: int = 1) -> list[bool]:
    """Return for each cut-off from ``first`` on whether ``best`` has at least the mean of every other system."""
    depth = len(curves[best, metric])
    return [_lead(curves, systems, metric, best, place) >= 0 for place in range(first - 1, depth)]


def _lead(curves: Curves, systems: tuple[str, ...], metric: str, best: str, place: int) -> float:
    """Return the mean of ``best`` under a metric at cut-off ``place`` + 1 minus the largest mean of the others."""
    return curves[best, metric][place] - max(curves[name, metric][place] for name in systems if name != best)


def _order(curves: Curves, systems: tuple[str, ...], metric: str, place: int) -> tuple[str, ...]:
    """Return the systems by descending mean of a metric at cut-off ``place`` + 1."""
    return tuple(sorted(systems, key=lambda name: -curves[name, metric][place]))
