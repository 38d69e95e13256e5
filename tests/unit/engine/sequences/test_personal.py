"""Personal generation: users and times reach models and generators, items carry times, seeds need no reference."""

from collections import Counter

import numpy as np
import polars as pl
import pytest

import recassay as ra
from recassay.data.generated import Generated
from recassay.data.sequences import Histories, SequenceFold, Sequences
from recassay.data.synthetic import log
from recassay.engine.sequences.generate import uniform_draws
from recassay.errors import InputError, UsageError
from recassay.models.sequence import NGram, UserNGram
from recassay.protocols import sequence

from ....refusals import refused

N_ITEMS = 5


@pytest.fixture(scope="module")
def fold():
    made = ra.split.sessions(gap=2e6)(log(users=60, items=40, events=900, seed=4))
    return ra.split.random_sequences(test=0.4)(made)[0]


class Shifts:
    """A fitted model: the next item is the last one plus the user plus the day, and comes ten units later."""

    def __init__(self, n_items):
        self.n_items, self.seen = n_items, []

    def next_probabilities(self, histories):
        ends = histories.offsets[1:] - 1
        items = histories.items[ends] + histories.users + histories.times[histories.offsets[:-1]]
        table = np.zeros((len(histories), self.n_items))
        table[np.arange(len(histories)), items % self.n_items] = 1
        return table

    def next_times(self, histories, items):
        return histories.times[histories.offsets[1:] - 1] + 10


def by_hand(times=True):
    rows = [(1, "ann", "a", 3), (1, "ann", "b", 4), (2, "bob", "a", 3), (2, "bob", "e", 9), (3, "ann", "a", 4)]
    rows += [(3, "ann", "d", 7), (4, "eve", "c", 1), (4, "eve", "a", 2)]
    frame = pl.DataFrame(rows, ["sequence_id", "user_id", "item_id", "timestamp"], orient="row")
    made = Sequences.from_frame(frame if times else frame.drop("timestamp"))
    return SequenceFold(made, made.take(np.array([0, 1, 2])))


@pytest.mark.parametrize("how", ["sample", "argmax", "beam"])
def test_users_and_times_of_seeds_reach_the_model_and_items_get_its_times(how):
    fold = by_hand()
    assert fold.n_items == N_ITEMS
    (made,) = ra.sequences.generate(Shifts(N_ITEMS), fold, sequence(k=3, how=how, beam=2), name="shifts")
    # ann is 0, bob 1; all begin with a (0); shifts of 0 + 3, 1 + 3 and 0 + 4
    assert made.items.tolist() == [[3, 1, 4], [4, 3, 2], [4, 3, 2]]
    assert made.times.tolist() == [[13, 23, 33], [13, 23, 33], [14, 24, 34]]
    assert made.surprise.tolist() == [np.inf, 0, np.inf]  # a then e is what bob did
    table = made.frame()
    assert table.row(0, named=True) == {
        "sequence_id": 0, "user_id": "ann", "seed_item_id": "a", "position": 1, "item_id": "d", "probability": 1.0,
        "timestamp": 13, "surprise": np.inf,
    }  # fmt: skip


def test_users_reach_generators_and_items_get_times_without_a_model_that_gives_any():
    seen = []

    def generator(fitted, histories, k, uniforms):
        seen.append((histories.users.tolist(), histories.times.tolist()))
        return np.tile(histories.users[:, None], (1, k))

    (made,) = ra.sequences.generate(object(), by_hand(), sequence(k=2), name="own", generator=generator)
    assert seen == [([0, 1, 0], [3, 3, 4])]
    assert made.items.tolist() == [[0, 0], [1, 1], [0, 0]]
    assert made.times.tolist() == [[4, 5], [4, 5], [5, 6]]
    (untimed,) = ra.sequences.generate(NGram(), by_hand(times=False), sequence(k=2))
    assert untimed.times is None
    assert "timestamp" not in untimed.frame().columns


