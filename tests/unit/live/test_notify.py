"""The webhook of a live evaluation: decisions are posted until they are accepted, and failures are said."""

import json
import socket
import threading
import time

import pytest

from recassay.live import notify
from recassay.live.notify import Notifier
from recassay.live.watch import build_settings
from recassay.live.watcher import Watcher

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"
RULE = "hit@10: new > old"
DECISION = {"rule": RULE, "time": 1_767_571_200_000_000, "n": 2136, "difference": 0.0429, "adjusted": 0.0431,
            "low": 0.0006, "alpha": 0.05, "harm": False}  # fmt: skip


class Hook:
    """A receiver that gives these answers, one per connection, and keeps what was posted."""

    def __init__(self, *answers):
        self.posted, self.listener = [], socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}/secret-hook"
        self.thread = threading.Thread(target=self.serve, args=(answers,), daemon=True)
        self.thread.start()

    def serve(self, answers):
        for answer in answers:
            connection, _ = self.listener.accept()
            with connection, connection.makefile("rb") as stream:
                headers = iter(stream.readline, b"\r\n")
                length = next(
                    int(line.split(b":")[1]) for line in [*headers] if line.lower().startswith(b"content-length")
                )
                self.posted.append(json.loads(stream.read(length)))
                connection.sendall(answer)
        self.listener.close()


@pytest.fixture
def watcher(tmp_path, monkeypatch):
    """A watcher whose rule is decided; tries to post follow each other at once."""
    monkeypatch.setattr(notify, "FIRST_WAIT", 0.01)
    monkeypatch.setattr(notify, "LONGEST_WAIT", 0.02)
    made = Watcher(build_settings("hit@10", unit="exposure"), tmp_path)
    made.tally.evidence.decisions[RULE] = DECISION
    yield made
    made.close()


def delivered(sender):
    deadline = time.monotonic() + 30
    while sender.status()["undelivered"] and time.monotonic() < deadline:
        time.sleep(0.01)
        sender.send()
    return not sender.status()["undelivered"]


def test_the_body_has_a_text_for_chats_and_the_decision_for_programs(watcher):
    hook, said = Hook(OK), []
    sender = Notifier(hook.url, watcher, said.append)
    sender.send()
    assert delivered(sender)
    [body] = hook.posted
    assert body.pop("text") == (
        "Decided: hit@10: new > old, at 2026-01-05 00:00:00 UTC after 2,136 exposures: a difference of 0.0429 "
        "(adjusted 0.0431), at least 0.0006."
    )
    assert body == {"recassay": "decision", **DECISION}
    assert said == []
    again = Notifier(hook.url, watcher, said.append)
    again.send()
    assert again.status() == {"undelivered": 0, "failures": 0, "problem": ""}


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (b"garbage\r\n\r\n", "BadStatusLine"),
        (b"", "RemoteDisconnected"),
        (b"HTTP/1.1 500 no\r\nContent-Length: 0\r\n\r\n", "status 500"),
        (b"HTTP/1.1 302 go\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n", "status 302"),
        (b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 500 + b"\r\n", "HTTPException"),
    ],
)
def test_a_try_that_fails_is_said_counted_and_repeated(watcher, answer, why):
    hook, said = Hook(answer, answer, OK), []
    sender = Notifier(hook.url, watcher, said.append)
    sender.send()
    assert delivered(sender)
    sender.send()
    assert sender.status() == {"undelivered": 0, "failures": 2, "problem": ""}
    assert len(hook.posted) == 3
    assert said[-1] == "--notify: posted"
    assert said[:-1] == [f"--notify: a decision was not posted ({why}), trying again"]
    assert json.loads(watcher.state.read("notified")) == [RULE]


def test_what_was_not_posted_at_the_end_is_said_and_posted_after_a_restart(watcher, monkeypatch):
    monkeypatch.setattr(notify, "ANSWER_WITHIN", 0.2)
    closed, said = Hook(), []
    closed.thread.join()
    sender = Notifier(closed.url, watcher, said.append)
    sender.finish()
    assert said == [
        "--notify: a decision was not posted (Connection refused), trying again",
        "--notify: 1 of 1 decisions were not posted; with -o the next start posts them",
    ]
    assert sender.status()["undelivered"] == 1
    assert sender.status()["problem"] == "a decision was not posted (Connection refused), trying again"
    assert "secret" not in f"{said} {sender!r} {sender.status()}"
    hook = Hook(OK)
    again = Notifier(hook.url, watcher, said.append)
    again.finish()
    assert len(hook.posted) == 1
