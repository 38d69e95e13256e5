"""The one-pass kernel against a readable twin that ranks everything by hand."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recassay.data.fold import Fold
from recassay.data.interactions import Interactions
from recassay.data.run import Run
from recassay.engine.ranks.standings import compute_standings, standings_of_lists
from recassay.engine.ranks.task import RankingTask

from ..examples import examples

USERS, ITEMS = 5, 9


@st.composite
def studies(draw):
    """A fold over few users and items, and scores with many ties, some of them minus infinity."""
    cells = [(user, item) for user in range(USERS) for item in range(ITEMS)]
    part = draw(st.lists(st.sampled_from(["train", "test", "none"]), min_size=len(cells), max_size=len(cells)))
    if "test" not in part:
        part[0] = "test"
    ratings = draw(st.lists(st.integers(1, 5), min_size=len(cells), max_size=len(cells)))
    scores = draw(st.lists(st.sampled_from([-np.inf, 0.0, 0.5, 1.0]), min_size=len(cells), max_size=len(cells)))
    frame = pl.DataFrame({"user_id": [u for u, _ in cells], "item_id": [i for _, i in cells], "rating": ratings})
    log = Interactions.from_frame(frame)
    parts = np.array(part)
    fold = Fold(log.take(parts == "train"), log.take(parts == "test"), "global", {})
    return fold, np.array(scores, np.float32).reshape(USERS, ITEMS)


class Scorer:
    """A system that is a table of scores."""

    def __init__(self, table):
        self.table = table

    def scores(self, users):
        return self.table[users]


def bins_by_hand(fold, m):
    """The bin of every item with a test rating: most popular first, larger bins first."""
    users_of = {}
    for part in (fold.train, fold.test):
        for user, item in zip(part.users.tolist(), part.items.tolist(), strict=True):
            users_of.setdefault(item, set()).add(user)
    order = sorted(set(fold.test.items.tolist()), key=lambda item: (-len(users_of[item]), item))
    return {item: number for number, part in enumerate(np.array_split(order, m)) for item in part.tolist()}


@given(studies(), st.integers(2, 4), st.booleans(), st.sampled_from(["all", "training"]))
@settings(max_examples=examples(60), deadline=None)
def test_bins_of_items_are_those_of_a_loop(study, m, equal_mass, bins_from):
    fold, _ = study
    tested = sorted(set(fold.test.items.tolist()))
    parts = (fold.train, fold.test) if bins_from == "all" else (fold.train,)
    users_of = {item: {u for part in parts for u, i in _pairs_of(part) if i == item} for item in tested}
    order = sorted(tested, key=lambda item: (-len(users_of[item]), item))
    if equal_mass:
        wanted, before, total = {}, 0, max(sum(map(len, users_of.values())), 1)
        for item in order:
            wanted[item] = min(m * before // total, m - 1)
            before += len(users_of[item])
    else:
        wanted = {item: number for number, some in enumerate(np.array_split(order, m)) for item in some.tolist()}
    task = RankingTask.of(fold, bins=(m,), equal_mass=equal_mass, bins_from=bins_from)
    if len(tested) < m:
        assert task.bins == {}
    else:
        found = task.bin_of_items(m)
        assert found.tolist() == [wanted.get(item, -1) for item in range(fold.train.n_items)]


def _pairs_of(part):
    return zip(part.users.tolist(), part.items.tolist(), strict=True)


def by_hand(fold, scores, relevant_from, m, mask_seen=True):
    """Every pair with its counts, from sets."""
    train = {(u, i) for u, i in zip(fold.train.users.tolist(), fold.train.items.tolist(), strict=True) if mask_seen}
    rated = list(zip(fold.test.users.tolist(), fold.test.items.tolist(), fold.test.ratings.tolist(), strict=True))
    popularity = np.bincount(fold.train.items, minlength=ITEMS)
    bins = bins_by_hand(fold, m)
    rows = {}
    for user in sorted({u for u, _, _ in rated}):
        liked = {i for u, i, rating in rated if u == user and rating >= relevant_from}
        for item in liked:
            base = {
                "AI": set(range(ITEMS)),
                "TI": set(bins),
                "rated": {i for u, i, _ in rated if u == user},
                "bin": {i for i in bins if bins[i] == bins[item]},
            }
            mine = scores[user, item]
            row = {"tie_relevant": sum(scores[user, other] == mine for other in liked - {item})}
            for name, members in base.items():
                others = [i for i in members if i not in liked and ((user, i) not in train or name == "rated")]
                above = [i for i in others if scores[user, i] > mine]
                level = [i for i in others if scores[user, i] == mine]
                if np.isneginf(scores[user]).all():  # without any score a relevant item is behind all others
                    above, level = others, []
                tail = f" of {m}" if name == "bin" else ""
                row |= {f"above {name}{tail}": len(above), f"tied {name}{tail}": len(level)}
                row |= {f"pool {name}{tail}": len(others)}
                if name in ("AI", "TI"):
                    sums = (popularity[above].sum(), popularity[level].sum(), popularity[others].sum())
                    names = (f"mass above {name}", f"mass tied {name}", f"mass {name}")
                    row |= dict(zip(names, map(int, sums), strict=True))
            rows[user, item] = {**row, f"bin of {m}": bins[item]}
    return rows


def rows_of(standings):
    return {(row.pop("user_id"), row.pop("item_id")): row for row in standings.frame().to_dicts()}


@given(studies(), st.sampled_from([1, 3, 5]), st.booleans(), st.sampled_from([np.float32, np.float64]))
@settings(max_examples=examples(150), deadline=None)
def test_standings_equal_counting_by_hand(study, relevant_from, mask_seen, kind):
    fold, scores = study
    m = min(3, np.unique(fold.test.items).size)
    bins = (m,) if m > 1 else ()
    question = RankingTask.of(fold, relevant_from=relevant_from, bins=bins, mask_seen=mask_seen)
    standings, run = compute_standings(question, Scorer(scores.astype(kind)), "mine", k=4)
    found, wanted = rows_of(standings), by_hand(fold, scores, relevant_from, max(m, 1), mask_seen)
    if not bins:
        wanted = {key: {name: row[name] for name in row if " of " not in name} for key, row in wanted.items()}
    assert found == wanted
    assert standings.unlisted == sum(scores[u, i] == -np.inf for u, i in found)
    order = [scores[u, i] for u, i in found]
    queries = [u for u, _ in found]
    assert all(a != b or x >= y for a, b, x, y in zip(queries, queries[1:], order, order[1:], strict=False))
    train = {(u, i) for u, i in zip(fold.train.users.tolist(), fold.train.items.tolist(), strict=True) if mask_seen}
    for user in np.unique(fold.test.users).tolist():
        unseen = [i for i in range(ITEMS) if (user, i) not in train and scores[user, i] > -np.inf]
        best = sorted(unseen, key=lambda i: (-scores[user, i], i))[:4]
        listed = run.items[run.offsets[j] : run.offsets[j + 1]].tolist() if (j := _place(run, user)) is not None else []
        assert listed == best


@given(studies(), st.integers(0, 6))
@settings(max_examples=examples(60), deadline=None)
def test_lists_stand_as_the_scores_they_come_from_with_the_rest_tied_at_the_end(study, depth):
    fold, scores = study
    best = np.sort(scores, axis=1)[:, ::-1]
    cut = np.where(scores >= best[:, [max(depth, 1) - 1]], scores, -np.inf) if depth else np.full_like(scores, -np.inf)
    rows = [(u, i, float(cut[u, i])) for u, i in zip(*np.nonzero(cut > -np.inf), strict=True)]
    rows = rows or [(0, ITEMS + 5, 1.0)]  # an item that nobody knows
    run = Run.from_frame(pl.DataFrame(rows, schema=["user_id", "item_id", "score"], orient="row"), "mine")
    question = RankingTask.of(fold, bins=())
    whole, _ = compute_standings(question, Scorer(cut), "mine")
    lists = standings_of_lists(question, run)
    assert rows_of(lists) == rows_of(whole)
    assert lists.unlisted == whole.unlisted


def _place(run, user):
    queries = run.queries.to_list()
    return queries.index(user) if user in queries else None


class Factors:
    """A system whose scores are products."""

    def __init__(self, user_factors, item_factors):
        self.user_factors, self.item_factors = user_factors, item_factors


def made(users=300, items=80):
    rng = np.random.default_rng(1)
    cells = rng.random((users, items)) < 0.2
    user, item = np.nonzero(cells)
    log = Interactions.from_frame(pl.DataFrame({"user_id": user, "item_id": item}))
    held = rng.random(len(log)) < 0.3
    fold = Fold(log.take(~held), log.take(held), "global", {})
    factors = rng.standard_normal((users, 8)).astype(np.float32), rng.standard_normal((items, 8)).astype(np.float32)
    return fold, Factors(*factors)


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_the_same_bits_on_any_number_of_threads(threads):
    fold, fitted = made()
    question = RankingTask.of(fold)
    standings, run = compute_standings(question, fitted, "mine", k=10, threads=threads)
    reference, listed = compute_standings(question, fitted, "mine", k=10, threads=1)
    assert standings.frame().equals(reference.frame())
    assert run.frame().equals(listed.frame())


def test_factors_stand_as_their_products():
    fold, fitted = made()
    question = RankingTask.of(fold)
    fused, _ = compute_standings(question, fitted, "mine")
    table = (fitted.user_factors.astype(np.float64) @ fitted.item_factors.astype(np.float64).T).astype(np.float64)
    given_scores, _ = compute_standings(question, Scorer(table), "mine")
    assert fused.frame().equals(given_scores.frame())


def test_scores_that_differ_beyond_single_precision_do_not_tie():
    fold, _ = made()
    table = 1 + np.arange(80) * 1e-12 + np.zeros((300, 1))
    standings, _ = compute_standings(RankingTask.of(fold), Scorer(table), "mine")
    assert not standings.tied["AI"].any()
