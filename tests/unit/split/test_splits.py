"""Who is in which part: the pictures of the docstrings, and what they leave out."""

from datetime import UTC, datetime

import numpy as np
import polars as pl
import pytest

from recassay import split
from recassay.data.fold import Fold, LeakReport
from recassay.data.interactions import Interactions
from recassay.data.synthetic import log as made_up
from recassay.errors import InputError, UsageError

from ...refusals import refused

ROWS = [("ann", "a", 1), ("ann", "b", 3), ("ann", "c", 5), ("bob", "a", 2), ("bob", "b", 4), ("carol", "a", 1)]


def log_of(rows=ROWS, columns=("user_id", "item_id", "timestamp")):
    return Interactions.from_frame(pl.DataFrame(rows, list(columns), orient="row"))


def pairs(part):
    return sorted(user[0].upper() + item for user, item in part.frame().select("user_id", "item_id").rows())


@pytest.fixture(scope="module")
def big():
    return made_up(users=400, items=300, events=20_000, seed=1)


def test_global_time_splits_at_a_time_or_a_quantile():
    fold = split.global_time(at=3)(log_of())[0]
    assert (pairs(fold.train), pairs(fold.test)) == (["Aa", "Ba", "Ca"], ["Ab", "Ac", "Bb"])
    assert fold.how["cut"] == 3
    fold = split.global_time(quantile=0.5)(log_of())[0]  # times 1 1 2 3 4 5: the higher of the two in the middle
    assert fold.how["cut"] == 3
    held = split.global_time(at=4, validation=0.2)(log_of())[0]
    assert (pairs(held.train), pairs(held.validation)) == (["Aa", "Ba", "Ca"], ["Ab"])


@pytest.mark.parametrize("unit", [1, 1000, 10**6, 10**9])
def test_dates_are_accepted_for_numbers_since_1970_of_any_unit(unit):
    first = int(datetime(2020, 1, 1, tzinfo=UTC).timestamp())
    times = [(first + 86_400 * (day - 1)) * unit for _, _, day in ROWS]
    log = Interactions.from_frame(log_of().frame().with_columns(timestamp=pl.Series(times)))
    fold = split.global_time(at="2020-01-04")(log)[0]
    assert (pairs(fold.test), fold.how["cut"]) == (["Ac", "Bb"], (first + 3 * 86_400) * unit)
    assert split.windows(length=2 * 86400 * unit, first="2020-01-02")(log)[0].how["begin"] == (first + 86_400) * unit
    kept = split.filters.apply(log, "between(start='2020-01-02', end='2020-01-04T12:00+12:00')").log
    assert sorted(set(kept.timestamps)) == [(first + 86_400 * day) * unit for day in (1, 2)]


def test_dates_are_accepted_for_logs_with_dates():
    days = pl.Series([datetime(2020, 1, day, tzinfo=UTC) for _, _, day in ROWS])
    frame = log_of().frame().with_columns(timestamp=days)
    log = Interactions.from_frame(frame)
    fold = split.global_time(at="2020-01-04")(log)[0]
    assert pairs(fold.test) == ["Ac", "Bb"]
    assert pairs(split.windows(length=2 * 86400, first="2020-01-02")(log)[0].test) == ["Ab", "Ba"]
    with pytest.raises(UsageError, match="plain numbers"):
        split.global_time(at="2020-01-04")(log_of())
    with pytest.raises(UsageError, match="is not a date"):
        split.global_time(at="soon")(log)


def test_last_takes_the_last_events_of_each_user():
    fold = split.last(n=1, validation=1)(log_of())[0]
    assert (pairs(fold.train), pairs(fold.validation)) == (["Aa", "Ba", "Bb", "Ca"], ["Ab"])
    assert pairs(fold.test) == ["Ac"]


def test_ties_are_in_row_order_and_counted():
    rows = [("ann", "a", 1), ("ann", "b", 1), ("bob", "a", 1), ("bob", "b", 2), ("bob", "c", 2)]
    fold = split.last(n=1)(log_of(rows))[0]
    assert (pairs(fold.test), fold.how["ties"]) == (["Ab", "Bc"], 2)
    assert split.last(n=2)(log_of(rows))[0].how["ties"] == 0  # ann keeps both, bob's 1 and 2 differ


def test_windows_move_and_limit_training():
    folds = split.windows(length=1, first=3, train=2)(log_of())
    assert [fold.number for fold in folds] == [0, 1, 2]
    assert [pairs(fold.test) for fold in folds] == [["Ab"], ["Bb"], ["Ac"]]
    assert [pairs(fold.train) for fold in folds] == [["Aa", "Ba", "Ca"], ["Ab", "Ba"], ["Ab", "Bb"]]
    assert [dict(fold.removed) for fold in folds] == [
        {"later": 2, "earlier": 0}, {"later": 1, "earlier": 2}, {"later": 0, "earlier": 3},
    ]  # fmt: skip