def test_probabilities_of_equal_items_of_different_users_are_not_shared(fold):
    """Generation with a model that reads users equals the plain loop, one sequence after the other."""
    fitted = UserNGram(order=3, prior=0.5).fit(fold.train)
    (made,) = ra.sequences.generate(fitted, fold, sequence(k=4, seed=3), name="own")
    for row, uniforms in enumerate(uniform_draws(fold.test, sequence(k=4, seed=3), 3)):
        said = [int(fold.test.seeds[row])]
        for place, draw in enumerate(uniforms):
            history = Histories(np.array([0, len(said)]), np.array(said, np.int32), fold.test.users[[row]])
            p = fitted.next_probabilities(history)[0]
            said.append(int((p.cumsum() > draw * p.sum()).argmax()))
            assert made.chances[row, place] == pytest.approx(p[said[-1]])
        assert made.items[row].tolist() == said[1:]
    one = fold.test.histories.take(np.array([0]))
    last = Histories(np.array([0, one.items.size - 1]), one.items[:-1], one.users)
    bits = -np.log2(
        [fitted.next_probabilities(_first(last, size))[0][one.items[size]] for size in range(1, one.items.size)]
    )
    assert made.surprise[0] == pytest.approx(bits.sum())


def _first(history, size):
    return Histories(np.array([0, size]), history.items[:size], history.users)


@pytest.mark.parametrize("order", [2, 3])
def test_user_ngrams_equal_a_loop_over_dictionaries(fold, order):
    smoothing, prior, train = 0.5, 2.0, fold.train
    fitted = UserNGram(order, smoothing, prior).fit(train)
    counts, own = Counter(), Counter()
    for user, row in zip(train.users.tolist(), train.histories.rows(), strict=True):
        for at in range(1, len(row)):
            for length in range(1, min(order, at + 1)):
                key = tuple(row[at - length : at]), row[at]
                counts[key] += 1
                own[user, *key] += 1
    contexts = {context for context, _ in counts}
    for row in range(len(fold.test)):
        history, user = fold.test.histories.rows()[row][:2], int(fold.test.users[row])
        context = next((c for c in (tuple(history[-n:]) for n in range(order - 1, 0, -1)) if c in contexts), None)
        n = train.n_items
        total = sum(counts[context, y] for y in range(n))
        shared = [(counts[context, y] + smoothing) / (total + smoothing * n) for y in range(n)]
        mine = [own[user, context, y] for y in range(n)]
        wanted = [(mine[y] + prior * shared[y]) / (sum(mine) + prior) for y in range(n)]
        given = Histories(np.array([0, len(history)]), np.array(history, np.int32), np.array([user], np.int32))
        assert fitted.next_probabilities(given)[0] == pytest.approx(wanted)


def test_a_user_that_training_does_not_have_gets_the_shared_ngram(fold):
    shared, personal = NGram().fit(fold.train), UserNGram().fit(fold.train)
    history = Histories(np.array([0, 1]), np.array([3], np.int32))
    for users in (None, np.array([-1], np.int32), np.array([10_000], np.int32)):
        given = Histories(history.offsets, history.items, users)
        assert personal.next_probabilities(given) == pytest.approx(shared.next_probabilities(given))


class TestSeeds:
    TRAIN = by_hand().train

    @pytest.mark.parametrize(
        ("seeds", "users"),
        [
            (["a", "c"], ["seed 0", "seed 1"]),
            ([("a", "bob"), ("c", "new")], ["bob", "new"]),
            ([("a", "bob", 5), ("c", "eve", 6)], ["bob", "eve"]),
            ({"item_id": ["a", "c"], "user_id": ["bob", "ann"]}, ["bob", "ann"]),
            (pl.DataFrame({"item": ["a", "c"], "user_id": ["bob", "ann"], "timestamp": [5, 6]}), ["bob", "ann"]),
        ],
        ids=["ids", "with users", "with times", "dict", "frame"],
    )
    def test_what_may_be_continued(self, seeds, users):
        (made,) = ra.sequences.generate(NGram(), self.TRAIN, sequence(k=2), seeds=seeds)
        table = made.frame()
        assert table.height == 4
        assert table["seed_item_id"].to_list() == ["a", "a", "c", "c"]
        assert table["user_id"].to_list() == [users[0]] * 2 + [users[1]] * 2
        assert np.isnan(made.surprise).all()

    def test_one_seed_is_continued_as_its_user_would(self):
        shifted = ra.sequences.generate(Shifts(N_ITEMS), self.TRAIN, sequence(k=1), name="s", seeds=[("a", "bob", 3)])
        assert shifted[0].frame()["item_id"].to_list() == ["e"]
        (single,) = ra.sequences.generate(NGram(), self.TRAIN, sequence(k=2), seeds="a")
        assert len(single) == 1

    @pytest.mark.parametrize(("seeds", "why"), [(["a", "zz"], "1 of 2 seeds"), ([], "no seeds")])
    def test_seeds_that_cannot_be_continued(self, seeds, why):
        with refused("I361", match=why):
            ra.sequences.generate(NGram(), self.TRAIN, sequence(k=2), seeds=seeds)

    def test_sequences_that_were_not_generated_here_have_no_ids(self):
        made = Generated("mine", np.array([[1]]), np.array([[0.5]]), np.array([1.0]), 0)
        with pytest.raises(UsageError, match="U173"):
            made.frame()


