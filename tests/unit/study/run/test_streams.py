"""A study of streams from its file to its folder."""

import functools
import json

import numpy as np
import polars as pl
import pytest
import yaml

import recassay as ra
from recassay.data.synthetic import change_points, drifting, item_features, log
from recassay.engine.streams.run import Checkpoint, play_stream
from recassay.errors import RecassayError, UsageError
from recassay.models.incremental import ISGD, UKNN, StreamPopular
from recassay.stats.intervals import intervals
from recassay.study.run import streams

from ....refusals import refused
from ..config.test_schema import planned
from ..conftest import files

STUDY = """\
study: events
data: {generate: "drifting(users=80, items=50, events=1500, changes=1, seed=1)"}
protocol: prequential(at=5)
models: {isgd: "ISGD(factors=4)", uknn: UKNN, popular: StreamPopular}
metrics: [recall@5, mrr@5]
compare: {baseline: popular}
over_time: {window: 200}
judge: {resamples: 200}
"""
PLACE = "generated/whole/fold-0/seed-0"
TIMED = ("cache", "times.json", "report.html")  # what tells how long calls took


def made():
    return drifting(users=80, items=50, events=1500, changes=1, seed=1)


@pytest.fixture
def write(study):
    return lambda **changes: study(STUDY, **changes)


@pytest.fixture
def checked_often(monkeypatch):
    """Write a checkpoint after every 200 events."""
    monkeypatch.setattr(streams, "play_stream", functools.partial(play_stream, block=200))
    monkeypatch.setattr(streams, "Checkpoint", functools.partial(Checkpoint, seconds=0.0))


def by_hand(protocol="prequential(at=5)", **changes):
    parsed = ra.protocols.parse(protocol)
    models = {"isgd": ISGD(factors=4), "uknn": UKNN(), "popular": StreamPopular(), **changes}
    return {name: ra.play(model, made(), parsed, name=name, metrics="recall@5 mrr@5") for name, model in models.items()}


def test_the_folder_of_a_study(write, tmp_path):
    results = ra.run_study(write(), tmp_path / "out")
    written = set(files(tmp_path / "out"))
    assert {"study.lock.yaml", "scores.parquet", "summary.json", "findings.jsonl", "report.html"} <= written
    for system in ("isgd", "uknn", "popular"):
        assert f"runs/{PLACE}/{system}.parquet" in written
    for exhibit in ("over-time", "mcnemar-over-time", "difference-over-time", "events"):
        assert f"exhibits/generated/whole/{exhibit}.csv" in written
    page = (tmp_path / "out" / "report.html").read_text()
    assert all(text in page for text in ("events of a stream", "Scored and unscored events", "recall@5 over time"))
    assert {row["design"] for row in results.rows} == {"stream"}
    assert results.failures == ()


def test_rows_and_outcomes_equal_those_of_play(write, tmp_path):
    results = ra.run_study(write(), tmp_path / "out")
    rows = {(row["fold"], row["system"], row["metric"]): row for row in results.rows}
    for name, stream in by_hand().items():
        one = stream.outcomes
        kept = ra.Outcomes.read(tmp_path / "out" / "runs" / PLACE / f"{name}.parquet")
        assert kept.fingerprint == one.fingerprint
        for metric in ("recall@5", "mrr@5"):
            for fold in (0, "all"):
                row = rows[fold, name, metric]
                assert (row["mean"], row["n"], row["short"]) == (one.mean(metric), len(one), one.counts["short"])
                assert row["low"] < row["mean"] < row["high"]
                assert row["accompanying"]["first"] == one.counts["first"]


def test_metrics_of_lists_use_the_features_of_the_data(study, tmp_path):
    text = STUDY.replace('seed=1)"}', 'seed=1)", items: "item_features(items=50)"}')
    text = text.replace("metrics: [recall@5, mrr@5]", "metrics: [recall@5, ild@5, efd@5]")
    results = ra.run_study(study(text), tmp_path / "out")
    assert results.failures == ()
    stream = ra.play(
        StreamPopular(), made(), ra.protocols.prequential(at=5), metrics="ild@5 efd@5", items=item_features(items=50)
    )
    for metric in ("ild@5", "efd@5"):
        rows = [
            row for row in results.rows if (row["system"], row["metric"], row["fold"]) == ("popular", metric, "all")
        ]
        assert rows[0]["mean"] == pytest.approx(stream.outcomes.mean(metric))


