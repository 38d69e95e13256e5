"""``recassay watch``: what it prints, writes and refuses."""

import json
import os
import socket
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

import recassay.cli.watch as watch_command

SMALL = "days=0.6,per_day=15000,users=3000,effect=0.4"
FAST = ("-m", "hit@10", "--user-window", "1h", "--lateness", "1m")


def test_a_simulation_ends_with_a_decision(recassay, tmp_path):
    out = tmp_path / "watched"
    done = recassay(
        "watch", "--simulate", SMALL, *FAST, "--until", "hit@10: new > old", "--segment", "device", "-o", out
    )
    assert done.code == 0, done.err
    assert done.out.startswith("Decided: hit@10: new > old, at 2026-01-05")
    written = {path.name for path in out.iterdir()}
    assert {
        "state.sqlite",
        "dead-letters.jsonl",
        "scores.parquet",
        "summary.json",
        "live.json",
        "report.html",
    } <= written
    live = json.loads((out / "live.json").read_text())
    assert live["segments"].keys() == {"device=desktop", "device=phone"}
    assert live["events"]["received"] == sum(live["events"][name] for name in live["events"] if name != "received")
    assert recassay("compare", out, "--baseline", "old").code == 0
    assert recassay("check", out).code == 0
    assert recassay("report", out).code == 0


def test_events_from_a_file_once_and_again(recassay, tmp_path):
    path, out = tmp_path / "events.jsonl", tmp_path / "out"
    assert recassay("watch", "--simulate", SMALL, "--to", path).code == 0
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:2000]))
    first = recassay("watch", path, *FAST, "--once", "--json", "-o", out).json
    assert first["events"]["received"] == 2000
    with path.open("ab") as file:
        file.write(b"".join(lines[2000:]))
    second = recassay("watch", path, *FAST, "--replay", "--json", "-o", out).json
    whole = recassay("watch", path, *FAST, "--replay", "--json").json
    for document in (second, whole):
        del document["now"], document["commits"]
    assert second == whole
    assert whole["events"]["received"] == len(lines)


def test_harm_ends_with_status_1(recassay, tmp_path):
    rules = tmp_path / "rules.yaml"
    rules.write_text("- {metric: hit@10, arms: [old, new], harm: true}\n- 'hit@10: new > old'\n")
    worse = "days=0.6,per_day=15000,users=3000,effect=-0.5"
    done = recassay("watch", "--simulate", worse, *FAST, "--until", rules)
    assert done.code == 1, done.err
    assert done.out.startswith("Decided: hit@10: old > new")


def test_a_decision_is_posted_once_and_the_url_is_nowhere(recassay, tmp_path):
    posted = []

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self):
            posted.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(500 if len(posted) == 1 else 200)  # the first try fails
            self.end_headers()

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Hook) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url, out = f"http://127.0.0.1:{server.server_port}/secret-hook", tmp_path / "out"
        options = ("--until", "hit@10: new > old", "--notify", url, "-o", out)
        assert recassay("watch", "--simulate", SMALL, *FAST, *options).code == 0
        recassay("watch", "--simulate", SMALL, *FAST, *options)
        server.shutdown()
    assert [one["rule"] for one in posted] == ["hit@10: new > old"] * 2
    assert not any(b"secret-hook" in path.read_bytes() for path in out.iterdir())


def test_a_decision_that_cannot_be_posted_is_said(recassay, tmp_path, monkeypatch):
    monkeypatch.setattr("recassay.live.notify.ANSWER_WITHIN", 0.2)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/secret-hook"
        options = ("--until", "hit@10: new > old", "--notify", url, "-o", tmp_path / "out")
        done = recassay("watch", "--simulate", SMALL, *FAST, *options)
    assert done.code == 0
    assert "--notify: a decision was not posted (Connection refused), trying again" in done.err
    assert "--notify: 1 of 1 decisions were not posted" in done.err
    assert "secret-hook" not in done.err


