"""Metrics of the catalogue, beyond accuracy, debiased and rating, held to loops that read like their definitions."""

import math
from collections import Counter
from itertools import combinations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recassay.data.features import Features
from recassay.data.interactions import Interactions
from recassay.data.run import Run
from recassay.data.truth import Truth
from recassay.metrics.align import align
from recassay.metrics.base import CatalogueMetric, truth_statistics_for
from recassay.metrics.beyond.novelty import head_items
from recassay.metrics.catalogue import exposure_of
from recassay.metrics.context import Context, bind
from recassay.metrics.registry import parse_metric

from ..examples import examples

ITEMS = list(range(1, 9))
USERS = list(range(1, 6))
FEATURES = "uvwx"
NAN = float("nan")

lists = st.dictionaries(
    st.sampled_from(USERS), st.lists(st.sampled_from(ITEMS), unique=True, min_size=1, max_size=6), min_size=1
)
gains = st.dictionaries(
    st.sampled_from(USERS),
    st.dictionaries(st.sampled_from(ITEMS), st.integers(0, 3), min_size=1, max_size=5),
    min_size=1,
)
logs = st.lists(st.tuples(st.sampled_from(USERS), st.sampled_from(ITEMS)), min_size=1, max_size=25)
tables = st.dictionaries(st.sampled_from(ITEMS), st.sets(st.sampled_from(FEATURES)), min_size=1).filter(
    lambda table: any(table.values())
)


@st.composite
def worlds(draw):
    """Lists, truth, log and features that share at least one user and one item."""
    shown, wanted, log, table = draw(lists), draw(gains), draw(logs), draw(tables)
    user, item = sorted(shown)[0], shown[sorted(shown)[0]][0]
    wanted.setdefault(user, {})[item] = 1
    log.append((USERS[0], item))
    table.setdefault(item, set())
    return shown, wanted, log, table


def name_of(number, text):
    return f"i{number}" if text else number


def judge(metric, world, *, text=False):
    """Values by user, their weights, and what the metric is."""
    shown, wanted, log, table = world
    rows = [(user, name_of(item, text)) for user, items in shown.items() for item in items]
    run = Run.from_frame(pl.DataFrame(rows, ["user_id", "item_id"], orient="row"), "mine")
    rows = [(user, name_of(item, text), float(g)) for user, items in wanted.items() for item, g in items.items()]
    truth = Truth.from_frame(pl.DataFrame(rows, ["user_id", "item_id", "gain"], orient="row"))
    rows = [(user, name_of(item, text)) for user, item in log]
    train = Interactions.from_frame(pl.DataFrame(rows, ["user_id", "item_id"], orient="row"))
    columns = {"item_id": [name_of(i, text) for i in table], "f": [sorted(names) for names in table.values()]}
    items = Features.from_frame(pl.DataFrame(columns, schema_overrides={"f": pl.List(pl.String)}))
    context = Context(train, items)
    metric = parse_metric(metric)
    facts = truth_statistics_for([metric], truth)
    metric = metric.resolve(facts)
    metric.prepare(facts, context)
    alignment = align(run, truth)
    bind([metric], alignment, context)
    if isinstance(metric, CatalogueMetric):
        seen = exposure_of(alignment, context, metric.catalogue, metric.k)
        return seen.counts.tolist(), seen.outside, metric.measure(seen.counts)
    whole = alignment.block(0, truth.queries.len())
    values, weights = metric.checked(whole), metric.weights(whole)
    single = [metric.checked(alignment.block(at, at + 1))[0] for at in range(truth.queries.len())]
    np.testing.assert_array_equal(values, single)  # a block is a cut, nothing more
    users = truth.queries.to_list()
    return (
        dict(zip(users, values.tolist(), strict=True)),
        weights,
        metric.accompanying(metric.addends(alignment), context),
    )


def relevant_items(world, user):
    return {item for item, gain in world[1][user].items() if gain >= 1}


def profile(world, user):
    return {item for one, item in world[2] if one == user}


def popularity(world):
    return Counter(item for _, item in set(world[2]))


def mean(values, weights=None):
    values = list(values)
    weights = [1.0] * len(values) if weights is None else list(weights)
    return sum(v * w for v, w in zip(values, weights, strict=True)) / sum(weights) if values else NAN