def test_intervals_resample_users_with_all_their_events(write, tmp_path):
    results = ra.run_study(write(), tmp_path / "out")
    one = by_hand()["popular"].outcomes
    hits = pl.DataFrame({"user": one.users, "hit": one.of("recall@5")})
    users = hits.group_by("user").agg(pl.col("hit").mean(), pl.len()).sort("user")
    means, events = users["hit"].to_numpy()[:, None], users["len"].cast(float).to_numpy()[:, None]
    low, high = intervals(means, events, method="bootstrap", level=0.95, resamples=200, seed=0)
    row = next(row for row in results.rows if (row["system"], row["metric"]) == ("popular", "recall@5"))
    assert (row["low"], row["high"]) == (low[0], high[0])


def test_scores_have_the_position_user_and_time_of_each_event(write, tmp_path):
    ra.run_study(write(), tmp_path / "out")
    scores = pl.read_parquet(tmp_path / "out" / "scores.parquet").filter(system="uknn")
    frame, one = made().frame(), by_hand()["uknn"].outcomes
    assert scores["unit"].to_list() == one.event.tolist()
    assert scores["user"].to_list() == frame["user_id"].gather(one.event).to_list()
    assert scores["time"].to_list() == frame["timestamp"].gather(one.event).to_list()
    assert scores["recall@5"].to_list() == one.of("recall@5").tolist()


def test_comparisons_are_signed_mcnemar_over_the_whole_stream(write, tmp_path):
    results = ra.run_study(write(), tmp_path / "out")
    rows = {(row["metric"], row["a"]): row for row in results.comparisons}
    for metric in ("recall@5", "mrr@5"):
        found = ra.compare_over_time(list(by_hand().values()), baseline="popular", metric=metric, window=200)
        for row in found.summary().to_dicts():
            mine = rows[metric, row["a"]]
            assert mine["b"] == "popular"
            assert {name: mine[name] for name in ("p", "p_adjusted", "low", "high", "n", "test")} == {
                name: row[name] for name in ("p", "p_adjusted", "low", "high", "n", "test")
            }


def test_final_tests_of_several_streams_are_one_family(study, tmp_path):
    several = 'data: [{name: a, generate: "log(users=60, items=40, events=900)"}, {name: b, generate: "log(users=60, items=40, events=900, seed=1)"}]\n'  # noqa: E501
    first = STUDY.splitlines()[1] + "\n"
    results = ra.run_study(study(STUDY.replace(first, several)), tmp_path / "out")
    protocol = ra.protocols.prequential(at=5)
    compared = {
        name: ra.compare_over_time(
            {
                system: ra.play(model, log(users=60, items=40, events=900, seed=seed), protocol, metrics="recall@5")
                for system, model in {"isgd": ISGD(factors=4), "uknn": UKNN(), "popular": StreamPopular()}.items()
            },
            baseline="popular",
            metric="recall@5",
        )
        for seed, name in enumerate("ab")
    }
    family = {(row["stream"], row["a"]): row["p_adjusted"] for row in ra.overall.declared(compared).to_dicts()}
    rows = [row for row in results.comparisons if row["metric"] == "recall@5"]
    assert {(row["dataset"], row["a"]): row["p_adjusted"] for row in rows} == family


def test_a_study_resumes_inside_a_stream_with_the_same_bits(write, tmp_path, checked_often):
    path = write()
    ra.run_study(path, tmp_path / "whole")
    stopped = []

    def stop(stage, done, of):
        if stage == "uknn: events" and done >= 600 and not stopped:
            stopped.append(done)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ra.run_study(path, tmp_path / "out", progress=stop)
    assert list((tmp_path / "out" / "cache" / "training").iterdir())
    walked = []

    def listen(stage, done, of):
        if stage == "uknn: events":
            walked.append(done)

    ra.run_study(path, tmp_path / "out", progress=listen)
    assert walked[0] == 200, "it started from the beginning"
    assert max(walked) < 1500, "it started from the beginning"
    assert files(tmp_path / "out", without=TIMED) == files(tmp_path / "whole", without=TIMED)
    assert not list((tmp_path / "out" / "cache" / "training").iterdir())


