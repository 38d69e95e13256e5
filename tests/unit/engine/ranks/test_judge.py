"""Judging: one table for all systems and designs, intervals over users, and what is refused."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import recassay as ra
from recassay.data.synthetic import log
from recassay.errors import UsageError
from recassay.stats.ranks import kendall

from ....refusals import refused

LOG = log(users=300, items=90, events=7_000, seed=2)
FOLD = ra.split.random(test=0.2, seed=7)(LOG)[0]
ASK = ra.protocols.ranking()
MODELS = {"popular": ra.models.Popular(), "svd": ra.models.PureSVD(8), "random": ra.models.Random()}


@pytest.fixture(scope="module")
def runs():
    return [ra.play(model, FOLD, ASK, name=name) for name, model in MODELS.items()]


@pytest.fixture(scope="module")
def assay(runs):
    designs = ["TI-AR-AN", "TI-1R-NN(20)", "AI-1R-NN(20, by='popularity')", "P1R"]
    return ra.judge(runs, designs, "precision@5 ndcg@5 mrr", resamples=500)


def test_there_is_a_row_for_every_system_design_and_metric(assay):
    assert len(assay.rows) == 3 * 4 * 3
    table = assay.summary()
    assert table.height == 36
    assert ((table["low"] <= table["mean"]) & (table["mean"] <= table["high"])).all()
    row = assay.row("svd", "TI-1R-NN(20)", "precision@5")
    assert row.sets == int(FOLD.test.users.size)
    assert row.random == pytest.approx(1 / 21)
    assert row.corrected == pytest.approx((row.mean - 1 / 21) / (1 / 5 - 1 / 21))
    assert 0 < row.sd_draws < 0.01
    assert assay.row("svd", "TI-AR-AN", "mrr").sd_draws == pytest.approx(0, abs=1e-9)


def test_chance_is_what_a_random_system_gets(assay):
    for design in assay.designs:
        row = assay.row("random", design, "precision@5")
        assert row.low - 0.01 <= row.random <= row.high + 0.01
        assert row.rho == pytest.approx(row.random, rel=0.35) or design == "P1R"


def test_values_per_user_have_the_mean_of_the_table(assay):
    for design in assay.designs:
        scores = assay.scores(design)
        for system in assay.systems:
            values, weights = scores.values(system, "ndcg@5"), scores.weights(system, "ndcg@5")
            ok = ~np.isnan(values)
            mean = np.average(values[ok], weights=None if weights is None else weights[ok])
            assert mean == pytest.approx(assay.row(system, design, "ndcg@5").mean, abs=1e-12)
    assert assay.scores("TI-AR-AN").units.len() == LOG.n_users
    assert ra.compare(assay.scores("TI-1R-NN(20)"), baseline="random", resamples=500).rows[0].p < 0.05


def test_orders_and_their_agreement(assay):
    assert assay.order("ndcg@5").row(0) == ("TI-AR-AN", 2, 1, 3)
    found = assay.agreement("ndcg@5")
    assert found.height == 6
    assert found["tau"].max() == pytest.approx(1)
    assert np.isnan(kendall([1, 1], [1, 2]))


def test_an_assay_goes_to_json(assay):
    document = assay.to_dict()
    assert len(document["rows"]) == 36
    assert document["settings"]["users"] == "all"
    assert [one["code"] for one in document["findings"]] == ["B001", "B002"]
    assert len(assay.with_findings(assay.findings[0]).findings) == 3


def test_users_without_relevant_items_count_zero_or_not_at_all(runs):
    counted, left_out = (
        ra.judge(runs[0], "TI-AR-AN", "recall@5", users=users, interval=None).rows[0]
        for users in ("all", "with_relevant")
    )
    assert counted.mean * counted.n == pytest.approx(left_out.mean * left_out.n)
    assert counted.n == LOG.n_users > left_out.n


def test_systems_by_name_and_standings_alone(runs):
    assay = ra.judge({"a": runs[0], "b": runs[1].standings}, "TI-AR-AN", "mrr", interval=None)
    assert assay.systems == ("a", "b")


@pytest.mark.parametrize(
    ("ask", "code", "words"),
    [
        (lambda runs: ra.judge([runs[0], runs[0]], "TI-AR-AN", "mrr"), "U109", "popular"),
        (lambda runs: ra.judge([], "TI-AR-AN", "mrr"), "U122", "no run"),
        (lambda runs: ra.judge(replace(runs[0], standings=None), "TI-AR-AN", "mrr"), "U122", "no standings"),
        (lambda runs: ra.judge(runs, "TI-1R-NN(89)", "mrr"), "U120", "fewer than 89"),
        (lambda runs: ra.judge(runs, "TI-AR-AN", "err"), "U110", "err"),
        (lambda runs: ra.judge(runs, "T1-AR-AN", "mrr"), "U118", "TI-AR-AN"),
    ],
)
def test_what_cannot_be_judged_is_refused(runs, ask, code, words):
    with refused(code, match=words):
        ask(runs)


def test_systems_that_were_asked_otherwise_are_refused(runs):
    other = ra.split.random(test=0.2, seed=8)(LOG)[0]
    with refused("I311"):
        ra.judge([runs[0], ra.play(ra.models.Random(), other, ASK)], "TI-AR-AN", "mrr")


def test_names_that_were_not_judged(assay):
    for ask in (
        lambda: assay.row("nobody", "P1R", "mrr"),
        lambda: assay.row("svd", "PAR", "mrr"),
        lambda: assay.row("svd", "P1R", "map"),
        lambda: assay.order("map"),
        lambda: assay.scores("PAR"),
    ):
        with pytest.raises(UsageError):
            ask()


def test_lists_from_a_file_are_judged_as_far_as_they_reach(runs):
    """A list of everything stands as the scores it came from; a short one ties the rest."""
    read = ra.Run.from_frame(ra.play(ra.models.Popular(), FOLD, ra.protocols.ranking(k=90)).frame(), "read")
    whole = ra.judge([runs[0], ra.play(read, FOLD, ASK)], "TI-1R-NN(20)", "mrr", interval=None)
    ties = runs[0].standings.tied["TI"].sum()
    assert ties > 0
    assert whole.rows[0].mean == pytest.approx(whole.rows[1].mean, abs=0.01)  # lists break the ties of popularity
    short = ra.play(ra.Run.from_frame(read.frame().filter(pl.col("rank") <= 5), "short"), FOLD, ASK)
    row = ra.judge(short, "TI-1R-NN(20)", "mrr", interval=None).rows[0]
    assert 0 < row.unlisted < FOLD.test.users.size
    assert row.random < row.mean < whole.rows[1].mean


def test_drawn_by_popularity_without_replacement_chance_depends_on_the_sizes_of_sets_alone():
    """Ten places of a list for one relevant item among 20 others, though candidates tie for ``Popular``."""
    from recassay.data.synthetic import log

    fold = ra.split.last(n=1)(log(users=60, items=60, events=900, seed=3))[0]
    runs = [ra.play(model, fold, ra.protocols.next_item()) for model in (ra.models.Popular(), ra.models.Random())]
    design = "AI-1R-NN(20, by='popularity', replace=False)"
    judged = ra.judge(runs, design, "hit@10", method="sample", draws=3, interval=None).summary()
    assert judged["random"].to_list() == pytest.approx([10 / 21, 10 / 21], abs=1e-12)
