"""The web server of a live evaluation: the page, its updates, ``/metrics`` for Prometheus, ``/health`` and ``/api``.

It reads the results of the last commit and changes nothing. It listens on this machine alone unless a host is named.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import json
import socket
import threading
import time
from collections.abc import AsyncIterator, Iterable
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

from recassay.errors import UsageError
from recassay.live.clock import wall_clock
from recassay.live.display import content_of, shell
from recassay.live.notify import Notifier
from recassay.live.results import Watched
from recassay.live.sources import Source
from recassay.naming.grammar import parse
from recassay.optional import need

STALE = 300.0  # seconds without a commit after which /health says so
EVERYWHERE = ("0.0.0.0", "::")  # hosts that stand for all addresses of this machine
FRESH = 15.0  # seconds between signs of life of a quiet connection
POLICY = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    "connect-src 'self'; img-src data:",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
}

UNIT = ["metric", "k", "arm"]  # labels of Prometheus
PAIR = ["metric", "k", "a", "b"]
SOURCE = ["source"]
Family = tuple[str, str, list[str], Iterable[tuple[Any, ...]]]  # name, help, labels; values of labels with a number


class Server:
    """A web server that runs in a thread of its own, at an address such as ``:8000``, ``HOST:8000`` or ``[::1]:8000``.

    It answers requests to this machine's own names and to the host of the address, so that no page of another site can
    read results under a name of its own (DNS rebinding). ``notify`` is the sender of decisions, if there is one.
    """

    def __init__(self, address: str, notify: Notifier | None = None) -> None:
        host, _, port = address.rpartition(":")
        if not port.isdecimal() or int(port) > 65535:
            hint = "write :8000, HOST:8000 or [::1]:8000"
            raise UsageError("U107", f"{address!r} is not an address", where="--http", hint=hint)
        self.host, self.port, self.notify = host.strip("[]") or "127.0.0.1", int(port), notify
        uvicorn = need("uvicorn", for_="--http")
        config = uvicorn.Config(
            self._application(), log_level="critical", access_log=False, lifespan="off", ws="none",
            timeout_graceful_shutdown=2,
        )  # fmt: skip
        self.server: Any = uvicorn.Server(config)
        self.number, self.published = 0, 0.0
        self.content = "<h1>No exposure has matured yet.</h1>"
        self.document: dict[str, Any] = {}
        self.sources: list[Source] = []

    @property
    def url(self) -> str:
        """Return the URL of the page."""
        return f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}/"

    def start(self) -> None:
        """Begin to serve; raise U254 if the address is taken."""
        try:
            family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
            listener = socket.create_server((self.host, self.port), family=family)
        except OSError:
            hint = "choose another port"
            raise UsageError("U254", "the address cannot be used", where=f"--http {self.url}", hint=hint) from None
        self.port = listener.getsockname()[1]
        self.thread = threading.Thread(target=self.server.run, args=([listener],), daemon=True)
        self.thread.start()

    def stop(self) -> None:
        """Stop serving: open pages get a message and have two seconds to close."""
        self.server.should_exit = True
        self.thread.join(5)

    def publish(self, found: Watched) -> None:
        """Replace the results that the server shows."""
        document = found.to_dict()
        self.content, self.document, self.sources = content_of(found, document), document, found.watcher.sources
        self.number, self.published = self.number + 1, time.monotonic()

    def health(self) -> dict[str, Any]:
        """Return a dict that says whether results are fresh, sources can be read and decisions were posted.

        ``status`` is "ok", or the first problem: starting, stale, waiting (for a source) or not notified. The others
        are ``seconds since commit``, a dict per source in ``sources``, and ``notify`` (None without a webhook).
        """
        age = time.monotonic() - self.published if self.number else None
        sources = [source.status(wall_clock()) for source in self.sources]
        notify = self.notify.status() if self.notify else None
        states = {
            "starting": age is None,
            "stale": age is not None and age >= STALE and not self.document["finished"],
            "waiting": any(source["problem"] for source in sources),
            "not notified": notify is not None and bool(notify["problem"]),
        }
        status = next((state for state, holds in states.items() if holds), "ok")
        return {"status": status, "seconds since commit": age, "sources": sources, "notify": notify}

    def _is_served(self, host: str) -> bool:
        """Return whether a request with this header ``Host`` is answered.

        If the server listens on all addresses, it answers to all addresses in numbers and to this machine's name.
        """
        everywhere = self.host in EVERYWHERE
        with contextlib.suppress(ValueError):
            name = urlsplit(f"//{host}").hostname or ""
            if name in ("", "localhost", self.host.lower(), socket.gethostname().lower() if everywhere else ""):
                return True
            return ipaddress.ip_address(name).is_loopback or everywhere
        return False

    def _application(self) -> Any:
        need("starlette.applications", for_="--http")
        from starlette.applications import Starlette
        from starlette.requests import Request
        from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response, StreamingResponse
        from starlette.routing import Route

        def events(_: Request) -> Response:
            headers = {"Cache-Control": "no-store"}
            return StreamingResponse(self._events(), media_type="text/event-stream", headers=headers)

        def metrics(_: Request) -> Response:
            content = exposition(self.document, self.health()) if self.document else b""
            return Response(content, media_type="text/plain; version=0.0.4; charset=utf-8")

        def health(_: Request) -> Response:
            state = self.health()
            return JSONResponse(state, 200 if state["status"] == "ok" else 503)

        def api(request: Request) -> Response:
            parts = {"watch": self.document, **self.document}
            part = request.path_params["part"]
            unknown = {"error": f"there is no {part}", "parts": [*parts]}
            return JSONResponse(parts[part]) if part in parts else JSONResponse(unknown, 404)

        application = Starlette(
            routes=[
                Route("/", lambda _: HTMLResponse(shell(self.content), headers=POLICY)),
                Route("/content", lambda _: HTMLResponse(self.content, headers=POLICY)),
                Route("/events", events),
                Route("/metrics", metrics), Route("/health", health), Route("/api/{part}.json", api),
            ]
        )  # fmt: skip

        async def guarded(scope: Any, receive: Any, send: Any) -> None:
            host = dict(scope["headers"]).get(b"host", b"").decode("latin-1")
            refused = PlainTextResponse("This host is not served. Open localhost, or name it: --http HOST:PORT\n", 421)
            await (application if self._is_served(host) else refused)(scope, receive, send)

        return guarded

    async def _events(self) -> AsyncIterator[str]:
        """Yield server-sent events: the number of each publication of results, or a comment after 15 quiet seconds."""
        shown, spoken = -1, time.monotonic()
        while not self.server.should_exit:
            if self.number != shown:
                shown, spoken = self.number, time.monotonic()
                yield f"data: {json.dumps(shown)}\n\n"
            elif time.monotonic() - spoken > FRESH:
                spoken = time.monotonic()
                yield ": quiet\n\n"
            await asyncio.sleep(0.2)


def exposition(document: dict[str, Any], health: dict[str, Any]) -> bytes:
    """Return the numbers of a results document (``Watched.to_dict``) in Prometheus' text format.

    ``health`` is the state of sources and of the webhook, as ``Server.health`` returns it.
    """
    client = need("prometheus_client", for_="/metrics")
    core = need("prometheus_client.core", for_="/metrics")
    families = []
    for name, about, labels, rows in [*_results(document), *_differences(document), *_operations(document, health)]:
        kind = core.CounterMetricFamily if name.endswith("_total") else core.GaugeMetricFamily
        families.append(kind(f"recassay_{name.removesuffix('_total')}", about, labels=labels))
        for *values, number in rows:
            if number is not None:
                families[-1].add_metric(values, number)
    written: bytes = client.generate_latest(SimpleNamespace(collect=lambda: families))
    return written


def _results(document: dict[str, Any]) -> list[Family]:
    """Return the means of arms as families: (name, help, labels, rows of label values with a number)."""
    arms = [
        (*_labels(heading), arm, row) for arm, content in document["arms"].items()
        for heading, row in content["metrics"].items()
    ]  # fmt: skip
    means = [(*unit, "", row["mean"]) for *unit, row in arms]
    means += [
        (*_labels(heading), arm, segment, mean)
        for segment, content in document["segments"].items()
        for arm, row in content.items()
        for heading, mean in row["metrics"].items()
    ]
    exposures = [(arm, content["exposures"]) for arm, content in document["arms"].items()]
    low, high = ([(*unit, row[bound]) for *unit, row in arms] for bound in ("low", "high"))
    return [
        ("matured_exposures_total", "Exposures whose window has closed.", ["arm"], exposures),
        ("mean", "Mean over matured exposures.", [*UNIT, "segment"], means),
        ("unit_mean_lower_bound", "Lower bound of the mean over units.", UNIT, low),
        ("unit_mean_upper_bound", "Upper bound of the mean over units.", UNIT, high),
    ]


def _differences(document: dict[str, Any]) -> list[Family]:
    """Return the differences of arms, first minus second, with their bounds and p-values."""
    rows = [(*_labels(row["metric"]), row["a"], row["b"], row) for row in document["comparisons"]]
    helps = [
        ("difference", "difference", "Difference of the means over units, a minus b."),
        ("adjusted", "adjusted_difference", "Adjusted difference, the centre of the bounds."),
        ("low", "difference_lower_bound", "Lower bound of the difference, valid at any time."),
        ("high", "difference_upper_bound", "Upper bound of the difference, valid at any time."),
        ("p_adjusted", "difference_p_value", "P-value of the difference, valid at any time, corrected by Holm."),
    ]
    return [(name, about, PAIR, [(*pair, row[key]) for *pair, row in rows]) for key, name, about in helps]


def _operations(document: dict[str, Any], health: dict[str, Any]) -> list[Family]:
    """Return families of operational numbers: events, open exposures, and the state of sources and webhook."""
    counts, watermark, sources = document["events"], document["watermark"], health["sources"]
    bins = [(name, counts[name]) for name in ("judged", "duplicate", "late", "malformed")]
    age = None if watermark is None else (document["now"] - watermark) / 1e6
    decided = sum(bool(rule["decided"]) for rule in document["rules"])
    up, answers, heard = (
        [(row["source"], row[key]) for row in sources]
        for key in ("state", "seconds since answer", "seconds since event")
    )
    families: list[Family] = [
        ("events_total", "Events received, by what became of them.", ["bin"], bins),
        (
            "unjoined_feedback",
            "Feedback events without an open window, by why.",
            ["reason"],
            document["unjoined"].items(),
        ),
        ("pending_events", "Events whose window has not closed.", [], [(counts["pending"],)]),
        ("lag_seconds", "How far the newest event lies behind the clock.", [], [(document["lag"],)]),
        ("watermark_age_seconds", "Age of the time up to which events are passed on.", [], [(age,)]),
        ("assignment_p_value", "P-value of the stated shares of arms.", [], [(document["assignment"]["p"],)]),
        ("findings", "Findings about the events.", [], [(len(document["findings"]),)]),
        ("decided_rules", "Rules that are decided.", [], [(decided,)]),
        ("source_up", "Whether the source can be read.", SOURCE, [(name, state != "waiting") for name, state in up]),
        ("source_answer_age_seconds", "Time since the source could be read.", SOURCE, answers),
        ("source_event_age_seconds", "Time since the source's last event.", SOURCE, heard),
    ]
    if (notify := health["notify"]) is not None:
        families += [
            ("notify_failures_total", "Failed tries to post a decision.", [], [(notify["failures"],)]),
            ("notify_undelivered", "Decisions that were not posted yet.", [], [(notify["undelivered"],)]),
        ]
    return families


def _labels(heading: str) -> list[str]:
    """Return the name of a metric without its cut-off, and the cut-off as text ("" without one).

    >>> _labels("ndcg@10")
    ['ndcg', '10']
    """
    expression = parse(heading)
    name = heading.rpartition("@")[0] if expression.k is not None else heading
    return [name, "" if expression.k is None else str(expression.k)]
