"""Runs: order, ties, repeats and rejected input."""

import numpy as np
import polars as pl
import pytest

import recassay as ra
from recassay.data.run import Run
from recassay.data.truth import Truth
from recassay.errors import InputError, UsageError
from recassay.metrics.align import Conventions, align

from ...refusals import refused
from ...scoring import score


def run_of(rows, columns=("user_id", "item_id", "score"), **more):
    return Run.from_frame(pl.DataFrame(rows, list(columns), orient="row"), "mine", **more)


def lists(run):
    """Return the items of each user in list order."""
    frame = run.frame()
    return {user: frame.filter(user_id=user)["item_id"].to_list() for user in run.queries}


ROWS = [(2, 5, 0.1), (1, 7, 0.2), (2, 6, 0.9), (1, 8, 0.3), (2, 4, 0.5)]


class TestOrder:
    def test_by_score_descending_within_each_user(self):
        run = run_of(ROWS)
        assert run.order == "score"
        assert lists(run) == {1: [8, 7], 2: [6, 4, 5]}
        assert run.scores.tolist() == [0.3, 0.2, 0.9, 0.5, 0.1]
        assert run.tied is None

    @pytest.mark.parametrize("first", [0, 1, 5])
    def test_by_rank_counted_from_any_number(self, first):
        rows = [(1, 7, first + 1, 0.9), (1, 8, first, 0.1), (1, 9, first + 2, 0.5)]
        run = run_of(rows, ("user_id", "item_id", "rank", "score"))
        assert run.order == "rank"
        assert lists(run) == {1: [8, 7, 9]}
        assert lists(run.by_score()) == {1: [7, 9, 8]}

    def test_by_row_without_rank_and_score(self):
        run = run_of([(2, 5), (1, 7), (2, 4)], ("user_id", "item_id"))
        assert run.order == "row"
        assert lists(run) == {1: [7], 2: [5, 4]}
        assert "score" not in run.frame().columns

    def test_the_frame_reads_back_to_the_same_run(self):
        run = run_of([*ROWS, (1, 3, 0.2)]).with_ties_broken()
        again = Run.from_frame(run.frame(), "mine")
        assert lists(again) == lists(run)
        assert run.frame()["rank"].to_list() == [1, 2, 3, 1, 2, 3]
        assert run.frame()["rank"].dtype == pl.Int32

    def test_long_lists_are_sorted(self):
        items = np.random.default_rng(3).permutation(500)
        run = run_of([(1, int(item), float(item)) for item in items])
        assert lists(run) == {1: list(range(499, -1, -1))}

    def test_ordering_by_an_absent_column_is_an_error(self):
        for order in ("rank", "score"):
            with refused("U107", match=f"no {order} column"):
                run_of([(1, 2)], ("user_id", "item_id"), order=order)
        with pytest.raises(UsageError, match="no score column"):
            run_of([(1, 2, 1)], ("user_id", "item_id", "rank")).by_score()


class TestTies:
    TIED = ((1, 10, 0.5), (1, 9, 0.5), (1, 2, 0.9), (1, 100, 0.5), (2, 1, 0.5))

    @pytest.mark.parametrize("seed", range(4))
    def test_ties_are_in_ascending_id_order_for_any_row_order(self, seed):
        rows = [self.TIED[row] for row in np.random.default_rng(seed).permutation(5)]
        run = run_of(rows)
        assert run.tied.tolist() == [False, False, True, True, False]
        assert lists(run.with_ties_broken()) == {1: [2, 9, 10, 100], 2: [1]}

    def test_text_ids_tie_in_text_order(self):
        run = run_of([(user, str(item), score) for user, item, score in self.TIED])
        assert lists(run.with_ties_broken()) == {1: ["2", "10", "100", "9"], 2: ["1"]}

    @pytest.mark.parametrize(
        ("ties", "wanted"), [("id", [2, 9, 10, 100]), ("trec", [2, 9, 100, 10]), ("row", [2, 10, 9, 100])]
    )
    def test_tie_policies(self, ties, wanted):
        truth = Truth.from_frame(pl.DataFrame({"user_id": [1, 2], "item_id": [2, 1]}))
        aligned = align(run_of(list(self.TIED)), truth, Conventions(ties=ties))
        assert lists(aligned.run)[1] == wanted
        assert (aligned.counts.tied_rows, aligned.counts.tied_lists) == (2, 1)

    def test_equal_ranks_tie(self):
        run = run_of([(1, 9, 1), (1, 8, 1), (1, 7, 2)], ("user_id", "item_id", "rank"))
        assert lists(run.with_ties_broken()) == {1: [8, 9, 7]}

    def test_single_precision_has_ties_that_double_precision_has_not(self):
        run = run_of([(1, 9, 0.1 + 1e-12), (1, 8, 0.1), (1, 7, 0.05)])
        assert run.tied is None
        assert run.with_float32_ties().tied.tolist() == [False, True, False]
        assert lists(run.with_float32_ties().with_ties_broken()) == {1: [8, 9, 7]}

    def test_scores_too_large_for_single_precision_tie(self):
        assert run_of([(1, 9, 1e300), (1, 8, 1e299)]).with_float32_ties().tied.tolist() == [False, True]

    def test_negative_zero_ties_with_zero(self):
        assert run_of([(1, 9, -0.0), (1, 8, 0.0)]).tied.tolist() == [False, True]