class TestSeedsThatAreNoItems:
    """A seed stands for the items with its features, or for all items: probabilities are means over these items."""

    ITEMS = pl.DataFrame({"item_id": [*"abcd"], "genre": ["Jazz|Pop", "Jazz", "Pop", "Rock"], "mood": [*"xyxy"]})
    JAZZ = (0, 1)

    def expected(self, fitted, members, so_far, users=None):
        """The mean by a plain loop."""
        rows = [
            Histories(np.array([0, 1 + len(so_far)]), np.array([item, *so_far], np.int32), users) for item in members
        ]
        return np.mean([fitted.next_probabilities(one)[0] for one in rows], axis=0)

    @pytest.mark.parametrize("model", [NGram(order=3), NGram(), UserNGram(prior=1), ra.models.sequence.MostPopular()])
    @pytest.mark.parametrize("how", ["sample", "argmax", "sample_without_repeats"])
    def test_a_genre_is_the_mean_over_its_items(self, model, how):
        train, seeds = by_hand().train, {"genre": ["Jazz", "Jazz"], "user_id": ["ann", "bob"], "timestamp": [3, 4]}
        (made,) = ra.sequences.generate(model, train, sequence(k=3, how=how), seeds=seeds, items=self.ITEMS)
        fitted = model.fit(train)
        for row, user in enumerate([0, 1]):
            for place in range(3):
                so_far = made.items[row, :place]
                p = self.expected(fitted, self.JAZZ, so_far, np.array([user], np.int32))
                assert made.chances[row, place] == pytest.approx(p[made.items[row, place]])
                if how == "argmax":
                    assert p[made.items[row, place]] == pytest.approx(p.max())
        table = made.frame()
        assert table["genre"].to_list() == ["Jazz"] * 6
        assert (table["user_id"].to_list(), "seed_item_id" in table.columns) == (["ann"] * 3 + ["bob"] * 3, False)
        assert made.times.tolist() == [[4, 5, 6], [5, 6, 7]]

    def test_a_user_and_a_time_alone_are_the_mean_over_all_items(self):
        train = by_hand().train
        (made,) = ra.sequences.generate(UserNGram(), train, sequence(k=2), seeds={"user_id": ["ann"], "timestamp": [3]})
        fitted = UserNGram().fit(train)
        first = self.expected(fitted, range(N_ITEMS), [], np.array([0], np.int32))
        assert made.chances[0, 0] == pytest.approx(first[made.items[0, 0]])
        assert made.frame().columns == ["sequence_id", "user_id", "position", "item_id", "probability", "timestamp"]

    def test_several_columns_are_met_together_and_one_item_is_a_seed_as_any_other(self):
        train = by_hand().train
        seeds = {"genre": ["Jazz"], "mood": ["y"], "user_id": ["ann"]}  # b alone
        (both,) = ra.sequences.generate(NGram(), train, sequence(k=3), seeds=seeds, items=self.ITEMS)
        (item,) = ra.sequences.generate(NGram(), train, sequence(k=3), seeds=[("b", "ann")])
        assert both.items.tolist() == item.items.tolist()

    def test_draws_do_not_depend_on_the_other_seeds(self):
        train, protocol = by_hand().train, sequence(k=4, seed=3)
        rows = {"item_id": ["a", None, None], "genre": [None, "Pop", None], "user_id": ["ann", "bob", "eve"]}
        all_items = {
            tuple(
                ra.sequences.generate(NGram(), train, protocol, seeds=pl.DataFrame(rows)[order], items=self.ITEMS)[
                    0
                ].items[at]
            )
            for order in ([0, 1, 2], [2, 1, 0], [1])
            for at in [order.index(1)]
        }
        assert len(all_items) == 1

    def test_integer_ids_and_files(self, tmp_path):
        frame = pl.DataFrame({"sequence_id": [1, 1, 2, 2, 2], "item_id": [10, 20, 20, 10, 30]})
        train = Sequences.from_frame(frame)
        (tmp_path / "items.csv").write_text("item_id,artist\n10,Ann\n20,Ann\n30,Bob\n")
        (tmp_path / "seeds.csv").write_text("sequence_id,artist,item_id\n7,Ann,\n9,,30\n")
        (made,) = ra.sequences.generate(
            NGram(order=2), train, sequence(k=2), seeds=tmp_path / "seeds.csv", items=tmp_path / "items.csv"
        )
        table = made.frame()
        assert table["sequence_id"].to_list() == [7, 7, 9, 9]
        assert table["seed_item_id"].to_list() == [None, None, 30, 30]
        assert table["artist"].to_list() == ["Ann", "Ann", None, None]
        p = self.expected(NGram().fit(train), [0, 1], [])
        assert made.chances[0, 0] == pytest.approx(p[made.items[0, 0]])

    @pytest.mark.parametrize(
        ("seeds", "why"),
        [
            ({"genre": ["Jaz"]}, "1 of 1 seeds have genre 'Jaz', which no item"),
            ({"genre": ["Rock"], "mood": ["x"]}, "have genre 'Rock' and mood 'x'"),
            ({"user_id": ["ann"]}, "no column of the seeds"),
        ],
    )
    def test_seeds_that_no_item_fits(self, seeds, why):
        with refused("I361", match=why):
            ra.sequences.generate(NGram(), by_hand().train, sequence(k=2), seeds=seeds, items=self.ITEMS)

    def test_what_cannot_begin_with_several_items_is_refused(self):
        seeds = {"genre": ["Jazz"]}
        with pytest.raises(UsageError, match="stand for several items"):
            ra.sequences.generate(
                NGram(), by_hand().train, sequence(k=2), seeds=seeds, items=self.ITEMS, generator=lambda *given: None
            )
        with pytest.raises(UsageError, match="features of items are for seeds"):
            ra.sequences.generate(NGram(), by_hand(), sequence(k=2), items=self.ITEMS)
        with pytest.raises(InputError, match="no column for item_id"):
            ra.sequences.generate(NGram(), by_hand().train, sequence(k=2), seeds={"iten": ["a"]})

    def test_sequences_of_genres_are_scored_against_what_followed(self):
        fold = by_hand()
        seeds = {"genre": ["Jazz"] * len(fold.test)}
        (made,) = ra.sequences.generate(NGram(), fold, sequence(k=2), seeds=seeds, items=self.ITEMS)
        assert ra.sequences.score_sequences(fold, made, "seq_precision@2", interval=None).rows[0].n == 3


