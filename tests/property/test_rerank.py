"""Re-rankers, held to loops that read like their definitions, with 50 digits: there rounding decides nothing."""

import math
from decimal import Context, Decimal, localcontext
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import recassay as ra
from recassay.data.subprofiles import Miner
from recassay.models.rerank import base as cut
from recassay.rng import derive

ITEMS = range(1, 9)
USERS = ("ann", "bob", "cyd")

runs = st.dictionaries(
    st.sampled_from(USERS),
    st.dictionaries(st.sampled_from(ITEMS), st.integers(-6, 12).map(lambda n: n / 4), min_size=1, max_size=8),
    min_size=1,
)
tables = st.fixed_dictionaries({item: st.sets(st.sampled_from("vwxyz")) for item in ITEMS}).filter(
    lambda table: any(table.values())
)
ratings = st.dictionaries(st.tuples(st.sampled_from(USERS), st.sampled_from(ITEMS)), st.integers(1, 5)).map(
    lambda log: {**log, **{("dan", item): 5 for item in ITEMS}}
)
ways = st.fixed_dictionaries(
    {
        "weight": st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.8, 1.0]),
        "places": st.integers(1, 5),
        "candidates": st.integers(5, 7),
        "norm": st.sampled_from(["zscore_step", "none", "minmax"]),
    }
)


TIE = Decimal("1e-30")  # with 50 digits, what is closer is equal


def exactly(value):
    """A number as the decimal that it is written as, or a fraction of whole numbers."""
    if isinstance(value, Fraction):
        return Decimal(value.numerator) / Decimal(value.denominator)
    return value if isinstance(value, Decimal) else Decimal(str(value))


def standardised(values):
    """Mean 0 and sample standard deviation 1; all 0 where all are equal."""
    if max(values) - min(values) <= TIE:
        return [Decimal(0)] * len(values)
    mean = sum(values) / len(values)
    squares = sum((value - mean) ** 2 for value in values)
    return [(value - mean) / (squares / (len(values) - 1)).sqrt() for value in values]


def greedy(scores, diversity, how):
    """A list in its new order, and what each pick was worth; ``diversity(item, above)`` of items best first."""
    baseline = sorted(scores, key=lambda item: (-scores[item], item))
    if how["weight"] == 0:
        return baseline, []
    weight = exactly(how["weight"])
    left, above, worths = baseline[: how["candidates"]], [], []
    score = {item: exactly(scores[item]) for item in left}
    if how["norm"] == "minmax":
        low, high = min(score.values()), max(score.values())
        score = {item: (one - low) / (high - low) if high > low else Decimal(0) for item, one in score.items()}
    while left and len(above) < how["places"]:
        like, far = [score[item] for item in left], [exactly(diversity(item, above)) for item in left]
        if how["norm"] == "zscore_step":
            like, far = standardised(like), standardised(far)
        worth = [(1 - weight) * one + weight * other for one, other in zip(like, far, strict=True)]
        best = next(place for place, value in enumerate(worth) if max(worth) - value <= TIE)
        worths.append(float(worth[best]))
        above.append(left.pop(best))
    return above + left + baseline[how["candidates"] :], worths


def initial(scores, how):
    return sorted(scores, key=lambda item: (-scores[item], item))[: how["candidates"]]


def chances(scores, aspects, how, relevance="score_share"):
    """p(i | u, a) of every candidate and aspect, from its share of the scores, moved up if one is negative."""
    graded = relevance == "graded"
    shown = initial(scores, how)
    low = min(0, *(exactly(scores[item]) for item in shown))
    moved = {item: exactly(scores[item]) - low for item in shown}
    found = {}
    for aspect in sorted({one for item in shown for one in aspects[item]}):
        having = [item for item in shown if aspect in aspects[item]]
        whole = max(moved[item] for item in having) if graded else sum(moved[item] for item in having)
        for item in having:
            share = moved[item] / whole if whole > 0 else Decimal(0)
            found[item, aspect] = (2**share - 1) / 2 if graded and whole > 0 else share
            if relevance == "binary":
                found[item, aspect] = Decimal(1)
    return found


