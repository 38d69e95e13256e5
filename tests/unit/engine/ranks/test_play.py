"""The driver asks what the protocol asks, and takes whatever a system can give: factors, scores, lists, a run."""

from types import SimpleNamespace

import numpy as np
import polars as pl

from recassay import protocols
from recassay.api.play import play
from recassay.data.fold import Fold
from recassay.data.interactions import Interactions
from recassay.data.run import Run
from recassay.data.synthetic import log
from recassay.engine.ranks.blocks import BLOCK_ROWS, query_blocks, row_in_block
from recassay.engine.ranks.play import RunSource
from recassay.models.base.model import recommend
from recassay.models.baselines import Popular

from ....refusals import refused

LOG = log(users=60, items=40, events=700, seed=3)
HELD = np.random.default_rng(1).random(len(LOG)) < 0.25
FOLD = Fold(LOG.take(~HELD), LOG.take(HELD), "global", {"split": "by hand"})
ASK = protocols.ranking(k=40, bins=4)


def popularity():
    return FOLD.train.item_users.astype(np.float64)


def test_scores_give_lists_and_standings_in_one_pass():
    sizes = []

    def scores(users):
        sizes.append(users.size)
        return np.broadcast_to(popularity(), (users.size, LOG.n_items)).copy()

    run = play(SimpleNamespace(scores=scores), FOLD, ASK, name="popular")
    assert run.name == run.standings.name == "popular"
    assert run.standings.pairs == len(FOLD.test)
    assert sizes == [BLOCK_ROWS] * len(query_blocks(row_in_block(run.standings.queries)))
    assert isinstance(run.source, RunSource)
    assert run.standings.how["split"] == "by hand"
    wanted = recommend(Popular().fit(FOLD.train), run.standings.queries, 40, "popular")
    assert run.frame().equals(wanted.frame())


def test_lists_and_runs_stand_as_far_as_they_reach():
    fitted = Popular().fit(FOLD.train)
    only_lists = SimpleNamespace(log=fitted.log, recommend=fitted.recommend)
    whole = play(SimpleNamespace(fit=lambda train: only_lists), FOLD, ASK, name="lists")
    read = Run.from_frame(whole.frame(), "read")
    again = play(read, FOLD, ASK)
    assert (again.name, again.source) == ("read", None)
    for run in (whole, again):
        assert run.standings.above["TI"].sum() > 0
        assert run.standings.unlisted == 0
    short = play(Run.from_frame(whole.frame().filter(pl.col("rank") <= 3), "short"), FOLD, ASK)
    assert 0 < short.standings.unlisted < short.standings.pairs


def test_another_protocol_has_no_driver_yet():
    class Nothing(protocols.BaseProtocol):
        def __str__(self):
            return "nothing"

    with refused("U107"):
        play(Popular(), FOLD, Nothing())


def test_an_empty_profile_can_be_asked_about():
    few = Interactions.from_frame(pl.DataFrame({"user_id": [1, 2, 2], "item_id": [7, 7, 8]}))
    fold = Fold(few.take(np.array([1])), few.take(np.array([0, 2])), "global", {})
    run = play(Popular(), fold, protocols.ranking())
    assert run.standings.queries.to_list() == [1, 2]
    assert run.standings.pool["AI"].tolist() == [1, 0]
