"""Scores of generated sequences: what may be handed in, what is refused, seeds, intervals and tests."""

import dataclasses

import numpy as np
import polars as pl
import pytest
from scipy.sparse import csr_array

import recassay as ra
from recassay.data.generated import Generated
from recassay.data.sequences import SequenceFold, Sequences
from recassay.engine.sequences.score import score_sequences, sequeval
from recassay.errors import UsageError
from recassay.models.sequence import MostPopular

from ....refusals import refused

ROWS = {"t1": "ab", "t2": "acd", "t3": "cbb", "s1": "abc", "s2": "cddab", "s3": "deb"}
FRAME = pl.DataFrame(
    [(s, item) for s, items in ROWS.items() for item in items], ["sequence_id", "item_id"], orient="row"
)
MADE = Sequences.from_frame(FRAME)
FOLD = SequenceFold(MADE.take(np.array([3, 4, 5])), MADE.take(np.array([0, 1, 2])), how={"split": "by hand"})
ITEMS = np.array([[1, 1, 3], [0, 3, 3], [1, 4, 0]], np.int32)


def mine(**changed):
    made = Generated("mine", ITEMS, np.full((3, 3), 0.2), np.array([4.0, 8.0, 5.0]), 1)
    return dataclasses.replace(made, **changed)


def other(**changed):
    return mine(name="other", items=np.array([[1, 2, 3], [0, 3, 1], [4, 1, 0]], np.int32), **changed)


def test_test_and_training_are_as_written():
    assert FOLD.test.histories.rows() == [[0, 1, 2], [2, 3, 3, 0, 1], [3, 4, 1]]
    assert FOLD.train.histories.rows() == [[0, 1], [0, 2, 3], [2, 1, 1]]


@pytest.mark.parametrize(
    "given",
    [[mine(), other()], {"mine": mine(), "other": [other()]}, iter([mine(), other()]), [(mine(),), [other()]]],
    ids=["list", "dict", "iterator", "nested"],
)
def test_what_may_be_handed_in(given):
    scores = score_sequences(FOLD, given)
    assert scores.systems == ("mine", "other")
    assert scores.metrics == tuple(sequeval(3).split())
    assert scores.unit_metrics == tuple(one for one in scores.metrics if one[4:12] not in ("coverage", "perplexi"))
    assert scores.settings["fold"] == {"split": "by hand"}


def test_names_of_a_mapping_are_the_names():
    assert score_sequences(FOLD, {"a": mine(), "b": mine()}, "seq_recall@1").systems == ("a", "b")


def test_a_noncontiguous_table_of_another_type_gives_the_same_bits():
    wide = np.asfortranarray(np.concatenate([ITEMS, ITEMS], axis=1).astype(np.int64))[:, :3]
    one, same = score_sequences(FOLD, mine()), score_sequences(FOLD, mine(items=wide))
    assert [repr(row) for row in one.rows] == [repr(row) for row in same.rows]


