"""Models attached to a live evaluation, against the prequential protocol and across restarts."""

import json
import random

import polars as pl
import pytest

import recassay as ra
from recassay.cli import main
from recassay.data.io.archive import save_archive
from recassay.live import attached
from recassay.live import watcher as watching
from recassay.live.attached import read_models

METRICS = ("recall@5", "mrr@5")
OPTIONS = {"lateness": "10m", "idle": "1000d", "ahead": "1000d"}
OWN_MODEL = """
class Last:
    def __init__(self, keep=20):
        self.keep, self.items = keep, []

    def __str__(self):
        return f"Last(keep={self.keep})"

    def learn(self, users, items, values):
        self.items = [*dict.fromkeys([*items[::-1].tolist(), *self.items])][: self.keep]

    def recommend(self, user, n, consumed):
        had = set(consumed.tolist())
        return [item for item in self.items if item not in had][:n]
"""

STATE = """
    def state(self):
        return {"items": self.items}

    def load_state(self, state):
        self.items = state["items"]
"""


def interactions(n, seed):
    draw, events, now = random.Random(seed), [], 1_700_000_000
    for _ in range(n):
        now += draw.choice([0, 1, 30, 600])
        user, item = f"u{draw.randrange(20)}", f"i{int(draw.random() ** 2 * 40)}"
        events.append({"event": "interaction", "user_id": user, "item_id": item, "time": now})
        if draw.random() < 0.05:
            events.append(dict(events[-1]))
    return events


def log_of(events):
    """The interactions in the order in which a live evaluation takes them, each once."""
    rows = {(one["time"], one["user_id"], one["item_id"]): None for one in events}
    return pl.DataFrame(sorted(rows), schema=["timestamp", "user_id", "item_id"], orient="row")


def models_of(found):
    return found.to_dict()["models"]


@pytest.mark.parametrize("model", ["ISGD(factors=4)", "StreamPopular", "UKNN(neighbours=3)"])
def test_means_are_those_of_a_prequential_stream(model):
    events = interactions(400, seed=1)
    found = ra.watch(events, METRICS, models={"new": model}, **OPTIONS)
    stream = ra.play(ra.models.parse(model), log_of(events), ra.protocols.prequential(at=5), metrics=list(METRICS))
    for metric in METRICS:
        mean = models_of(found)["means"]["new"][metric]
        assert mean == {"mean": pytest.approx(stream.outcomes.mean(metric)), "n": stream.counts["scored"]}
    bins = found.watcher.bins()
    assert (bins["judged"], bins["malformed"]) == (log_of(events).height, 0)


def test_an_attached_model_is_compared_with_logged_lists():
    events = interactions(200, seed=2)
    logged = [{**one, "arm": "old", "items": ["i0", "i1", "i2"]} for one in events]
    found = ra.watch([events, logged], METRICS, models="new=StreamPopular", **OPTIONS)
    (row, _) = models_of(found)["comparisons"]
    assert (row["a"], row["b"]) == ("new", "old")
    alone = ra.watch(events, METRICS, models="new=StreamPopular", **OPTIONS)
    assert row["n"] == models_of(alone)["means"]["new"]["recall@5"]["n"]
    assert models_of(found)["means"]["new"] == models_of(alone)["means"]["new"]


@pytest.mark.parametrize("snapshots", [False, True])
def test_bits_do_not_depend_on_batches_order_and_restarts(tmp_path, monkeypatch, snapshots):
    monkeypatch.setattr(watching, "SMALL_LOG", 1 if snapshots else 8 << 20)
    own = tmp_path / "mine.py"
    own.write_text(OWN_MODEL, encoding="utf-8")
    models = {"isgd": "ISGD(factors=4)", "pop": "StreamPopular"} | ({} if snapshots else {"own": f"{own}:Last()"})
    events = interactions(150, seed=3)
    whole = ra.watch(events, METRICS, models=models, **OPTIONS)
    shuffled = [events[at::3] for at in range(3)]
    assert models_of(ra.watch(shuffled, METRICS, models=models, **OPTIONS)) == models_of(whole)
    path, output, reached = tmp_path / "events.jsonl", tmp_path / "state", []
    for begin in range(0, len(events), 30):
        with path.open("a") as file:
            file.writelines(json.dumps(event) + "\n" for event in events[begin : begin + 30])
        last = begin + 30 >= len(events)
        again = ra.watch(str(path), METRICS, output=output, models=models, finish=last, **OPTIONS)
        reached.append(again.watcher.attached.models[0].player.reached)
    assert models_of(again) == models_of(whole)
    assert reached == sorted(reached)
    assert reached[-1] == log_of(events).height
    stored = watching.StateFile(output)
    assert (stored.read(watching.SNAPSHOT) is not None) == snapshots
    stored.close()


