"""Run files as systems of a study: their paths, their places, and that their numbers are those of ``score``."""

import pytest

import recassay as ra
from recassay.data.synthetic import log
from recassay.errors import RecassayError
from recassay.study.plan.run_files import RunFiles, expand
from recassay.study.store.folder import StudyCell

from ....refusals import refused
from ..conftest import files

LOG = "log(users=60, items=40, events=900)"
TWO_MODELS = (
    'models: {popular: Popular, random: Random, svd: "PureSVD(factors=4)"}',
    "models: {popular: Popular, mine: MINE}",
)


@pytest.fixture
def written(tmp_path):
    """Write the lists of a model for both folds of the usual study, as another program does."""

    def write(path="runs/{fold}.csv", model=None):
        for fold in ra.split.k_folds(k=2)(log(users=60, items=40, events=900)):
            run = ra.play(model or ra.models.PureSVD(factors=4), fold, ra.protocols.ranking(k=20))
            target = tmp_path / path.format(fold=fold.number, data="generated", split="k_folds(k=2)", seed=0)
            target.parent.mkdir(parents=True, exist_ok=True)
            run.frame().rename({"user_id": "who", "item_id": "what"}).select("who", "what", "score").write_csv(target)

    return write


def with_runs(study, path, **more):
    source = more.pop("data", f'{{generate: "{LOG}", columns: {{user: who, item: what}}}}')
    return study(
        replace=[(TWO_MODELS[0], TWO_MODELS[1].replace("MINE", f'"{path}"')), (f'{{generate: "{LOG}"}}', source)]
    )


def pooled(results, metric="ndcg@10"):
    return {row["system"]: row["mean"] for row in results.rows if row["metric"] == metric and row["fold"] == "all"}


def test_a_run_file_has_the_scores_of_the_model_that_wrote_it(study, tmp_path, written):
    written()
    results = ra.run_study(with_runs(study, "runs/{fold}.csv"), tmp_path / "out")
    trained = ra.run_study(study(name="trained.yaml"), tmp_path / "trained")
    assert pooled(results) == {"popular": pooled(trained)["popular"], "mine": pooled(trained)["svd"]}
    assert {row["system"] for row in results.times if row["system"]} == {"popular"}
    lock = (tmp_path / "out" / "study.lock.yaml").read_text()
    assert "runs/1.csv: " in lock
    assert str(tmp_path) not in lock


def test_runs_of_an_earlier_study_are_systems_of_another(study, tmp_path):
    first = ra.run_study(study(), tmp_path / "first")
    path = "first/runs/{data}/{split}/fold-{fold}/seed-{seed}/*.parquet"
    again = ra.run_study(study(replace=[(TWO_MODELS[0], f'models: ["{path}"]')], name="again.yaml"), tmp_path / "again")
    assert pooled(again) == pooled(first)


def test_an_unchanged_run_file_is_not_read_again_and_a_changed_one_is(study, tmp_path, written, monkeypatch):
    written()
    path = with_runs(study, "runs/{fold}.csv")
    before = pooled(ra.run_study(path, tmp_path / "out"))
    unchanged = files(tmp_path / "out")
    written(model=ra.models.PureSVD(factors=8))
    after = pooled(ra.run_study(path, tmp_path / "out"))
    assert after["popular"] == before["popular"]
    assert after["mine"] != before["mine"]
    written()
    ra.run_study(path, tmp_path / "out")
    assert files(tmp_path / "out") == unchanged


def test_the_columns_of_the_data_are_those_of_the_run_files_that_have_them(study, tmp_path, written):
    written()
    path = with_runs(study, "runs/{fold}.csv", data=f'{{generate: "{LOG}"}}')
    (failure,) = ra.run_study(path, tmp_path / "out").failures
    assert (failure["system"], failure["code"]) == ("mine", "I201")
    assert "line 5, models.mine" in failure["message"]


@pytest.mark.parametrize(
    ("path", "code", "words"),
    [
        ("lists/{fold}.csv", "I109", "mine lacks 1 of 1 run files, the first for generated"),
        ("runs/{data}/{fold}.csv", "I109", "runs/generated/{fold}.csv"),
        ("runs/0.csv", "U132", "one run file for the 2 folds"),
        ("runs/*/{fold}.csv", "I101", "no file matches"),
    ],
)
def test_missing_run_files_are_errors_with_the_line(study, tmp_path, written, path, code, words):
    written()
    with refused(code) as caught:
        ra.run_study(with_runs(study, path), tmp_path / "out")
    assert words in str(caught.value)
    assert "line 5, models.mine" in caught.value.where


def test_a_missing_fold_is_told_before_any_model_is_fitted(study, tmp_path, written, monkeypatch):
    written()
    (tmp_path / "runs" / "1.csv").unlink()
    monkeypatch.setattr("recassay.models.baselines.Popular.fit", lambda *_: pytest.fail("a model was fitted"))
    with pytest.raises(RecassayError, match=r"lacks 1 of 2 run files, the first for generated, .*, seed 0, fold 1"):
        ra.run_study(with_runs(study, "runs/{fold}.csv"), tmp_path / "out")


def test_two_data_sets_need_two_run_files(study, tmp_path, written):
    written()
    data = f'[{{generate: "{LOG}", name: one}}, {{generate: "{LOG}", name: two}}]'
    with pytest.raises(RecassayError, match=r"one run file for 2 data sets.*\n.*\n.*\{data\}"):
        ra.run_study(with_runs(study, "runs/{fold}.csv", data=data), tmp_path / "out")


def test_only_models_generate_sequences_and_can_be_re_ranked(study, tmp_path, written):
    written()
    replaced = TWO_MODELS[0], 'models: {popular: "runs/{fold}.csv", near: "MMR(of=\'popular\')"}'
    with pytest.raises(RecassayError, match="re-rank the file itself"):
        ra.run_study(study(replace=[replaced]), tmp_path / "out")
    sequences = [
        ("split: k_folds(k=2)", "protocol: prequential(at=10)"),
        (TWO_MODELS[0], 'models: {popular: "runs/{fold}.csv"}'),
    ]
    with pytest.raises(RecassayError, match="a run file, which holds ranked lists"):
        ra.run_study(study(replace=sequences), tmp_path / "out")


def test_stars_name_systems(tmp_path):
    for name in ("als-0.csv", "als-1.csv", "ease-0.csv.gz", "ease-1.csv", "notes.md"):
        (tmp_path / name).write_text("")
    assert expand("*-{fold}.csv", tmp_path, None) == {"als": "als-{fold}.csv", "ease": "ease-{fold}.csv"}
    assert expand("*-{fold}.csv", tmp_path, "deep") == {"deep-als": "als-{fold}.csv", "deep-ease": "ease-{fold}.csv"}
    (tmp_path / "ease-0.tsv").write_text("")
    with refused("U109", match="two systems have the name 'ease-0'"):
        expand("*", tmp_path, None)


def test_a_place_is_written_as_in_the_folder_of_a_study(tmp_path):
    runs = RunFiles(tmp_path, "{data}/{split}/{fold}-{seed}.csv")
    path = runs.at(StudyCell("my/shop", "k_folds(k=5, by='user')", 3, 1)).path
    assert path.relative_to(tmp_path).as_posix() == "my%2Fshop/k_folds(k=5,by=%27user%27)/3-1.csv"
