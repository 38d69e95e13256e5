"""Models made of other models of a study, and the features of items they look at."""

import numpy as np
import polars as pl
import pytest

import recassay as ra
from recassay.errors import RecassayError
from recassay.study.config.reading import read_document
from recassay.study.config.schema import read_study
from recassay.study.plan.parsing import make_plan
from recassay.study.store.folder import StudyCell

from ...refusals import refused

STUDY = """\
study: small
data: {{generate: "log(users=60, items=40, events=900)", items: "{items}"}}
split: k_folds(k=2)
models:
  {{{models}}}
metrics: [recall@5, ild@5]
judge: {{resamples: 200}}
"""


def text(models, items="item_features(items=40)"):
    return STUDY.format(models=models, items=items)


def systems(path):
    document = read_document(path)
    return {one.name: one for one in make_plan(document, read_study(document)).systems}


def test_a_wrapped_name_means_the_system_of_that_name(study):
    models = 'near: "MMR(of=\'svd\', weight=0.3)", svd: "PureSVD(factors=4)", popular: Popular'
    found = systems(study(text(models)))
    assert found["near"].model == ra.models.MMR("PureSVD(factors=4)", weight=0.3)
    assert found["near"].text == "MMR(of='svd', weight=0.3)"


def test_wrappers_accept_model_texts_and_other_wrappers(study):
    models = "popular: \"MMR(of='Random(seed=3)')\", twice: \"SPAD(of='popular', weight=0.2)\""
    found = systems(study(text(models)))
    assert str(found["twice"].model) == "SPAD(of=\"MMR(of='Random(seed=3)')\", weight=0.2)"
    assert (
        str(found["twice"].at(StudyCell("generated", "k_folds(k=2)", 0, 2)).model)
        == "SPAD(of=\"MMR(of='Random(seed=5)')\", weight=0.2)"
    )


def test_a_file_model_is_relative_to_the_study_and_its_digest_is_in_the_key(study, tmp_path):
    (tmp_path / "mine.py").write_text(
        "from recassay.models import Popular\n\n\n"
        "class Mine:\n    def fit(self, log):\n        return Popular().fit(log)\n"
    )
    models = "popular: 'mine.py:Mine', near: \"MMR(of='popular')\", direct: \"MMR(of='mine.py:Mine')\""
    found = systems(study(text(models)))
    assert found["near"].source == found["direct"].source == found["popular"].source != ""


@pytest.mark.parametrize(
    ("models", "words"),
    [
        ("popular: \"MMR(of='svdd')\", svd: PureSVD", "did you mean 'svd'"),
        ("popular: \"MMR(of='near')\", near: \"SPAD(of='popular')\"", "popular of near of popular"),
        ("popular: \"MMR(of='popular')\"", "circle"),
    ],
)
def test_unknown_names_and_circles_are_errors_with_a_line(study, models, words):
    with refused("U132", match=words) as caught:
        systems(study(text(models)))
    assert "line 5" in caught.value.where


def test_re_ranked_lists_of_a_study_are_those_of_the_same_model(study, tmp_path):
    models = 'popular: "PureSVD(factors=4)", near: "MMR(of=\'popular\', weight=0.4)", tastes: "SPAD(of=\'popular\')"'
    path = study(text(models))
    results = ra.run_study(path, tmp_path / "out")
    assert results.failures == ()
    worth = {row["system"]: row["mean"] for row in results.rows if row["metric"] == "ild@5" and row["fold"] == "all"}
    assert worth["near"] > worth["popular"]
    again = ra.run_study(path, tmp_path / "out")
    assert [row["mean"] for row in again.rows] == [row["mean"] for row in results.rows]


def test_item_features_are_part_of_the_key_of_lists(study, tmp_path):
    models = "popular: Popular, near: \"MMR(of='popular', weight=0.8)\""

    def ran(genres, folder):
        pl.DataFrame({"item_id": range(1, 41), "genres": genres}).write_parquet(tmp_path / "items.parquet")
        path = study(text(models, "items.parquet"))
        found = ra.run_study(path, tmp_path / folder)
        assert found.failures == ()
        return [row["mean"] for row in found.rows if row["system"] == "near"]

    one, other = [f"g{item % 4}" for item in range(40)], [f"g{item % 3}" for item in range(40)]
    first = ran(one, "out")
    assert ran(other, "out") == ran(other, "elsewhere") != first


def test_a_fold_with_features_passes_them_to_models():
    log = ra.read_interactions([(user, item) for user in range(8) for item in range(12) if (user + item) % 3])
    fold = ra.split.random(test=0.3, seed=1)(log)[0]
    items = ra.read_items(pl.DataFrame({"item_id": range(12), "genres": [f"g{item % 2}" for item in range(12)]}))
    from dataclasses import replace

    with_items = replace(fold, items=items)
    assert with_items.fingerprint != fold.fingerprint
    ask = ra.protocols.ranking(k=5, bins=0)
    given = ra.play(ra.models.MMR("Popular", items=items), fold, ask)
    assert ra.play(ra.models.MMR("Popular"), with_items, ask).frame().equals(given.frame())
    fitted = ra.models.Popular().fit(fold.train)
    assert ra.play(ra.models.MMR(fitted, items=items), fold, ask).frame().equals(given.frame())
    assert np.isin(given.items, np.arange(12)).all()
    with pytest.raises(RecassayError, match="U201"):
        ra.play(ra.models.MMR("Popular"), fold, ask)


TWO = """\
study: two
data:
  - {name: with, generate: "log(users=60, items=40, events=900)", items: "item_features(items=40)"}
  - {name: without, generate: "log(users=60, items=40, events=900, seed=3)"}
split: random(test=0.2)
models: [Popular, Random]
metrics: METRICS
"""


def test_data_without_features_have_no_values_of_metrics_that_need_them(study, tmp_path):
    path = study(TWO.replace("METRICS", "[recall@5, ild@5]"))
    results = ra.run_study(path, tmp_path / "out")
    assert results.failures == ()
    metrics = {name: {row["metric"] for row in results.rows if row["dataset"] == name} for name in ("with", "without")}
    assert metrics == {"with": {"recall@5", "ild@5"}, "without": {"recall@5"}}
    (absent,) = [row for row in results.findings if row["code"] == "C018"]
    assert (absent["dataset"], absent["severity"]) == ("without", "info")
    assert "ild@5" in absent["detail"]
    assert "ild@5" in (tmp_path / "out" / "report.html").read_text()


def test_data_of_which_no_metric_can_be_computed_are_refused(study, tmp_path):
    with pytest.raises(RecassayError, match="ild@5 needs the features of items, and without has none"):
        ra.run_study(study(TWO.replace("METRICS", "[ild@5]")), tmp_path / "out")