def in_parts(events, folder, models, parts=3):
    """The results of a watch that is ended and started again between the parts of its events."""
    path, size = folder / "events.jsonl", len(events) // parts + 1
    for begin in range(0, len(events), size):
        with path.open("a") as file:
            file.writelines(json.dumps(event) + "\n" for event in events[begin : begin + size])
        last = begin + size >= len(events)
        found = ra.watch(str(path), METRICS, output=folder / "state", models=models, finish=last, **OPTIONS)
    return found


def w015(found):
    return [one.detail for one in found.findings if one.code == "W015"]


@pytest.mark.parametrize("text", [OWN_MODEL + STATE, OWN_MODEL], ids=["with state()", "without"])
def test_a_model_of_ones_own_is_stored_if_it_gives_its_state(tmp_path, monkeypatch, text):
    monkeypatch.setattr(watching, "SMALL_LOG", 1)
    (tmp_path / "mine.py").write_text(text, encoding="utf-8")
    models = {"own": f"{tmp_path / 'mine.py'}:Last(keep=30)", "isgd": "ISGD(factors=4)"}
    events = interactions(150, seed=10)
    whole = ra.watch(events, METRICS, models=models, **OPTIONS)
    found = in_parts(events, tmp_path, models)
    assert models_of(found) == models_of(whole)
    stored = watching.StateFile(tmp_path / "state")
    kept = sum(learned.height for learned in stored.log("learned"))
    stored.close()
    if text == OWN_MODEL:
        assert kept == log_of(events).height
        (detail,) = w015(found)
        assert detail.startswith(f"{kept} interactions so far: an archive cannot hold an object of ")
        assert detail.endswith(".Last")
    else:
        assert kept < log_of(events).height
        assert w015(found) == []


def test_an_adapted_model_is_stored_by_its_own_state(tmp_path, monkeypatch):
    class Counts:
        def __init__(self):
            self.n = {}

        def learn_one(self, user, item, y):
            self.n[item] = self.n.get(item, 0) + y

        def predict_one(self, user, item):
            return self.n.get(item, 0)

        def state(self):
            return self.n

        def load_state(self, state):
            self.n = state

    monkeypatch.setattr(watching, "SMALL_LOG", 1)
    models = {"own": ra.models.incremental.RiverLike(Counts())}
    events = interactions(100, seed=11)
    assert models_of(in_parts(events, tmp_path, models)) == models_of(
        ra.watch(events, METRICS, models=models, **OPTIONS)
    )
    stored = watching.StateFile(tmp_path / "state")
    assert stored.read(watching.SNAPSHOT) is not None
    stored.close()


def test_models_that_learn_slowly_are_stored_before_their_log_is_large(tmp_path, monkeypatch):
    monkeypatch.setattr(attached, "LONG_LEARNING", 0.0)
    monkeypatch.setattr(attached, "SNAPSHOT_SHARE", 1e9)
    found = ra.watch(interactions(50, seed=12), METRICS, models="new=Recent", output=tmp_path, **OPTIONS)
    assert found.watcher.to_relearn == 0
    stored = watching.StateFile(tmp_path)
    assert stored.read(watching.SNAPSHOT) is not None
    stored.close()


@pytest.mark.parametrize(("broken", "message"), [
    ("state(self):\n        raise ValueError('no')", "state() of own raised ValueError: no"),
    ("state(self):\n        return {'me': object()}", "an archive cannot hold an object of"),
])  # fmt: skip
def test_a_state_that_cannot_be_stored_is_a_finding(tmp_path, broken, message):
    text = OWN_MODEL + f"    def {broken}\n    def load_state(self, state):\n        pass\n"
    (tmp_path / "mine.py").write_text(text, encoding="utf-8")
    found = ra.watch(interactions(30, seed=13), METRICS, models={"own": f"{tmp_path / 'mine.py'}:Last()"}, **OPTIONS)
    assert message in w015(found)[0]


def test_a_class_that_does_not_take_its_state_back_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(watching, "SMALL_LOG", 1)
    path = tmp_path / "mine.py"
    path.write_text(OWN_MODEL + STATE.replace('state["items"]', 'state["others"]'), encoding="utf-8")
    options = {"models": {"own": f"{path}:Last()"}, "output": tmp_path / "state", **OPTIONS}
    ra.watch(interactions(30, seed=14), METRICS, **options)
    with pytest.raises(ra.InputError, match=r"I374.*own could not take back its state: KeyError: 'others'"):
        ra.watch(interactions(30, seed=14), METRICS, **options)


