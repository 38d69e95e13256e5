"""Sequences of a log and cuts of them: worked examples, options, and what is refused."""

import pickle
from datetime import datetime, timedelta

import numpy as np
import polars as pl
import pytest

import recassay as ra
from recassay.data.sequences import SINGLE_ROW, Sequences
from recassay.data.synthetic import log as made_up
from recassay.errors import UsageError
from recassay.split import sequences as of_sequences
from recassay.split.sequences import n_training

from ...refusals import refused

COLUMNS = ["item_id", "user_id", "timestamp"]
B1 = [
    ("a", "u1", 0), ("b", "u1", 3), ("a", "u1", 11), ("c", "u1", 12), ("d", "u1", 14), ("b", "u1", 40),
    ("c", "u2", 1), ("b", "u2", 1), ("b", "u2", 5), ("d", "u3", 9),
]  # fmt: skip
EVERY = ["random_sequences(test=0.3, seed=2)", "latest_sequences(test=0.3)", "sequence_folds(k=3)"]
EVERY += ["latest_sequences(test=0.3, strict=True)", "sequences_since(at=1610000000)"]


def log_of(rows, columns=COLUMNS):
    return ra.Interactions.from_frame(pl.DataFrame(rows, columns, orient="row"))


def texts(sequences):
    ids = sequences.item_vocabulary.decode(sequences.items).to_list()
    cuts = zip(sequences.offsets, sequences.offsets[1:], strict=False)
    return ["".join(ids[begin:end]) for begin, end in cuts]


@pytest.fixture(scope="module")
def sequences():
    return ra.split.sessions(gap=1e6)(made_up(users=80, items=60, events=1500, seed=4))


# --- from a log -------------------------------------------------------------------------------------------------------


def test_a_pause_of_exactly_the_gap_ends_a_session():
    log = log_of(B1)
    made = ra.split.sessions(gap=8)(log)
    assert texts(made) == ["ab", "acd", "cbb"]
    assert made.user_vocabulary.decode(made.users).to_list() == ["u1", "u1", "u2"]
    assert made.times.tolist() == [0, 3, 11, 12, 14, 1, 1, 5]
    assert made.removed == {"event on its own": 2}
    assert texts(ra.split.sessions(gap=8, inclusive=True)(log)) == ["abacd", "cbb"]


def test_items_and_users_without_a_sequence_are_dropped():
    made = ra.split.sessions(gap=5)(log_of([("a", 1, 0), ("b", 1, 1), ("z", 1, 90), ("y", 2, 0)]))
    assert made.item_vocabulary.ids.to_list() == ["a", "b"]
    assert made.user_vocabulary.ids.to_list() == [1]
    assert made.removed == {"event on its own": 2}


def test_equal_times_are_joined_in_row_order_or_dropped_or_an_error():
    log = log_of([("a", 1, 5), ("c", 1, 7), ("b", 1, 5), ("d", 2, 5), ("d", 2, 5)])
    assert texts(ra.split.sessions(gap=3)(log)) == ["abc", "dd"]
    dropped = ra.split.sessions(gap=3, ties="drop")(log)
    assert texts(dropped) == ["ac"]
    assert dropped.removed == {"same user and time": 2, "event on its own": 1}
    with refused("I353", match=r"2 of 5 events .* first of user 1 at 5"):
        ra.split.sessions(gap=3, ties="error")(log)
    no_ties = log_of([("a", 1, 5), ("c", 1, 7)])
    assert ra.split.sessions(gap=3, ties="error")(no_ties).removed == {"same user and time": 0, "event on its own": 0}


