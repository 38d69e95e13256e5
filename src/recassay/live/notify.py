"""A webhook for decisions of rules: each is posted as JSON until the receiver accepts it. The URL is not stored."""

from __future__ import annotations

import http.client
import json
import queue
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Any

from recassay.errors import UsageError
from recassay.live.display import decision_text
from recassay.live.watcher import Watcher

FIRST_WAIT, LONGEST_WAIT, ANSWER_WITHIN = 0.5, 300.0, 10.0  # seconds


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """A handler that refuses redirections: a redirected request has no body, so nothing would be posted."""

    def redirect_request(self, *_: Any) -> None:
        """Return None, so that the answer counts as an error with its status code."""


class Notifier:
    """A sender of the decisions of a live evaluation to a web address.

    The state file has what the receiver accepted, so a restart posts the rest and nothing twice. ``say`` gets a line of
    text when a decision cannot be posted. ``failures`` counts tries that failed, and ``problem`` says why the last one
    did ("" if it did not).
    """

    def __init__(self, url: str, watcher: Watcher, say: Callable[[str], None]) -> None:
        if not url.startswith(("http://", "https://")):
            raise UsageError(
                "U107", "the URL must begin with http:// or https://", where="--notify", hint="give a full URL"
            )
        self._url, self.watcher, self.say = url, watcher, say
        self.failures, self.problem = 0, ""
        self._said = ""  # the problem as far as it was said
        self._accepted: list[str] = json.loads(watcher.state.read("notified", "[]"))
        self._stored, self._sent = len(self._accepted), set(self._accepted)
        self._waiting: queue.SimpleQueue[tuple[str, bytes]] = queue.SimpleQueue()
        threading.Thread(target=self._post_all, daemon=True).start()

    def __repr__(self) -> str:
        return "Notifier(URL withheld)"

    def send(self) -> None:
        """Post new decisions in the background, store which ones the receiver accepted, and say why it did not."""
        for rule, decision in self.watcher.tally.evidence.decisions.items():
            if rule not in self._sent:
                self._sent.add(rule)
                text = decision_text(decision, self.watcher.settings.unit)
                self._waiting.put((rule, json.dumps({"text": text, "recassay": "decision", **decision}).encode()))
        if len(accepted := sorted(self._accepted)) > self._stored:
            self._stored = len(accepted)
            with self.watcher.state.transaction():
                self.watcher.state.write("notified", json.dumps(accepted))
        if self.problem != self._said:
            self._said = self.problem
            self.say(f"--notify: {self._said or 'posted'}")

    def status(self) -> dict[str, Any]:
        """Return the numbers of ``undelivered`` decisions and of ``failures``, and the last ``problem`` ("": none)."""
        undelivered = len(self._sent) - len(self._accepted)
        return {"undelivered": undelivered, "failures": self.failures, "problem": self.problem}

    def finish(self) -> None:
        """Wait some seconds for decisions that were not accepted yet, and say which remain then."""
        until = time.monotonic() + ANSWER_WITHIN
        self.send()
        while (left := self.status()["undelivered"]) and time.monotonic() < until:
            time.sleep(0.05)
            self.send()
        self.send()  # stores what was accepted since
        if left:
            self.say(
                f"--notify: {left} of {len(self._sent)} decisions were not posted; with -o the next start posts them"
            )

    def _post_all(self) -> None:
        """Post the decisions that wait, one after the other, each until it is accepted."""
        while True:
            rule, body = self._waiting.get()
            wait = FIRST_WAIT
            while problem := self._post(body):
                self.problem, self.failures = f"a decision was not posted ({problem}), trying again", self.failures + 1
                time.sleep(wait)
                wait = min(2 * wait, LONGEST_WAIT)
            self.problem = ""
            self._accepted.append(rule)

    def _post(self, body: bytes) -> str:
        """Post ``body`` once; return why the receiver did not accept it, without the URL, or "" if it did."""
        request = urllib.request.Request(self._url, body, {"Content-Type": "application/json"})
        try:
            urllib.request.build_opener(NoRedirect).open(request, timeout=ANSWER_WITHIN).close()
            return ""
        except urllib.error.HTTPError as error:
            error.close()
            return f"status {error.code}"
        except (OSError, http.client.HTTPException, ValueError) as error:
            reason = getattr(error, "reason", error)
            return getattr(reason, "strerror", None) or type(reason).__name__
