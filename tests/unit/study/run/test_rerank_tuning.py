"""Re-rankers of a study are tuned on the validation part of every fold."""

from dataclasses import replace

import polars as pl
import pytest

import recassay as ra
from recassay.data.synthetic import item_features, log
from recassay.experiments.rerankers import held_out

from ....refusals import refused

STUDY = """\
study: tuned
data: {generate: "log(users=60, items=40, events=900)", items: "item_features(items=40)"}
split: SPLIT
models: {svd: "PureSVD(factors=4)", mmr: "MMR(of='svd', weight=0.5, places=10, candidates=20)"}
metrics: [ild@5, precision@5]
judge: {resamples: 100}
tune:
  metric: ild@5
  keep: precision@5
  loss: 0.2
  grid: {mmr: {weight: [0, 0.4, 0.8], candidates: [15, 20]}}
"""


def by_hand(fold, held):
    """Every combination on the validation part, then the best one on the test part."""
    items = ra.read_items(item_features(items=40))
    ask, base = ra.protocols.ranking(), ra.models.PureSVD(factors=4)
    tried = []
    for candidates in (15, 20):
        for weight in (0, 0.4, 0.8):
            model = ra.models.MMR(base, weight=weight, places=10, candidates=candidates, items=items)
            run = ra.play(model, replace(held, items=items), ask, name="m")
            scores = ra.score(run, ask.truth(held), "ild@5 precision@5", items=items, interval=None)
            tried.append((model, scores.row("m", "ild@5").mean, scores.row("m", "precision@5").mean))
    allowed = [one for one in tried if one[2] >= 0.8 * tried[0][2] - 1e-12]
    best = max(one[1] for one in allowed)
    chosen = next(one[0] for one in allowed if one[1] >= best - 1e-12)
    run = ra.play(chosen, replace(fold, items=items), ask, name="m")
    return chosen, ra.score(run, ask.truth(fold), "ild@5", items=items, interval=None).rows[0].mean


@pytest.mark.parametrize("split", ["k_folds(k=2)", "k_folds(k=2, validation=0.2)"])
def test_the_parameters_of_each_fold_are_chosen_on_its_validation_part(split, study, tmp_path):
    results = ra.run_study(study(STUDY.replace("SPLIT", split)), tmp_path / "out")
    assert results.failures == ()
    rows = {(row["system"], row["fold"]): row["mean"] for row in results.rows if row["metric"] == "ild@5"}
    (path,) = (tmp_path / "out" / "exhibits").glob("**/settings.csv")
    tried = pl.read_csv(path)
    assert tried.height == 2 * 6
    for fold in ra.split.parse(split)(log(users=60, items=40, events=900)):
        held = held_out(fold, 0.2) if fold.validation is None else replace(fold, test=fold.validation, validation=None)
        chosen, mean = by_hand(fold, held)
        taken = tried.filter(pl.col("taken"), fold=int(fold.number))["parameters"].to_list()
        assert taken == [f"weight={float(chosen.weight)}, candidates={chosen.candidates}"]
        assert rows["mmr", fold.number] == pytest.approx(mean, abs=1e-12)
    again = ra.run_study(study(STUDY.replace("SPLIT", split)), tmp_path / "out")
    assert again.rows == results.rows


def test_a_re_ranker_that_cannot_be_tuned_fails_alone(study, tmp_path, monkeypatch):
    def broken(*_):
        raise ValueError("singular matrix")

    monkeypatch.setattr("recassay.study.run.lists.tune_reranker", broken)
    results = ra.run_study(study(STUDY.replace("SPLIT", "random(test=0.2)")), tmp_path / "out")
    assert [(row["system"], "singular matrix" in row["message"]) for row in results.failures] == [("mmr", True)]
    assert {row["system"] for row in results.rows} == {"svd"}


@pytest.mark.parametrize(
    ("old", "new", "code", "message"),
    [
        ("{mmr: {weight", "{svd: {factors: [2], weight", "U132", "weight"),
        ("{mmr: {weight: [0, 0.4, 0.8], candidates: [15, 20]}}", "{svd: {factors: [2]}}", "U132", "no re-ranker"),
        ("  metric: ild@5\n", "", "U132", "missing"),
        ("metric: ild@5", "metric: idl@5", "U101", "idl@5"),
        ("[0, 0.4, 0.8]", "[0.4, 0.8]", "U203", "begins at 0.4"),
    ],
)
def test_what_cannot_be_tuned_is_an_error_with_its_line(old, new, code, message, study, tmp_path):
    assert old in STUDY
    text = STUDY.replace(old, new).replace("SPLIT", "random(test=0.2)")
    with refused(code, match=message) as caught:
        ra.run_study(study(text), tmp_path / "out")
    assert "study.yaml" in str(caught.value)
