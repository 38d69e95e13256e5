"""Means over the users with training events alone: in calls, on the command line, in studies and on every back end."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import recassay as ra
from recassay.data.fold import known_users
from recassay.data.synthetic import log
from recassay.errors import InputError, UsageError

METRICS = "ndcg@10 recall@10 coverage@10"


@pytest.fixture(scope="module")
def fold():
    """A fold in which every sixth test user has no training event, because the log has users with one event."""
    many = log(users=150, items=60, events=3_000, seed=1).frame().select("user_id", "item_id")
    once = pl.DataFrame({"user_id": np.arange(9_000, 9_150), "item_id": many["item_id"].sample(150, seed=2)})
    frame = pl.concat([many.cast(pl.Int64), once.cast(pl.Int64)]).sample(fraction=1, shuffle=True, seed=3)
    return ra.split.random(test=0.2, seed=0)(ra.read_interactions(frame))[0]


@pytest.fixture(scope="module")
def runs(fold):
    return {str(model): ra.play(model, fold, ra.protocols.ranking(bins=0)) for model in SYSTEMS}


SYSTEMS = (ra.models.EASE(l2=10.0), ra.models.Popular())


def counts(fold):
    users = fold.test.user_vocabulary.decode(np.unique(fold.test.users))
    known = known_users(fold.train, users)
    return {"users": int(known.sum()), "of": known.size}


def test_means_are_those_of_the_users_with_training_events(fold, runs):
    everybody, known = (ra.score(runs, fold, METRICS, users=users, interval=None) for users in ("all", "known"))
    mask = known_users(fold.train, everybody.units)
    assert 0 < mask.sum() < mask.size
    assert known.units.equals(everybody.units.filter(pl.Series(mask)))
    for system in runs:
        assert known.values(system, "ndcg@10").tolist() == everybody.values(system, "ndcg@10")[mask].tolist()
    assert known.settings["population"] == counts(fold)
    assert known.settings["conventions"]["users"] == "known"
    assert "population" not in everybody.settings
    assert {"C010"} <= {one.code for one in everybody.findings}
    assert {"C001", "C010"}.isdisjoint(one.code for one in known.findings)
    extra = next(one for one in known.findings if one.code == "C004")
    assert "or have no training event" in extra.detail


def test_a_personalised_model_can_win_among_known_users_and_both_say_whom_they_are_over(fold):
    everybody, known = (
        ra.evaluate(fold, list(SYSTEMS), "ndcg@10", references=False, users=users) for users in ("all", "known")
    )
    assert everybody.stated["users"] == ""
    n = counts(fold)
    assert known.stated["users"] == f"users with training events: {n['users']:,} of {n['of']:,}"
    assert str(known.scores).splitlines()[0].count(known.stated["users"]) == 1
    assert known.scores.row("EASE(l2=10.0)", "ndcg@10").n == n["users"]
    assert known.runs["Popular"].queries.len() == n["of"]


def test_the_population_needs_a_training_log_and_a_known_user(fold, runs):
    truth = ra.Truth.from_frame(fold.test.frame().select("user_id", "item_id"))
    with pytest.raises(UsageError, match=r"U105.*users='known'"):
        ra.score(runs, truth, "ndcg@10", users="known")
    with pytest.raises(InputError, match="I406"):
        ra.score({"mine": {"ann": ["x"]}}, {"ann": ["x"]}, "mrr", train={"bob": ["x"]}, users="known", interval=None)


def test_a_budget_of_memory_and_a_shuffle_give_the_same_bits(fold, runs, tmp_path):
    truth, train = tmp_path / "truth.parquet", tmp_path / "train.parquet"
    fold.test.frame().sample(fraction=1, shuffle=True, seed=1).write_parquet(truth)
    fold.train.frame().sample(fraction=1, shuffle=True, seed=1).write_parquet(train)
    paths = {name: tmp_path / f"run{number}.parquet" for number, name in enumerate(runs)}
    for name, path in paths.items():
        runs[name].frame().write_parquet(path)
    here, chunked = (
        ra.score(
            paths,
            truth,
            METRICS,
            train=train,
            users="known",
            interval="normal",
            execution=ra.options.Execution(memory=memory),
        )
        for memory in (None, "8GB")
    )
    assert repr(here.rows) == repr(chunked.rows)  # NaN bounds of coverage
    assert here.findings == chunked.findings
    assert dict(here.settings) == dict(chunked.settings)
    assert here.settings["population"] == counts(fold)


def test_scorings_of_two_populations_are_not_joined(fold, runs, tmp_path):
    from recassay.engine.lists.score_joins import join_scorings
    from recassay.results.score_set import Place, ScoreSet

    dense = ra.split.random(test=0.2, by="user")(fold.train.concat(fold.test))[0]
    run = ra.play(ra.models.Popular(), dense, ra.protocols.ranking(bins=0))
    both = [
        (users, ScoreSet({Place(): ra.score({name: run}, dense, "ndcg@10", users=users, interval=None)}))
        for name, users in (("a", "all"), ("b", "known"))
    ]
    with pytest.raises(UsageError, match=r"U204.*users is all against known"):
        join_scorings(both)


def test_designs_of_a_fold_of_known_users_do_not_count_the_others(fold):
    known = fold.of_known_users()
    n = counts(fold)
    assert known.how["population"] == n
    assert np.unique(known.test.users).size == n["users"]
    trained = int((np.diff(fold.train.by_user[0]) > 0).sum())
    for one, users in ((fold, fold.train.n_users), (known, trained)):
        run = ra.play(ra.models.Popular(), one, ra.protocols.ranking(bins=0))
        assert ra.judge([run], "AI-AR-AN", "ndcg@10").row("Popular", "AI-AR-AN", "ndcg@10").n == users
        assert run.standings.everyone.len() == users == run.standings.users
        assert run.standings.others["AI"].size == users - run.standings.queries.len()
    everybody = ra.play(ra.models.EASE(l2=10.0), fold, ra.protocols.ranking(bins=0)).frame()
    fewer = ra.play(ra.models.EASE(l2=10.0), known, ra.protocols.ranking(bins=0)).frame()
    assert everybody.equals(fewer)  # who has no training event has no list, and all others have the same one


STUDY = """
study: population
data: {{path: {log}, columns: {{user: user_id, item: item_id}}}}
split: [random(test=0.2)]
models: {{ease: "EASE(l2=10.0)", pop: Popular}}
designs: [lists, AI-AR-AN]
metrics: [ndcg@10]
{users}
"""


def test_a_study_scores_known_users_under_every_design_and_says_so(fold, tmp_path):
    fold.train.concat(fold.test).frame().select("user_id", "item_id").write_csv(tmp_path / "log.csv")
    found = {}
    for users in ("all", "known"):
        path = tmp_path / f"{users}.yaml"
        path.write_text(STUDY.format(log=tmp_path / "log.csv", users=f"users: {users}"))
        found[users] = ra.run_study(path, tmp_path / users)
    everybody, known = (
        {(row["system"], row["design"]): row["n"] for row in one.rows if row["fold"] == "all"} for one in found.values()
    )
    assert known["pop", "lists"] < everybody["pop", "lists"]
    assert known["pop", "AI-AR-AN"] < everybody["pop", "AI-AR-AN"]
    codes = {users: {one["code"] for one in result.findings} for users, result in found.items()}
    assert "C010" in codes["all"]
    assert "C010" not in codes["known"]
    page = (tmp_path / "known" / "report.html").read_text()
    over = f"users with training events: {known['pop', 'lists']:,} of {everybody['pop', 'lists']:,}"
    assert over in page
    assert found["known"].document()["settings"]["population"] == {
        "users": known["pop", "lists"], "of": everybody["pop", "lists"],
    }  # fmt: skip
    again = ra.run_study(tmp_path / "known.yaml", tmp_path / "known")  # nothing changed: from the folder
    assert again.settings == found["known"].settings
    assert "settings" not in found["all"].document()
    assert "users: known" in (tmp_path / "known" / "study.lock.yaml").read_text()
    assert "users" not in (tmp_path / "all" / "study.lock.yaml").read_text().split("judge:")[0].split("designs:")[1]
    with pytest.raises(UsageError, match=r"U134.*its users was"):
        ra.run_study(tmp_path / "all.yaml", tmp_path / "known")