def test_settings_are_chosen_on_the_first_part_alone_and_not_scored_there(write, tmp_path):
    tune = (
        "tune: {share: 0.2, metric: mrr@5, grid: {uknn: {neighbours: [2, 5]}, isgd: {rate: [0.1], factors: [2, 8]}}}\n"
    )
    ra.run_study(write(add=tune), tmp_path / "out")
    lock = yaml.safe_load((tmp_path / "out" / "study.lock.yaml").read_text())
    assert lock["tune"]["share"] == 0.2
    assert lock["tune"]["tried"]["uknn"] == ["UKNN", "UKNN(neighbours=2)", "UKNN(neighbours=5)"]
    first = made().take(np.arange(300))
    settings = pl.read_csv(tmp_path / "out" / "exhibits" / "generated" / "whole" / "settings.csv")
    taken = {}
    for row in settings.to_dicts():
        protocol = ra.protocols.prequential(at=5)
        assert row["mrr@5"] == ra.play(ra.models.parse(row["model"]), first, protocol).outcomes.mean("mrr@5")
    for name in ("uknn", "isgd"):
        own = settings.filter(system=name)
        assert own["taken"].sum() == 1
        assert own.filter("taken")["mrr@5"].item() == own["mrr@5"].max()
        taken[name] = ra.models.parse(own.filter("taken")["model"].item())
    for name, stream in by_hand("prequential(at=5, warmup=300)", **taken).items():
        kept = ra.Outcomes.read(tmp_path / "out" / "runs" / PLACE / f"{name}.parquet")
        assert kept.fingerprint == stream.outcomes.fingerprint
        assert kept.event[0] >= 300


def test_a_failing_setting_is_not_chosen(write, tmp_path):
    results = ra.run_study(write(add="tune: {grid: {isgd: {rate: [1.0e+30]}}}\n"), tmp_path / "out")
    settings = pl.read_csv(tmp_path / "out" / "exhibits" / "generated" / "whole" / "settings.csv")
    assert settings["taken"].to_list() == [True, False]
    assert settings["recall@5"].null_count() == 1
    assert results.failures == ()


def test_a_data_set_may_have_its_own_protocol(study, tmp_path):
    text = STUDY.replace('seed=1)"}', 'seed=1)", protocol: "prequential(at=5, repeats=\'allow\')"}')
    results = ra.run_study(study(text), tmp_path / "out")
    assert {row["protocol"] for row in results.rows} == {"prequential(at=5, repeats='allow')"}
    kept = ra.Outcomes.read(tmp_path / "out" / "runs" / PLACE / "uknn.parquet")
    assert kept.settings["protocol"] == "prequential(at=5, repeats='allow')"


def test_filters_of_one_data_set(study, tmp_path):
    text = STUDY.replace('seed=1)"}', 'seed=1)", filters: "core(users=15, items=15)"}')
    ra.run_study(study(text), tmp_path / "out")
    about = json.loads((tmp_path / "out" / "folds" / "generated" / "whole" / "fold-0.json").read_text())
    left = ra.split.filters.apply(made(), "core(users=15, items=15)").log
    assert about["stream"]["events"] == len(left) < 1500


FAILING = """\
import numpy as np


class Failing:
    def __init__(self, after=400):
        self.after, self.met = after, 0

    def learn(self, users, items, values):
        self.met += len(items)
        if self.met > self.after:
            raise ValueError("enough")

    def recommend(self, user, n, consumed):
        return []
"""