def discounts(n, kind):
    return [1.0 if kind == "none" else 1 / math.log2(place + 2) for place in range(n)]


def check(world, metric, definition, k=None):
    """The metric is the definition, for each user of the truth; with integer and with string ids."""
    name = metric if k is None else f"{metric}@{k}"
    for text in (False, True):
        values, _, _ = judge(name, world, text=text)
        for user, value in values.items():
            shown = world[0].get(user, [])[:k]
            assert value == pytest.approx(definition(user, shown), abs=1e-12, nan_ok=True), (user, shown)


@settings(max_examples=examples(25), deadline=None)
@given(worlds(), st.sampled_from([1, 3, None]), st.sampled_from(["none", "log"]), st.booleans())
def test_novelty(world, k, discount, aware):
    n, users = popularity(world), len({user for user, _ in world[2]})
    total, size = sum(n.values()), len(n)
    rarest = -math.log2(min(n.values()) / total)
    terms = {
        "epc({})": lambda i: 1 - n[i] / users,
        "efd({})": lambda i: -math.log2(n[i] / total) if n[i] else rarest,
        "efd({}, unseen='zero')": lambda i: -math.log2(n[i] / total) if n[i] else 0.0,
        "efd({}, form='self_information', unseen='smoothing')": lambda i: -math.log2((n[i] + 1) / (users + 2)),
        "efd({}, unseen='smoothing')": lambda i: -math.log2((n[i] + 1) / (total + size + 1)),
    }
    for name, term in terms.items():

        def definition(user, shown, term=term):
            good = relevant_items(world, user)
            if not shown or (aware and not good):
                return NAN
            return mean([term(i) * (not aware or i in good) for i in shown], discounts(len(shown), discount))

        check(world, name.format(f"rank_discount='{discount}', relevance_aware={aware}"), definition, k)


@settings(max_examples=examples(25), deadline=None)
@given(worlds(), st.sampled_from([1, 3, None]), st.sampled_from([0.0, 0.3, 0.5, 0.8, 1.0]))
def test_popularity(world, k, mass):
    n, events = popularity(world), Counter(item for _, item in world[2])
    top, held = set(), 0
    for item in sorted(events, key=lambda i: (-events[i], i)):
        if held >= mass * len(world[2]) - 1e-9 and top:
            break
        top.add(item)
        held += events[item]
    check(world, "arp", lambda user, shown: mean(n[i] for i in shown), k)
    check(world, f"aplt(head_mass={mass})", lambda user, shown: mean(i not in top for i in shown), k)
    count = lambda user, shown: sum(i not in top for i in shown) if shown else NAN  # noqa: E731
    check(world, f"aclt(head_mass={mass})", count, k)
    check(world, "arp(empty='zero')", lambda user, shown: mean(n[i] for i in shown) if shown else 0.0, k)


def test_the_boundary_item_is_in_the_head_and_a_share_is_rounded_up():
    counts = np.array([1, 4, 2, 2, 1])
    assert head_items(counts, mass=0.4).tolist() == [False, True, False, False, False]
    assert head_items(counts, mass=0.6).tolist() == [False, True, True, False, False]
    assert head_items(counts, mass=0.61).tolist() == [False, True, True, True, False]
    assert head_items(counts, share=0.2).tolist() == [False, True, False, False, False]
    assert head_items(counts, share=0.21).tolist() == [False, True, True, False, False]
    assert head_items(counts, share=0.0).tolist() == [False] * 5
    assert head_items(np.ones(10, np.int64), mass=0.7).sum() == 7  # 0.7 * 10 is 7.000000000000001 or 7 by luck


@settings(max_examples=examples(25), deadline=None)
@given(worlds(), st.integers(1, 4), st.sampled_from([None, 0, 2]))
def test_surprise(world, k, m):
    n = popularity(world)
    popular = set(sorted(n, key=lambda i: (-n[i], i))[: k if m is None else m])

    def new(user, shown):
        return [i for i in shown if i not in popular | profile(world, user)]

    def serendipity(user, shown):
        good = relevant_items(world, user)
        return len(good & set(new(user, shown))) / k if good else NAN

    check(world, f"unexpectedness(m={m})", lambda user, shown: len(new(user, shown)) / k, k)
    by_list = lambda user, shown: len(new(user, shown)) / max(len(shown), 1)  # noqa: E731
    check(world, f"unexpectedness(m={m}, divide_by='list')", by_list, k)
    check(world, f"serendipity(m={m})", serendipity, k)