class TestRepeats:
    def test_the_first_repeat_is_kept_and_later_rows_move_up(self):
        run = run_of([(1, 5, 0.9), (1, 6, 0.8), (1, 5, 0.7), (1, 7, 0.6), (2, 5, 0.9)])
        again = run.repeated()
        assert again.tolist() == [False, False, True, False, False]
        assert lists(run.without(again)) == {1: [5, 6, 7], 2: [5]}
        assert run.without(np.zeros(5, np.bool_)) is run

    def test_rows_still_tie_after_a_row_between_them_is_dropped(self):
        run = run_of([(1, 5, 0.9), (1, 5, 0.5), (1, 6, 0.5), (1, 7, 0.5)]).with_ties_broken()
        kept = run.without(run.repeated())
        assert lists(kept) == {1: [5, 6, 7]}
        assert kept.tied.tolist() == [False, False, True]

    def test_repeats_in_long_lists_are_dropped(self):
        run = run_of([(1, place % 300, -float(place)) for place in range(1000)])
        assert run.repeated().tolist() == [place >= 300 for place in range(1000)]


class TestRejectedRuns:
    @pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf"), None])
    def test_nan_and_infinite_scores_are_rejected(self, bad):
        rows = [(1, 5, 0.5), (3, 6, bad), (1, 7, bad)]
        with refused("I301", match="2 of 3 scores are NaN or infinite") as caught:
            run_of(rows)
        assert "for user 1, item 7" in str(caught.value) or "for user 3, item 6" in str(caught.value)
        assert "--nan last" in caught.value.hint

    def test_scores_whose_sum_overflows_are_accepted(self):
        assert lists(run_of([(1, 5, 1.7e308), (1, 6, 1.6e308)])) == {1: [5, 6]}

    def test_nan_scores_can_be_put_last(self):
        run = run_of([(1, 5, float("nan")), (1, 6, -1e300), (1, 7, None)], nan="last")
        assert lists(run.with_ties_broken()) == {1: [6, 5, 7]}
        assert run.nan_scores == 2

    def test_a_negative_rank_is_rejected(self):
        with refused("I302", match="1 of 2 ranks are negative, the first") as caught:
            run_of([(1, 5, 1), (1, 6, -2)], ("user_id", "item_id", "rank"))
        assert "for user 1, item 6" in caught.value.what

    def test_a_missing_rank_is_rejected(self):
        with refused("I302", match="1 of 2 ranks are missing"):
            run_of([(1, 5, 1), (1, 6, None)], ("user_id", "item_id", "rank"))

    def test_a_nan_rank_is_rejected(self):
        with refused("I302"):
            run_of([(1, 5, 1.0), (1, 6, float("nan"))], ("user_id", "item_id", "rank"))


def test_methods_of_a_run_do_not_change_it():
    run = run_of([(1, 10, 0.5), (1, 9, 0.5), (1, 9, 0.4)])
    before = run.items.tolist(), run.scores.tolist()
    run.with_ties_broken(), run.with_float32_ties(), run.by_score(), run.without(run.repeated())
    assert (run.items.tolist(), run.scores.tolist()) == before


@pytest.mark.parametrize("kind", ["csv", "parquet", "trec", "jsonl", "polars", "pandas", "text", "dict", "chunks"])
def test_whole_scores_that_floats_would_round_are_refused(tmp_path, kind):
    rows = pl.DataFrame({"user": [1] * 3, "item": [*"abc"], "score": [2**53, 2**53 + 1, 2**53 + 2]})
    path = tmp_path / "run"
    if kind in ("csv", "chunks"):
        rows.write_csv(path)
    elif kind == "parquet":
        path = path.with_suffix(".parquet")
        rows.write_parquet(path)
    elif kind == "trec":
        path.write_text("".join(f"1 Q0 {item} 1 {score} t\n" for _, item, score in rows.rows()))
    elif kind == "jsonl":
        path = path.with_suffix(".jsonl")
        rows.write_ndjson(path)
    sources = {
        "polars": rows,
        "pandas": rows.to_pandas(),
        "text": rows.cast({"score": pl.String}),
        "dict": {1: dict(zip(rows["item"], rows["score"], strict=True))},
    }
    memory = {"memory": "8 GB"} if kind == "chunks" else {}
    with pytest.raises(InputError, match=r"I202.*1 of 3 values are whole numbers above 2\^53") as caught:
        score(sources.get(kind, path), {1: ["b"]}, "mrr", **memory)
    assert "9007199254740993" in caught.value.what


def test_large_scores_that_floats_hold_are_read(tmp_path):
    rows = pl.DataFrame({"user": [1] * 3, "item": [*"abc"], "score": [2**53, 2**60, 3 * 2**53]})
    rows.write_csv(tmp_path / "run.csv")
    for source in (rows, tmp_path / "run.csv"):
        assert ra.read_run(source).frame()["item_id"].to_list() == ["b", "c", "a"]
    huge = rows.with_columns(score=pl.Series([1e300, 1e20, 3e20]))
    huge.write_csv(tmp_path / "huge.csv")
    assert ra.read_run(tmp_path / "huge.csv").frame()["item_id"].to_list() == ["a", "c", "b"]


def test_a_nan_comes_after_minus_infinity():
    inf, nan = float("inf"), float("nan")
    rows = pl.DataFrame({"user": [1] * 4, "item": [*"abcd"], "score": [nan, -inf, 1.0, nan]})
    run = ra.read_run(rows, nan="last").with_ties_broken()
    assert run.frame()["item_id"].to_list() == ["c", "b", "a", "d"]
    assert ra.score(run, {1: ["a"]}, "mrr", interval=None).rows[0].mean == 1 / 3