class TestRefused:
    @pytest.mark.parametrize(
        ("changed", "why"),
        [
            ({"items": ITEMS[:2]}, "the shape"),
            ({"items": ITEMS[:, :0]}, "the shape"),
            ({"items": ITEMS[:, 0]}, "the shape"),
            ({"chances": np.full((3, 2), 0.5)}, r"the shapes \(3, 3\), \(3, 2\)"),
            ({"surprise": np.zeros(2)}, "the shapes"),
            ({"items": ITEMS + 1}, "not among the 5"),
            ({"items": ITEMS - 2}, "not among the 5"),
            ({"items": ITEMS + 0.5}, "not whole numbers"),
            ({"items": np.array([[1, -1, 3]] * 3)}, "follows the end of a list"),
            ({"chances": np.full((3, 3), 1.5)}, "not between 0 and 1"),
            ({"chances": np.full((3, 3), -0.5)}, "not between 0 and 1"),
            ({"surprise": np.full(3, -1.0)}, "negative"),
        ],
    )
    def test_what_does_not_fit_the_fold(self, changed, why):
        with refused("I361", match=why):
            score_sequences(FOLD, mine(**changed))

    def test_nothing(self):
        with refused("I361", match="no generated sequences for the 3"):
            score_sequences(FOLD, [])

    def test_the_same_twice(self):
        with refused("U109", match="twice with seed 1"):
            score_sequences(FOLD, [mine(), mine()])

    def test_metrics_of_the_other_kind(self):
        with refused("U181", match="not generated sequences"):
            score_sequences(FOLD, mine(), "precision@3")
        with refused("U181", match="not ranked lists"):
            ra.score({"mine": {"ann": ["x"]}}, {"ann": ["x"]}, "seq_precision@1")

    def test_a_metric_that_looks_further_than_was_generated(self):
        short = other(chances=np.full((3, 2), 0.2))
        short = dataclasses.replace(short, items=short.items[:, :2])
        with refused("U103", match="needs 3 items, but 'other' generated 2"):
            score_sequences(FOLD, [mine(), short], "seq_precision@3")

    @pytest.mark.parametrize(
        ("metric", "words"),
        [
            ("seq_diversity(similarity='features')@3", "the table of items"),
            ("seq_diversity(similarity='given')@3", "similarities of items"),
            ("seq_serendipity(primitive='given')@3", "a primitive list"),
        ],
    )
    def test_what_a_metric_needs_and_was_not_given(self, metric, words):
        with refused("U105", match=words):
            score_sequences(FOLD, mine(), metric)

    @pytest.mark.parametrize(
        ("metrics", "given", "words", "hint"),
        [
            ("seq_serendipity@3", {"primitive": ["d", "b"]}, "takes primitive='popular'", "primitive='given')@3"),
            ("seq_precision@2", {"primitive": ["d", "b"]}, "no metric uses it", "(primitive='given')@2"),
            (None, {"primitive": ["d", "b"]}, "seq_serendipity@3 takes", "seq_serendipity(primitive='given')@3"),
            ("seq_diversity@3", {"similarities": np.eye(5)}, "takes similarity='training'", "similarity='given')@3"),
            ("seq_perplexity", {"similarities": np.eye(5)}, "no metric uses", "seq_diversity(similarity='given')@5"),
            ("seq_diversity@3", {"items": {"a": ["x"]}}, "takes similarity='training'", "similarity='features')@3"),
        ],
    )
    def test_what_was_given_and_no_metric_asks_for(self, metrics, given, words, hint):
        with refused("U231") as caught:
            score_sequences(FOLD, mine(), metrics, **given)
        assert words in caught.value.what
        assert hint in caught.value.hint

    def test_a_list_that_one_metric_of_several_asks_for_is_used(self):
        metrics = "seq_serendipity@3 seq_serendipity(primitive='given', k_p=2)@3"
        rows = score_sequences(FOLD, mine(), metrics, primitive=["d", "b"]).rows
        assert rows[0].mean != rows[1].mean

    def test_a_primitive_list_must_have_an_obvious_item(self):
        with pytest.raises(UsageError, match="k_p=0"):
            ra.metrics.parse_metric("seq_serendipity(k_p=0)@3")

    @pytest.mark.parametrize(
        ("matrix", "why"),
        [
            (np.eye(4), "shape is"),
            (np.full((5, 5), np.nan), "between -1 and 1"),
            (np.eye(5) * 2, "between -1 and 1"),
            (np.triu(np.ones((5, 5))), "not symmetric"),
            (csr_array(np.triu(np.ones((5, 5)))), "not symmetric"),
        ],
    )
    def test_similarities_that_cannot_be_used(self, matrix, why):
        with refused("I362", match=why):
            score_sequences(FOLD, mine(), "seq_diversity(similarity='given')@3", similarities=matrix)

    def test_other_ids(self):
        with refused("I363", match="'x'"):
            score_sequences(FOLD, mine(), "seq_serendipity(primitive='given')@3", primitive=["x", "y"])
        items = pl.DataFrame({"item_id": ["x"], "genres": [["war"]]})
        with refused("I407", match="'x'"):
            score_sequences(FOLD, mine(), "seq_diversity(similarity='features')@3", items=items)