def distance(kind, table, one, other):
    if one == other:
        return 0.0
    left, right = table.get(one, set()), table.get(other, set())
    if not left or not right:
        return 1.0
    below = len(left | right) if kind == "jaccard" else math.sqrt(len(left) * len(right))
    return 1 - len(left & right) / below


@settings(max_examples=examples(25), deadline=None)
@given(worlds(), st.sampled_from([1, 3, None]), st.sampled_from(["jaccard", "cosine"]), st.booleans(), st.booleans())
def test_diversity(world, k, kind, skip, many):
    table = world[3]
    if many:  # more features than bits in a word
        table[99] = {f"f{number}" for number in range(70)}

    def kept(items):
        return [i for i in items if not skip or table.get(i)]

    def ild(user, shown):
        return mean(distance(kind, table, *pair) for pair in combinations(kept(shown), 2))

    def epd(user, shown):
        away = [mean(distance(kind, table, i, j) for j in kept(profile(world, user))) for i in kept(shown)]
        return mean(away)

    options = f"distance='{kind}', bare='{'skip' if skip else 'distant'}'"
    check(world, f"ild({options})", ild, k)
    check(world, f"epd({options})", epd, k)


@settings(max_examples=examples(25), deadline=None)
@given(worlds(), st.sampled_from([1, 3, None]))
def test_subtopics(world, k):
    table = world[3]
    every = set().union(*table.values())

    def touched(items):
        return set().union(*(table.get(i, set()) for i in items))

    def relevant(user, shown):
        good = relevant_items(world, user)
        return len(touched(good & set(shown))) / len(every) if shown and good else NAN

    def of_relevant(user, shown):
        good = relevant_items(world, user)
        most = len(touched(good))
        return len(touched(good & set(shown))) / most if shown and most else NAN

    any_item = lambda user, shown: len(touched(shown)) / len(every) if shown else NAN  # noqa: E731
    check(world, "subtopic_recall(relevant_only=False)", any_item, k)
    check(world, "subtopic_recall", relevant, k)
    check(world, "subtopic_recall(denominator='relevant')", of_relevant, k)


@settings(max_examples=examples(25), deadline=None)
@given(worlds(), st.sampled_from([1, 3, None]), st.sampled_from(["none", "log"]))
def test_calibration(world, k, discount):
    table = world[3]

    def mixture(items, weights):
        kept = [(i, w) for i, w in zip(items, weights, strict=True) if table.get(i)]
        total = sum(w for _, w in kept)
        return {g: sum(w / len(table[i]) for i, w in kept if g in table[i]) / total for g in FEATURES} if kept else None

    def kl(p, q):
        return sum(p[g] * math.log(p[g] / q[g]) for g in FEATURES if p[g] > 0)

    def divergence(kind, p, q):
        m = {g: (p[g] + q[g]) / 2 for g in FEATURES}
        js = (kl(p, m) + kl(q, m)) / 2 / math.log(2)
        return {
            "kl": kl(p, {g: 0.99 * q[g] + 0.01 * p[g] for g in FEATURES}),
            "js": js,
            "sqrt_js": math.sqrt(max(js, 0)),
            "hellinger": math.sqrt(max(1 - sum(math.sqrt(p[g] * q[g]) for g in FEATURES), 0)),
            "tv": sum(abs(p[g] - q[g]) for g in FEATURES) / 2,
        }[kind]

    for kind in ("kl", "js", "sqrt_js", "hellinger", "tv"):

        def definition(user, shown, kind=kind):
            own = sorted(profile(world, user))
            p, q = mixture(own, [1.0] * len(own)), mixture(shown, discounts(len(shown), discount))
            return divergence(kind, p, q) if p and q else NAN

        for text in (False, True):  # square roots near 0 amplify rounding
            values, _, _ = judge(
                f"calibration(divergence='{kind}', rank_discount='{discount}')" + (f"@{k}" if k else ""),
                world,
                text=text,
            )
            for user, value in values.items():
                wanted = definition(user, world[0].get(user, [])[:k])
                assert value == pytest.approx(wanted, abs=1e-7, nan_ok=True)


