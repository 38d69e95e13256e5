"""The order in which rows were read decides ties and repeated items, whatever ranks, scores and users say.

The twin is what people write by hand: a dict of users with dicts of items, filled row by row, then sorted.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from numba.misc.quicksort import make_py_quicksort

from recassay.data.run import Run
from recassay.data.truth import Truth
from recassay.metrics.align import Conventions, align
from recassay.rng import derive

from ..refusals import refused

Rows = list[tuple[str, str, int, float]]

TIES = {
    "row": lambda place, item: place,
    "id": lambda place, item: item,
    "id_descending": lambda place, item: [-ord(letter) for letter in item],
    "trec": lambda place, item: [-ord(letter) for letter in item],
}
quicksort = make_py_quicksort(is_argsort=True).run_quicksort
SEEDS = range(6)


def table(seed: int) -> pl.DataFrame:
    """Rows of some users, mixed, with ranks in no order, items that come again, and scores that tie."""
    rng = derive(seed, "rows")
    rows: Rows = []
    for user in range(30):
        length = int(rng.integers(1, 40))
        items, scores = rng.integers(0, max(2, length // 2), length), rng.integers(0, 8, length) / 8
        ranks = rng.permutation(length)
        rows += [(f"u{user:02d}", f"i{item:02d}", int(rank), float(score)) for item, rank, score in zip(
            items, ranks, scores, strict=True
        )]  # fmt: skip
    mixed = rng.permutation(len(rows))
    return pl.DataFrame([rows[at] for at in mixed], ["user_id", "item_id", "rank", "score"], orient="row")


def sorted_as_ranx(held: dict[str, float]) -> dict[str, float]:
    """What ranx does to a list, each time: numba's quicksort, here in Python."""
    items, order = list(held), quicksort(np.array([-score for score in held.values()]))
    return {items[at]: held[items[at]] for at in order}


def by_hand(frame: pl.DataFrame, ties: str) -> dict[str, list[str]]:
    """Lists by score, of dicts in which a later row takes the place of an earlier one."""
    scored: dict[str, dict[str, float]] = {}
    for user, item, _, score in frame.select("user_id", "item_id", "rank", "score").iter_rows():
        scored.setdefault(user, {})[item] = score
    lists = {}
    for user, held in sorted(scored.items()):
        if ties == "ranx":
            lists[user] = list(sorted_as_ranx(sorted_as_ranx(held)))
            continue
        place = {item: at for at, item in enumerate(held)}
        lists[user] = sorted(held, key=lambda item: (-held[item], TIES[ties](place[item], item)))
    return lists


def lists_of(run: Run) -> dict[str, list[str]]:
    items = run.vocabulary.decode(run.items).to_list()
    ends = zip(run.offsets, run.offsets[1:], strict=False)
    return {user: items[begin:end] for user, (begin, end) in zip(run.queries, ends, strict=True)}


def met(run: Run, **conventions: Any) -> Run:
    truth = Truth.from_frame(pl.DataFrame({"user_id": run.queries, "item_id": ["i00"] * run.queries.len()}))
    return align(run, truth, Conventions(**conventions)).run


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("ties", [*TIES, "ranx"])
@pytest.mark.parametrize("columns", [["rank", "score"], ["score"]])
def test_the_last_row_wins_as_in_a_dict(seed: int, ties: str, columns: list[str]) -> None:
    frame = table(seed)
    run = Run.from_frame(frame.select("user_id", "item_id", *columns), "run")
    found = met(run, order="score", duplicates="last", ties=ties)
    assert lists_of(found) == by_hand(frame, ties)
    last = {(user, item): score for user, item, _, score in frame.iter_rows()}
    pairs = zip(found.frame()["user_id"], found.frame()["item_id"], strict=True)
    assert found.frame()["score"].to_list() == [last[pair] for pair in pairs]


