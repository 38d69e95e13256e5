"""What a log's times can tell, and every verb with every kind of them: it works, or says what is lacking."""

import pickle

import numpy as np
import polars as pl
import pytest

import recassay as ra
from recassay.checks.studies import fold_findings
from recassay.cli.demo import hold_out
from recassay.columnar.times import STRENGTH
from recassay.data.fold import LeakReport
from recassay.data.sequences import Sequences
from recassay.data.stats import stats
from recassay.data.synthetic import log as synthetic
from recassay.models.incremental import StreamPopular
from recassay.protocols import prequential

from ..refusals import refused

FRAME = synthetic(users=40, items=30, events=500, seed=3).frame().sort("timestamp", "user_id", "item_id")
FRAMES = {
    "clock": FRAME,
    "global": FRAME.with_columns(timestamp=pl.int_range(pl.len())),
    "user": FRAME.with_columns(timestamp=pl.int_range(pl.len()).over("user_id")),
    None: FRAME.drop("timestamp"),
}
LOGS = {kind: ra.read_interactions(frame) for kind, frame in FRAMES.items()}


def sequences_of(log):
    return ra.split.ready_made()(log)


def since_the_median(made):
    return ra.split.sequences_since(at=0 if made.starts is None else float(np.median(made.starts)))(made)


