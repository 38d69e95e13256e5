"""`score` against an evaluator that anybody can read: plain dicts, lists and loops."""

import itertools
import math
from statistics import fmean

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recassay.data.run import Run
from recassay.data.truth import Truth
from recassay.engine.lists.job import Job
from recassay.metrics.align import Conventions, align
from recassay.metrics.base import truth_statistics_for
from recassay.metrics.context import Context
from recassay.metrics.registry import parse_metric
from recassay.metrics.ties import ARBITRARY

from .. import scoring
from ..examples import examples
from ..refusals import refused

USERS, ITEMS = range(5), range(7)
ANCHOR = (0, 0)  # a user and item in every truth and run: files that share nothing are refused

judgements = st.dictionaries(
    st.tuples(st.sampled_from(USERS), st.sampled_from(ITEMS)), st.sampled_from([0.0, 1.0, 2.0, 3.0]), max_size=20
).map(lambda rows: {ANCHOR: 1.0} | rows)
answers = st.lists(
    st.tuples(st.sampled_from([*USERS, 9]), st.sampled_from(ITEMS), st.sampled_from([0.0, 0.25, 0.5, 1.0])), max_size=24
).map(lambda rows: [(*ANCHOR, 0.25), *rows])


# The evaluator. A list is a sequence of gains by position, None where an item is not judged.


def ranked(rows, user):
    """Items of a user's list with their scores: by score, then id, the first of each item."""
    own = sorted((row for row in rows if row[0] == user), key=lambda row: (-row[2], row[1]))
    kept = {}
    for _, item, score in own:
        kept.setdefault(item, score)
    return list(kept.items())


def orders(items, gains, ties):
    """The sequences of gains that a tie policy allows for a list."""
    groups = [[item for item, _ in group] for _, group in itertools.groupby(items, key=lambda pair: pair[1])]
    if ties == "id":
        ways = [[sorted(group)] for group in groups]
    elif ties == "expected":
        ways = [list(itertools.permutations(group)) for group in groups]
    else:
        sign = -1 if ties == "optimistic" else 1
        ways = [[sorted(group, key=lambda item: sign * gains.get(item, -1.0))] for group in groups]
    for choice in itertools.product(*ways):
        yield [gains.get(item) for group in choice for item in group]


def plain_value(metric, seen, gains, top):
    """A metric of one sequence of gains, straight from its formula."""
    p = metric.parameters
    hit = [gain is not None and gain >= p["relevant_from"] for gain in seen]
    relevant = sum(gain >= p["relevant_from"] for gain in gains.values())
    k = len(seen) if metric.k is None else metric.k
    hits, shown = sum(hit[:k]), min(k, len(seen))
    match metric.name:
        case "precision":
            below = {"k": k, "list": shown, "relevant": min(k, relevant)}[p["divide_by"]]
            return hits / below if below else 0.0
        case "recall":
            return hits / (relevant if p["divide_by"] == "relevant" or metric.k is None else min(relevant, k))
        case "f1":
            b, places = p["beta"] ** 2, k if p["divide_by"] == "k" else shown
            return (1 + b) * hits / (b * relevant + places)
        case "hit":
            return float(hits > 0) if p["form"] == "any" else float(hits)
        case "mrr":
            return next((1 / rank for rank, one in enumerate(hit[:k], 1) if one), 0.0)
        case "map":
            total = sum(sum(hit[:rank]) / rank for rank, one in enumerate(hit[:k], 1) if one)
            bound = math.inf if metric.k is None else k
            below = {
                "relevant": relevant,
                "reachable": min(relevant, bound),
                "list": min(relevant, bound, len(seen)),
                "hits": hits,
                "k": k,
            }[p["divide_by"]]
            return total / below if below else 0.0
        case "rprec":
            return sum(hit[:relevant]) / relevant
        case "rbp":
            worth = hit if p["scale"] is None else [(gain or 0.0) / p["scale"] for gain in seen]
            return (1 - p["p"]) * sum(one * p["p"] ** place for place, one in enumerate(worth[:k]))
        case "err":
            value, going_on = 0.0, 1.0
            for rank, gain in enumerate(seen[:k], 1):
                stops = (2 ** (gain or 0.0) - 1) / 2**top
                value += going_on * stops / rank
                going_on *= 1 - stops
            return value
        case "dcg" | "ndcg":
            return plain_ndcg(metric, seen, gains, k)


