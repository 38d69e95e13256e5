"""A decision in one value: findings D001 to D003 fire where they should, and nowhere else; contests of a study."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import recassay as ra
from recassay.checks.base import CHECKS
from recassay.comparison.compare import SignificanceOptions
from recassay.comparison.rules import SuddenDeathOptions
from recassay.data.io import write_bytes
from recassay.data.io.archive import load_archive
from recassay.data.io.manifest import recording
from recassay.engine.decisions.comparing import compare_places
from recassay.engine.decisions.decide import decide, sudden_deaths
from recassay.engine.lists.score_sets import read_scores
from recassay.errors import InputError, UsageError
from recassay.results.score_set import score_set

STUDY = """\
study: small
data: {generate: "log(users=60, items=40, events=900)"}
split: k_folds(k=2)
models: {popular: Popular, random: Random, plsa: "PLSA(factors=2)"}
metrics: [recall@5, ndcg@5]
judge: {resamples: 200}
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    home = tmp_path_factory.mktemp("study")
    (home / "study.yaml").write_text(STUDY)
    ra.run_study(home / "study.yaml", home / "out")
    return home / "out"


def table(n=60, metric="mrr", **lifts):
    """Systems with the same luck and lifts of their own."""
    luck = np.random.default_rng(3).uniform(0.2, 0.6, n)
    own = {name: np.random.default_rng(len(name)).normal(lift, 0.02, n) for name, lift in lifts.items()}
    values = np.concatenate([luck + one for one in own.values()])
    return pl.DataFrame({"user": list(range(n)) * len(own), "system": np.repeat(list(own), n), metric: values})


def codes(given, **options):
    return [finding.code for finding in decide(read_scores(given), **options).findings]


def test_many_comparisons_without_correction_are_reported():
    d = np.array([[1.0] * 9 + [-0.1], [0.5] * 8 + [-1.5, 0.0]])
    values = {"a": d[0], "bb": -d[0] / 9, "ccc": d[1]}
    mrr = np.concatenate(list(values.values()))
    given = pl.DataFrame({"user": list(range(10)) * 3, "system": np.repeat(list(values), 10), "mrr": mrr})
    compared = compare_places(read_scores(given), SignificanceOptions(correction="none"))
    found = {finding.code: finding for finding in compared.findings}["D001"]
    p = compared.frame()["p"].to_numpy()
    claims = int((p <= 0.05).sum())
    kept = int((compare_places(read_scores(given)).frame()["p_adjusted"] <= 0.05).sum())
    assert "3 p-values without correction" in found.detail
    assert f"with probability 14 %; {claims} are, of which {claims - kept} would not be" in found.detail
    assert found.severity == ("warning" if claims > kept else "info")
    assert found.title == CHECKS.kinds["D001"].title
    assert "D001" not in codes(given)
    assert "D001" not in codes(given.filter(pl.col("system") != "ccc"), correction="none")


@pytest.mark.parametrize(("n", "test", "said"), [(49, "bootstrap", 1), (50, "bootstrap", 0), (49, "permutation", 0)])
def test_the_bootstrap_test_of_few_users_is_reported(n, test, said):
    found = decide(read_scores(table(n, good=0.2, bad=0.0)), test=test).findings
    assert [finding.severity for finding in found if finding.code == "D004"] == ["warning"] * said


def test_few_seeds_are_reported_for_systems_with_a_seed(results, tmp_path):
    found = {finding.code: finding for finding in decide(read_scores(results)).findings}["D002"]
    assert "plsa (1)" in found.detail
    assert "popular" not in found.detail
    assert "random" not in found.detail  # chance itself needs no training
    (tmp_path / "more.yaml").write_text(STUDY + "seeds: [0, 1, 2]\n")
    ra.run_study(tmp_path / "more.yaml", tmp_path / "out")
    assert "D002" not in codes(tmp_path / "out")
    assert "D002" not in codes(table(a=0.1, b=0.0))  # nobody says what depends on seeds


@pytest.mark.parametrize(
    ("given", "options", "words"),
    [
        (table(mine=0.1, weak=0.0, popular=0.05), {"baseline": "weak"}, "the baseline weak is beaten"),
        (table(mine=0.1, weak=0.0, MostPop=0.05), {}, "1 system weak is beaten in 1 comparison"),
        (table(metric="rmse", mine=0.0, weak=0.1, random=0.05), {}, "by rmse random is 0.04"),
    ],
)
def test_a_baseline_beaten_by_popularity_is_reported(given, options, words):
    found = {finding.code: finding for finding in decide(read_scores(given), **options).findings}["D003"]
    assert words in found.detail
    assert found.severity == "warning"


@pytest.mark.parametrize(
    ("given", "options"),
    [
        (table(mine=0.1, strong=0.08, popular=0.05), {"baseline": "strong"}),
        (table(mine=0.1, strong=0.0501, popular=0.05), {}),  # not significant
        (table(mine=0.1, popular=0.0, random=0.05), {"baseline": "popular"}),  # both know nothing of the user
        (table(metric="efd@10", mine=0.0, random=0.3), {}),  # chance is novel
    ],
)
def test_other_baselines_are_not_reported(given, options):
    assert "D003" not in codes(given, **options)


