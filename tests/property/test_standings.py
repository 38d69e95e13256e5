"""The one-pass kernel against a readable twin that ranks everything by hand."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recassay.data.fold import Fold
from recassay.data.interactions import Interactions
from recassay.engine.standings import Question, stand

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


def by_hand(fold, scores, relevant_from):
    """Every pair with its counts, from sets."""
    train = {(u, i) for u, i in zip(fold.train.users.tolist(), fold.train.items.tolist(), strict=True)}
    rated = list(zip(fold.test.users.tolist(), fold.test.items.tolist(), fold.test.ratings.tolist(), strict=True))
    popularity = np.bincount(fold.train.items, minlength=ITEMS)
    base = {"AI": set(range(ITEMS)), "TI": {i for _, i, _ in rated}}
    rows = {}
    for user in sorted({u for u, _, _ in rated}):
        liked = {i for u, i, rating in rated if u == user and rating >= relevant_from}
        for item in liked:
            mine = scores[user, item]
            row = {"tie_relevant": sum(scores[user, other] == mine for other in liked - {item})}
            for name, members in base.items():
                others = [i for i in members if i not in liked and (user, i) not in train]
                above = [i for i in others if scores[user, i] > mine]
                level = [i for i in others if scores[user, i] == mine]
                row |= {f"above {name}": len(above), f"tied {name}": len(level), f"pool {name}": len(others)}
                sums = (popularity[above].sum(), popularity[level].sum(), popularity[others].sum())
                row |= dict(
                    zip((f"mass above {name}", f"mass tied {name}", f"mass {name}"), map(float, sums), strict=True)
                )
            rows[user, item] = row
    return rows


@given(studies(), st.sampled_from([1, 3, 5]))
@settings(max_examples=150, deadline=None)
def test_standings_equal_counting_by_hand(study, relevant_from):
    fold, scores = study
    standings, run = stand(
        Question.of(fold, relevant_from=relevant_from), lambda users: scores[users], "mine", k=4, popularity=True
    )
    found = {(row.pop("user_id"), row.pop("item_id")): row for row in standings.frame().to_dicts()}
    assert found == by_hand(fold, scores, relevant_from)
    order = [scores[u, i] for u, i in found]
    queries = [u for u, _ in found]
    assert all(a != b or x >= y for a, b, x, y in zip(queries, queries[1:], order, order[1:], strict=False))
    train = {(u, i) for u, i in zip(fold.train.users.tolist(), fold.train.items.tolist(), strict=True)}
    for user in np.unique(fold.test.users).tolist():
        unseen = [i for i in range(ITEMS) if (user, i) not in train and scores[user, i] > -np.inf]
        best = sorted(unseen, key=lambda i: (-scores[user, i], i))[:4]
        listed = run.items[run.offsets[j] : run.offsets[j + 1]].tolist() if (j := _place(run, user)) is not None else []
        assert listed == best


def _place(run, user):
    queries = run.queries.to_list()
    return queries.index(user) if user in queries else None


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_the_same_bits_on_any_number_of_threads(threads):
    rng = np.random.default_rng(1)
    cells = rng.random((300, 80)) < 0.2
    user, item = np.nonzero(cells)
    log = Interactions.from_frame(pl.DataFrame({"user_id": user, "item_id": item}))
    held = rng.random(len(log)) < 0.3
    fold = Fold(log.take(~held), log.take(held), "global", {})
    factors = rng.standard_normal((300, 8)).astype(np.float32), rng.standard_normal((80, 8)).astype(np.float32)
    question = Question.of(fold)
    standings, run = stand(question, lambda users: factors[0][users] @ factors[1].T, "mine", k=10, threads=threads)
    reference, listed = stand(question, lambda users: factors[0][users] @ factors[1].T, "mine", k=10, threads=1)
    assert standings.frame().equals(reference.frame())
    assert run.frame().equals(listed.frame())