def test_dates_and_fractions_of_seconds_are_compared_exactly():
    begin = datetime(2024, 5, 31, 12, 0, 0, 100_000)
    rows = [("a", 1, begin), ("b", 1, begin + timedelta(seconds=0.3)), ("c", 1, begin + timedelta(seconds=0.4))]
    log = log_of(rows)
    assert texts(ra.split.sessions(gap=0.3)(log)) == ["bc"]
    assert texts(ra.split.sessions(gap=0.3, inclusive=True)(log)) == ["abc"]
    whole = log_of([("b", 1, 2**62 + 8), ("a", 1, 2**62), ("c", 1, 2**62 + 15), ("c", 2, -9)])
    assert texts(ra.split.sessions(gap=8)(whole)) == ["bc"]
    tiny = log_of([("b", 1, 1e-9), ("a", 1, 0.0), ("c", 1, 2e-9), ("d", 2, -1e12)])
    assert texts(ra.split.sessions(gap=1)(tiny)) == ["abc"]
    whole = log_of([("a", 1, 2**62), ("b", 1, 2**62 + 8), ("c", 1, 2**62 + 15)])
    assert texts(ra.split.sessions(gap=8)(whole)) == ["bc"]


@pytest.mark.parametrize(
    ("rows", "columns", "code"),
    [
        ([("a", 1), ("b", 1)], COLUMNS[:2], "I201"),
        ([("a", 1, 5), ("b", 1, None)], COLUMNS, "I304"),
        ([("a", 1, 5.0), ("b", 1, float("nan"))], COLUMNS, "I304"),
        ([("a", 1, "noon"), ("b", 1, "noon")], COLUMNS, "I202"),
        ([("a", 1, 5), ("b", 1, 50), ("c", 2, 50)], COLUMNS, "U116"),
    ],
)
def test_logs_without_sequences(rows, columns, code):
    with refused(code):
        ra.split.sessions(gap=8)(log_of(rows, columns))


@pytest.mark.parametrize("gap", [0, -5])
def test_a_gap_must_be_positive(gap):
    with pytest.raises(UsageError, match=r"U102.*above 0"):
        ra.split.sessions(gap=gap)


# --- into folds -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "share", "expected"), [(10, 0.2, 8), (7, 0.2, 6), (3, 0.4, 2), (10_551, 0.2, 8441), (400_261, 0.2, 320_209)]
)
def test_the_number_of_training_sequences_is_rounded_up(n, share, expected):
    assert n_training(n, share) == expected


@pytest.mark.parametrize("text", EVERY)
def test_every_sequence_is_in_one_part(text, sequences):
    spec = of_sequences.parse(text)
    assert of_sequences.parse(str(spec)) == spec == pickle.loads(pickle.dumps(spec))
    for number, fold in enumerate(spec(sequences)):
        train, test = set(fold.train.identities.tolist()), set(fold.test.identities.tolist())
        assert train
        assert test
        assert not train & test
        assert fold.train.items.size + fold.test.items.size + sum(fold.removed.values()) == sequences.items.size
        assert fold.train.item_vocabulary is fold.test.item_vocabulary is sequences.item_vocabulary
        assert fold.counts.sum() == fold.train.items.size
        assert (fold.how["split"], fold.how["name"], fold.number) == (str(spec), spec.name, number)
        assert (fold.train.lengths >= 2).all()


@pytest.mark.parametrize("text", EVERY[:1] + EVERY[2:3])
def test_draws_do_not_depend_on_the_order_of_sequences(text, sequences):
    spec = of_sequences.parse(text)
    shuffled = sequences.take(np.random.default_rng(1).permutation(len(sequences)))
    one, other = spec(sequences), spec(shuffled)
    assert [set(fold.test.identities.tolist()) for fold in one] == [
        set(fold.test.identities.tolist()) for fold in other
    ]
    assert [fold.fingerprint for fold in one] == [fold.fingerprint for fold in other]
    again, seeded = spec(sequences), type(spec)(**{**spec.parameters, "seed": 9})(sequences)
    assert one[0].fingerprint == again[0].fingerprint != seeded[0].fingerprint
    assert one[0].test.fingerprint != seeded[0].test.fingerprint


def test_folds_differ_by_at_most_one_and_each_sequence_is_test_once(sequences):
    folds = ra.split.sequence_folds(k=4)(sequences)
    sizes = [len(fold.test) for fold in folds]
    assert sum(sizes) == len(sequences)
    assert max(sizes) - min(sizes) <= 1
    assert len({one for fold in folds for one in fold.test.identities.tolist()}) == len(sequences)