# The weakest times that each verb accepts.
VERBS = {
    "random(test=0.2)": (None, ra.split.parse("random(test=0.2)")),
    "leave_out": (None, ra.split.leave_out()),
    "given": (None, ra.split.given(n=2)),
    "given(by='time')": ("user", ra.split.given(n=2, by="time")),
    "k_folds": (None, ra.split.k_folds(k=3)),
    "user_folds": (None, ra.split.user_folds(k=3)),
    "user_folds(by='time')": ("user", ra.split.user_folds(k=3, by="time")),
    "uniform_items": (None, ra.split.uniform_items(test=0.05)),
    "skew": (None, ra.split.skew(test=0.1, held_out=0.3)),
    "wtd": (None, ra.split.wtd(test=0.1, held_out=0.3)),
    "last": ("user", ra.split.last(n=1)),
    "last, with validation": ("user", ra.split.last(n=1, validation=1)),
    "global_time(quantile)": ("global", ra.split.global_time(quantile=0.8)),
    "global_time(at)": ("global", ra.split.global_time(at=float(FRAME["timestamp"][250]))),
    "windows": ("clock", ra.split.windows(length=1e7)),
    "core": (None, ra.split.filters.parse("core(users=2, items=2)")),
    "distinct": (None, ra.split.filters.parse("distinct(keep='last')")),
    "between": ("global", ra.split.filters.parse("between(end=10000000000)")),
    "no_bursts": ("clock", ra.split.filters.parse("no_bursts(gap=1)")),
    "filters.apply": ("global", lambda log: ra.split.filters.apply(log, "between(end=10000000000)")),
    "sessions": ("clock", ra.split.sessions(gap=86400 * 30)),
    "ready_made": (None, sequences_of),
    "random_sequences": (None, lambda log: ra.split.random_sequences()(sequences_of(log))),
    "latest_sequences": ("global", lambda log: ra.split.latest_sequences(test=0.2)(sequences_of(log))),
    "sequences_since": ("global", lambda log: since_the_median(sequences_of(log))),
    "prequential": ("global", lambda log: ra.play(StreamPopular(), log, prequential())),
    "prequential(order='error')": ("global", lambda log: ra.play(StreamPopular(), log, prequential(order="error"))),
    "prequential(batch='1d')": ("clock", lambda log: ra.play(StreamPopular(), log, prequential(batch="1d"))),
    "prequential(order='row')": (None, lambda log: ra.play(StreamPopular(), log, prequential(order="row"))),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_the_kind_is_found_by_reading(kind, tmp_path):
    assert LOGS[kind].times == kind
    FRAMES[kind].write_parquet(tmp_path / "log.parquet")
    FRAMES[kind].write_csv(tmp_path / "log.csv")
    assert [ra.read_interactions(tmp_path / f"log.{end}").times for end in ("parquet", "csv")] == [kind] * 2


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("kind", FRAMES)
def test_a_verb_works_or_says_what_is_lacking(verb, kind):
    needs, do = VERBS[verb]
    if verb == "global_time(at)" and kind == "global":
        do = ra.split.global_time(at=250)
    if STRENGTH[kind] >= STRENGTH[needs]:
        assert do(LOGS[kind])
        return
    with pytest.raises(ra.InputError) as caught:
        do(LOGS[kind])
    if kind is None:
        assert caught.value.code == ("I383" if verb in ("prequential", "prequential(order='error')") else "I201")
    else:
        has, lacks = ("an order of all events", "an order within each user only")[kind == "user"], needs
        assert caught.value.code == "I385"
        assert f"the times of the log are {has}" in caught.value.what
        assert f"times='{lacks}'" in caught.value.hint


@pytest.mark.parametrize("verb", [name for name, (needs, _) in VERBS.items() if needs == "clock"])
def test_what_the_user_says_counts(verb):
    do = VERBS[verb][1]
    with pytest.raises(ra.InputError, match="I385"):
        do(ra.read_interactions(FRAMES["clock"], times="user"))
    with pytest.raises(ra.InputError, match="I385"):
        do(ra.read_interactions(LOGS["clock"], times="global"))


def test_positions_may_be_said_to_be_instants():
    log = ra.read_interactions(FRAMES["user"], times="clock")
    assert ra.split.windows(length=5)(log)
    with pytest.raises(ra.UsageError, match="U107"):
        ra.read_interactions(FRAMES["user"], times="seconds")
    with pytest.raises(ra.UsageError, match="U102"):
        ra.read_interactions(FRAMES[None], times="clock")
    with pytest.raises(ra.UsageError, match="U102"):
        ra.read_interactions(LOGS[None], times="clock")


@pytest.mark.parametrize("kind", FRAMES)
def test_the_kind_survives(kind):
    log = LOGS[kind]
    kept = ra.split.filters.apply(log, "core(users=2, items=2), distinct")
    fold = ra.split.user_folds(k=2)(log)[0]
    parts = [
        log.take(np.arange(7)), log.compact(), kept.log, fold.train, fold.test, fold.train.concat(fold.test),
        ra.split.leave_out(n=1, validation=1)(log)[0].validation, hold_out(log)[0], pickle.loads(pickle.dumps(log)),
    ]  # fmt: skip
    assert [part.times for part in parts] == [kind] * len(parts)
    made = sequences_of(log)
    assert [one.kind for one in (made, made.take(np.arange(3)), *_sides(made))] == [kind] * 4
    words = {"clock": "clock times", "global": "an order of all events", "user": "an order within each user"}
    assert words.get(kind, "times") in repr(log)


def _sides(made):
    fold = ra.split.random_sequences()(made)[0]
    return fold.train, fold.test


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        # users 1 1 1 2 2 3
        ([0, 1, 2, 0, 1, 0], "user"),
        ([1, 2, 3, 1, 2, 1], "user"),
        ([3.0, 1.0, 2.0, 2.0, 1.0, 1.0], "user"),
        ([0, 1, 2, 1, 2, 0], "clock"),  # users begin at different numbers
        ([0, 1, 3, 0, 1, 0], "clock"),  # a gap
        ([0, 1, 1, 0, 1, 0], "clock"),  # a tie
        ([4, 0, 2, 1, 3, 5], "global"),
        ([6, 1, 3, 2, 4, 5], "global"),
        ([7, 2, 4, 3, 5, 6], "clock"),  # begins at 2
        ([0, 1, 2, 3, 4, 4], "clock"),
        ([0.5, 1, 2, 3, 4, 5], "clock"),
        ([2001, 2001, 2003, 1999, 2004, 2010], "global"),  # years
        ([20010131, 20010201, 20030101, 19991231, 20041101, 20101130], "global"),  # dates
        ([20010131235959, 20010201000000, 20030101120000, 19991231101010, 20041101000001, 20101130000000], "global"),
        ([20013131, 20010201, 20030101, 19991231, 20041101, 20101130], "clock"),  # there is no month 31
        ([978300760, 978300761, 978300762, 978300763, 978300764, 978300765], "clock"),
        ([10, 20, 30, 15, 25, 12], "clock"),  # days since some day
        (pl.Series(["2020-01-01", "2020-01-02", "2020-01-03", "2020-01-01", "2020-01-02", "2020-01-01"]), "clock"),
        ([None, 1, 2, 0, 1, 0], "clock"),
        ([0, 1, None, 0, 1, 0], "user"),
    ],
    ids=str,
)
def test_values_tell_positions_from_instants(values, kind):
    frame = pl.DataFrame({"user_id": [1, 1, 1, 2, 2, 3], "item_id": [*"abcabc"], "timestamp": values})
    assert ra.read_interactions(frame).times == kind
    assert ra.read_interactions(frame.sample(fraction=1, shuffle=True, seed=1)).times == kind