def plain_ndcg(metric, seen, gains, k):
    p = metric.parameters

    def worth(gain):
        if gain is None:
            return 0.0
        if p["gain"] == "binary":
            return float(gain >= p["relevant_from"])
        return gain if p["gain"] == "linear" else 2**gain - 1

    def cumulated(values):
        discount = {"log2p1": lambda rank: math.log2(rank + 1), "jk": lambda rank: max(1.0, math.log2(rank))}
        return sum(value / discount[p["discount"]](rank) for rank, value in enumerate(values, 1))

    achieved = cumulated([worth(gain) for gain in seen[:k]])
    if metric.name == "dcg":
        return achieved
    judged = sorted(map(worth, gains.values()), reverse=True)
    within = sorted(map(worth, seen[:k]), reverse=True)
    ideal = {
        "judged": lambda: cumulated(judged if metric.k is None else judged[:k]),
        "retrieved": lambda: cumulated(within),
        "k": lambda: cumulated([1.0] * k),
    }[p["ideal"]]()
    undefined = math.nan if p["ideal"] == "judged" else 0.0
    return achieved / ideal if ideal else undefined


def plain(metric, truth, rows, ties="id"):
    """The value of every user of the truth."""
    judged_users = sorted({user for user, _ in truth})
    with_list = {row[0] for row in rows}
    top = max(1.0, *truth.values())
    values = []
    for user in judged_users:
        gains = {item: gain for (owner, item), gain in truth.items() if owner == user}
        if metric.parameters["missing"] == "skip" and user not in with_list:
            values.append(math.nan)
        elif metric.parameters.get("ideal") != "judged" and max(gains.values()) < metric.parameters["relevant_from"]:
            values.append(math.nan if metric.parameters["no_relevant"] == "undefined" else 0.0)
        else:
            all_orders = orders(ranked(rows, user), gains, ties)
            value = fmean(plain_value(metric, seen, gains, top) for seen in all_orders)
            nothing = max(gains.values()) < metric.parameters["relevant_from"]
            zero = nothing and math.isnan(value) and metric.parameters["no_relevant"] == "zero"
            values.append(0.0 if zero else value)
    return values


def frames(truth, rows):
    judged = [(user, item, gain) for (user, item), gain in truth.items()]
    return (
        pl.DataFrame(judged, ["user_id", "item_id", "gain"], orient="row"),
        pl.DataFrame(rows, ["user_id", "item_id", "score"], orient="row"),
    )


def scored(texts, truth, rows, **more):
    judged, run = frames(truth, rows)
    return scoring.score({"run": run}, judged, texts, interval=None, threads=1, **more)


METRICS = [
    *(f"precision(divide_by='{d}')@{k}" for d in ("k", "list", "relevant") for k in (1, 3, 20)),
    *("recall", "recall@2", "recall(divide_by='reachable')@2", "recall(divide_by='reachable')"),
    *("f1@3", "f1(beta=2.0)@3", "f1(divide_by='list')", "f1(divide_by='list')@2"),
    *("hit@1", "hit@3", "hit", "hit(form='count')@3", "mrr", "mrr@2", "rprec"),
    *(f"map(divide_by='{d}')@{k}" for d in ("relevant", "reachable", "list", "hits", "k") for k in (2, 20)),
    *("map", "map(divide_by='list')", "map(divide_by='hits')"),
    *(
        f"{m}(gain='{g}', discount='{d}')"
        for m in ("dcg", "ndcg")
        for g in ("linear", "exp2")
        for d in ("log2p1", "jk")
    ),
    *(f"{m}(gain='{g}')@3" for m in ("dcg", "ndcg") for g in ("linear", "exp2", "binary")),
    *("ndcg(ideal='retrieved')@3", "ndcg(gain='binary', ideal='k')@3", "rbp", "rbp(p=0.5)@2", "rbp(scale=3.0)@4"),
]
NO_EXPECTATION = ["ndcg(ideal='retrieved')@3", "err", "err@2"]
EXPECTED = [text for text in METRICS if text not in NO_EXPECTATION]
IN_ORDER = [*METRICS, "err", "err@2"]


def assert_equal_to_plain(texts, truth, rows, ties, defaults):
    scores = scored(texts, truth, rows, ties=ties, **defaults)
    for heading in scores.metrics:
        metric = parse_metric(heading, {"relevant_from": 1.0} | defaults)
        wanted = plain(metric, truth, rows, ties)
        got = scores.values("run", heading)
        np.testing.assert_allclose(got, wanted, rtol=1e-12, atol=1e-12, err_msg=f"{heading} {ties} {defaults}")
        defined = [value for value in wanted if not math.isnan(value)]
        row = scores.row("run", heading)
        assert row.n == len(defined)
        assert row.mean == pytest.approx(fmean(defined) if defined else math.nan, nan_ok=True)
        assert row.missing == len({user for user, _ in truth} - {row[0] for row in rows})