def test_outcomes_before_a_failure_are_kept(write, tmp_path):
    (tmp_path / "mine.py").write_text(FAILING)
    text = [("popular: StreamPopular", 'popular: StreamPopular, mine: "mine.py:Failing(after=1200)"')]
    results = ra.run_study(write(replace=text), tmp_path / "out")
    (failure,) = results.failures
    assert (failure["system"], failure["code"]) == ("mine", "I374")
    assert "event 1,200" in failure["message"]
    partial = ra.Outcomes.read(tmp_path / "out" / "failures" / PLACE / "mine.parquet")
    assert partial.event[-1] <= 1200
    assert len(partial) > 800
    assert {row["system"] for row in results.rows} == {"isgd", "uknn", "popular"}


def test_rows_are_an_order_only_if_the_study_says_so(study, tmp_path):
    made().frame().drop("timestamp").write_csv(tmp_path / "rows.csv")
    generated = 'generate: "drifting(users=80, items=50, events=1500, changes=1, seed=1)"'
    protocol = "prequential(at=5)"
    models = ('{isgd: "ISGD(factors=4)", uknn: UKNN, popular: StreamPopular}', "{popular: StreamPopular}")
    compared = ("compare: {baseline: popular}\n", "")
    with pytest.raises(RecassayError, match="I383"):
        ra.run_study(study(STUDY, replace=[(generated, "path: rows.csv"), models, compared]), tmp_path / "out")
    said = (protocol, "\"prequential(at=5, order='row')\"")
    text = study(STUDY, replace=[(generated, "path: rows.csv"), said, models, compared])
    results = ra.run_study(text, tmp_path / "said")
    assert {row["protocol"] for row in results.rows} == {"prequential(at=5, order='row')"}
    whole = by_hand()["popular"]
    (mean,) = [row["mean"] for row in results.rows if (row["metric"], row["fold"]) == ("recall@5", "all")]
    assert mean == whole.outcomes.mean("recall@5")


def test_ratings_are_predicted(study, tmp_path):
    rng_free = np.arange(600)
    frame = pl.DataFrame(
        {"user_id": rng_free % 20, "item_id": rng_free * 7 % 30, "rating": 1.0 + rng_free % 5, "timestamp": rng_free}
    )
    frame.write_csv(tmp_path / "ratings.csv")
    (tmp_path / "mine.py").write_text(
        "class Mean:\n"
        "    def __init__(self, always=3.0):\n        self.always = always\n"
        "    def learn(self, users, items, values):\n        pass\n"
        "    def predict(self, user, item):\n        return self.always\n"
    )
    text = """\
study: ratings
data: {path: ratings.csv}
protocol: prequential(predict='ratings')
models: {three: "mine.py:Mean()", four: "mine.py:Mean(always=4.0)"}
metrics: [mae, rmse]
over_time: {largest: 4, window: 50}
judge: {resamples: 200}
"""
    results = ra.run_study(study(text), tmp_path / "out")
    means = {(row["system"], row["metric"]): row["mean"] for row in results.rows if row["fold"] == "all"}
    assert means == pytest.approx({
        ("three", "mae"): 1.2, ("three", "rmse"): 2**0.5, ("four", "mae"): 1.4, ("four", "rmse"): 3**0.5,
    })  # fmt: skip
    assert [(row["metric"], row["difference"]) for row in results.comparisons] == [("mae", pytest.approx(-0.2))]