TIMED = [
    ("a", "ann", 1), ("b", "ann", 2), ("c", "ann", 3), ("d", "bob", 3), ("e", "bob", 4),
    ("a", "carol", 2), ("b", "carol", 4), ("e", "dan", 5), ("a", "dan", 6),
]  # fmt: skip


def test_the_latest_sequences_are_test_and_strict_removes_later_training_events():
    made = ra.split.sessions(gap=3)(log_of(TIMED))
    fold = ra.split.latest_sequences(test=0.5)(made)[0]
    assert (texts(fold.train), texts(fold.test)) == (["abc", "ab"], ["de", "ea"])
    assert (fold.how["cut"], fold.how["ties"], fold.how["leakage"], fold.removed) == (3, 0, "per user", {})
    strict = ra.split.latest_sequences(test=0.5, strict=True)(made)[0]
    assert (texts(strict.train), texts(strict.test)) == (["ab"], ["de", "ea"])
    assert strict.removed == {"not before the first test sequence": 2, SINGLE_ROW: 1}
    assert strict.train.times.max() < strict.how["cut"]
    assert strict.how["leakage"] == "none"
    assert strict.train.users.tolist() == [0]


def test_sequences_that_begin_at_an_instant_or_later_are_test():
    made = ra.split.sessions(gap=3)(log_of(TIMED))
    fold = ra.split.sequences_since(at=3)(made)[0]
    assert (texts(fold.train), texts(fold.test)) == (["abc", "ab"], ["de", "ea"])
    assert (fold.how["cut"], fold.how["leakage"], fold.removed) == (3, "per user", {})
    strict = ra.split.sequences_since(at=3, strict=True)(made)[0]
    assert (texts(strict.train), texts(strict.test)) == (["ab"], ["de", "ea"])
    assert strict.removed == {"not before the cut": 2, SINGLE_ROW: 1}
    assert strict.how["leakage"] == "none"
    with pytest.raises(UsageError, match="U116"):
        ra.split.sequences_since(at=1)(made)


def test_an_instant_may_be_a_date_if_the_times_are_dates():
    days = [(item, user, datetime(2017, 11, 29) + timedelta(days=time)) for item, user, time in TIMED]
    ours = ra.split.sessions(gap=3 * 86400)(log_of(days))
    lists = Sequences.from_frame(log_of(days).frame().with_columns(sequence_id="user_id"))
    for made in (ours, ours.take(np.arange(len(ours))), lists):
        fold = ra.split.sequences_since(at="2017-12-02")(made)[0]
        assert (texts(fold.train), texts(fold.test)) == (["abc", "ab"], ["de", "ea"])
    with pytest.raises(UsageError, match="plain numbers"):
        ra.split.sequences_since(at="2017-12-02")(ra.split.sessions(gap=3)(log_of(TIMED)))


def test_ties_at_the_boundary_keep_the_order_of_users():
    rows = [(item, user, time) for user in "dcba" for item, time in (("x", 5), ("y", 6))]
    made = ra.split.sessions(gap=3)(log_of(rows))
    fold = ra.split.latest_sequences(test=0.5)(made)[0]
    assert made.user_vocabulary.decode(fold.train.users).to_list() == ["a", "b"]
    assert fold.how["ties"] == 2


def test_a_split_with_an_empty_part_is_an_error():
    one = ra.split.sessions(gap=3)(log_of(TIMED)).take(np.array([0]))
    for text in EVERY:
        with pytest.raises(UsageError, match="U116"):
            of_sequences.parse(text)(one)
    alike = ra.split.sessions(gap=3)(log_of([(item, user, 5) for user in "ab" for item in "xy"]))
    with pytest.raises(UsageError, match="U116"):
        ra.split.latest_sequences(test=0.5, strict=True)(alike)


@pytest.mark.parametrize("share", [0, 1, 1.5])
@pytest.mark.parametrize("kind", [ra.split.random_sequences, ra.split.latest_sequences])
def test_a_share_must_be_between_0_and_1(kind, share):
    with pytest.raises(UsageError, match="U102"):
        kind(test=share)