def test_a_model_that_is_fitted_in_a_file_is_not_stored_again(tmp_path, monkeypatch):
    monkeypatch.setattr(watching, "SMALL_LOG", 1)
    train = log_of(interactions(200, seed=4)).with_columns(timestamp=pl.col("timestamp") - 10_000_000)
    save_archive(tmp_path / "ease.npz", {"model": "EASE", "fitted": ra.models.EASE().fit(ra.read_interactions(train))})
    models, events = {"svd": str(tmp_path / "ease.npz")}, interactions(150, seed=15)
    found = in_parts(events, tmp_path, models)
    assert models_of(found) == models_of(ra.watch(events, METRICS, models=models, **OPTIONS))
    stored = watching.StateFile(tmp_path / "state")
    snapshot = stored.read(watching.SNAPSHOT)
    stored.close()
    assert b"FittedEASE" not in snapshot
    assert b"recassay.engine.streams.learners:RefitLearner" in snapshot


def test_models_that_are_too_large_for_a_state_are_a_finding(tmp_path, monkeypatch):
    monkeypatch.setattr(watching, "SMALL_LOG", 1)
    monkeypatch.setattr(attached, "MOST_BYTES", 1000)
    found = ra.watch(interactions(30, seed=16), METRICS, models="new=Recent", **OPTIONS)
    assert "bytes, and a state holds 1,000" in w015(found)[0]


def test_a_model_learns_the_training_log_first(tmp_path):
    train = log_of(interactions(200, seed=4)).with_columns(timestamp=pl.col("timestamp") - 10_000_000)
    events = interactions(200, seed=5)
    found = ra.watch(events, METRICS, train=train, models={"new": "ISGD(factors=4)", "svd": "EASE"}, **OPTIONS)
    whole = pl.concat([train, log_of(events)])
    scored = ra.protocols.prequential(at=5, warmup=train.height)
    stream = ra.play(ra.models.incremental.ISGD(factors=4), whole, scored, metrics=["mrr@5"])
    assert models_of(found)["means"]["new"]["mrr@5"]["mean"] == pytest.approx(stream.outcomes.mean("mrr@5"))
    once = ra.protocols.prequential(at=5, warmup=train.height, learn_until=train.height)
    fixed = ra.play(ra.models.EASE(), whole, once, metrics=["mrr@5"])
    assert models_of(found)["means"]["svd"]["mrr@5"]["mean"] == pytest.approx(fixed.outcomes.mean("mrr@5"))
    fitted = ra.models.EASE().fit(ra.read_interactions(train))
    save_archive(tmp_path / "ease.npz", {"model": "EASE", "fitted": fitted})
    stored = ra.watch(events, METRICS, models={"svd": str(tmp_path / "ease.npz")}, **OPTIONS)
    assert models_of(stored)["means"]["svd"] == models_of(found)["means"]["svd"]


def test_a_model_that_neither_learns_nor_is_fitted_is_refused():
    with pytest.raises(ra.UsageError, match=r"U191.*EASE.*cannot learn event by event"):
        ra.watch(interactions(5, seed=6), METRICS, models={"svd": "EASE"}, **OPTIONS)


def test_a_state_folder_keeps_its_models(tmp_path):
    events = interactions(20, seed=7)
    ra.watch(events, METRICS, output=tmp_path, models="new=StreamPopular", finish=False, **OPTIONS)
    for other in ("new=Recent", None):
        with pytest.raises(ra.UsageError, match=r"U134.*written with models"):
            ra.watch(events, METRICS, output=tmp_path, models=other, **OPTIONS)


def test_lists_and_names_that_contradict_the_attached_models_are_malformed():
    events = interactions(3, seed=8)
    assert list(ra.watch(events, METRICS, **OPTIONS).watcher.reasons) == ["no-list"]
    listed = [{**one, "arm": "new", "items": ["i1"]} for one in events]
    assert list(ra.watch(listed, METRICS, models="new=Recent", **OPTIONS).watcher.reasons) == ["model-name"]


def test_models_are_named_on_the_command_line(tmp_path, capsys, monkeypatch):
    path = tmp_path / "events.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in interactions(60, seed=9)), encoding="utf-8")
    arguments = ["watch", str(path), "-m", "mrr@5", "--model", "new=ISGD(factors=4)", "--model", "Recent", "--replay"]
    monkeypatch.setattr("sys.argv", ["recassay", *arguments, "--json", "--idle", "1000d", "--lateness", "10m"])
    with pytest.raises(SystemExit, match="0"):
        main()
    assert set(json.loads(capsys.readouterr().out)["models"]["means"]) == {"new", "Recent"}


def test_two_models_of_one_name_are_refused():
    with pytest.raises(ra.UsageError, match=r"U254.*two models"):
        read_models(["new=Recent", "new=StreamPopular"])
