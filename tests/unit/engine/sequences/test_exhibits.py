"""Exhibits of generated sequences agree with the metrics."""

import math
import re

import numpy as np
import polars as pl
import pytest

import recassay as ra
from recassay.data.generated import Generated
from recassay.data.sequences import SequenceFold, Sequences
from recassay.report.page.figures import panels
from recassay.results.scores import Scores, Summary

from ....refusals import refused

ROWS = {"t1": "ab", "t2": "acd", "t3": "cbb", "s1": "abc", "s2": "cddab", "s3": "deb"}
FRAME = pl.DataFrame(
    [(s, item) for s, items in ROWS.items() for item in items], ["sequence_id", "item_id"], orient="row"
)
MADE = Sequences.from_frame(FRAME)
FOLD = SequenceFold(MADE.take(np.array([3, 4, 5])), MADE.take(np.array([0, 1, 2])))
ITEMS = np.array([[1, 1, 3], [0, 3, 3], [1, 4, -1]], np.int32)
CHANCES = np.array([[0.5, 0.25, 0.25], [1, 1, 0.5], [0.2, 0.2, np.nan]])


def mine(items=ITEMS, seed=0, name="mine"):
    return Generated(name, items, CHANCES, np.array([2.0, 12.0, 2.0]), seed)


def labels(svg):
    return [text.strip() for text in re.findall(r"<text[^>]*>([^<]*)", svg)]


def places(exhibit, metric, column="mean"):
    chosen = exhibit.table.filter((pl.col("metric") == metric) & (pl.col("system") == "mine"))
    return dict(zip(chosen["position"], chosen[column], strict=True))


class TestByPosition:
    def test_values_by_position_match_hand_computed_ones(self):
        shown = ra.sequences.by_position(FOLD, mine(), interval=None)
        assert places(shown, "seq_precision@3") == pytest.approx({1: 1.0, 2: 2 / 3, 3: 1 / 2})
        assert places(shown, "seq_serendipity@3") == pytest.approx({1: 0, 2: 2 / 3, 3: 1 / 2})
        assert places(shown, "seq_coverage@3") == pytest.approx({1: 2 / 5, 2: 3 / 5, 3: 1 / 5})
        b, d = -math.log2(3 / 8), 3
        assert places(shown, "seq_novelty@3") == pytest.approx({1: (2 * b + 2) / 3, 2: (b + d + 0) / 3, 3: d})
        assert places(shown, "seq_confidence@3") == pytest.approx({1: 1.7 / 3, 2: 1.45 / 3, 3: 0.375})
        ad = 1 - 1 / math.sqrt(2)
        wanted = {1: math.nan, 2: (0 + ad + 1) / 3, 3: (1 + ad / 2) / 2}
        assert places(shown, "seq_diversity@3") == pytest.approx(wanted, nan_ok=True)
        assert places(shown, "seq_ndpm@3") == pytest.approx({1: math.nan, 2: (0 + 0.5 + 1) / 3, 3: 0.5}, nan_ok=True)

    def test_intervals_contain_the_mean_and_seeds_are_averaged(self):
        other = mine(np.array([[1, 2, 3], [0, 3, 1], [4, 1, -1]], np.int32), seed=1)
        both = ra.sequences.by_position(FOLD, [mine(), other], "seq_precision@3")
        alone = [
            places(ra.sequences.by_position(FOLD, made, "seq_precision@3"), "seq_precision@3")
            for made in (mine(), other)
        ]
        found = places(both, "seq_precision@3")
        assert found == pytest.approx({place: (alone[0][place] + alone[1][place]) / 2 for place in found})
        assert both.table.filter((pl.col("low") > pl.col("mean")) | (pl.col("high") < pl.col("mean"))).is_empty()
        assert [panel.heading for panel in panels(both)] == ["metric: seq_precision@3"]

    def test_a_metric_of_whole_sequences_is_refused(self):
        with refused("U181", match="none per position"):
            ra.sequences.by_position(FOLD, mine(), "seq_lcs@3")


