"""What a study file may say, and what is said about one that says something else."""

import pytest

from recassay.errors import InputError, UsageError
from recassay.study.config.reading import parse_values, read_document
from recassay.study.config.schema import read_study
from recassay.study.plan.parsing import make_plan
from recassay.study.store.folder import StudyCell


def planned(path, *, quick=False, values=None):
    document = read_document(path, quick=quick)
    return make_plan(document, read_study(document, values))


def refusal(path, kind=UsageError, **options):
    with pytest.raises(kind) as caught:
        planned(path, **options)
    return caught.value


def test_texts_of_a_study_are_parsed(study):
    plan = planned(study(add="filters: core(users=2, items=2)\nseeds: [0, 3]\n"))
    assert [str(one) for one in plan.splits] == ["k_folds(k=2)"]
    assert [str(one) for one in plan.filters] == ["core(users=2, items=2)"]
    assert [(one.name, str(one.model)) for one in plan.systems] == [
        ("popular", "Popular"), ("random", "Random"), ("svd", "PureSVD(factors=4)"),
    ]  # fmt: skip
    assert list(plan.metrics) == ["recall@5", "ndcg@10", "coverage@5"]
    assert (plan.designs, list(plan.data), plan.study.seeds) == (("lists",), ["generated"], [0, 3])


def test_models_in_a_list_are_named_after_their_text(study):
    models = '{popular: Popular, random: Random, svd: "PureSVD(factors=4)"}'
    plan = planned(
        study(replace=[(models, '[Popular, "PureSVD(factors=4)"]'), ("baseline: popular", "baseline: Popular")])
    )
    assert [one.name for one in plan.systems] == ["Popular", "PureSVD(factors=4)"]


def test_a_seed_is_added_to_that_of_a_model(study):
    plan = planned(study(replace=[("random: Random", 'random: "Random(seed=3)"')]))
    popular, random, _ = plan.systems
    first, fifth = (StudyCell("generated", "k_folds(k=2)", 0, seed) for seed in (0, 4))
    assert (random.at(first).model.seed, random.at(fifth).model.seed) == (3, 7)
    assert popular.at(fifth).model == popular.model


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("part", ["3", "[1]", "less"])
def test_a_quick_part_without_keys_is_refused(study, part, quick):
    assert refusal(study(add=f"quick: {part}\n"), quick=quick).code == "U132"


def test_quick_keys_replace_others(study):
    path = study(add='quick: {models: [Popular, Random], compare: {baseline: Random}, about: "less"}\n')
    assert [one.name for one in planned(path).systems] == ["popular", "random", "svd"]
    plan = planned(path, quick=True)
    assert [one.name for one in plan.systems] == ["Popular", "Random"]
    assert (plan.study.compare.baseline, plan.study.about) == ("Random", "less")


class TestParameters:
    MODELS = ('"PureSVD(factors=4)"', '"PureSVD(factors={factors})"')
    ADD = "parameters: {factors: 4}\nquick: {parameters: {factors: 2}}\n"

    def test_parameters_are_replaced_in_texts(self, study):
        path = study(replace=[self.MODELS], add=self.ADD)
        for quick, values, factors in ((False, {}, 4), (True, {}, 2), (True, {"factors": 7}, 7)):
            plan = planned(path, quick=quick, values=values)
            assert str(plan.systems[2].model) == f"PureSVD(factors={factors})"
            assert plan.study.parameters == {"factors": factors}

    def test_an_unknown_parameter_in_a_text_is_an_error(self, study):
        error = refusal(study(replace=[(self.MODELS[0], '"PureSVD(factors={factor})"')], add=self.ADD))
        assert (error.code, error.hint) == ("U132", "did you mean 'factors'?")
        assert error.where.endswith("line 5, models.svd")

    def test_a_value_for_an_unknown_parameter_is_an_error(self, study):
        document = read_document(study(add=self.ADD))
        with pytest.raises(UsageError, match=r"U102.*no parameter 'factor'"):
            read_study(document, values={"factor": 3})

    @pytest.mark.parametrize("text", ["factors", "factors=", "=3"])
    def test_a_set_option_without_a_value_is_an_error(self, text):
        with pytest.raises(UsageError, match="U102"):
            parse_values([text])

    def test_values_keep_their_type(self):
        assert parse_values(["a=1", "b=0.5", "c=cpu", "d=true"]) == {"a": 1, "b": 0.5, "c": "cpu", "d": True}


@pytest.mark.parametrize(
    ("add", "code", "line", "key", "hint"),
    [
        ("metric: mrr\n", "U132", 9, "metric", "did you mean 'metrics'?"),
        ("filters: {core: 5}\n", "U132", 9, "filters", "input should be a valid string"),
        ("seeds: [zero]\n", "U132", 9, "seeds.0", "input should be a valid integer"),
        ("seeds: []\n", "U132", 9, "seeds", "at least 1 item"),
        ("quick: {metrix: mrr}\n", "U132", 9, "quick.metrix", "did you mean 'metrics'?"),
        ("quick: 3\n", "U132", 9, "quick", "valid dictionary"),
        ("filters: [core(user=2)]\n", "U102", 9, "filters.0", "did you mean 'users'?"),
        ("designs: [TI-AR-AM]\n", "U118", 9, "designs.0", "did you mean 'TI-AR-AN'?"),
        ("protocol: rankin\n", "U115", 9, "protocol", "did you mean 'ranking'?"),
    ],
)
def test_errors_have_a_line_and_a_suggestion(study, add, code, line, key, hint):
    path = study(add=add)
    error = refusal(path)
    assert error.code == code
    assert error.where.startswith(f"{path}, line {line}, {key}")
    assert hint in error.hint