def test_names_and_formats_tell_positions(tmp_path):
    frame = pl.DataFrame({"user_id": [1, 1, 2, 2], "item_id": [*"abab"], "pos": [0, 4, 1, 4], "order": [7, 3, 9, 5]})
    assert ra.read_interactions(frame).times is None
    assert ra.read_interactions(frame, columns={"timestamp": "pos"}).times == "user"
    assert ra.read_interactions(frame.rename({"pos": "when"}), columns={"timestamp": "when"}).times == "clock"
    seconds = frame.with_columns(order=pl.Series([978300760, 978300761, 978300762, 978300763]))
    assert ra.read_interactions(seconds, columns={"timestamp": "order"}).times == "clock"
    (tmp_path / "log.txt").write_text("1 7\n2 8\n2 9\n")
    assert ra.read_interactions(tmp_path / "log.txt", format="sasrec").times == "user"
    assert ra.read_interactions({"ann": ["x", "y"], "bob": ["y"]}).times == "user"
    (tmp_path / "parts").mkdir()
    for part in (1, 2):
        frame.with_columns(user_id=pl.col("user_id") + 10 * part).write_parquet(tmp_path / f"parts/part-{part}.parquet")
    assert ra.read_interactions(tmp_path / "parts", columns={"timestamp": "pos"}).times == "user"


def test_one_user_has_one_order():
    assert ra.read_interactions({"ann": ["x", "y", "z"]}).times == "global"
    one = pl.DataFrame({"user_id": [1, 1, 1], "item_id": [*"abc"], "timestamp": [2, 1, 3]})
    assert ra.read_interactions(one).times == "global"


class TestLeaks:
    def test_of_positions_only_those_of_the_own_user_are_known(self):
        # ann x y z, bob y x: the last of each is test, and z is at place 3, y of bob at 1
        fold = ra.split.last(n=1)(ra.read_interactions({"ann": ["x", "y", "z"], "bob": ["y", "x"]}))[0]
        assert ra.split.leaks(fold) == LeakReport(train=3, later=None, later_of_user=0)
        (found,) = fold_findings(fold)
        assert (found.code, found.severity) == ("L004", "info")
        assert "for other users it is unknown" in found.detail

    def test_what_leaks_of_the_own_user_is_still_told(self):
        # training: ann at 2, 3, bob at 1; test: ann at 1, bob at 2. Two of three are later than the own test event
        log = ra.read_interactions({"ann": ["x", "y", "z"], "bob": ["y", "x"]})
        fold = ra.Fold(log.take(np.array([1, 2, 3])), log.take(np.array([0, 4])), "global", {})
        (found,) = fold_findings(fold)
        share = "2 of 3 (67 %) training events are later than the first test event of their own user"
        assert (found.code, found.detail) == ("L002", f"{share}; for others it is unknown")

    def test_times_that_are_not_all_there_are_unknown_and_not_fine(self):
        log = ra.read_interactions([("a", 1, 5.0, 3), ("a", 2, 5.0, None), ("b", 1, 5.0, 4), ("b", 2, 5.0, 9)])
        fold = ra.Fold(log.take(np.array([0, 1])), log.take(np.array([2, 3])), "global", {})
        (found,) = fold_findings(fold)
        assert found.code == "L004"
        assert found.detail.startswith("1 of 2 rows have no timestamp")

    def test_ties_across_the_cut_are_counted(self):
        # user 1 has y and z at 30, one of which is test; user 2 has x at 5 and y at 40
        columns = {"user_id": [1, 1, 1, 2, 2], "item_id": [*"xyzxy"], "timestamp": [10, 30, 30, 5, 40]}
        fold = ra.split.last(n=1)(ra.read_interactions(columns))[0]
        (ties,) = [one for one in fold_findings(fold) if one.code == "L005"]
        assert ties.detail.startswith("1 of 2 (50 %) users with test events")
        columns["timestamp"][2] = 31
        fold = ra.split.last(n=1)(ra.read_interactions(columns))[0]
        assert "L005" not in {one.code for one in fold_findings(fold)}