@pytest.mark.parametrize(
    ("old", "new", "code", "message"),
    [
        (
            "protocol: prequential(at=5)",
            "protocol: prequential(at=5)\nsplit: last(n=1)",
            "U132",
            "`split` is for ranked",
        ),
        ("protocol: prequential(at=5)", "protocol: ranking", "U132", "`over_time` is for streams"),
        ("over_time: {window: 200}", "over_time: {windows: 200}", "U132", "windows"),
        ("over_time: {window: 200}", "over_time: {metric: ndcg@5}", "U132", "ndcg@5"),
        ("over_time: {window: 200}", "over_time: {metric: [mrr@5, ndcg@5]}", "U132", "ndcg@5"),
        ("over_time: {window: 200}", "over_time: {window: {other: 200}}", "U132", "other"),
        ("over_time: {window: 200}", "over_time: {window: {generated: 0}}", "U132", "window"),
        ("over_time: {window: 200}", "over_time: {detectors: ADWINE}", "U115", "ADWINE"),
        ("over_time: {window: 200}", "designs: AI-AR-AN", "U132", "ranked lists"),
        ("over_time: {window: 200}", "tune: {grid: {als: {rate: [1]}}}", "U132", "als"),
        ("over_time: {window: 200}", "tune: {grid: {isgd: {rates: [1]}}}", "U132", "rates"),
        ("over_time: {window: 200}", "tune: {grid: {isgd: {update: [some]}}}", "U102", "some"),
        ("recall@5, mrr@5", "coverage@5", "U192", "no metric has a value for each event"),
        ("recall@5, mrr@5", "recall@5, coverage@9", "U192", "more than the 5 items"),
        ("recall@5, mrr@5", "recall@5, coverage(catalogue='truth')@5", "U192", "catalogue"),
        ("[recall@5, mrr@5]", "[recall@5, coverage@5]\ntune: {metric: coverage@5}", "U132", "coverage@5"),
        ("prequential(at=5)", "prequential(at=5, folds='cv')", "U132", "copies"),
        ('seed=1)"}', 'seed=1)", sequences: ready_made}', "U132", "sequences"),
        ('seed=1)"}', 'seed=1)", protocol: ranking}', "U132", "ranking"),
        ('seed=1)"}', 'seed=1)", filters: cores}', "U115", "cores"),
    ],
)
def test_errors_are_found_before_any_work(study, old, new, code, message):
    with refused(code) as caught:
        planned(study(STUDY, replace=[(old, new)]))
    assert message in str(caught.value)


def test_keys_of_streams_are_errors_in_other_studies(study):
    with pytest.raises(UsageError) as caught:
        planned(study(add="over_time: {window: 20}\n"))
    assert (caught.value.code, "is for streams" in caught.value.what) == ("U132", True)


def test_a_model_that_cannot_learn_streams_fails_in_the_dry_run(write, tmp_path):
    path = write(replace=[("popular: StreamPopular", "popular: Popular")])
    (failure,) = ra.run_study(path, tmp_path / "out").failures
    assert (failure["system"], failure["code"], "line 4" in failure["message"]) == ("popular", "U191", True)


def test_a_table_of_the_data_folder(study, tmp_path):
    (tmp_path / "data" / "shop").mkdir(parents=True)
    made().frame().write_parquet(tmp_path / "data" / "shop" / "clicks.parquet")
    first = STUDY.splitlines()[1]
    text = STUDY.replace(first, "data: {name: ours, table: shop/clicks}")
    results = ra.run_study(study(text), tmp_path / "out", data=tmp_path / "data")
    assert {row["dataset"] for row in results.rows} == {"ours"}
    for wrong in ("data: {name: ours, table: shop/visits}", "data: {table: shop/clicks, path: a.csv}"):
        with pytest.raises(RecassayError) as caught:
            ra.run_study(study(STUDY.replace(first, wrong)), tmp_path / "other", data=tmp_path / "data")
        assert caught.value.code in ("I111", "U132")


def test_a_drifting_stream_changes_at_the_given_events():
    one = drifting(users=600, items=80, events=18_000, changes=2, seed=3)
    frame = one.frame()
    assert frame.height == 18_000
    assert frame.unique(["user_id", "item_id"]).height == 18_000
    assert (frame["timestamp"].diff().drop_nulls() >= 0).all()
    assert change_points(18_000, 2) == [6000, 12_000]
    counts = [
        np.bincount(part["item_id"].to_numpy(), minlength=81)
        for part in (frame[:3000], frame[3000:6000], frame[6000:12_000], frame[12_000:])
    ]
    alike = np.corrcoef(counts)
    assert alike[0, 1] > 0.5, "one world has one popularity"
    assert max(abs(alike[1, 2]), abs(alike[2, 3]), abs(alike[0, 3])) < 0.4, "another one has another"
    with pytest.raises(UsageError):
        drifting(users=10, items=10, events=20, changes=-1)