@settings(max_examples=examples(40), deadline=None)
@given(worlds(), st.sampled_from(["train", "truth", "items"]), st.integers(1, 4), st.booleans())
def test_catalogue(world, catalogue, k, text):
    shown, wanted, log, table = world
    known = {
        "train": {item for _, item in log},
        "truth": {item for items in wanted.values() for item in items},
        "items": set(table),
    }[catalogue]
    rows = [item for user, items in shown.items() if user in wanted for item in items[:k]]
    counts = sorted(Counter(item for item in rows if item in known).values())
    x = [0] * (len(known) - len(counts)) + counts
    total, n = sum(x), len(x)
    gini = sum((2 * j - n - 1) * c for j, c in enumerate(x, 1)) / (n * total) if total else NAN
    bits = -sum(c / total * math.log2(c / total) for c in x if c) if total else NAN
    wanted_values = {
        "coverage": sum(c > 0 for c in x) / n,
        "gini": gini,
        "gini(normalise=True)": gini * n / (n - 1) if n > 1 else NAN,
        "gini(form='equality')": 1 - gini,
        "entropy": bits,
        "entropy(form='normalised')": bits / math.log2(n) if n > 1 else NAN,
        "entropy(form='effective')": 2**bits,
        "gini_simpson": 1 - sum((c / total) ** 2 for c in x) if total else NAN,
    }
    for name, value in wanted_values.items():
        option = f"catalogue='{catalogue}'"
        metric = f"{name[:-1]}, {option})" if name.endswith(")") else f"{name}({option})"
        exposed, outside, measured = judge(f"{metric}@{k}", world, text=text)
        assert sorted(exposed) == x
        assert outside == len(rows) - total
        assert measured == pytest.approx(value, abs=1e-12, nan_ok=True)


@given(st.lists(st.integers(0, 50), min_size=1, max_size=40), st.randoms(use_true_random=False))
def test_measures_of_the_catalogue_have_the_same_bits_in_any_order_of_items(counts, random):
    shuffled = counts.copy()
    random.shuffle(shuffled)
    for name in ("gini", "entropy", "entropy(form='effective')", "gini_simpson", "coverage"):
        metric = parse_metric(f"{name}@1")
        assert isinstance(metric, CatalogueMetric)
        one, other = (np.array([metric.measure(np.array(c, np.int64))]) for c in (counts, shuffled))
        assert one.tobytes() == other.tobytes()


@settings(max_examples=examples(25), deadline=None)
@given(worlds(), st.sampled_from([1, 3, None]), st.sampled_from([-1.0, 0.0, 1.5]), st.sampled_from(["hit", "dcg"]))
def test_debiased(world, k, gamma, credit):
    n, users = popularity(world), len({user for user, _ in world[2]})
    catalogue = len(n)

    def parts(user, shown, p_min=0.0):
        """Each relevant item with a training count: its weight, and its credit."""
        out = []
        for item in sorted(relevant_items(world, user)):
            if n[item]:
                rank = shown.index(item) + 1 if item in shown else None
                worth = 0.0 if rank is None else 1.0 if credit == "hit" else 1 / math.log2(rank + 1)
                out.append((1 / max((n[item] / users) ** ((gamma + 1) / 2), p_min), worth))
        return out

    def snips(user, shown):
        pairs = parts(user, shown)
        return mean((c for _, c in pairs), (w for w, _ in pairs)) if pairs else NAN

    def ips(user, shown):
        pairs = parts(user, shown, p_min=0.4)
        return sum(w * c for w, c in pairs) / catalogue if pairs else NAN

    options = f"gamma={gamma}, credit='{credit}'"
    at = f"@{k}" if k else ""
    check(world, f"snips({options})", snips, k)
    check(world, f"ips({options}, p_min=0.4)", ips, k)
    everyone = [pair for user in world[1] for pair in parts(user, world[0].get(user, [])[:k])]
    values, weights, reported = judge(f"snips({options}, pooled=True){at}", world)
    assert reported["unseen"] == sum(n[i] == 0 for user in world[1] for i in relevant_items(world, user))
    if everyone:
        pooled = sum(w * c for w, c in everyone) / sum(w for w, _ in everyone)
        kept = [(v, w) for v, w in zip(values.values(), weights, strict=True) if not math.isnan(v)]
        assert mean(*zip(*kept, strict=True)) == pytest.approx(pooled)
        size = sum(w for w, _ in everyone) ** 2 / sum(w * w for w, _ in everyone)
        assert reported["effective_size"] == pytest.approx(size)


