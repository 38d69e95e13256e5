"""The claims of the paper on Sudden Death about three re-rankers, and how often each holds."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import polars as pl

from recassay.engine.decisions.sudden_death import sudden_death
from recassay.errors import UsageError
from recassay.experiments.base import Experiment, Trial
from recassay.experiments.lists import heading_at
from recassay.experiments.rerankers import Costs, rerankers
from recassay.metrics.registry import parse_metric
from recassay.naming.grammar import suggest
from recassay.results.exhibit import Exhibit

RELEVANCE = {"precision": "precision", "mrr": "MRR", "hit": "1-call"}
MOST = 0.5  # of the weights
Curves = Mapping[tuple[str, str], list[float]]  # means by system and metric, at every cut-off


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
            if name not in names:
                what = f"there is no {kind} '{name}' among the systems"
                raise UsageError("U108", what, where=str(self), hint=suggest(name, names))
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