def coverage(prior, chance, aspects):
    """xQuAD's diversity."""

    def diversity(item, above):
        total = Decimal(0)
        for aspect in sorted(aspects[item]):
            unserved = exactly(prior[aspect])
            for other in above:
                if aspect in aspects[other]:
                    unserved *= 1 - chance[other, aspect]
            total += unserved * chance[item, aspect]
        return total

    return diversity


def agrees(found, run, expected_of, tolerance=1e-12):
    """Lists are the readable ones, and so is what every pick was worth, to the tolerance."""
    shown = found.run.frame()
    for place, user in enumerate(sorted(run)):
        with localcontext(Context(prec=50)):
            order, worths = expected_of(user)
        assert shown.filter(pl.col("user_id") == user)["item_id"].to_list() == order
        got = found.pick_values[place][~np.isnan(found.pick_values[place])]
        assert got.tolist() == pytest.approx(worths, rel=tolerance, abs=tolerance)


def jaccard(one, other):
    return exactly(1 - Fraction(len(one & other), len(one | other))) if one and other else Decimal(1)


def cosine(one, other):
    return 1 - len(one & other) / Decimal(len(one) * len(other)).sqrt() if one and other else Decimal(1)


@given(runs, tables, ways, st.sampled_from(["min", "max", "mean"]), st.sampled_from([jaccard, cosine]), st.booleans())
@settings(deadline=None)
def test_mmr_is_the_readable_one(run, table, how, form, distance, wide):
    names = {item: sorted(one) + [f"only {item} {n}" for n in range(9) if wide] for item, one in table.items()}
    table = {item: set(one) for item, one in names.items()}  # more than 64 features do not fit into a word
    pick = {"min": min, "max": max, "mean": lambda several: sum(several) / len(several)}[form]

    def diversity(item, above):
        return pick([distance(table[other], table[item]) for other in above]) if above else 0

    method = ra.models.MMR(**how, form=form, distance=distance.__name__)
    found = ra.rerank(run, method, items=pl.DataFrame({"item_id": list(names), "genres": list(names.values())}))
    agrees(found, run, lambda user: greedy(run[user], diversity, how))
    rows = sum(not table[item] for one in run.values() for item in one)
    assert found.counts["bare"] == rows


@given(runs, ratings, ways, st.sampled_from(["min", "mean"]))
@settings(deadline=None)
def test_mmr_by_users_a_table_and_skipped_pairs_is_the_readable_one(run, log, how, form):
    users = {item: {user for user, other in log if other == item} for item in ITEMS}
    pick = {"min": min, "mean": lambda several: sum(several) / len(several)}[form]

    def diversity(item, above):
        return pick([cosine(users[other], users[item]) for other in above]) if above else 0

    train = list(log)
    found = ra.rerank(run, ra.models.MMR(**how, form=form, distance="training"), train=train)
    agrees(found, run, lambda user: greedy(run[user], diversity, how))
    apart = [[0 if one == other else cosine(users[one], users[other]) for other in ITEMS] for one in ITEMS]
    table = np.array(apart, np.float64)
    again = ra.rerank(run, ra.models.MMR(**how, form=form, distance=table), train=train)
    assert again.run.frame().equals(found.run.frame())

    bare = {item: {"a"} if item % 2 else set() for item in ITEMS}

    def skipping(item, above):
        away = [jaccard(bare[other], bare[item]) for other in above if bare[other] and bare[item]]
        return pick(away) if away else 0

    features = pl.DataFrame({"item_id": ITEMS, "genres": [sorted(bare[item]) for item in ITEMS]})
    left_out = ra.rerank(run, ra.models.MMR(**how, form=form, bare="skip"), items=features)
    agrees(left_out, run, lambda user: greedy(run[user], skipping, how))


