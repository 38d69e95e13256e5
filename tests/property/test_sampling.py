"""Drawn target sets against their readable twin, against the laws they follow, and against the closed forms."""

import itertools

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import recassay as ra
from recassay.columnar.identity import mix
from recassay.data.interactions import Interactions
from recassay.data.synthetic import log
from recassay.engine.ranks import sampling
from recassay.engine.ranks.sampling import sample
from recassay.metrics.registry import parse_metrics

from ..examples import examples
from ..refusals import refused

DRAWS = 20_000
METRICS = parse_metrics(
    "precision@2 recall@3 recall(divide_by='reachable')@2 hit@2 hit(form='count')@3 mrr mrr@2 map map(divide_by='k')@3 "
    "ndcg@3 ndcg dcg@2 rprec auc stratified_recall(weighting='equal')@3"
)
DESIGNS = ra.designs.parse_list(
    "TI-AR-AN AI-1R-AN TI-AR-NN(3) TI-1R-NN(3) AI-AR-NN(4) TI-AR-NN(3, replace=True) TI-1R-NN(3, by='popularity') "
    "AI-AR-NN(3, by='popularity') PAR(bins=2, n=1) P1R(bins=2) rated_only TI-1R-NN(3, resample='per_rating') "
    "P1R(bins=2, n=1, resample='per_rating')"
)
LOG = log(users=12, items=16, events=90, seed=3)
FOLD = ra.split.random(test=0.35, seed=1)(LOG)[0]


class Grades:
    """A system with few different scores, so that much of the order is left to ties."""

    def __init__(self, fold, kinds):
        self.log, self.kinds = fold.train, kinds

    def scores(self, users):
        place = users[:, None].astype(np.int64) * 7 + np.arange(self.log.n_items)[None, :] * 3
        return (place % 11 % self.kinds).astype(np.float64)

    def recommend(self, users, k):
        return ra.models.base.best_unseen(self.scores, self.log, users, k)


def played(kinds=4, fold=FOLD, **more):
    return ra.play(Grades(fold, kinds), fold, ra.protocols.ranking(bins=2, **more), name=f"grades{kinds}")


@pytest.mark.parametrize("kinds", [3, 100])
def test_means_and_variances_are_those_of_the_closed_forms(kinds):
    """The draws work from scores and ids, the closed forms from counts: neither knows of the other."""
    run = played(kinds)
    drawn = sample(run, DESIGNS, METRICS, draws=DRAWS, short="all")
    largest = 0.0
    for design, one in zip(DESIGNS, drawn, strict=True):
        exact = ra.designs.expect(run.standings, design, METRICS, short="all")
        assert (one.judged.sets, one.judged.users, one.judged.rho) == (exact.sets, exact.users, exact.rho)
        for heading in METRICS:
            mine, law = one.judged.outcomes[heading], exact.outcomes[heading]
            error = np.sqrt(mine.variance / DRAWS)
            gap = abs(mine.mean - law.mean)
            assert gap <= 4 * error + 1e-12, (str(design), heading)
            largest = max(largest, gap / error if error > 1e-9 else 0.0)
            assert (mine.random, mine.best) == (law.random, law.best)
            if not np.isnan(law.variance):
                assert mine.variance == pytest.approx(law.variance, rel=0.08, abs=1e-12), (str(design), heading)
    assert largest > 0.5  # there was noise to see


def twin(scores, keys, weight, drawn, law, seeds, levels, level_keys):
    """The kernel, as one would say it: draw, then sort everything by score and lot."""
    unit = lambda key: ((key >> np.uint64(11)).astype(float) + 0.5) * 2.0**-53  # noqa: E731
    above, place, check = [], [], 0
    for seed in seeds:
        if law == sampling.REPLACED:
            reach = np.cumsum(weight)
            at = unit(mix(seed + mix(np.arange(drawn, dtype=np.uint64)))) * reach[-1]
            chosen = np.searchsorted(reach, at, side="right")
        else:
            half = (drawn + 1) // 2 if law == sampling.MIXED else drawn
            number = unit(mix(seed ^ keys))
            if law == sampling.MASS:
                number = -np.log(number) / weight
            chosen = np.argsort(number, kind="stable")[:half]
            if law == sampling.MIXED:
                number = -np.log(unit(mix(mix(np.array([seed ^ sampling.SECOND_HALF])) ^ keys))) / weight
                number[chosen] = np.inf
                chosen = np.append(chosen, np.argsort(number, kind="stable")[: drawn - half])
        check += int(sum(int(one) for one in mix(seed ^ keys[chosen])))
        lots = mix(mix(seed ^ keys[chosen] ^ sampling.TIES)).tolist()  # of an item, however often it was drawn
        mine = mix(mix(seed ^ level_keys ^ sampling.TIES)).tolist()
        others = list(zip(scores[chosen].tolist(), lots, strict=True))
        relevant = list(zip(levels.tolist(), mine, strict=True))
        above.append([sum(other > one for other in others) for one in relevant])
        place.append([sum(other > one for other in relevant) for one in relevant])
    return np.array(above), np.array(place), check % 2**64


