"""Promises that every registered split keeps."""

import pickle

import numpy as np
import polars as pl
import pytest

from recassay import split
from recassay.data.interactions import Interactions
from recassay.data.synthetic import log as made_up
from recassay.errors import InputError, UsageError

SPLITS = {
    "given": ["given(n=3, by='time')", "given(n=5, seed=1)"],
    "global_time": ["global_time(quantile=0.8)", "global_time(at=1600000000, validation=0.1)"],
    "k_folds": ["k_folds(k=3)", "k_folds(k=4, by='user', seed=2)", "k_folds(k=3, validation=0.25, by='user')"],
    "last": ["last", "last(n=2, validation=1)"],
    "leave_out": ["leave_out(seed=1)", "leave_out(n=2, validation=2)"],
    "random": ["random(test=0.2, seed=7)", "random(test=0.3, by='user', validation=0.2)"],
    "skew": ["skew(test=0.1, held_out=0.3)"],
    "uniform_items": [
        "uniform_items(test=0.1)",
        "uniform_items(test=0.05, balance_on='positive', positive_from=4, seed=1)",
        "uniform_items(test=0.7, epsilon=0.4, flatten='train')",
        "uniform_items(test=0.1, compat='jsocialnetworks')",
    ],
    "user_folds": ["user_folds(k=3, by='time')", "user_folds(k=3, reveal=0.5)", "user_folds(k=3, given=4)"],
    "windows": ["windows(length=8640000)", "windows(length=5000000, step=4000000, train=9000000)"],
    "wtd": ["wtd(test=0.1, held_out=0.3)"],
}
CASES = [text for texts in SPLITS.values() for text in texts]
SEEDED = [name for name in SPLITS if "seed" in split.REGISTRY.built_in[name].__dataclass_fields__]


@pytest.fixture(scope="module")
def log():
    """Distinct times, and ratings from 1 to 5."""
    frame = made_up(users=60, items=80, events=1500, exponent=0.5, seed=3).frame()
    rows = np.arange(frame.height)
    return Interactions.from_frame(
        frame.with_columns(timestamp=pl.col("timestamp") + pl.Series(rows), rating=pl.Series(rows % 5 + 1.0))
    )


def pairs(part):
    return set() if part is None else set(part.frame().rows())


def parts(fold):
    return [pairs(part) for part in (fold.train, fold.test, fold.validation)]


def test_every_split_is_here():
    assert sorted(SPLITS) == list(split.REGISTRY.built_in)
    assert set(SPLITS) <= set(split.__all__)


@pytest.mark.parametrize("text", CASES)
def test_parts_are_disjoint_and_every_row_is_somewhere(text, log):
    folds = split.parse(text)(log)
    assert folds
    for fold in folds:
        train, test, held = parts(fold)
        assert train
        assert test
        assert not train & test | train & held | test & held
        sizes = [len(part) for part in (fold.train, fold.test, fold.validation) if part is not None]
        assert sum(sizes) + sum(fold.removed.values()) == len(log)
        assert train | test | held <= pairs(log)


@pytest.mark.parametrize("text", CASES)
def test_users_and_items_keep_their_codes(text, log):
    for fold in split.parse(text)(log):
        for part in (fold.train, fold.test):
            assert part.user_vocabulary is log.user_vocabulary
            assert part.item_vocabulary is log.item_vocabulary


@pytest.mark.parametrize("text", CASES)
def test_the_order_of_rows_does_not_matter(text, log):
    shuffled = log.take(np.random.default_rng(1).permutation(len(log)))
    one, other = (split.parse(text)(rows) for rows in (log, shuffled))
    assert [parts(fold) for fold in one] == [parts(fold) for fold in other]
    assert [fold.fingerprint for fold in one] == [fold.fingerprint for fold in other]


@pytest.mark.parametrize("name", SEEDED)
def test_another_seed_is_another_split_and_a_seed_is_one(name, log):
    spec = split.parse(SPLITS[name][-1])
    seeds = [type(spec)(**{**spec.parameters, "seed": seed}) for seed in (1, 1, 2)]
    one, again, other = (one(log)[0] for one in seeds)
    assert parts(one) == parts(again)
    assert parts(one)[1] != parts(other)[1]
    assert one.fingerprint == again.fingerprint != other.fingerprint


@pytest.mark.parametrize("text", CASES)
def test_a_split_reads_as_it_writes_and_travels(text, log):
    spec = split.parse(text)
    assert split.parse(str(spec)) == spec == pickle.loads(pickle.dumps(spec))
    fold = spec(log)[0]
    assert fold.how["split"] == str(spec)
    assert fold.how["name"] == spec.name
    assert pickle.loads(pickle.dumps(fold)).fingerprint == fold.fingerprint


@pytest.mark.parametrize("text", CASES)
def test_the_class_of_leakage_holds(text, log):
    spec = split.parse(text)
    for fold in spec(log):
        found = split.leaks(fold)
        assert fold.leakage == spec.leakage
        if spec.leakage == "none":
            assert found.later == 0
        if spec.leakage != "global":
            assert found.later_of_user == 0


@pytest.mark.parametrize("text", CASES)
def test_a_log_of_one_row_is_refused(text):
    log = Interactions.from_frame(pl.DataFrame({"user_id": [1], "item_id": [1], "timestamp": [1.6e9], "rating": [5]}))
    with pytest.raises(UsageError) as caught:
        split.parse(text)(log)
    assert caught.value.code in {"U116"}


@pytest.mark.parametrize("text", [case for case in CASES if split.parse(case).leakage != "global"])
def test_a_split_by_time_needs_times(text, log):
    with pytest.raises(InputError, match="I201"):
        split.parse(text)(Interactions.from_frame(log.frame().drop("timestamp")))