def test_kinds_of_systems_come_from_the_models_of_the_study(tmp_path):
    """Names of systems do not matter where the models are known."""
    scores = read_scores(table(popular=0.1, mine=0.0, MostPop=0.05))
    (by_name,) = (one for one in compare_places(scores).findings if one.code == "D003")
    assert "mine" in by_name.detail
    (tmp_path / "study.lock.yaml").write_text("models: {popular: {model: ALS()}, mine: {model: Popular}}")
    assert "D003" not in {one.code for one in compare_places(replace(scores, folder=tmp_path)).findings}


def test_sudden_death_pools_the_runs_of_all_folds(results):
    ((name, contest),) = sudden_deaths(read_scores(results), SuddenDeathOptions((5, 3))).items()
    assert name == "generated, k_folds(k=2), 2 folds, seed-0"
    assert contest.competitors == ("plsa", "popular", "random")
    folds = []
    for cell in sorted((results / "runs").rglob("seed-0")):
        standings = results / "standings" / cell.relative_to(results / "runs") / "random.npz"
        truth = load_archive(standings)[1].frame().select("user_id", "item_id")
        folds.append(ra.sudden_death({one.stem: one for one in sorted(cell.glob("*.parquet"))}, truth, (5, 3)))
    for system in contest.competitors:
        won = [np.nansum(fold.values(system)) for fold in folds]
        assert contest.share(system) == sum(won) / sum(fold.n for fold in folds)
    assert contest.n == sum(fold.n for fold in folds)
    assert contest.n_distinct == pl.concat([fold.units for fold in folds]).n_unique() < contest.n
    assert contest.over() == f"{contest.n_distinct} users in 2 folds ({contest.n} pairs of user and fold)"


def test_intervals_over_folds_draw_users_with_all_their_folds(results):
    (contest,) = sudden_deaths(read_scores(results), SuddenDeathOptions((5,))).values()
    frame = pl.DataFrame({"user": contest.units, "won": contest.values("plsa")})
    per_user = frame.group_by("user", maintain_order=True).agg(pl.col("won").mean(), n=pl.len()).sort("user")
    scores = contest.scores()
    assert scores.units.to_list() == per_user["user"].to_list()
    assert scores.values("plsa", "sudden_death@5").tolist() == pytest.approx(per_user["won"].to_list())
    assert scores.weights("plsa", "sudden_death@5").tolist() == per_user["n"].to_list()
    row = contest.summary().row(0, named=True)
    assert row["low"] < row["sudden_death"] < row["high"]
    assert {one.test for one in contest.compare().rows} == {"permutation"}


def copied(results, folder, paths):
    """Copy some files of a folder of results into another one, as recassay would write them."""
    with recording(folder):
        for path in paths:
            target = folder / path.relative_to(results)
            target.parent.mkdir(parents=True, exist_ok=True)
            write_bytes(path.read_bytes(), target)
    return folder


def test_folds_with_other_systems_get_their_own_sudden_death(results, tmp_path):
    kept = [*results.rglob("runs/**/*.parquet"), *results.rglob("standings/**/*.*"), *results.glob("s*.*")]
    kept = [path for path in kept if not ("fold-1" in path.parts and path.name == "plsa.parquet")]
    found = sudden_deaths(read_scores(copied(results, tmp_path, kept)), SuddenDeathOptions((5,)))
    assert [len(contest.competitors) for contest in found.values()] == [3, 2]
    assert [name.split(", ")[-2] for name in found] == ["fold-0", "fold-1"]


def test_a_table_without_runs_has_no_sudden_death(results, tmp_path):
    with pytest.raises(UsageError, match="U205"):
        decide(read_scores(table(a=0.1, b=0.0)), sudden_death=(5,))
    copied(results, tmp_path, [*results.rglob("runs/**/*.parquet"), results / "scores.parquet"])
    with pytest.raises(UsageError, match="U205"):
        decide(read_scores(tmp_path), sudden_death=(5,))


def test_a_decision_is_one_json_document(results):
    found = decide(read_scores(results), power=True, sudden_death=(5,))
    document = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert set(document) == {
        "recassay",
        "verdict",
        "comparisons",
        "across",
        "consistency",
        "power",
        "sudden_death",
        "duels",
        "findings",
    }
    assert len(document["comparisons"]) == len(document["power"]) == 6
    assert document["across"] is None
    assert document["consistency"]["rows"][0]["along"] == "metric"
    assert len(document["sudden_death"]) == 3


def test_several_data_sets_are_ranked_across_by_default():
    given = {name: next(iter(read_scores(table(a=0.1, b=0.05, c=0.0)).sheets.values())) for name in ("x", "y", "z")}
    found = decide(score_set(given))
    assert found.across.rankings[0].systems == ("a", "b", "c")
    assert found.exhibits[0].kind == "dot"
    assert decide(score_set(given), by="dataset").consistency.rows[0].along == "dataset"


def test_systems_without_shared_users_are_refused():
    mixed = pl.concat([table(a=0.1), table(b=0.0).with_columns(user=pl.col("user") + 1_000)])
    with pytest.raises(InputError, match=r"I311.*'a' and 'b' share no user"):
        decide(read_scores(mixed))
    with pytest.raises(UsageError, match="U108"):
        decide(read_scores(table(a=0.1, b=0.0)), baseline="c")
    with pytest.raises(UsageError, match="U113"):
        decide(read_scores(table(a=0.1)))