@given(st.integers(0, 2**32), st.integers(1, 30), st.integers(1, 4), st.sampled_from([0, 1, 2, 3]), st.integers(0, 40))
@settings(max_examples=examples(60), deadline=None)
def test_the_kernel_is_its_twin(seed, candidates, relevant, law, drawn):
    rng = np.random.default_rng(seed)
    drawn = drawn if law == sampling.REPLACED else min(drawn, candidates)
    draw_keys = lambda n: rng.integers(0, 2**64, n, dtype=np.uint64)  # noqa: E731
    scores, levels = rng.integers(0, 4, candidates).astype(float), rng.integers(0, 4, relevant).astype(float)
    weight = np.ones(candidates) if law == sampling.UNIFORM else rng.integers(1, 9, candidates).astype(float)
    arguments = (scores, draw_keys(candidates), weight, drawn, law, draw_keys(5), levels, draw_keys(relevant))
    above, place = (np.empty((5, relevant), np.int32) for _ in range(2))
    check = sampling.draw(*arguments, above, place)
    expected = twin(*arguments)
    assert (above == expected[0]).all()
    assert (place == expected[1]).all()
    assert int(check) == expected[2]


def test_by_popularity_without_replacement_is_one_draw_after_the_other():
    """The chance of every set of 2 of 4: drawn in turn, each time in proportion to the weights of those left."""
    weight, n = np.array([1.0, 2.0, 3.0, 6.0]), 40_000
    keys, seeds = mix(np.arange(4, dtype=np.uint64)), mix(np.arange(100, n + 100, dtype=np.uint64))
    chosen, seen = np.empty(2, np.int64), dict.fromkeys(itertools.combinations(range(4), 2), 0)
    for seed in seeds:
        sampling.pick_smallest(keys, weight, sampling.MASS, seed, chosen)
        seen[tuple(chosen)] += 1
    for a, b in seen:
        total = weight.sum()
        chance = weight[a] / total * weight[b] / (total - weight[a]) + weight[b] / total * weight[a] / (
            total - weight[b]
        )
        assert abs(seen[a, b] / n - chance) < 4 * np.sqrt(chance * (1 - chance) / n)


def test_what_has_no_weight_is_drawn_last_and_sets_are_nested():
    weight = np.array([0.0, 5.0, 0.0, 1.0, 2.0])
    keys = mix(np.arange(5, dtype=np.uint64))
    for seed in mix(np.arange(50, dtype=np.uint64)):
        sets = []
        for size in range(1, 4):
            chosen = np.empty(size, np.int64)
            sampling.pick_smallest(keys, weight, sampling.MASS, seed, chosen)
            sets.append(set(chosen.tolist()))
        assert sets[0] < sets[1] < sets[2] == {1, 3, 4}


def checksums(run, **more):
    return [one.checksum for one in sample(run, DESIGNS, METRICS, draws=3, short="all", **more)]


def test_all_systems_meet_the_same_candidates():
    assert checksums(played(3)) == checksums(played(100))
    assert checksums(played(3)) != checksums(played(3), seed=1)
    one_relevant, all_relevant = (DESIGNS.index(ra.designs.parse(text)) for text in ("TI-1R-NN(3)", "TI-AR-NN(3)"))
    found = checksums(played(3))
    assert found[one_relevant] == found[all_relevant]


def test_the_same_bits_on_any_number_of_threads_and_in_any_order_of_rows():
    big = log(users=150, items=40, events=2_000, seed=3)
    order = np.random.default_rng(0).permutation(len(big))
    designs = ra.designs.parse_list("TI-AR-NN(5) TI-1R-NN(5, by='popularity')")
    values = []
    for rows, threads in ((big, 1), (big, 4), (big.take(order), 2)):
        fold = ra.split.random(test=0.2, seed=7)(rows)[0]
        run = ra.play(ra.models.Popular(), fold, ra.protocols.ranking())
        found = sample(run, designs, METRICS, draws=5, threads=threads)
        values.append([(one.checksum, [outcome.mean for outcome in one.judged.outcomes.values()]) for one in found])
    assert values[0] == values[1] == values[2]


