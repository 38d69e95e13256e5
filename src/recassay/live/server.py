"""The web server of a live evaluation: the page, its updates, ``/metrics`` for Prometheus, ``/health`` and ``/api``.

It reads the results of the last commit and changes nothing. It listens on this machine alone unless a host is named.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator
from typing import Any

from recassay.errors import UsageError
from recassay.live.page import content_of, shell
from recassay.live.results import Watched
from recassay.optional import need

STALE = 300.0  # seconds without a commit after which /health says so
FRESH = 15.0  # seconds between signs of life of a quiet connection


class Server:
    """A web server that runs in a thread of its own; the address is such as ``:8000`` or ``0.0.0.0:8000``."""

    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        if not port.isdigit() or int(port) > 65535:
            raise UsageError("U107", f"{address!r} is not an address", where="--http", hint="write :8000, or HOST:8000")
        self.host, self.port = host or "127.0.0.1", int(port)
        self.uvicorn = need("uvicorn", for_="--http")
        need("starlette.applications", for_="--http")
        self.number, self.published = 0, 0.0
        self.content, self.metrics = "<h1>No exposure has matured yet.</h1>", b""
        self.document: dict[str, Any] = {}

    @property
    def url(self) -> str:
        """Return the URL of the page."""
        return f"http://{self.host}:{self.port}/"

    def start(self) -> None:
        """Begin to serve; raise U254 if the address is taken."""
        config = self.uvicorn.Config(
            self._application(), self.host, self.port, log_level="error", access_log=False, lifespan="off"
        )
        self.server: Any = self.uvicorn.Server(config)
        self.server.install_signal_handlers = lambda: None
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()
        until = time.monotonic() + 10
        while not self.server.started:
            if not self.thread.is_alive() or time.monotonic() > until:
                raise UsageError(
                    "U254",
                    "the address cannot be used",
                    where=f"--http {self.host}:{self.port}",
                    hint="choose another port",
                )
            time.sleep(0.02)
        self.port = self.server.servers[0].sockets[0].getsockname()[1]

    def _serve(self) -> None:
        try:
            self.server.run()
        except SystemExit:  # uvicorn's way to say that it cannot listen
            return

    def stop(self) -> None:
        """Stop serving."""
        self.server.should_exit = True
        self.server.force_exit = True
        self.thread.join(5)

    def publish(self, found: Watched) -> None:
        """Replace the results that the server shows."""
        from recassay.live.prometheus import exposition

        document = found.to_dict()
        self.content, self.document = content_of(found, document), document
        self.metrics = exposition(document)
        self.number, self.published = self.number + 1, time.monotonic()

    def _application(self) -> Any:
        from starlette.applications import Starlette
        from starlette.requests import Request
        from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
        from starlette.routing import Route

        policy = {
            "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
            "connect-src 'self'; img-src data:",
            "Cache-Control": "no-store",
            "X-Content-Type-Options": "nosniff",
        }

        async def page(_: Request) -> Response:
            return HTMLResponse(shell(self.content), headers=policy)

        async def content(_: Request) -> Response:
            return HTMLResponse(self.content, headers=policy)

        async def events(_: Request) -> Response:
            return StreamingResponse(
                self._events(), media_type="text/event-stream", headers={"Cache-Control": "no-store"}
            )

        async def metrics(_: Request) -> Response:
            return Response(self.metrics, media_type="text/plain; version=0.0.4; charset=utf-8")

        async def health(_: Request) -> Response:
            age = time.monotonic() - self.published if self.number else None
            well = age is not None and (age < STALE or bool(self.document.get("finished")))
            state = "ok" if well else "starting" if age is None else "stale"
            return JSONResponse({"status": state, "seconds since commit": age}, 200 if well else 503)

        async def api(request: Request) -> Response:
            part = request.path_params["part"]
            if part == "watch":
                return JSONResponse(self.document)
            if part not in self.document:
                return JSONResponse({"error": f"there is no {part}", "parts": ["watch", *self.document]}, 404)
            return JSONResponse(self.document[part])

        return Starlette(
            routes=[
                Route("/", page), Route("/content", content), Route("/events", events), Route("/metrics", metrics),
                Route("/health", health), Route("/api/{part}.json", api),
            ]
        )  # fmt: skip

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