class TestStreams:
    ROWS = (
        *zip(["u1", "u1", "u2", "u2", "u1", "u3", "u2", "u1", "u3", "u3", "u2", "u3"], "ababcacabcdd", strict=True),
    )

    def test_row_order_must_be_said_and_is_printed(self):
        with pytest.raises(ra.InputError, match=r"I383.*no timestamps") as caught:
            ra.play(StreamPopular(), [*self.ROWS], prequential(at=2))
        assert "columns" in caught.value.hint
        said = ra.play(StreamPopular(), [*self.ROWS], prequential(at=2, order="row"), metrics="recall@2")
        numbered = pl.DataFrame([*self.ROWS], ["user_id", "item_id"], orient="row").with_row_index("timestamp")
        timed = ra.play(StreamPopular(), numbered, prequential(at=2), metrics="recall@2")
        assert said.outcomes.of("recall@2").tolist() == timed.outcomes.of("recall@2").tolist()
        assert said.outcomes.mean("recall@2") == 0.625
        assert said.outcomes.settings["protocol"] == "prequential(at=2, order='row')"

    def test_row_order_overrules_times(self):
        rows = [(*row, -place) for place, row in enumerate(self.ROWS)]
        log = ra.Interactions.from_frame(pl.DataFrame(rows, ["user_id", "item_id", "timestamp"], orient="row"))
        stream = ra.play(StreamPopular(), log, prequential(at=2, order="row"), metrics="recall@2")
        assert (stream.outcomes.mean("recall@2"), stream.counts["moved"]) == (0.625, 0)

    def test_an_iterator_and_a_fold_are_looked_at_too(self):
        frame = pl.DataFrame([*self.ROWS], ["user_id", "item_id"], orient="row")
        with pytest.raises(ra.InputError, match="I383"):
            ra.play(StreamPopular(), iter([frame[:6], frame[6:]]), prequential(at=2))
        fold = ra.split.last(n=1)(LOGS["user"])[0]
        with pytest.raises(ra.InputError, match="I385"):
            ra.play(StreamPopular(), fold, prequential())

    def test_a_length_of_time_needs_seconds(self):
        log = ra.read_interactions(FRAME.with_columns(pl.col("timestamp") * 1000))
        with pytest.raises(ra.InputError, match=r"I385.*milliseconds"):
            ra.play(StreamPopular(), log, prequential(delay="1d"))
        assert ra.play(StreamPopular(), log, prequential(delay=100)).counts["scored"]
        dates = ra.read_interactions(FRAME.with_columns(pl.from_epoch("timestamp")))
        seconds = ra.play(StreamPopular(), LOGS["clock"], prequential(delay="1d"))
        assert ra.play(StreamPopular(), dates, prequential(delay="1d")).counts == seconds.counts
        with pytest.raises(ra.UsageError, match="U102"):
            prequential(delay="1d", order="row")

    def test_no_window_of_time_is_over_an_order(self):
        outcomes = ra.play(StreamPopular(), LOGS["global"], prequential()).outcomes
        with pytest.raises(ra.InputError, match="I383"):
            ra.over_time(outcomes, "recall@10", by="time", window=50)
        timed = ra.play(StreamPopular(), LOGS["clock"], prequential()).outcomes
        assert ra.over_time(timed, "recall@10", by="time", window=86400).table.height == len(outcomes)


