"""What popularity alone earns: on generated logs in which it is the only signal, and in formulas for precision."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.api.judge import judge
from recassay.data.fold import Fold
from recassay.data.interactions import Interactions
from recassay.data.run import Run
from recassay.data.synthetic import fit_power_law, power_law
from recassay.designs import expect, parse
from recassay.experiments.base import Experiment, Trial, played
from recassay.metrics.registry import parse_metric, parse_metrics
from recassay.models.base.capabilities import Score, fitted_on_fold, score_function
from recassay.models.base.model import USERS_PER_BLOCK, checked_scores
from recassay.naming.named import AT_LEAST_2, COUNT, POSITIVE, Departure
from recassay.results.exhibit import Exhibit
from recassay.split.chance import RandomSplit
from recassay.split.debiased import UniformItems
from recassay.threads import blocks

POINTS = 101  # of a curve


@dataclass(frozen=True, repr=False)
class Popularity(Experiment):
    """Metrics of systems on generated logs with an increasingly steep popularity curve and no other signal.

    The k-th most popular item has ratings in proportion to a shifted power law, c1 + beta (c2 + k)^-alpha, with alpha
    from 0 to ``steepest`` in ``steps``. c1 and c2 are fitted to the whole data set, and rating values are drawn from
    its ratings. The size is that of the data set, or ``users``, ``items`` and ``ratings`` (0: that of the data set).
    ``metric`` is one or more, computed under ``design`` (which items are ranked; one that ends in NN samples ``n``). At
    alpha = 0 no system is better than chance, and one that follows training counts is worse: items over-represented in
    training are under-represented in test.

    A second exhibit shows the share of ratings of the most popular items, for each generated log and for the relevant
    ratings of the data set, with the share of users who have the top item. A third shows how many items have how many
    ratings.
    """

    name: ClassVar[str] = "popularity"
    departures: ClassVar[tuple[Departure, ...]] = (
        Departure(
            "target-sets",
            "The paper fits the popularity curve without saying how; recassay takes least squares of the logarithms of "
            "counts, with alpha of at most 2, because many logs fall faster than any power law.",
        ),
    )

    steepest: Annotated[float, POSITIVE] = 2.0
    steps: Annotated[int, AT_LEAST_2] = 11
    users: int = 0
    items: int = 0
    ratings: int = 0
    metric: str = "precision@10"
    design: str = "TI-1R-NN"
    n: Annotated[int, COUNT] = 99
    test: float = 0.2
    seed: int = 0

    def validate(self) -> None:
        """Raise an error if the metric or the design (which items are ranked) is unknown."""
        parse(self.design_text)
        parse_metrics(self.metric)

    @property
    def design_text(self) -> str:
        """Return the design as text, with the number of sampled items filled in."""
        return f"{self.design}({self.n})" if self.design.upper().endswith("NN") else self.design

    def __call__(self, trial: Trial) -> tuple[Exhibit, ...]:
        """Return figures of the systems in ``trial`` on logs of steeper and steeper popularity, and of these logs."""
        whole = whole_log(trial.fold)
        logs, liked = self.logs(whole), whole.take(whole.liked(trial.ask.relevant_from))
        tables = [self._judged(log, trial).with_columns(alpha=pl.lit(alpha)) for alpha, log in logs]
        named = {f"alpha {alpha:g}": log for alpha, log in logs}
        curves = [cumulative_curve(log, name) for name, log in {**named, "the data, relevant ratings": liked}.items()]
        counts = [count_distribution(log.item_events, name) for name, log in {**named, "the data": whole}.items()]
        data_top = curves[-1]["top_share"][0]
        several = len(parse_metrics(self.metric)) > 1
        return (
            Exhibit(
                "popularity", "Steeper popularity", f"{self.metric} under {self.design_text} on generated logs in "
                "which only popularity can be learned. What a popularity ranking gains here says nothing about tastes.",
                pl.concat(tables), "alpha", "mean", "system", "metric" if several else None, own_scales=several,
            ),
            Exhibit(
                "popularity-curves", "How many ratings the popular items have", "The share of all ratings that the "
                "most popular items have together, for each generated log and for the relevant ratings of the data. "
                f"The diagonal is equal popularity. {data_top:.1%} of the users of the data have a "
                "relevant rating of the same item, the top item.", pl.concat(curves), "items", "ratings", "log",
            ),
            Exhibit(
                "popularity-counts", "How many items have how many ratings", "The share of items with at least this "
                "many ratings, both axes logarithmic.", pl.concat(counts), "ratings", "items", "log", log_x=True,
                log_y=True,
            ),
        )  # fmt: skip

    def logs(self, whole: Interactions) -> list[tuple[float, Interactions]]:
        """Return (alpha, generated log) for each exponent alpha of the popularity curve.

        The constants of the curve and the rating values are those of the data set ``whole``.
        """
        users, items = self.users or whole.n_users, self.items or whole.n_items
        ratings = self.ratings or len(whole)
        c1, c2, _ = fit_power_law(whole, steepest=self.steepest)
        per_item = ratings / items  # c1 is a number of ratings: it grows with the log
        c1 = min(c1 * per_item * np.count_nonzero(whole.item_events) / len(whole), 0.9 * per_item)
        make = functools.partial(power_law, users=users, items=items, ratings=ratings, c1=c1, c2=c2, seed=self.seed)
        return [
            (alpha, make(alpha=alpha, values=rating_values(whole)))
            for alpha in np.linspace(0, self.steepest, self.steps).round(6).tolist()
        ]

    def _judged(self, log: Interactions, trial: Trial) -> pl.DataFrame:
        """Return a row per metric and system, fitted on a generated log: its ``mean``, and that of a random order."""
        fold = RandomSplit(test=self.test, seed=self.seed)(log)[0]
        models = {name: model for name, model in trial.models.items() if not isinstance(model, Run)}  # of other users
        fitted = {name: fitted_on_fold(model, fold) for name, model in models.items()}
        found = judge(
            played(fitted, fold, trial.ask, threads=trial.threads),
            self.design_text,
            self.metric,
            short="all",
            variance=False,
            interval=None,
            threads=trial.threads,
        )
        return found.summary().select("metric", "system", "mean", "random")


def whole_log(fold: Fold) -> Interactions:
    """Return training, validation and test part of a fold as one log."""
    parts = [fold.train, *([] if fold.validation is None else [fold.validation]), fold.test]
    return functools.reduce(Interactions.concat, parts)


def rating_values(log: Interactions) -> Mapping[float, float]:
    """Return each rating value of a log with the number of its ratings; ``{1.0: 1.0}`` for a log without ratings.

    >>> log = Interactions.from_frame(pl.DataFrame({"user_id": [1, 1, 2], "item_id": [7, 8, 7], "rating": [9, 6, 9]}))
    >>> rating_values(log)
    {6.0: 1.0, 9.0: 2.0}
    """
    if log.ratings is None:
        return {1.0: 1.0}
    values, counts = np.unique(log.ratings, return_counts=True)
    return dict(zip(values.astype(np.float64).tolist(), counts.astype(np.float64).tolist(), strict=True))


def cumulative_curve(log: Interactions, label: str) -> pl.DataFrame:
    """Return the share of all ratings that the most popular items have, for equally spaced shares of the items.

    ``label`` names the log in the table. ``top_share`` is the share of its users who rated the most popular item.

    >>> log = Interactions.from_frame(pl.DataFrame({"user_id": [1, 2, 3, 1], "item_id": [7, 7, 7, 8]}))
    >>> cumulative_curve(log, "log").rows()[50], cumulative_curve(log, "log").rows()[-1]
    ((0.5, 0.75, 'log', 1.0), (1.0, 1.0, 'log', 1.0))
    """
    ordered = np.sort(log.item_events)[::-1]
    share = np.append(0, np.cumsum(ordered)) / max(int(ordered.sum()), 1)
    places = np.linspace(0, 1, POINTS)
    at = np.interp(places * ordered.size, np.arange(ordered.size + 1), share)
    top = int(log.item_users.max(initial=0)) / max(log.n_users, 1)
    return pl.DataFrame({"items": places, "ratings": at, "log": [label] * POINTS, "top_share": [top] * POINTS})


def count_distribution(counts: NDArray[np.integer], label: str) -> pl.DataFrame:
    """Return the share of items with at least n ratings, for up to a hundred values of n.

    ``counts`` are the ratings of each item, and ``label`` names the log in the table.

    >>> count_distribution(np.array([1, 3, 3]), "log").rows()
    [(1, 1.0, 'log'), (3, 0.666..., 'log')]
    """
    ordered = np.sort(counts[counts > 0])
    values = np.unique(ordered)
    values = values[np.unique(np.linspace(0, values.size - 1, min(values.size, POINTS)).round().astype(int))]
    share = 1 - np.searchsorted(ordered, values) / max(ordered.size, 1)
    return pl.DataFrame({"ratings": values.astype(np.int64), "items": share, "log": [label] * values.size})


@dataclass(frozen=True, repr=False)
class Formulas(Experiment):
    """Published formulas for the precision of a random order, sigma |PR| / (t |U|) (AR) and 1/t (1R), and exact values.

    sigma is the share of ratings in the test part, PR are the positive ratings of the whole data set, U the users, and
    t is the harmonic mean of the sizes of target sets (the items that are ranked together). In AR designs all relevant
    items of a user are in one target set, in 1R designs each is in a set of its own. The formulas average over splits;
    the exact values are those of the split at hand.

    A second exhibit has equation 3, the expected AR precision of a system that gives everyone the same list, and the
    bounds of section 5.1 on its 1R precision. C are the candidates, n is the cut-off ``k``, and PR_test(u) are the
    positive ratings of user u in the test part. With L(u, n) the number of positive ratings, training included, of the
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
        metric, standings = {heading: parse_metric(heading)}, trial.standings()
        whole, test = whole_log(trial.fold), trial.fold.test
        liked_by = np.bincount(whole.items[whole.liked(trial.ask.relevant_from)], minlength=whole.n_items)  # |PR(i)|
        share, positive = len(test) / len(whole), int(liked_by.sum())  # sigma and |PR|
        users = next(iter(standings.values())).users
        every, tested = np.ones(whole.n_items, np.bool_), np.bincount(test.items, minlength=whole.n_items) > 0
        rows: list[dict[str, Any]] = []
        listed: list[dict[str, Any]] = []
        only_tested = trial.fold.how.get("name") == UniformItems.name  # other items would be sure misses
        for base, candidates in {"TI": tested}.items() if only_tested else {"AI": every, "TI": tested}.items():
            measured: dict[str, dict[str, float]] = {}
            t = dict[str, float]()
            for kind in ("AR", "1R"):
                design = parse(f"{base}-{kind}-AN")
                found = {name: expect(one, design, metric, variance=False) for name, one in standings.items()}
                first = next(iter(found.values()))
                t[kind] = first.t
                measured[kind] = {name: one.outcomes[heading].mean for name, one in found.items()}
                formula = share * positive / (first.t * users) if kind == "AR" else 1 / first.t
                values = {"formula": formula, "exact": first.outcomes[heading].random, **measured[kind]}
                rows += [
                    {"design": str(design), "t": first.t, "what": what, "value": one} for what, one in values.items()
                ]
            scale = int(candidates.sum()) / (self.k * t["AR"])
            for name, fitted in trial.fitted.items():
                if (score := score_function(fitted)) is None:
                    continue
                shallow, deep = self._list_popularity(trial, score, candidates, liked_by, users)
                low, high = scale * shallow / positive, scale * deep / positive
                listed += [
                    {
                        "design": f"{base}-{kind}-AN",
                        "system": name,
                        "what": what,
                        "value": value,
                        "low": least,
                        "high": most,
                    }
                    for kind, what, value, least, most in (
                        ("AR", "measured", measured["AR"][name], None, None),
                        ("AR", "equation 3", share * scale * shallow / users, None, None),
                        ("1R", "measured", measured["1R"][name], None, None),
                        ("1R", "bounds", (low + high) / 2, low, high),
                    )
                ]
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

    def _list_popularity(
        self, trial: Trial, score: Score, candidates: NDArray[np.bool_], liked_by: NDArray[np.int64], n_users: int
    ) -> tuple[float, float]:
        """Return how many positive ratings the first candidates of a user's list have in the log, as means over users.

        Return two means: over the first k candidates, and over the first k - 1 plus the user's number of relevant test
        items. ``liked_by`` are the positive ratings of each item. ``score`` orders the items in ``candidates``, a mask.
        """
        log, test = trial.fold.train, trial.fold.test
        relevant = np.bincount(test.users[test.liked(trial.ask.relevant_from)], minlength=test.n_users)
        offsets, profile = log.by_user
        sums = np.zeros(2)
        for begin, end in blocks(n_users, USERS_PER_BLOCK):
            users = np.arange(begin, end, dtype=np.int32)
            block = np.append(users, np.zeros(USERS_PER_BLOCK - users.size, np.int32))
            table = np.array(checked_scores(score(block), (block.size, log.n_items), "the model")[: users.size])
            table[:, ~candidates] = -np.inf
            for row, user in enumerate(users):
                table[row, profile[offsets[user] : offsets[user + 1]]] = -np.inf
                listed = np.argsort(-table[row], kind="stable")
                listed = listed[np.isfinite(table[row, listed])]
                earned = np.append(0, np.cumsum(liked_by[listed]))
                depths = np.array([self.k, self.k + relevant[user] - 1])
                sums += earned[np.minimum(depths, listed.size)]
        low, high = (sums / max(n_users, 1)).tolist()
        return low, high