@given(
    runs, tables, ratings, ways, st.sampled_from(["score_share", "graded", "binary"]),
    st.sampled_from(["profile", "uniform"]),
)  # fmt: skip
@settings(deadline=None)
def test_xquad_is_the_readable_one(run, table, log, how, relevance, prior):
    names = sorted(set().union(*table.values()))

    def expected(user):
        had = [feature for one, item in log if one == user for feature in sorted(table[item])]
        had = had if prior == "profile" else []
        taste = {name: Fraction(had.count(name), len(had)) if had else Fraction(1, len(names)) for name in names}
        chance = chances(run[user], table, how, relevance)
        return greedy(run[user], coverage(taste, chance, table), how)

    features = pl.DataFrame({"item_id": ITEMS, "genres": [sorted(table[item]) for item in ITEMS]})
    method = ra.models.XQuAD(**how, relevance=relevance, prior=prior)
    found = ra.rerank(run, method, items=features, train=list(log) if prior == "profile" else None)
    agrees(found, run, expected)


@given(runs, ratings, ways, st.sampled_from([0.1, 0.2, 0.5, 0.9]))
@settings(deadline=None)
def test_the_long_tail_is_xquad_over_head_and_tail(run, log, how, head):
    users = {item: len({user for user, other in log if other == item}) for item in ITEMS}
    least = sorted(users.values(), reverse=True)[math.ceil(Decimal(str(head)) * len(users)) - 1]
    classes = pl.DataFrame({"item_id": ITEMS, "class": [["head" if users[n] >= least else "tail"] for n in ITEMS]})
    found = ra.rerank(run, ra.models.LongTail(**how, head=head), train=list(log))
    twin = ra.rerank(run, ra.models.XQuAD(**how), items=classes, train=list(log))
    assert found.run.frame().equals(twin.run.frame())
    assert np.array_equal(found.pick_values, twin.pick_values, equal_nan=True)


@given(runs, ways, st.integers(0, 3))
@settings(deadline=None)
def test_a_shuffle_adds_draws_of_the_user_to_scores(run, how, seed):
    def expected(user):
        baseline = sorted(run[user], key=lambda item: (-run[user][item], item))
        draws = dict(zip(baseline, map(float, derive(seed, "shuffled", user).random(len(baseline))), strict=True))
        return greedy(run[user], lambda item, above: Decimal(draws[item]), how)

    found = ra.rerank(run, ra.models.Shuffled(**how, seed=seed))
    agrees(found, run, expected)


def determinant(matrix):
    """The determinant, by expansion along the first row."""
    if not matrix:
        return Decimal(1)
    rest = [[row[:n] + row[n + 1 :] for row in matrix[1:]] for n in range(len(matrix))]
    return sum((-1) ** n * matrix[0][n] * determinant(rest[n]) for n in range(len(matrix)) if matrix[0][n])


@given(runs, tables, ways, st.sampled_from([jaccard, cosine]))
@settings(deadline=None)
def test_dpp_is_the_growth_of_the_determinant_of_similarities(run, table, how, distance):
    def volume(items):
        alike = [
            [Decimal(1) if one == other else 1 - distance(table[one], table[other]) for other in items] for one in items
        ]
        return determinant(alike)

    def diversity(item, above):
        independent = []  # an item that those above explain adds nothing to what they explain
        for one in above:
            if volume([*independent, one]) > Decimal("1e-20"):
                independent.append(one)
        own = volume([*independent, item]) / volume(independent)
        return max(own, Decimal("1e-10")).ln()

    features = pl.DataFrame({"item_id": ITEMS, "genres": [sorted(table[item]) for item in ITEMS]})
    found = ra.rerank(run, ra.models.DPP(**how, distance=distance.__name__), items=features)
    agrees(found, run, lambda user: greedy(run[user], diversity, how), tolerance=1e-9)