def test_empty_windows_are_skipped_and_too_many_are_an_error():
    rows = [("ann", "a", 0), ("ann", "b", 10), ("ann", "c", 50)]
    assert [fold.number for fold in split.windows(length=10)(log_of(rows))] == [0, 4]
    with pytest.raises(UsageError, match="at most 1,000 windows, got"):
        split.windows(length=0.01)(log_of(rows))
    with pytest.raises(UsageError, match="U116"):
        split.windows(length=1, first=99)(log_of(rows))


def test_shares_by_user_are_rounded_down(big):
    events = np.bincount(big.users)
    fold = split.random(test=0.2, by="user", validation=0.15)(big)[0]
    assert np.bincount(fold.test.users, minlength=400).tolist() == [count // 5 for count in events.tolist()]
    held = np.bincount(fold.validation.users, minlength=400)
    assert held.tolist() == [count * 15 // 100 for count in events.tolist()]


def test_too_few_events_stay_in_training():
    fold = split.leave_out(n=1, validation=1)(log_of())[0]
    assert {pair[0] for pair in pairs(fold.test)} == {"A"}
    assert {"Ba", "Bb", "Ca"} <= set(pairs(fold.train))


@pytest.mark.parametrize("by", ["rating", "user"])
def test_folds_hold_every_row_once_and_differ_by_one(by, big):
    folds = split.k_folds(k=7, by=by, validation=0.1)(big)
    assert sorted(row for fold in folds for row in fold.test.frame().rows()) == sorted(big.frame().rows())
    groups = np.zeros(400, int) if by == "rating" else np.arange(400)
    sizes = np.array([np.bincount(groups[fold.test.users], minlength=groups.max() + 1) for fold in folds])
    assert (sizes.max(axis=0) - sizes.min(axis=0)).max() <= 1
    assert np.ptp(sizes.sum(axis=1)) < 120  # no part is larger for being the first
    events = np.bincount(groups[big.users])
    for fold in folds:
        held = np.bincount(groups[fold.validation.users], minlength=events.size)
        assert held.tolist() == [count // 10 for count in events.tolist()]


@pytest.mark.parametrize("by", ["chance", "time"])
def test_every_user_is_a_test_user_once(by, big):
    folds = split.user_folds(k=4, reveal=0.3, by=by)(big)
    user_sets = [set(fold.test.users.tolist()) for fold in folds]
    assert set().union(*user_sets) == set(big.users.tolist())
    assert sum(map(len, user_sets)) == 400
    for fold, users in zip(folds, user_sets, strict=True):
        assert set(fold.train.users[fold.profile].tolist()) == users
        assert not users & set(fold.train.users[~fold.profile].tolist())
        if by == "time":
            assert split.leaks(fold).later_of_user == 0
        events, profile = np.bincount(big.users), np.bincount(fold.train.users[fold.profile], minlength=400)
        assert all(profile[user] == max(1, events[user] * 3 // 10) for user in users)


def events_of(part, users):
    return np.bincount(part.users, minlength=users)


@pytest.mark.parametrize("by", ["chance", "time"])
def test_given_n_keeps_n_events_of_every_user_and_hides_the_others(by, big):
    fold = split.given(n=4, by=by)(big)[0]
    kept, hidden = events_of(fold.train, 400), events_of(fold.test, 400)
    events = np.bincount(big.users)
    assert kept.tolist() == np.where(events > 4, 4, events).tolist()
    assert hidden.tolist() == np.maximum(events - 4, 0).tolist()
    if by == "time":
        assert split.leaks(fold).later_of_user == 0


@pytest.mark.parametrize("by", ["chance", "time"])
def test_of_test_users_exactly_n_events_are_revealed_or_hidden(by, big):
    events = np.bincount(big.users)
    for option, kept, hidden in (("given", 4, None), ("all_but", None, 2)):
        folds = split.user_folds(k=4, by=by, **{option: kept or hidden})(big)
        assert (
            sum(fold.removed["too few events of a user"] for fold in folds) == events[events <= (kept or hidden)].sum()
        )
        for fold in folds:
            profile, test = events_of(fold.train.take(fold.profile), 400), events_of(fold.test, 400)
            users = np.flatnonzero(test)
            assert set((profile if kept else test)[users].tolist()) == {kept or hidden}
            assert (profile + test)[users].tolist() == events[users].tolist()


def test_repeated_rows_of_a_pair_share_a_draw():
    rows = [(user, user % 7, time) for user in range(200) for time in (1, 2)]
    fold = split.random(test=0.5)(log_of(rows))[0]
    assert set(zip(fold.train.users.tolist(), fold.train.items.tolist(), strict=True)).isdisjoint(
        zip(fold.test.users.tolist(), fold.test.items.tolist(), strict=True)
    )


def test_another_user_does_not_change_the_draws_of_others():
    more = log_of([*ROWS, ("aaron", "a", 1), ("zoe", "d", 9)])
    for spec in (split.random(test=0.5, seed=3), split.leave_out(seed=2)):
        one, other = spec(log_of())[0], spec(more)[0]
        assert set(pairs(one.test)) == {pair for pair in pairs(other.test) if pair[0] in "ABC" and pair != "Aa"} | (
            {"Aa"} & set(pairs(one.test))
        )


def test_weights_are_proportional_to_probabilities():
    # two held-out ratings a (rated 3 times) and b (once): b is drawn first with chance 3/4
    rows = [("ann", "a"), ("ann", "b"), ("bob", "a"), ("carol", "a")]
    log = log_of(rows, ("user_id", "item_id"))
    drawn, tried = 0, 0
    for seed in range(600):
        spec = split.skew(test=0.5, held_out=0.9999, seed=seed)
        part = next(spec.parts(log))
        if part.removed["held out and not drawn"].sum() != 2:
            continue
        tried += 1
        drawn += bool(part.test[1])
    # b among the first two of {a, a, a, b} with weights 1/3 1/3 1/3 1: 1/2 + 1/2 * 1 / (1 + 2/3) = 0.8
    assert tried > 580
    assert abs(drawn / tried - 0.8) < 4 * np.sqrt(0.8 * 0.2 / tried)


def test_subsamples_are_nested(big):
    fold = split.random(test=0.2)(big)[0]
    before = set(fold.test.frame().rows())
    for fraction in (0.0, 0.1, 0.5, 0.9):
        thinner = split.subsample(fold, fraction, seed=4)
        rows = set(thinner.test.frame().rows())
        assert rows <= before
        assert len(fold.test) - len(rows) == int(fraction * len(fold.test) + 1e-9) == thinner.removed["thinned"]
        assert thinner.train is fold.train
        assert thinner.fingerprint != fold.fingerprint
        before = rows
    assert set(split.subsample(fold, 0.5, seed=5).test.frame().rows()) != set(
        split.subsample(fold, 0.5).test.frame().rows()
    )
    for wrong in (-0.1, 1):
        with pytest.raises(UsageError, match="U102"):
            split.subsample(fold, wrong)


def test_leaks_are_counted():
    log = log_of()
    fold = Fold(log.take(np.array([1, 2, 3, 4])), log.take(np.array([0, 5])), "global", {})
    assert split.leaks(fold) == LeakReport(train=4, later=4, later_of_user=2)
    assert split.leaks(split.global_time(at=3)(log)[0]) == LeakReport(3, 0, 0)


def test_missing_or_invalid_times_are_errors():
    log = log_of([("ann", "a", 1), ("ann", "b", None)])
    with pytest.raises(InputError, match="I304"):
        split.last()(log)
    with pytest.raises(InputError, match="I202"):
        split.last()(log_of([("ann", "a", "x"), ("ann", "b", "y")]))


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("randm(test=0.2)", "U115"), ("random", "U102"), ("random(test=2)", "U102"), ("random(tset=0.2)", "U102"),
        ("random(0.2)", "U104"), ("random(test=0.6, validation=0.4)", "U102"), ("random(test=0.2)@3", "U104"),
        ("random(test=0.2, by='item')", "U102"), ("leave_out(n=0)", "U102"), ("last(n=0)", "U102"),
        ("last(validation=-1)", "U102"), ("k_folds(k=1)", "U102"), ("k_folds(k=2, validation=0.5)", "U102"),
        ("global_time", "U102"), ("global_time(at=3, quantile=0.2)", "U102"), ("global_time(quantile=0)", "U102"),
        ("global_time(quantile=0.5, validation=2)", "U102"), ("windows(length=0)", "U102"),
        ("windows(length=2, step=-1)", "U102"), ("user_folds(reveal=1)", "U102"), ("user_folds(k=1)", "U102"),
        ("given(n=0)", "U102"), ("user_folds(given=0)", "U102"), ("user_folds(given=2, all_but=1)", "U102"),
        ("skew(test=0.3, held_out=0.2)", "U102"), ("wtd(test=0, held_out=0.2)", "U102"),
    ],
)  # fmt: skip
def test_mistakes(text, code):
    with refused(code) as caught:
        split.parse(text)
    assert caught.value.hint or text.endswith("@3")
