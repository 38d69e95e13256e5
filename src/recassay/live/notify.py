"""A webhook for decisions of rules: each decision is posted once as JSON, with retries. The URL is not stored."""

from __future__ import annotations

import json
import threading
import time
import urllib.request
from typing import Any

from recassay.errors import UsageError
from recassay.live.watcher import Watcher

TRIES, FIRST_WAIT, ANSWER_WITHIN = 6, 0.5, 10.0


class Notifier:
    """A sender of the decisions of a live evaluation to a web address.

    What was posted is in the state file, so a restart posts nothing twice.
    """

    def __init__(self, url: str, watcher: Watcher) -> None:
        if not url.startswith(("http://", "https://")):
            raise UsageError(
                "U107", "the URL must begin with http:// or https://", where="--notify", hint="give a full URL"
            )
        self._url, self.watcher = url, watcher
        self.sent: set[str] = set(watcher.state.read("notified", []))
        self.failed = ""
        self._threads: list[threading.Thread] = []
        self._done: list[str] = []

    def __repr__(self) -> str:
        return "Notifier(URL withheld)"

    def send(self) -> None:
        """Post new decisions of rules in background threads.

        Store the names of rules whose decision the receiver has accepted.
        """
        for rule, decision in self.watcher.tally.evidence.decisions.items():
            if rule not in self.sent:
                self.sent.add(rule)
                thread = threading.Thread(target=self._post, args=(rule, decision), daemon=True)
                thread.start()
                self._threads.append(thread)
                thread.join(TRIES * FIRST_WAIT)  # a decision may end the process: give the first tries their time
        if self._done:
            stored = {*self.watcher.state.read("notified", []), *self._done}
            self.watcher.state.begin()
            self.watcher.state.write("notified", sorted(stored))
            self.watcher.state.commit()
            self._done = []

    def _post(self, rule: str, decision: dict[str, Any]) -> None:
        body = json.dumps({"recassay": "decision", **decision}).encode()
        wait = FIRST_WAIT
        for _ in range(TRIES):
            request = urllib.request.Request(self._url, body, {"Content-Type": "application/json"})
            try:
                with urllib.request.urlopen(request, timeout=ANSWER_WITHIN) as answer:
                    answer.read()
                self._done.append(rule)
                return
            except OSError as error:
                self.failed = type(error).__name__
            time.sleep(wait)
            wait *= 2
