"""Published approximations of precision, compared with the exact values."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.data.standings import Standings
from recassay.designs import expect, parse
from recassay.experiments.base import Experiment, Trial
from recassay.experiments.popularity import whole_log
from recassay.metrics.registry import parse_metric
from recassay.models.base.capabilities import Score, score_function
from recassay.models.base.model import USERS_PER_BLOCK, checked_scores
from recassay.naming.named import Departure
from recassay.results.exhibit import Exhibit
from recassay.split.debiased import UniformItems
from recassay.threads import blocks


@dataclass(frozen=True, repr=False)
class Formulas(Experiment):
    """Published formulas for the precision of a random order, sigma |PR| / (t |U|) (AR) and 1/t (1R), and exact values.

    In AR designs all relevant items of a user are in one target set, in 1R designs each is in a set of its own. The
    formulas average over splits and take the harmonic mean t of the sizes of target sets; the exact values are those of
    the split at hand.

    A second exhibit has equation 3, the expected AR precision of a system that gives everyone the same list, and the
    bounds of section 5.1 on its 1R precision. With L(u, n) the number of positive ratings, training included, of the
    first n candidates that the system lists for user u, equation 3 is sigma |C| / (n t |U|) times the mean over u of
    L(u, n). The bounds are |C| / (n t |PR|) times the mean of L(u, n), and of L(u, n + |PR_test(u)| - 1). In all of
    them t is that of AR: the bounds are those of the lemma, with equation 3 for its AR precision. They hold for systems
    without personalisation; for others they say what the popularity of a list alone would earn. Means are over all
    users. Systems that return lists without scores are left out.
    """

    name: ClassVar[str] = "formulas"
    departures: ClassVar[tuple[Departure, ...]] = (
        Departure(
            "target-sets",
            "The paper prints all items, |I|, in the lower bound of section 5.1 and the candidates, |C|, in the upper "
            "one; recassay takes |C| in both, which is what equation 3 gives.",
        ),
    )

    k: int = 10

    def __call__(self, trial: Trial) -> tuple[Exhibit, ...]:
        """Return two tables: published formulas beside exact and measured precision, and equation 3 with the bounds."""
        heading = f"precision@{self.k}"
        metric = {heading: parse_metric(heading)}
        facts = _Facts.of(trial)
        rows: list[dict[str, Any]] = []
        listed: list[dict[str, Any]] = []
        only_candidates = trial.fold.how.get("name") == UniformItems.name  # other items would be sure misses
        for base in ("TI",) if only_candidates else ("AI", "TI"):
            measured: dict[str, dict[str, float]] = {}
            t_together = math.nan
            for kind in ("AR", "1R"):
                design = parse(f"{base}-{kind}-AN")
                found = {name: expect(one, design, metric, variance=False) for name, one in trial.standings().items()}
                first = next(iter(found.values()))
                if kind == "AR":
                    t_together = first.t
                formula = facts.share * facts.positive / (first.t * facts.users) if kind == "AR" else 1 / first.t
                measured[kind] = {name: one.outcomes[heading].mean for name, one in found.items()}
                values = {"formula": formula, "exact": first.outcomes[heading].random, **measured[kind]}
                same = {"design": str(design), "t": first.t}
                rows += [{**same, "what": what, "value": value} for what, value in values.items()]
            for name, fitted in trial.fitted.items():
                if (score := score_function(fitted)) is not None:
                    sums = self._list_popularity(facts, score, base)
                    listed += self._listed(facts, base, name, sums, t_together, measured)
        return (
            Exhibit(
                "formulas", "Scores of a random order", "Equations 4 and 5 of the study of target sets beside the "
                f"exact mean {heading} of a random order, and of the systems.", pl.DataFrame(rows), "design", "value",
                "what", kind="bar",
            ),
            Exhibit(
                "formulas-lists", "Scores from popularity alone", f"The mean {heading} of each system, and what "
                "the same list would score if only popularity counted: equation 3 for AR, the range of section 5.1 for "
                "1R.", pl.DataFrame(listed, infer_schema_length=None), "value", "system", "what", "design", low="low",
                high="high", kind="dot",
            ),
        )  # fmt: skip

    def _listed(
        self,
        facts: _Facts,
        base: str,
        system: str,
        sums: tuple[float, float],
        t: float,
        measured: dict[str, dict[str, float]],
    ) -> Iterator[dict[str, Any]]:
        """Yield rows of the measured precision of a system beside equation 3 (AR) or the bounds of section 5.1 (1R).

        The equation and the bounds are those in the docstring of the class. In AR designs all relevant items of a user
        are ranked together, in 1R designs each on its own. ``base`` says what candidates are: AI, all items, or TI,
        items with a test rating. ``facts`` are counts of the fold, ``sums`` are the two means that
        :meth:`_list_popularity` returns, ``t`` is the harmonic mean size of the AR target sets (what is ranked
        together), and ``measured`` has the measured values of all systems.
        """
        shallow, deep = sums
        candidates = facts.n_items if base == "AI" else int(facts.tested.sum())
        scale = candidates / (self.k * t)
        for kind, values in measured.items():
            row = {"design": f"{base}-{kind}-AN", "system": system}
            bare: dict[str, float | None] = {"low": None, "high": None}
            yield {**row, "what": "measured", "value": values[system], **bare}
            if kind == "AR":
                value = facts.share * scale * shallow / facts.users
                yield {**row, "what": "equation 3", "value": value, **bare}
            else:
                low, high = scale * shallow / facts.positive, scale * deep / facts.positive
                yield {**row, "what": "bounds", "value": (low + high) / 2, "low": low, "high": high}

    def _list_popularity(self, facts: _Facts, score: Score, base: str) -> tuple[float, float]:
        """Return how many positive ratings the first candidates of a user's list have in the log, as means over users.

        Return two means: over the first k candidates, and over the first k - 1 plus the user's number of relevant test
        items. Ratings of the training part count too. ``score`` orders the candidates; ``base`` says what they are: AI,
        all items, or TI, items with a test rating.
        """
        log = facts.train
        offsets, profile = log.by_user
        sums = np.zeros(2)
        for begin, end in blocks(facts.users, USERS_PER_BLOCK):
            users = np.arange(begin, end, dtype=np.int32)
            block = np.append(users, np.zeros(USERS_PER_BLOCK - users.size, np.int32))
            table = np.array(checked_scores(score(block), (block.size, log.n_items), "the model")[: users.size])
            if base == "TI":
                table[:, ~facts.tested] = -np.inf
            for row, user in enumerate(users):
                table[row, profile[offsets[user] : offsets[user + 1]]] = -np.inf
                listed = np.argsort(-table[row], kind="stable")
                listed = listed[np.isfinite(table[row, listed])]
                earned = np.append(0, np.cumsum(facts.liked_by[listed]))
                depths = np.array([self.k, self.k + facts.relevant[user] - 1])
                sums += earned[np.minimum(depths, listed.size)]
        low, high = (sums / max(facts.users, 1)).tolist()
        return low, high


@dataclass(frozen=True, eq=False)
class _Facts:
    """Counts of a log, in the symbols of the paper: ``share`` is sigma, ``positive`` |PR|, ``liked_by`` |PR(i)|.

    PR are the positive ratings of the whole log, and sigma is the share of all ratings that is in the test part.
    ``relevant`` is |PR_test(u)|. ``tested`` marks the items with a test rating.
    """

    train: Any
    share: float
    positive: int
    users: int
    n_items: int
    liked_by: NDArray[np.int64]
    relevant: NDArray[np.int64]
    tested: NDArray[np.bool_]

    @classmethod
    def of(cls, trial: Trial) -> _Facts:
        fold, threshold = trial.fold, trial.ask.relevant_from
        whole, test = whole_log(fold), fold.test
        liked, liked_test = whole.liked(threshold), test.liked(threshold)
        standings: Standings = next(iter(trial.standings().values()))
        return cls(
            train=fold.train,
            share=len(test) / len(whole),
            positive=int(liked.sum()),
            users=standings.users,
            n_items=whole.n_items,
            liked_by=np.bincount(whole.items[liked], minlength=whole.n_items),
            relevant=np.bincount(test.users[liked_test], minlength=test.n_users),
            tested=np.bincount(test.items, minlength=test.n_items) > 0,
        )