@given(runs, tables, ratings, ways, st.sampled_from([0.01, 0.5]))
@settings(deadline=None)
def test_calibrated_lists_have_the_least_divergence_from_the_profile(run, table, log, how, alpha):
    names = sorted(set().union(*table.values()))

    def shares(items):
        having = [table[item] for item in items if table[item]]
        return {name: sum(Fraction(name in one, len(one)) for one in having) / max(len(having), 1) for name in names}

    def expected(user):
        profile = sorted({item for one, item in log if one == user})
        if not any(table[item] for item in profile):
            return greedy(run[user], None, {**how, "weight": 0})
        p, a = shares(profile), Fraction(str(alpha))

        def diversity(item, above):
            q = shares([*above, item])
            return -sum(
                exactly(p[one]) * exactly(p[one] / ((1 - a) * q[one] + a * p[one])).ln() for one in names if p[one]
            )

        return greedy(run[user], diversity, how)

    features = pl.DataFrame({"item_id": ITEMS, "genres": [sorted(table[item]) for item in ITEMS]})
    found = ra.rerank(run, ra.models.Calibrated(**how, alpha=alpha), items=features, train=list(log))
    agrees(found, run, expected)


@given(runs, ratings, ways, st.integers(1, 3), st.integers(1, 3), st.integers(1, 5))
@settings(deadline=None)
def test_spad_is_the_readable_one(run, log, how, k1, k2, at_least):
    rows = [(user, item, value) for (user, item), value in log.items()]
    train = ra.read_interactions(pl.DataFrame(rows, schema=["user_id", "item_id", "rating"], orient="row"))
    miner = Miner.of(train, k1=k1, k2=k2, liked_from=at_least)  # held to its own readable twin
    users, items = train.user_vocabulary.ids.to_list(), train.item_vocabulary.ids.to_list()

    def expected(user):
        sets = miner.mine(np.array([users.index(user) if user in users else -1], np.int32)).sets(0)
        if not sets:
            return greedy(run[user], None, {**how, "weight": 0})
        close = [{items[code] for one in mined for code in miner.close[one] if code >= 0} for mined in sets]
        aspects = {item: {number for number, near in enumerate(close) if item in near} for item in ITEMS}
        prior = [Fraction(len(one), sum(map(len, sets))) for one in sets]
        return greedy(run[user], coverage(prior, chances(run[user], aspects, how), aspects), how)

    found = ra.rerank(run, ra.models.SPAD(**how, k1=k1, k2=k2, liked_from=at_least), train=train)
    agrees(found, run, expected)


FEATURES = pl.DataFrame(
    {"item_id": list(ITEMS), "genres": [["x"], ["x", "y"], ["y"], [], ["z"], ["y", "z"], ["x"], []]}
)
LOG = [(user, item) for user in USERS for item in ITEMS if (ord(user[0]) + item) % 3]


@pytest.mark.parametrize(
    "text", ["MMR()", "xQuAD()", "SPAD(k1=3, k2=3)", "DPP()", "Calibrated()", "LongTail()", "Shuffled()"]
)
def test_threads_blocks_and_the_order_of_rows_change_no_bit(text, monkeypatch):
    rng = np.random.default_rng(5)
    user, item = np.divmod(np.arange(150 * 40), 40)
    frame = pl.DataFrame({"user_id": user, "item_id": item, "score": rng.random(item.size)})
    features = pl.DataFrame({"item_id": range(40), "genres": [[f"g{n % 7}", f"h{n % 4}"] for n in range(40)]})
    train = [(int(u), int(i)) for u, i in zip(user, item, strict=True) if (u * 7 + i * i) % 5 == 0]
    given = {"items": features, "train": train}
    first = ra.rerank(frame, text, threads=1, **given)
    monkeypatch.setattr(cut, "LISTS_PER_BLOCK", 7)
    other = ra.rerank(frame.sample(fraction=1.0, shuffle=True, seed=1), text, threads=3, **given)
    assert first.run.frame().equals(other.run.frame())
    assert first.pick_values.tobytes() == other.pick_values.tobytes()
    assert first.counts == other.counts