@pytest.mark.parametrize(
    ("old", "new", "code", "key", "hint"),
    [
        ("recall@5", "recal@5", "U101", "line 6, metrics.0", "did you mean 'recall'?"),
        ("Random", "Randum", "U115", "line 5, models.random", "did you mean 'Random'?"),
        ("factors=4", "factor=4", "U102", "line 5, models.svd", "did you mean 'factors'?"),
        ("k_folds", "kfolds", "U115", "line 4, split", "did you mean 'k_folds'?"),
        ("baseline: popular", "baseline: popula", "U108", "line 7, compare.baseline", "did you mean 'popular'?"),
        ("baseline:", "base:", "U132", "line 7, compare.base", "did you mean 'baseline'?"),
        ("resamples: 200", "short: al", "U132", "line 8, judge.short", "'error' or 'all'"),
        ("resamples: 200", "level: 95", "U132", "line 8, judge.level", "less than 1"),
        ("study: small\n", "", "U132", "study.yaml", "add `study:`"),
        ("random: Random", "Popular: Random", "U132", "line 5, models.Popular", "rename one"),
        ("random: Random", "a/b: Random", "U132", "line 5, models.a/b", "without /"),
        ("{generate:", "{path: log.csv, generate:", "U132", "line 3, data", "path: ratings.csv"),
        ("generate:", "generated:", "U132", "line 3, data.generated", "did you mean 'generate'?"),
    ],
)  # fmt: skip
def test_an_error_names_the_nearest_key(study, old, new, code, key, hint):
    error = refusal(study(replace=[(old, new)]))
    assert (error.code, key in error.where) == (code, True), error
    assert hint in error.hint


def test_errors_under_quick_have_their_line(study):
    path = study(add="quick:\n  metrics: [mrr]\n  models: [Popula]\n  compare: {}\n")
    assert planned(path).metrics
    error = refusal(path, quick=True)
    assert (error.code, f"{path}, line 11, quick.models" in error.where) == ("U115", True)


def test_quick_needs_a_quick_part(study):
    assert refusal(study(), quick=True).code == "U132"


def test_two_data_sets_of_one_name(study):
    log = '{generate: "log(users=60, items=40, events=900)"}'
    error = refusal(study(replace=[(log, f"[{log}, {log}]")]))
    assert (error.code, "data.1" in error.where) == ("U132", True)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("models: [a\n", "expected ',' or ']'"),
        ("- a\n", "must be a mapping"),
        ("", "must be a mapping"),
        ("study: a\nstudy: b\n", "line 2: the key study is repeated"),
        ("a: {b: 1, b: 2}\n", "the key b is repeated"),
    ],
)
def test_invalid_yaml_is_an_error(study, text, why):
    error = refusal(study(text))
    assert (error.code, why in error.what) == ("U131", True), error


def test_bytes_that_are_not_utf8_are_an_error(tmp_path):
    (tmp_path / "a.yaml").write_bytes(b"study: caf\xe9\n")
    assert refusal(tmp_path / "a.yaml").code == "U131"


def test_a_missing_file_is_an_error(tmp_path):
    assert refusal(tmp_path / "none.yaml", InputError).code == "I101"


PLUGIN = '''
from dataclasses import dataclass

from recassay.metrics.base import Accuracy


@dataclass(frozen=True, repr=False)
class Misses(Accuracy):
    """Places without a relevant item."""

    name = "{name}"
    bounds = (0.0, float("inf"))

    def judge(self, lists):
        return self.k - lists.hits(self.k, self.relevant_from)
'''


def test_a_plugin_beside_the_study_brings_a_metric(study, tmp_path):
    from recassay.metrics.registry import METRICS
    from recassay.study.run.study import build_lock

    (tmp_path / "mine.py").write_text(PLUGIN.format(name="misses_of_a_plugin"))
    path = study(replace=[("recall@5", "misses_of_a_plugin@5")], add="plugins: mine.py\n")
    try:
        plan = planned(path)
        assert "misses_of_a_plugin@5" in plan.metrics
        lock = build_lock(plan, {})
        (tmp_path / "mine.py").write_text(PLUGIN.format(name="misses_of_a_plugin") + "# changed\n")
        assert build_lock(plan, {})["plugins"] != lock["plugins"]
    finally:
        METRICS.find("misses_of_a_plugin").name = ""


def test_a_plugin_that_is_not_there_is_refused_with_its_line(study):
    error = refusal(study(add="plugins: [nowhere.py]\n"))
    assert error.code == "U123"
    assert "study.yaml, line" in error.where