def test_a_study_with_a_model_that_reads_users_stores_and_resumes_it(tmp_path):
    text = """\
study: users
data: {generate: "log(users=60, items=40, events=900)", sequences: sessions(gap=4000000)}
split: latest_sequences
protocol: sequence(k=3)
models: {own: UserNGram, shared: NGram}
metrics: [seq_precision@3, seq_perplexity]
judge: {resamples: 100}
"""
    (tmp_path / "study.yaml").write_text(text)
    first = ra.run_study(tmp_path / "study.yaml", tmp_path / "out")
    assert first.failures == ()
    for path in (tmp_path / "out" / "runs").rglob("*.parquet"):
        path.unlink()
    again = ra.run_study(tmp_path / "study.yaml", tmp_path / "out")
    assert [row["mean"] for row in again.rows] == [row["mean"] for row in first.rows]


@pytest.mark.parametrize(
    "seeds",
    [[[1.0, object]], [["a", b"x"]], [["a", {"b": 1}]], (pl.Series([0]), iter("a"))],
    ids=["class", "bytes", "dict", "iterator"],
)
def test_seeds_of_other_objects_are_refused(seeds):
    with pytest.raises(InputError, match=r"I108.*is neither an id nor a time"):
        ra.sequences.generate(NGram(), by_hand(), sequence(k=2), seeds=seeds)