@pytest.mark.parametrize("seed", SEEDS)
def test_by_rank_an_item_keeps_its_first_place_and_has_the_score_of_its_last_row(seed: int) -> None:
    frame = table(seed)
    found = met(Run.from_frame(frame, "run"), duplicates="last")
    first = frame.sort("user_id", "rank").unique(["user_id", "item_id"], keep="first", maintain_order=True)
    last = frame.unique(["user_id", "item_id"], keep="last").select("user_id", "item_id", score="score")
    wanted = first.drop("score").join(last, on=["user_id", "item_id"], how="left", maintain_order="left")
    assert found.frame().select("user_id", "item_id", "score").equals(wanted.select("user_id", "item_id", "score"))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("precision", ["double", "single"])
def test_tied_rows_stand_as_they_were_read_although_ranks_stand_beside_them(seed: int, precision: str) -> None:
    frame = table(seed).unique(["user_id", "item_id"], keep="first", maintain_order=True)
    noise = derive(seed, "noise").random(frame.height) * 1e-12  # which single precision does not see
    seen = 1.0 + frame["score"].to_numpy() + (noise if precision == "single" else 0.0)
    run = Run.from_frame(frame.with_columns(score=pl.Series(seen)), "run")
    assert lists_of(met(run, order="score", ties="row", precision=precision)) == by_hand(frame, "row")


@pytest.mark.parametrize("seed", SEEDS)
def test_some_users_of_a_run_know_their_rows(seed: int) -> None:
    run, which = Run.from_frame(table(seed), "run"), np.array([3, 4, 17])
    some = met(run.take(which), order="score", duplicates="last", ties="row")
    whole = lists_of(met(run, order="score", duplicates="last", ties="row"))
    assert lists_of(some) == {user: whole[user] for user in run.queries.gather(which)}


def test_by_ranks_ranx_is_row() -> None:
    frame = table(0).with_columns(pl.col("rank") // 5)
    run = Run.from_frame(frame, "run")
    assert lists_of(met(run, ties="ranx")) == lists_of(met(run, ties="row")) != lists_of(met(run, ties="id"))


def test_a_run_in_order_keeps_no_places_and_one_that_is_not_asked_keeps_none_either() -> None:
    frame = table(0)
    assert Run.from_frame(frame, "run").rows is not None
    assert Run.from_frame(frame, "run", keep_rows=False).rows is None
    assert Run.from_frame(Run.from_frame(frame, "run").frame().drop("score"), "run").rows is None
    assert met(Run.from_frame(frame, "run"), order="score").rows is None  # no convention looks at them


def test_a_last_row_is_asked_for_and_nobody_knows_it() -> None:
    rows = [("u", "a", 3, 1.0), ("u", "b", 2, 2.0), ("u", "a", 1, 3.0), ("v", "i00", 1, 1.0), ("v", "i00", 2, 0.5)]
    frame = pl.DataFrame(rows, ["user_id", "item_id", "rank", "score"], orient="row")
    with refused("I319", match="2 rows repeat an item of the same list with another score") as caught:
        met(Run.from_frame(frame, "run", keep_rows=False), duplicates="last")
    assert "the first item 'a' for user 'u'" in caught.value.what
    same = frame.with_columns(score=pl.lit(0.5))  # whichever is the last, it says the same
    assert lists_of(met(Run.from_frame(same, "run", keep_rows=False), duplicates="last"))["u"] == ["a", "b"]
    ranks = frame.drop("score")  # no score to take
    assert lists_of(met(Run.from_frame(ranks, "run", keep_rows=False), duplicates="last"))["u"] == ["a", "b"]
    assert lists_of(met(Run.from_frame(frame, "run", keep_rows=False), duplicates="first"))["u"] == ["a", "b"]


def test_the_order_of_rows_is_asked_for_and_nobody_knows_it() -> None:
    frame = pl.DataFrame({"user_id": ["u", "u"], "item_id": ["i00", "a"], "rank": [2, 1], "score": [1.0, 1.0]})
    for ties in ("row", "ranx"):
        with refused("U107", match="needs the order of rows"):
            met(Run.from_frame(frame, "run", keep_rows=False), order="score", ties=ties)
    with refused("U107", match="needs scores"):
        met(Run.from_frame(frame.drop("rank"), "run", keep_scores=False), ties="ranx")
