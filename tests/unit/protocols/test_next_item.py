"""Leave-one-out: what is revealed, which users get a query, and what counts as a candidate."""

import numpy as np
import polars as pl
import pytest

import recassay as ra
from recassay.data.fold import Fold
from recassay.data.interactions import Interactions
from recassay.data.sequences import Histories
from recassay.data.synthetic import log
from recassay.engine.ranks.play import ranking_task
from recassay.errors import InputError
from recassay.protocols import next_item, ranking

from ...refusals import refused

ROWS = [*zip("aaaabbbc", "pqrsqrpp", (1, 2, 3, 4, 1, 2, 3, 1), strict=True)]
LOG = Interactions.from_frame(pl.DataFrame(ROWS, ["user_id", "item_id", "timestamp"], orient="row"))
FOLD = ra.split.last(n=1, validation=1)(LOG)[0]


class Repeats:
    """Scores the last item that it was fed, and nothing else: fitted on one log, fed another."""

    def __init__(self, log):
        self.log = log

    def fit(self, log):
        return Repeats(log)

    def next_scores(self, histories):
        table = np.zeros((len(histories), self.log.n_items))
        for row, history in zip(table, histories.rows(), strict=True):
            row[[(item + 1) % self.log.n_items for item in history[-1:]]] = 1
        return table

    def with_log(self, log):
        return Repeats(log)

    def scores(self, users):
        return self.next_scores(Histories.of(self.log).take(users))


def test_users_with_too_few_events_get_no_query():
    steps = list(next_item().steps(FOLD))
    assert steps[0].ask is None
    assert steps[1].ask.ids.to_list() == ["a", "b"]
    assert sorted(steps[0].reveal.frame()["item_id"].to_list()) == ["r", "r"]
    assert steps[1].reveal is None
    assert next_item().truth(FOLD).frame().rows() == [("a", "s", 1.0), ("b", "p", 1.0)]


def test_the_first_of_several_test_events_can_be_the_next_item():
    fold = ra.split.global_time(at=2)(LOG)[0]
    with refused("I341", match="several='first' takes the earliest"):
        next_item().truth(fold)
    first = next_item(several="first")
    assert first.truth(fold).frame().rows() == [("a", "q", 1.0), ("b", "r", 1.0)]
    run = ra.play(Repeats(None), fold, first)
    assert run.standings.pairs == 2
    assert first.truth(FOLD).frame().equals(next_item().truth(FOLD).frame())
    rows = [("a", "p", 1), ("a", "q", 3), ("a", "r", 3), ("b", "p", 1), ("b", "q", 4)]
    tied = Interactions.from_frame(pl.DataFrame(rows, ["user_id", "item_id", "timestamp"], orient="row"))
    with pytest.raises(InputError, match="1 users have several events at once in the test part, the first is 'a'"):
        first.truth(ra.split.global_time(at=2)(tied)[0])


def test_revealed_items_are_in_the_history_and_no_candidates():
    run = ra.play(Repeats(None), FOLD, next_item())
    # a had p q, then r: s follows; b had q, then r: s follows, and p is the target
    assert run.standings.above["AI"].tolist() == [0, 1]
    assert run.standings.pool["AI"].tolist() == [0, 1]
    blind = ra.play(Repeats(None), FOLD, ranking(bins=0))
    assert blind.standings.pool["AI"].tolist() == [1, 2]
    assert "r" in blind.frame()["item_id"].to_list()
    assert "r" not in run.frame()["item_id"].to_list()


def test_the_validation_part_can_be_the_target():
    run = ra.play(Repeats(None), FOLD, next_item(on="validation"))
    assert run.standings.frame()["item_id"].to_list() == ["r", "r"]
    assert run.standings.above["AI"].tolist() == [0, 0]


@pytest.mark.parametrize(("popularity", "weight"), [("training", [2, 2, 0, 0]), ("all", [3, 2, 2, 1])])
def test_popularity_counts_training_or_all(popularity, weight):
    assert ranking_task(FOLD, next_item(popularity=popularity)).weight.tolist() == weight


def test_keep_seen_keeps_seen_items_as_candidates():
    assert ra.play(Repeats(None), FOLD, next_item(keep_seen=True)).standings.pool["AI"].tolist() == [3, 3]


@pytest.mark.parametrize(
    ("fold", "ask"),
    [(ra.split.last(n=2)(LOG)[0], next_item()), (ra.split.last(n=1)(LOG)[0], next_item(on="validation"))],
)
def test_several_next_items_are_an_error(fold, ask):
    with pytest.raises(InputError, match="I341"):
        ra.play(ra.models.Popular(), fold, ask)


def test_a_repeated_pair_is_an_error():
    rows, columns = [("a", "p", 1), ("a", "q", 2), ("a", "q", 3)], ["user_id", "item_id", "timestamp"]
    again = Interactions.from_frame(pl.DataFrame(rows, columns, orient="row"))
    with pytest.raises(InputError, match="I310"):
        ra.play(ra.models.Popular(), ra.split.last(n=1, validation=1)(again)[0], next_item())


def test_models_without_histories_can_answer():
    made = log(users=80, items=50, events=1_500, seed=2)
    fold = ra.split.last(n=1, validation=1)(made)[0]
    assert isinstance(fold, Fold)
    run = ra.play(ra.models.Popular(), fold, next_item())
    assert run.standings.pairs == fold.test.users.size


def test_seen_items_can_be_candidates_of_all_and_of_no_sample():
    run = ra.play(Repeats(None), FOLD, next_item(keep_seen="unsampled"))
    kept, left = (ra.play(Repeats(None), FOLD, next_item(keep_seen=keep)) for keep in (True, False))
    assert run.frame().equals(kept.frame())
    for design, same in [("AI-1R-AN", kept), ("TI-1R-AN", kept), ("AI-1R-NN(1, by='popularity', replace=True)", left)]:
        ours, theirs = (ra.judge(one, design, "mrr", interval=None, short="all").rows for one in (run, same))
        assert (ours[0].mean, ours[0].random) == (theirs[0].mean, theirs[0].random)
    assert (run.standings.pool["AI"] < kept.standings.pool["AI"]).all()