class TestGivenBeside:
    @pytest.mark.parametrize("kind", [np.asarray, csr_array], ids=["dense", "sparse"])
    def test_similarities(self, kind):
        matrix = np.array([[1, 0.5, 0, -1, 0], [0.5, 1, 0, 0, 0], [0, 0, 1, 0, 0], [-1, 0, 0, 0.5, 0], [0, 0, 0, 0, 0]])
        scores = score_sequences(FOLD, mine(), "seq_diversity(similarity='given')@3", similarities=kind(matrix))
        # b b d: 0 1 1; a d d: 2 2 and d beside itself 0.5; b e a: 1 0.5 1
        assert scores.values("mine", scores.metrics[0]) == pytest.approx([2 / 3, 4.5 / 3, 2.5 / 3])

    def test_features(self):
        genres = {"a": ["x", "y"], "b": ["y"], "d": ["x", "y", "z"], "e": [], "q": ["x"]}
        items = pl.DataFrame({"item_id": list(genres), "genres": list(genres.values())})
        scores = score_sequences(FOLD, mine(), "seq_diversity(similarity='features')@3", items=items)
        bd, ad, ba = 1 / np.sqrt(3), 2 / np.sqrt(6), 1 / np.sqrt(2)
        wanted = [(2 - 2 * bd) / 3, (2 - 2 * ad) / 3, (3 - ba) / 3]
        assert scores.values("mine", scores.metrics[0]) == pytest.approx(wanted)

    def test_a_repeated_known_item_is_exactly_like_itself(self):
        made = mine(items=np.array([[1, 1, 1], [0, 0, 0], [4, 4, 4]]))
        assert score_sequences(FOLD, made, "seq_diversity@3").values("mine", "seq_diversity@3").tolist() == [0, 0, 1]

    def test_a_primitive_list(self):
        metric = "seq_serendipity(primitive='given', k_p=2)@3"
        scores = score_sequences(FOLD, mine(), metric, primitive=["d", "unheard of", "b"])
        assert scores.values("mine", metric) == pytest.approx([1 / 2, 1 / 3, 1])  # d is obvious, b is the third

    def test_a_primitive_recommender_continues_the_same_first_item(self):
        metric = "seq_serendipity(primitive='given', k_p=2)@3"
        lists = np.array([[3, 0, 1], [1, 4, 3], [4, 1, 0]])  # d a | b e | e b are obvious
        obvious = mine(items=lists)
        scores = score_sequences(FOLD, mine(), metric, primitive=obvious)
        # s1: b b d, hits b; s2: a d d, all hit; s3: b e a, hits b and e, both obvious
        assert scores.values("mine", metric) == pytest.approx([1 / 2, 1, 0])
        whole = score_sequences(FOLD, mine(), "seq_serendipity(primitive='given')@3", primitive=(obvious,))
        assert whole.values("mine", whole.metrics[0]) == pytest.approx([0, 1 / 3, 0])

    def test_the_most_popular_recommender_as_the_primitive_is_the_default(self):
        for primitive in ("MostPopular", MostPopular(), MostPopular().fit(FOLD.train)):
            given = score_sequences(FOLD, mine(), "seq_serendipity(primitive='given')@3", primitive=primitive)
            default = score_sequences(FOLD, mine(), "seq_serendipity@3")
            assert given.rows[0].mean == default.rows[0].mean

    @pytest.mark.parametrize(
        ("primitive", "why"),
        [
            ([], "the list is empty"),
            (7, "a int is neither"),
            ([["a", "b"]], "are not ids: one is"),
            ((mine(), mine()), "there are 2 of them"),
            (mine(items=np.array([[1], [1], [1]]), chances=np.ones((3, 1))), "have 1 items, but a metric needs 3"),
        ],
    )
    def test_a_primitive_that_cannot_be_used(self, primitive, why):
        with refused("I363", match=why):
            score_sequences(FOLD, mine(), "seq_serendipity(primitive='given')@3", primitive=primitive)

    def test_a_table_of_pairs_is_a_matrix(self):
        pairs = [("a", "b", 0.5), ("b", "a", 0.5), ("d", "a", -1.0), ("d", "d", 0.5), ("e", "e", 0.0), ("x", "a", 1.0)]
        table = pl.DataFrame(pairs, ["item_id", "other_id", "similarity"], orient="row")
        metric = "seq_diversity(similarity='given')@3"
        for given in (table, table.to_pandas()):
            scores = score_sequences(FOLD, mine(), metric, similarities=given)
            assert scores.values("mine", metric) == pytest.approx([2 / 3, 4.5 / 3, 2.5 / 3])
        again = pl.DataFrame([("a", "b", 0.4)], ["item_id", "other_id", "similarity"], orient="row")
        for wrong, why in (
            (pl.concat([table, again]), "several times"),
            (table.drop("other_id"), "no column other_id"),
            (table.filter(pl.col("item_id") == "x"), "no pair of the table"),
        ):
            with refused("I362", match=why):
                score_sequences(FOLD, mine(), metric, similarities=wrong)


class TestShort:
    MADE = mine(items=np.array([[1, -1, -1], [-1, -1, -1], [1, 4, -1]]), chances=np.full((3, 3), np.nan))

    @pytest.mark.parametrize(
        ("metric", "wanted"),
        [
            ("seq_precision@3", [1 / 2, 0, 1]),
            ("seq_ndpm@3", [None, None, 1.0]),
            ("seq_diversity@3", [None, None, 1.0]),
            ("seq_novelty@2", [-np.log2(3 / 8), None, -np.log2(3 / 8) / 2]),
            ("seq_confidence@3", [None, None, None]),
        ],
    )
    def test_what_is_there_counts_and_the_rest_is_counted(self, metric, wanted):
        scores = score_sequences(FOLD, self.MADE, metric)
        values, row = scores.values("mine", metric), scores.rows[0]
        assert values == pytest.approx([np.nan if one is None else one for one in wanted], nan_ok=True)
        assert (row.missing, row.short) == (1, 1 if metric.endswith("2") else 2)
        assert (row.n, row.undefined) == (3 - wanted.count(None), wanted.count(None))