def test_once_with_a_server_ends(recassay, tmp_path):
    pytest.importorskip("uvicorn", reason="needs starlette and uvicorn: pip install 'recassay[live]'")
    path = tmp_path / "events.jsonl"
    path.write_text(json.dumps({"request_id": "1", "user_id": "u", "items": ["a"], "time": 60}) + "\n")
    done = recassay("watch", path, "-m", "hit@1", "--once", "--http", ":0")
    assert done.code == 0
    assert "Watching at http://127.0.0.1:" in done.err
    assert "1 events received" in done.out


def test_once_says_which_pipe_nobody_writes_to(recassay, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    done = recassay("watch", tmp_path / "pipe", "-m", "hit@1", "--once")
    assert done.code == 0
    for text in (done.out, done.err):
        assert f"Waiting for {tmp_path / 'pipe'}: nothing has been written to the pipe yet" in text


def test_control_and_both_differences(recassay, tmp_path):
    out = tmp_path / "out"
    options = ("--replay", "-m", "hit@1", "--unit", "exposure", "-o", out)
    path = tmp_path / "events.jsonl"
    assert recassay("watch", "--simulate", "days=0.05,per_day=15000", "--to", path).code == 0
    [plain] = recassay("watch", path, *options, "--json").json["comparisons"]
    turned = recassay("watch", path, *options, "--control", "new", "--json").json  # the same folder: it may change
    assert turned["settings"]["control"] == "new"
    [row] = turned["comparisons"]
    assert (plain["a"], plain["b"], row["a"], row["b"]) == ("new", "old", "old", "new")
    for one, other in (("difference", "difference"), ("adjusted", "adjusted"), ("low", "high")):
        assert row[one] == -plain[other]
    means = [turned["arms"][arm]["metrics"]["hit@1"]["unit_mean"] for arm in ("old", "new")]
    assert row["difference"] == pytest.approx(means[0] - means[1])
    shown = recassay("watch", path, *options, "--control", "old").out
    assert "new − old" in shown
    assert "W016" not in shown
    assert (
        "W016 A rule that nothing can decide: --control odl"
        in recassay("watch", path, *options, "--control", "odl").out
    )


def test_secrets_of_addresses_are_in_no_message(recassay, tmp_path):
    addresses = ["kafka://h/t?no.such=1&sasl.password=hush", "amqp://user:hush@h/q", "redis://:hush@h:port/0?stream=a"]
    for address in addresses:
        done = recassay("watch", address, address, "-o", tmp_path / "out")
        assert done.code == 2
        assert "hush" not in done.err
        assert "hush" not in recassay("watch", address, "-o", tmp_path / "out").err


def test_the_stored_command_has_no_secrets(monkeypatch):
    words = ["redis://me:hush@h/0?stream=a", "kafka://h/t?sasl.password=hush", "--notify", "https://h/hush"]
    monkeypatch.setattr(sys, "argv", ["recassay", "watch", *words])
    stored = "recassay watch 'redis://h/0?stream=a' 'kafka://h/t?sasl.password=***' --notify URL"
    assert watch_command._command() == stored


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ((), "U254"),
        (("events.jsonl", "--once"), "U254"),
        (("kafka://localhost:1/topic",), "U254"),
        (("ftp://somewhere", "-o", "out"), "U254"),
        (("--simulate", "days=1", "--until", "new is better"), "U255"),
        (("events.jsonl", "--journal", "watched"), "U254"),
        (("--simulate", "years=1"), "U107"),
        (("--simulate", "days=1", "--window", "soon"), "U107"),
        (("--simulate", "days=1", "-m", "rmse"), "U181"),
    ],
)
def test_what_is_refused(recassay, tmp_path, monkeypatch, arguments, code):
    monkeypatch.chdir(tmp_path)
    done = recassay("watch", *arguments)
    assert done.code == 2
    assert f"[{code}]" in done.err