def test_several_metrics_over_time_with_a_window_per_data_set(study, tmp_path):
    """Each data set has its own window, and each metric its own charts; alarms are those of the first metric."""
    text = STUDY.replace("over_time: {window: 200}", "over_time: {metric: [mrr@5, recall@5], window: {one: 100}}")
    source = "drifting(users=80, items=50, events=1500, changes=1, seed=1)"
    data = f'data: [{{name: one, generate: "{source}"}}, {{name: two, generate: "{source}"}}]'
    text = "\n".join(data if line.startswith("data:") else line for line in text.splitlines())
    ra.run_study(study(text), tmp_path / "out")
    for name, window in (("one", 100), ("two", None)):
        folder = tmp_path / "out" / "exhibits" / name / "whole"
        for metric, ending in (("mrr@5", ""), ("recall@5", "-recall-5")):
            drawn = pl.read_csv(folder / f"over-time{ending}.csv")
            curve = ra.over_time(by_hand()["isgd"], metric, window=window)
            last = drawn.filter(system="isgd").sort("event")["value"][-1]
            assert last == pytest.approx(curve.table["value"][-1])
            assert (folder / f"mcnemar-over-time{ending}.csv").exists() == (metric == "recall@5")
    assert not (folder / "alarms-recall-5.csv").exists()


def test_metrics_of_many_lists_have_means_and_curves_and_no_tests(write, tmp_path):
    path = write(replace=[("recall@5, mrr@5", "coverage@5, recall@5, gini@3")])
    out = tmp_path / "out"
    results = ra.run_study(path, out)
    protocol = ra.protocols.prequential(at=5)
    played = ra.play(ISGD(factors=4), made(), protocol, name="isgd", metrics="recall@5", lists=True)
    rows = {row["metric"]: row for row in results.rows if row["system"] == "isgd" and row["fold"] == "all"}
    scored = len(played.outcomes)
    for heading in ("coverage@5", "gini@3"):
        whole = played.catalogue_over_time(heading, scored).table[heading][-1]
        assert (rows[heading]["mean"], rows[heading]["n"], rows[heading]["low"]) == (whole, scored, None)
        chart = out / f"exhibits/generated/whole/over-time-{heading.replace('@', '-')}.csv"
        own = pl.read_csv(chart).filter(pl.col("system") == "isgd")[heading]
        assert own.to_list() == pytest.approx(played.catalogue_over_time(heading, 200).table[heading].to_list())
        assert "no test compares systems" in json.loads(chart.with_suffix(".json").read_text())["caption"]
    assert {row["metric"] for row in results.comparisons} == {"recall@5"}
    assert "coverage@5 over time" in (out / "report.html").read_text()
    before = files(out, without=TIMED)
    assert ra.run_study(write(replace=[("recall@5, mrr@5", "recall@5")]), out).comparisons == results.comparisons
    ra.run_study(write(replace=[("recall@5, mrr@5", "coverage@5, recall@5, gini@3")]), out)
    assert files(out, without=TIMED) == before


@pytest.mark.parametrize(("window", "expected"), [("window: 300", 300), ("by: event, window: 400", 28)])
def test_windows_of_metrics_of_many_lists_are_those_of_the_study(write, tmp_path, window, expected):
    ra.run_study(
        write(replace=[("recall@5, mrr@5", "recall@5, coverage@5"), ("window: 200", window)]), tmp_path / "out"
    )
    about = json.loads((tmp_path / "out/exhibits/generated/whole/over-time-coverage-5.json").read_text())
    assert f"the last {expected} scored events" in about["caption"]


TWO = 'protocol: ["prequential(at=5)", "prequential(at=5, delay=300, warmup=100)"]}'


