"""Arguments of a wrong type are errors with a code, whatever the function does with them."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import pytest

import recassay as ra
from recassay.comparison.power import users_for
from recassay.errors import RecassayError
from recassay.naming.arguments import checks_types

from ..scoring import score

RUN = {"ann": {"x": 0.9, "y": 0.5}}
TRUTH = {"ann": {"x": 1}}
WRONG = [
    {"metrics": 3}, {"metrics": None}, {"metrics": [3]}, {"metrics": {"a": 1}}, {"profile": 5}, {"level": "x"},
    {"threads": "x"}, {"within": "x"}, {"seed": "x"}, {"resamples": "x"}, {"columns": 3}, {"format": 3}, {"ties": []},
    {"order": 3}, {"memory": []}, {"train": 3}, {"within": 0.1, "level": 1},
]  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_a_wrong_argument_of_score_has_a_code(wrong):
    with pytest.raises(RecassayError) as caught:
        score(RUN, TRUTH, **{"metrics": "recall@1", **wrong})
    assert caught.value.exit_code == 2


def test_wrong_arguments_of_other_functions_have_codes(tmp_path):
    scores = ra.score({"a": RUN, "b": RUN}, TRUTH, "recall@1", interval=None)
    calls = [
        lambda: ra.compare(scores, baseline=3), lambda: ra.compare(scores, level="x"), lambda: ra.explain(3),
        lambda: ra.read_run(RUN, columns=3), lambda: ra.read_truth(TRUTH, format=3), lambda: ra.metrics.parse_metric(3),
        lambda: ra.run_study(tmp_path / "s.yaml", tmp_path / "out", values=3), lambda: ra.run_study(3, tmp_path),
    ]  # fmt: skip
    for call in calls:
        with pytest.raises(RecassayError) as caught:
            call()
        assert caught.value.exit_code == 2


@pytest.mark.parametrize("wrong", [3, None, "no-file.csv", [1], {"a": 1}], ids=str)
def test_values_of_another_kind_have_codes(wrong):
    from recassay.data.synthetic import log

    lists = ra.split.ready_made()(log(users=9, items=20, events=60))
    (fold,) = ra.split.latest_sequences(test=0.3)(lists)
    calls = [
        lambda: ra.overall.pareto(wrong),
        lambda: ra.sequences.by_position(wrong, {}), lambda: ra.sequences.by_position(fold, wrong),
        lambda: ra.sequences.score_sequences(wrong, {}), lambda: ra.sequences.score_sequences(fold, wrong),
        lambda: ra.sequences.sequence_sizes(wrong), lambda: ra.sequences.item_counts(fold, wrong),
        lambda: ra.compare(wrong),
    ]  # fmt: skip
    for call in calls:
        with pytest.raises(RecassayError, match="U124"):
            call()


def test_numbers_of_numpy_and_paths_are_what_annotations_name(tmp_path):
    @checks_types
    def take(n: "int", share: "float | None", where: "str | Path"):
        return n, share, where

    assert take(np.int64(3), np.float32(0.5), tmp_path) == (3, 0.5, tmp_path)
    assert take(3, share=None, where="x") == (3, None, "x")


def test_a_difference_too_small_for_any_number_of_users_needs_more_than_can_be_counted():
    assert users_for(1e-300, 0.05, 0.8) is None


@pytest.mark.parametrize("level", [0, 1, float("nan")])
def test_a_level_without_error_probability_is_refused(level):
    with pytest.raises(RecassayError, match="level"):
        ra.options.Uncertainty(level=level)


def test_what_failed_is_explained_by_the_argument_that_does_not_fit_its_annotation():
    @checks_types
    def shares(of: "Mapping[str, float]", names: "Iterable[str]" = (), n: "int" = 1):
        return {name: of[name] / n for name in names}

    assert shares({"a": 3}, ["a"], n=np.int64(2)) == {"a": 1.5}
    for of, names, word in (
        ({"a": "x"}, ["a"], "of must be a dict with values that are each a number"),
        ({"a": 1.0}, [[]], "names must be several values, each a text"),
        ({}, iter(["b"]), "of must be"),
    ):
        with pytest.raises(RecassayError, match=f"U102. {word}"):
            shares(of, names)
    with pytest.raises(ZeroDivisionError):  # every argument is of its type: this is what it seems
        shares({"a": 1.0}, ["a"], n=0)
    with pytest.raises(RecassayError, match="n must be a whole number, got True"):
        shares({"a": 1.0}, ["a"], n=True)


def test_one_rank_of_numpy_is_a_rank_and_bytes_are_not():
    assert ra.correct(np.int64(3), sample=9, pool=100, interval=None).means["n"].to_list() == [1] * 4
    for wrong in (b"x", [[1, [2]]], [object()]):
        with pytest.raises(RecassayError) as caught:
            ra.correct(wrong, sample=9, pool=100)
        assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    "rows", [{1: {None: [object()]}}, [["a", [object()]]], [[["a"]], [["b"]]]], ids=["dict", "pairs", "lists"]
)
def test_lists_and_objects_in_a_table_of_items_have_codes(rows):
    with pytest.raises(RecassayError) as caught:
        ra.read_items(rows)
    assert caught.value.exit_code == 2


def test_an_error_about_a_lone_surrogate_can_be_printed():
    with pytest.raises(RecassayError) as caught:
        ra.metrics.parse_metric("\ud800")
    assert "\\ud800" in str(caught.value).encode("utf-8").decode()