@given(judgements, answers, st.sampled_from([1.0, 2.0]), st.sampled_from(["zero", "skip"]), st.booleans())
@settings(max_examples=examples(120), deadline=None)
def test_score_equals_the_plain_evaluator(truth, rows, relevant_from, missing, zero):
    no_relevant = "zero" if zero else "undefined"
    defaults = {"relevant_from": relevant_from, "missing": missing, "no_relevant": no_relevant}
    assert_equal_to_plain(IN_ORDER, truth, rows, "id", defaults)


@given(judgements, answers, st.sampled_from(["optimistic", "pessimistic"]))
@settings(max_examples=examples(60), deadline=None)
def test_the_extremes_of_ties_equal_the_best_and_the_worst_order(truth, rows, ties):
    assert_equal_to_plain(IN_ORDER, truth, rows, ties, {"relevant_from": 1.0})


@given(judgements, answers, st.sampled_from([1.0, 2.0]))
@settings(max_examples=examples(60), deadline=None)
def test_expected_ties_equal_the_mean_over_all_orders(truth, rows, relevant_from):
    assert_equal_to_plain(EXPECTED, truth, rows, "expected", {"relevant_from": relevant_from})


@given(judgements, answers, st.sampled_from(sorted(ARBITRARY)), st.sampled_from(["first", "last"]))
@settings(max_examples=examples(60), deadline=None)
def test_the_range_of_ties_equals_the_scores_under_the_policies_of_its_ends(truth, rows, ties, duplicates):
    judged, run = frames(truth, rows)
    judged, run = Truth.from_frame(judged), Run.from_frame(run, "run")
    metrics = {text: parse_metric(text) for text in IN_ORDER}

    def columns(policy):
        job = Job(metrics, Conventions(ties=policy, duplicates=duplicates), Context(None, None))
        return job.resolved(truth_statistics_for(metrics.values(), judged)).judge_part(run, judged, whole=True).columns

    found = columns(ties)
    for order in ("pessimistic", "optimistic"):
        wanted = columns(order)
        for text in metrics if (order, IN_ORDER[0]) in found else ():
            np.testing.assert_array_equal(found[order, text], wanted["value", text])


@given(answers, st.booleans(), st.booleans())
@settings(max_examples=examples(60), deadline=None)
def test_tied_rows_are_in_the_order_of_ids_or_of_a_preference(rows, backwards, keep):
    table = pl.DataFrame(rows, ["user_id", "item_id", "score"], orient="row")
    run = Run.from_frame(table, "run", keep_scores=keep, keep_rows=keep)
    settled = run.with_ties_broken(-run.items.astype(np.int64) if backwards else None)
    order = sorted(range(len(rows)), key=lambda at: (rows[at][0], -rows[at][2], (-1) ** backwards * rows[at][1]))
    assert settled.items.tolist() == [rows[at][1] for at in order]
    assert settled.offsets is run.offsets
    if keep:
        assert settled.scores.tolist() == [rows[at][2] for at in order]
        assert settled.places.tolist() == [sum(row[0] == rows[at][0] for row in rows[:at]) for at in order]


@given(judgements, answers)
@settings(max_examples=examples(40), deadline=None)
def test_duplicates_refused_are_those_that_are_counted(truth, rows):
    repeated = len(rows) - len({row[:2] for row in rows})
    scores = scored("recall", truth, rows)
    assert scores.rows[0].duplicate == repeated
    if repeated:
        with refused("I305"):
            scored("recall", truth, rows, duplicates="error")
    else:
        mean = scored("recall", truth, rows, duplicates="error").rows[0].mean
        assert mean == pytest.approx(scores.rows[0].mean, nan_ok=True)


@given(judgements, answers)
@settings(max_examples=examples(40), deadline=None)
def test_duplicates_kept_count_at_each_place(truth, rows):
    run = frames(truth, rows)[1]
    alignment = align(
        Run.from_frame(run, "run"), Truth.from_frame(frames(truth, rows)[0]), Conventions(duplicates="keep")
    )
    hits = parse_metric("hit(form='count')").evaluate(alignment.block(0, alignment.match.size))
    for place, user in enumerate(alignment.truth.queries):
        own = {item for (owner, item), gain in truth.items() if owner == user and gain >= 1}
        wanted = sum(row[1] in own for row in rows if row[0] == user)
        assert hits[place] == (wanted if own else pytest.approx(math.nan, nan_ok=True))


@pytest.mark.parametrize("text", NO_EXPECTATION)
def test_a_metric_without_a_closed_form_refuses_expected_ties(text):
    truth, tied, untied = {ANCHOR: 1.0}, [(0, 0, 0.5), (0, 1, 0.5)], [(0, 0, 0.5), (0, 1, 0.25)]
    with refused("U110"):
        scored(text, truth, tied, ties="expected")
    assert scored(text, truth, untied, ties="expected").rows[0].n == 1