@settings(max_examples=examples(25), deadline=None)
@given(worlds(), st.sampled_from([6, 9]))
def test_debiased_auc(world, targets):
    """With weights alike: the mean over orders of what is not listed of the share of targets that stand below."""
    n = popularity(world)

    def definition(user, shown):
        behind = len(shown) + 1, targets
        ranks = [
            shown.index(item) + 1 if item in shown else sum(behind) / 2
            for item in relevant_items(world, user)
            if n[item]
        ]
        return mean(1 - (rank - 1) / targets for rank in ranks)

    check(world, f"snips(gamma=-1.0, credit='auc', targets={targets})", definition)


@settings(max_examples=examples(30), deadline=None)
@given(worlds(), st.sampled_from([1, 3]), st.sampled_from([0.0, 0.5, 1.0]), st.sampled_from(["stratified", "equal"]))
def test_stratified_recall_is_snips_by_another_name(world, k, b, weighting):
    values, weights, _ = judge(f"stratified_recall(b={b}, weighting='{weighting}')@{k}", world)
    pooled = weighting == "stratified"
    same, scaled, _ = judge(f"snips(gamma={2 * b - 1}, pooled={pooled})@{k}", world)
    assert values == pytest.approx(same, nan_ok=True)
    assert (weights is None) == (scaled is None) == (not pooled)
    if pooled and weights.sum() > 0:
        assert weights / weights.sum() == pytest.approx(scaled / scaled.sum())


predictions = st.dictionaries(
    st.sampled_from(USERS), st.dictionaries(st.sampled_from(ITEMS), st.floats(-5, 5), min_size=1), min_size=1
)


@settings(max_examples=examples(40), deadline=None)
@given(predictions, gains, st.sampled_from(["id", "optimistic", "pessimistic", "expected"]))
def test_rating_errors(scores, wanted, ties):
    from recassay.metrics.align import Conventions

    user, item = sorted(scores)[0], sorted(scores[sorted(scores)[0]])[0]
    wanted.setdefault(user, {})[item] = 2
    rows = [(u, i, s) for u, items in scores.items() for i, s in items.items()]
    run = Run.from_frame(pl.DataFrame(rows, ["user_id", "item_id", "score"], orient="row"), "mine")
    rows = [(u, i, float(g)) for u, items in wanted.items() for i, g in items.items()]
    truth = Truth.from_frame(pl.DataFrame(rows, ["user_id", "item_id", "gain"], orient="row"))
    alignment = align(run, truth, Conventions(ties=ties))
    errors = {
        u: [scores[u][i] - g for i, g in items.items() if u in scores and i in scores[u]]
        for u, items in sorted(wanted.items())
    }
    flat = [e for own in errors.values() for e in own]
    wanted_means = {
        "mae": mean(abs(e) for e in flat),
        "rmse": math.sqrt(mean(e * e for e in flat)),
        "mae(average='user')": mean(mean(abs(e) for e in own) for own in errors.values() if own),
        "rmse(average='user')": mean(math.sqrt(mean(e * e for e in own)) for own in errors.values() if own),
    }
    for name, value in wanted_means.items():
        metric = parse_metric(name)
        bind([metric], alignment, Context())
        block = alignment.block(0, truth.queries.len())
        values, weights = metric.checked(block), metric.weights(block)
        kept = ~np.isnan(values)
        assert kept.tolist() == [bool(own) for own in errors.values()]
        own_weights = None if weights is None else weights[kept]
        assert np.average(values[kept] ** metric.power, weights=own_weights) ** (1 / metric.power) == pytest.approx(
            value
        )
        rated = sum(len(items) for items in wanted.values())
        assert metric.addends(alignment) == {"pairs": len(flat), "unpredicted": rated - len(flat)}