class TestSeeds:
    def test_a_system_that_generated_again_counts_with_its_mean_and_spread(self):
        again = mine(items=other().items, seed=2)
        alone = [score_sequences(FOLD, made, interval=None) for made in (mine(), again)]
        both = score_sequences(FOLD, [mine(), again])
        for row in both.rows:
            means = [scores.row("mine", row.metric).mean for scores in alone]
            assert row.mean == pytest.approx(np.mean(means))
            assert row.accompanying == {"seeds": 2, "sd_seeds": pytest.approx(np.std(means, ddof=1))}
        values = [scores.values("mine", "seq_precision@3") for scores in alone]
        np.testing.assert_allclose(both.values("mine", "seq_precision@3"), np.mean(values, axis=0))

    def test_one_seed_has_no_spread(self):
        assert score_sequences(FOLD, mine()).rows[0].accompanying == {}

    def test_infinite_however_often(self):
        runs = [mine(surprise=np.array([np.inf, 1.0, 1.0]), seed=seed) for seed in (1, 2)]
        row = score_sequences(FOLD, runs, "seq_perplexity").rows[0]
        assert (row.mean, row.n) == (np.inf, 3)
        assert np.isnan([row.low, row.high, row.accompanying["sd_seeds"]]).all()


def large(n=400, seed=0):
    """A fold of n test sequences and two systems, one of which knows something."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(2, 7, 2 * n)
    rows = {"sequence_id": np.repeat(np.arange(2 * n), lengths), "item_id": rng.integers(0, 30, lengths.sum())}
    made = Sequences.from_frame(pl.DataFrame(rows))
    fold = SequenceFold(made.take(np.arange(n)), made.take(np.arange(n, 2 * n)))
    blind = rng.integers(0, 30, (n, 4)).astype(np.int32)
    after = fold.test.items[fold.test.offsets[:-1] + 1]
    seeing = np.where(rng.random((n, 4)) < 0.3, after[:, None], blind).astype(np.int32)
    bits = np.diff(fold.test.offsets) - 1.0
    systems = [
        Generated("blind", blind, np.full((n, 4), 1 / 30), bits * np.log2(30), 0),
        Generated("seeing", seeing, np.full((n, 4), 0.2), bits * rng.uniform(1, 4, n), 0),
    ]
    return fold, systems


class TestUncertainty:
    def test_perplexity_has_the_interval_of_its_logarithm(self):
        fold, systems = large()
        scores = score_sequences(fold, systems, "seq_surprise seq_perplexity")
        bits, perplexity = scores.row("seeing", "seq_surprise"), scores.row("seeing", "seq_perplexity")
        assert (perplexity.low, perplexity.mean, perplexity.high) == tuple(
            np.exp2(x) for x in (bits.low, bits.mean, bits.high)
        )
        assert bits.low < bits.mean < bits.high
        assert scores.row("blind", "seq_perplexity").mean == pytest.approx(30)

    def test_the_pooled_mean_redraws_sequences(self):
        fold, systems = large()
        row = score_sequences(fold, systems[1], "seq_surprise", interval="percentile").rows[0]
        rng, n = np.random.default_rng(1), len(fold.test)
        draws = rng.integers(0, n, (4_000, n))
        means = systems[1].surprise[draws].sum(axis=1) / (np.diff(fold.test.offsets) - 1)[draws].sum(axis=1)
        assert (row.low, row.high) == pytest.approx(np.quantile(means, [0.025, 0.975]), abs=0.01)

    def test_systems_are_compared_as_any_others(self):
        fold, systems = large()
        compared = ra.compare(
            score_sequences(fold, systems, "seq_precision@4 seq_surprise seq_perplexity"), baseline="blind"
        )
        assert [row.metric for row in compared.rows] == ["seq_precision@4", "seq_surprise"]
        assert all(row.p_adjusted < 0.001 for row in compared.rows)
        assert compared.rows[1].difference < 0

    def test_what_is_infinite_is_not_tested(self):
        fold, (blind, seeing) = large()
        sure = dataclasses.replace(blind, name="sure", surprise=np.where(np.arange(len(blind)) % 2, np.inf, 0.0))
        scores = score_sequences(fold, [blind, seeing, sure], "seq_surprise")
        assert scores.row("sure", "seq_surprise").mean == np.inf
        assert scores.row("sure", "seq_surprise").n == len(blind)
        rows = {(row.a, row.b): row for row in ra.compare(scores).rows}
        assert rows["blind", "seeing"].p < 0.001
        assert "no unit" in rows["blind", "sure"].note