CLOCKS = [name for name, (needs, _) in VERBS.items() if needs is not None]
AT = FRAME["timestamp"].to_list()


def log_with(tmp_path, values, end="parquet"):
    path = tmp_path / f"log.{end}"
    frame = FRAME.with_columns(timestamp=values if isinstance(values, pl.Series) else pl.Series(values))
    frame.write_parquet(path) if end == "parquet" else frame.write_csv(path)
    return ra.read_interactions(path)


@pytest.mark.parametrize("verb", CLOCKS)
@pytest.mark.parametrize("end", ["parquet", "csv"])
@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), float("-inf")])
def test_no_verb_takes_a_time_that_is_none(verb, end, wrong, tmp_path):
    log = log_with(tmp_path, [float(one) for one in AT[:-3]] + [wrong] * 3, end)
    with pytest.raises(ra.InputError, match=r"I304.*3 of 500 rows have a timestamp that is NaN or infinite.*row 498"):
        VERBS[verb][1](log)


WRONG = {
    "seconds and milliseconds": ([at * (1000 if n % 2 else 1) for n, at in enumerate(AT)], "I387", "250 of 500"),
    "seconds and nanoseconds": ([at * (10**9 if n > 490 else 1) for n, at in enumerate(AT)], "I387", "9 of 500"),
    "microseconds and some seconds": ([at * (1 if n == 3 else 10**6) for n, at in enumerate(AT)], "I387", "1 of 500"),
    "0 for missing": ([0 if n < 7 else at for n, at in enumerate(AT)], "I387", "7 of 500 times are 0"),
    "-1 for missing": ([-1 if n < 7 else at for n, at in enumerate(AT)], "I387", "7 of 500 times are -1"),
    "0 milliseconds for missing": ([0 if n < 7 else at * 1000 for n, at in enumerate(AT)], "I387", "7 of 500"),
    "the year 9999": ([253402300799 if n < 7 else at for n, at in enumerate(AT)], "I387", "7 of 500"),
    "the year 2200": ([7258118400 if n < 7 else at for n, at in enumerate(AT)], "I387", "7 of 500"),
    "dates of 1970": (pl.from_epoch(pl.Series([0 if n < 7 else at for n, at in enumerate(AT)])), "I387", "7 of 500"),
    "dates of 9999": (
        pl.from_epoch(pl.Series([253402300799 if n < 7 else at for n, at in enumerate(AT)])), "I387", "7 of 500",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_times_that_cannot_all_be_true_are_refused(name, tmp_path):
    values, code, counts = WRONG[name]
    log = log_with(tmp_path, values)
    for verb in ("last", "global_time(quantile)", "sessions", "prequential", "between"):
        with refused(code, match=counts):
            VERBS[verb][1](log)
    assert ra.split.random(test=0.2)(log)  # which looks at no times
    assert stats(log).times.problem.startswith(code)


SPAN = AT[-1] - AT[0]
SOUND = {
    "seconds": AT,
    "milliseconds": [at * 1000 for at in AT],
    "nanoseconds": [at * 10**9 for at in AT],
    "fractions of seconds": [at + 0.5 for at in AT],
    "seconds since the log began": [at - AT[0] for at in AT],
    "seconds of five years since the log began": [3 * (at - AT[0]) for at in AT],
    "milliseconds since the log began": [(at - AT[0]) * 1000 for at in AT],
    "nanoseconds of some minutes": [int((at - AT[0]) / SPAN * 3e11) for at in AT],
    "days": [at // 86400 for at in AT],
    "days since the log began": [(at - AT[0]) // 86400 for at in AT],
    "hours": [at // 3600 for at in AT],
    "before 1970": [at - 1_900_000_000 for at in AT],
    "dates before 1970": pl.from_epoch(pl.Series([at - 1_900_000_000 for at in AT])),
    "around 1973": [at - AT[0] + 10**8 - SPAN // 2 for at in AT],
    "dates from 1970 on": pl.from_epoch(pl.Series([at - AT[0] for at in AT])),
    "shifted by a century for privacy": [at + 78 * 366 * 86400 for at in AT],
    "shifted by two centuries": [at + 200 * 366 * 86400 for at in AT],
    "a long gap": [at + (6 * 366 * 86400 if n > 250 else 0) for n, at in enumerate(AT)],
}


@pytest.mark.parametrize("name", SOUND)
def test_sound_times_are_taken(name, tmp_path):
    log = log_with(tmp_path, SOUND[name])
    assert log.times == "clock"
    assert stats(log).times.problem == ""
    for verb in ("last", "global_time(quantile)", "prequential"):
        assert VERBS[verb][1](log)
    assert ra.split.windows(length=max(1, int(float(span_of(log)) / 5)))(log)


def span_of(log):
    times = log.timestamps
    if times.dtype.is_temporal():
        return (times.max() - times.min()).total_seconds()
    return times.max() - times.min()


@pytest.mark.parametrize(
    ("texts", "code"),
    [
        (["03/04/2020", "05/06/2020"], "I386"),
        (["03-04-2020", "05-06-2020"], "I386"),
        (["03/04/2020 10:00", "05/06/2020 11:00"], "I386"),
        (["3/4/2020", "5/6/2020"], "I386"),
        (["04/13/2020", "04/03/2020"], "I386"),
        (["13/04/2020", "04/13/2020"], "I386"),
        (["03/04/20", "05/06/20"], "I386"),
        (["13/04/20", "05/06/20"], "I386"),
        (["2020-04-03T10:00:00Z", "2020-04-03T10:00:00"], "I386"),
        (["2020-04-03T10:00:00", "2020-04-03T10:00:00+02:00"], "I386"),
        (["03/04/2020", None], "I386"),
        (["Apr 3, 2020", "Apr 4, 2020"], "I202"),
        (["2020-04-03", "soon"], "I202"),
    ],
    ids=str,
)
def test_text_that_can_be_read_in_two_ways_is_refused(texts, code):
    with refused(code) as caught:
        ra.read_interactions({"user_id": [1, 1], "item_id": [7, 8], "date": texts})
    if "/" in str(texts):
        assert "2020-04-03" in caught.value.hint


@pytest.mark.parametrize(
    ("texts", "second"),
    [
        (["2020-04-03", "2020-05-06"], "2020-05-06 00:00:00"),
        (["2020/04/03", "2020/05/06"], "2020-05-06 00:00:00"),
        (["2020-04-03 10:30", "2020-05-06 11:30"], "2020-05-06 11:30:00"),
        (["2020-04-03T10:30:00Z", "2020-05-06T11:30:00+02:00"], "2020-05-06 09:30:00"),
        (["25/12/2020", "03/04/2020"], "2020-04-03 00:00:00"),  # a day above 12 comes first
        (["03.04.2020", "05.06.2020"], "2020-06-05 00:00:00"),  # with dots the day comes first
        (["2020-04-03T10:30:00", None], "None"),
    ],
    ids=str,
)
def test_text_that_can_be_read_in_one_way_is_read(texts, second):
    log = ra.read_interactions({"user_id": [1, 1], "item_id": [7, 8], "date": texts})
    assert str(log.timestamps[1]) == second


def test_sequences_of_positions_have_no_order_among_them():
    frame = pl.DataFrame({"sequence_id": [1, 1, 2, 2], "item_id": [*"abab"], "timestamp": [0, 1, 0, 1]})
    with pytest.raises(ra.InputError, match="I385"):
        ra.split.latest_sequences(test=0.5)(Sequences.from_frame(frame, kind="user"))