class TestItemFrequency:
    def test_shares_by_rank_match_hand_computed_ones(self):
        shown = ra.sequences.item_frequency(FOLD, {"mine": mine(), "one": mine(np.full((3, 3), 2, np.int32))})
        rows = {
            name[0]: dict(zip(part["rank"], part["share"], strict=True))
            for name, part in shown.table.group_by("system", maintain_order=True)
        }
        assert rows["training"] == pytest.approx({1: 3 / 8, 2: 2 / 8, 3: 2 / 8, 4: 1 / 8})
        assert rows["mine"] == pytest.approx({1: 3 / 8, 2: 3 / 8, 3: 1 / 8, 4: 1 / 8})
        assert rows["one"] == {1: 1.0}
        assert (shown.log_x, shown.log_y) == (True, True)
        [panel] = panels(shown)
        assert {"0.2", "0.5", "1", "2"} <= set(labels(panel.svg))

    def test_ranks_are_thinned_but_the_first_and_the_last_stay(self):
        n = 5_000
        frame = pl.DataFrame({"sequence_id": np.arange(2 * n) // 2, "item_id": np.arange(2 * n)})
        made = Sequences.from_frame(frame)
        fold = SequenceFold(made, made.take(np.array([0])))
        nothing = Generated("none", np.array([[-1]], np.int32), np.array([[np.nan]]), np.array([np.nan]), 0)
        ranks = ra.sequences.item_frequency(fold, nothing).table["rank"]
        assert (ranks.min(), ranks.max()) == (1, 2 * n)
        assert len(ranks) <= 200


class TestCounts:
    def test_counts_of_items_match_hand_computed_ones(self):
        two = [mine(), mine(np.full((3, 3), 2, np.int32), seed=1)]
        shown = ra.sequences.item_counts(FOLD, two)
        every = "".join(ROWS.values())
        ids = sorted(set(every), key=lambda item: (-every.count(item), item))
        original = shown.table.filter(pl.col("of") == "original")
        assert original["item"].to_list() == ids
        assert original["count"].to_list() == [every.count(item) for item in ids]
        made = [[run.items[run.items >= 0].tolist().count("abcde".index(item)) for item in ids] for run in two]
        assert shown.table.filter(pl.col("of") == "mine")["count"].to_list() == np.mean(made, axis=0).tolist()
        assert (shown.log_x, shown.log_y) == (True, True)
        [panel] = panels(shown)
        assert {"original", "mine"} <= set(labels(panel.svg))

    def test_sizes_of_training_test_and_both(self):
        table = ra.sequences.sequence_sizes(FOLD).table
        assert table.select("part", "sequences", "users", "items", "rows").rows() == [
            ("training", 3, 3, 4, 8),
            ("test", 3, 3, 5, 11),
            ("both", 6, 6, 5, 19),
        ]
        assert table["mean length"].to_list() == pytest.approx([8 / 3, 11 / 3, 19 / 6])
        bits = [table["entropy (bits)"][0], 0.5 * 2 + 3 / 8 * math.log2(8 / 3) + 3 / 8]
        assert bits[0] == pytest.approx(bits[1])
        assert table["entropy (nats)"][0] == pytest.approx(bits[1] * math.log(2))
        assert len(panels(ra.sequences.sequence_sizes(FOLD))) == 1


def test_the_parallel_view_puts_the_best_at_one():
    def row(system, metric, mean, better):
        return Summary(system, metric, mean, 3, 0, 0, 0, 0, higher_is_better=better)

    rows = [row("a", "p", 0.1, True), row("b", "p", 0.3, True), row("c", "p", 0.2, True)]
    rows += [row("a", "q", 4.0, False), row("b", "q", math.inf, False), row("c", "q", 5.0, False)]
    rows += [row(name, "r", 0.5, None) for name in "abc"]
    scores = Scores(pl.Series([1]), ("a", "b", "c"), ("p", "q", "r"), {}, rows=tuple(rows))
    shown = ra.sequences.parallel_view(scores)
    assert shown.table["standing"].to_list() == pytest.approx([0, 1, 0.5, 1, 0, 0, 1, 1, 1])
    assert ra.sequences.parallel_view(scores, ["q"]).table["mean"].to_list() == [4.0, math.inf, 5.0]
    [panel] = panels(shown)
    assert [label for label in labels(panel.svg) if label in "pqr"] == ["p", "q", "r"]