def test_a_data_set_may_have_several_protocols(write, tmp_path):
    path = write(replace=[('seed=1)"}', f'seed=1)", {TWO}'), ("recall@5, mrr@5", "recall@5")])
    out = tmp_path / "out"
    results = ra.run_study(path, out)
    texts = ["prequential(at=5)", "prequential(at=5, warmup=100, delay=300)"]
    assert {row["protocol"] for row in results.rows} == set(texts)
    assert {row["dataset"] for row in results.rows} == {"generated"}
    alone = {text: by_hand(text) for text in texts}
    for row in results.rows:
        if row["system"] == "isgd":
            assert row["mean"] == pytest.approx(alone[row["protocol"]]["isgd"].outcomes.mean("recall@5"))
    assert len(results.comparisons) == 4
    (chart,) = out.rglob("protocols-recall-5.csv")
    table = pl.read_csv(chart)
    assert table["system"].to_list() == ["isgd", "uknn", "popular"]
    by_event = [
        pl.DataFrame({"event": one["isgd"].outcomes.event, "value": one["isgd"].outcomes.of("recall@5")})
        for one in alone.values()
    ]
    both = by_event[0].join(by_event[1], on="event")
    assert (table["n"][0], table["difference"][0]) == (
        both.height,
        pytest.approx((both["value"] - both["value_right"]).mean()),
    )
    assert table["dropped"][0] == len(alone[texts[0]]["isgd"].outcomes) - both.height
    assert not [*out.rglob("protocol-means*")]
    before = files(out, without=TIMED)
    (out / "cache" / "state.json").unlink(missing_ok=True)
    assert ra.run_study(path, out).rows == results.rows
    assert files(out, without=TIMED) == before


def test_protocols_with_other_targets_are_not_paired(write, tmp_path):
    two = 'protocol: ["prequential(at=5)", "prequential(at=5, match=\'future\')"]}'
    path = write(replace=[('seed=1)"}', f'seed=1)", {two}'), ("recall@5, mrr@5", "recall@5")])
    ra.run_study(path, tmp_path / "out")
    assert not [*(tmp_path / "out").rglob("protocols-*")]
    (about,) = (tmp_path / "out").rglob("protocol-means-recall-5.json")
    assert "other items are right at the same event" in json.loads(about.read_text())["caption"]


def test_a_protocol_named_twice_is_refused(study):
    two = 'protocol: ["prequential(at=5)", "prequential(at=5)"]}'
    with pytest.raises(RecassayError, match="named twice"):
        planned(study(STUDY, replace=[('seed=1)"}', f'seed=1)", {two}')]))


def test_protocols_of_the_study_are_those_of_each_data_set(study):
    of_data = planned(study(STUDY, replace=[('seed=1)"}', f'seed=1)", {TWO}')]))
    of_study = planned(study(STUDY, replace=[("protocol: prequential(at=5)", TWO.rstrip("}"))]))
    assert of_study.protocols == of_data.protocols
    assert of_study.own_splits == of_data.own_splits


def test_several_protocols_of_ranked_lists_are_refused(study):
    text = "study: s\ndata: {generate: 'log()'}\nsplit: k_folds(k=2)\nprotocol: [ranking, next_item]\nmodels: [Popular]"
    with pytest.raises(RecassayError, match="several protocols are for streams, and ranking is not one of streams"):
        planned(study(text + "\nmetrics: mrr\n"))


def test_one_data_set_without_features_of_items_lacks_their_metrics_alone(write, tmp_path):
    stream = 'generate: "drifting(users=80, items=50, events=1500, changes=1, seed=1)"'
    data = f'data: [{{name: bare, {stream}}}, {{name: full, {stream}, items: "item_features(items=50)"}}]'
    path = write(replace=[(STUDY.splitlines()[1], data), ("[recall@5, mrr@5]", "[recall@5, ild@5]")])
    found = ra.run_study(path, tmp_path / "out")
    rows = {(row["dataset"], row["metric"]) for row in found.rows}
    assert rows == {("bare", "recall@5"), ("full", "recall@5"), ("full", "ild@5")}
    absent = [(row["dataset"], row["detail"]) for row in found.findings if row["code"] == "C018"]
    assert absent == [("bare", "the data set has no features of items (`items:`), so it has no ild@5")]
    with pytest.raises(UsageError, match=r"U105.*ild@5 needs the features of items, and bare has none"):
        ra.run_study(write(replace=[(STUDY.splitlines()[1], data), ("[recall@5, mrr@5]", "[ild@5]")]), tmp_path / "no")