def test_draws_of_a_user_do_not_depend_on_other_users():
    frame = LOG.frame() if hasattr(LOG, "frame") else None
    assert frame is not None
    last = frame["user_id"].max()
    fewer = Interactions.from_frame(frame.filter(pl.col("user_id") != last))
    uniform = ra.designs.parse_list("AI-AR-NN(3)")
    by_user = []
    for rows in (LOG, fewer):
        fold = ra.split.random(test=0.35, seed=1)(rows)[0]
        run = ra.play(Grades(fold, 100), fold, ra.protocols.ranking(bins=0), name="grades")
        (one,) = sample(run, uniform, METRICS, draws=4, short="all")
        ids = fold.train.user_vocabulary.decode(np.unique(fold.test.users)).to_list()
        by_user.append(dict(zip(ids, one.judged.outcomes["mrr"].values.tolist(), strict=True)))
    shared = by_user[0].keys() & by_user[1].keys() - {last}
    assert len(shared) > 5
    assert all(by_user[0][user] == by_user[1][user] for user in shared)


def test_popular_candidates_without_replacement():
    run = played(100)
    (design,) = ra.designs.parse_list("AI-AR-NN(3, by='popularity', replace=False)")
    assay = ra.judge(run, [design], "mrr precision@1", method="sample", draws=50, interval=None)
    assert 0 < assay.rows[0].mean < assay.rows[0].best
    assert set(assay.settings["checksums"]) == {str(design)}
    with refused("U122"):
        ra.judge(run, [design], "mrr", interval=None)
    with refused("U120"):
        ra.judge(run, "AI-AR-NN(16, by='popularity', replace=False)", "mrr", method="sample", interval=None)


def test_mixed_samples_are_drawn_and_have_no_closed_form():
    run, text = played(100), "AI-1R-NN(4, by='mixed')"
    assay = ra.judge(run, text, "mrr precision@1", method="sample", draws=200, interval=None)
    uniform, popular = (
        ra.judge(run, f"AI-1R-NN(4, by='{by}', replace=False)", "mrr", method="sample", draws=200, interval=None)
        for by in ("uniform", "popularity")
    )
    low, high = sorted(one.rows[0].mean for one in (uniform, popular))
    assert low - 0.02 < assay.rows[0].mean < high + 0.02
    assert assay.rows[0].random == uniform.rows[0].random
    with refused("U122", match="half by popularity has no closed form"):
        ra.judge(run, text, "mrr", interval=None)
    with refused("U118", match="different items"):
        ra.designs.parse("AI-1R-NN(4, by='mixed', replace=True)")


def test_judging_by_samples_gives_the_table_that_exact_judging_gives():
    runs = [played(3), played(100)]
    exact, drawn = (
        ra.judge(runs, "TI-AR-NN(3) TI-1R-NN(3)", "ndcg@3 mrr", method=method, draws=400, short="all", resamples=200)
        for method in ("exact", "sample")
    )
    for one, other in zip(exact.rows, drawn.rows, strict=True):
        assert (one.system, one.design, one.metric, one.n) == (other.system, other.design, other.metric, other.n)
        assert abs(one.mean - other.mean) < 4 * one.sd_draws / 20
    assert drawn.settings["draws"] == 400


@pytest.mark.parametrize(
    ("ask", "code", "words"),
    [
        (lambda run: {"draws": 0}, "U102", "draws must be a whole number from 1"),
        (lambda run: {"runs": run.standings}, "U122", "standings only"),
        (lambda run: {"runs": ra.play(ra.read_run(run.frame(), "read"), FOLD, ra.protocols.ranking(bins=2))}, "U122",
         "no fitted system with scores"),
        (lambda run: {"metrics": "bpref"}, "U110", "needs no target set"),
        (lambda run: {"method": "guess"}, "U107", "guess"),
    ],
)  # fmt: skip
def test_what_cannot_be_drawn_is_refused(ask, code, words):
    run = played(3)
    arguments = {"runs": run, "designs": "TI-AR-AN", "metrics": "mrr", "method": "sample"} | ask(run)
    with refused(code, match=words):
        ra.judge(arguments.pop("runs"), arguments.pop("designs"), arguments.pop("metrics"), **arguments)
