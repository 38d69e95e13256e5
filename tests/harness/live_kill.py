"""``make live``: live evaluations whose process, or whose Redis server, is killed at random moments.

A round watches a log of its own to the end, through many deaths. Its final bits must be those of a watch that nobody
disturbed, and of a replay. Rounds of lists have exposures and feedback; rounds of models also have interactions, and
attached models: some are built in, one is fitted in a file, one is a class in a Python file. Every round has a number,
and the same seed and number make the same log and the same deaths, but for those at any moment. ``--first`` goes on
with the number that the last line of an earlier run names; Ctrl-C prints the table so far.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import ctypes
import json
import multiprocessing
import os
import random
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.property.test_live import bits, make_events
from tests.unit.live.test_attached import OWN_MODEL, STATE, interactions
from tests.unit.live.test_sources import Redis

import recassay as ra
from recassay.live import opening
from recassay.live import watch as watch_module
from recassay.live import watcher as watching
from recassay.live.attached import AttachedModels
from recassay.live.opening import open_sources
from recassay.live.results import Watched
from recassay.live.state import StateFile
from recassay.live.watch import build_context, build_settings
from recassay.live.watcher import Watcher

from .flip import MEMORY_FOLDER

PER_ROUND = 10  # kills
PER_REDIS = 5  # restarts of a server
WRITES = ("write", "append", "trim", "write_sums", "set_aside", "write_letters")
LAST = ("letters",)  # the first argument of the last write of a commit
LINES = 20  # of a file that are read at once
LONGEST = 600  # seconds until a watch counts as one that hangs
SLACK = 590  # seconds by which events come too late, below the lateness
MOST_FAULTS = 5
SERVER, COMMIT, ALIVE = "Redis server", "in a commit", "ended before its death"
OPTIONS = {"lateness": "10m", "user_window": "1h", "remember": "1h", "every": "1m", "idle": "1000d", "ahead": "1000d"}


@dataclass(frozen=True)
class Death:
    """When a process kills itself: ``where`` it is then, after how many commits, and before which write of a commit."""

    where: str
    commits: int = 0
    write: int = 0
    after: float = 0.0  # seconds of a processor, for "any moment"


@dataclass
class Place:
    """What a process tells about itself, in memory that outlives it."""

    text: Any = field(default_factory=lambda: multiprocessing.RawArray(ctypes.c_char, 80))
    commits: Any = field(default_factory=lambda: multiprocessing.RawValue("q", 0))
    writes: Any = field(default_factory=lambda: multiprocessing.RawValue("q", 0))
    most: Any = field(default_factory=lambda: multiprocessing.RawValue("q", 0))  # writes of a commit so far
    sent: Any = field(default_factory=lambda: multiprocessing.RawValue("q", 0))  # events that may be sent to Redis

    def at(self, where: str) -> None:
        self.text.value = where.encode()


def fork(work: Callable[..., None], *arguments: Any) -> Any:
    """Return a started fork of this process, which has imported everything and never ran a query."""
    process = multiprocessing.get_context("fork").Process(target=work, args=arguments)
    process.start()
    return process


def ended(process: Any) -> int:
    """Return the exit code of a process; raise RuntimeError for one that hangs, or fails."""
    process.join(LONGEST)
    if process.exitcode is None:
        process.kill()
        raise RuntimeError(f"not ended after {LONGEST} s")
    if process.exitcode not in (0, -signal.SIGKILL):
        raise RuntimeError(f"ended with status {process.exitcode}: its error is above")
    return int(process.exitcode)


def arm(death: Death | None, place: Place) -> None:
    """Let this process record where it is, and kill itself at its ``death``."""

    def die() -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def patch(kind: type, name: str, where: str, inside: bool = False) -> None:
        plain = getattr(kind, name)

        def call(self: Any, *given: Any, **named: Any) -> Any:
            if inside and not place.writes.value:  # not in a commit, but while the folder is opened
                return plain(self, *given, **named)
            place.at(where)
            if inside:
                place.writes.value += 1
            if (
                death is not None
                and place.commits.value >= death.commits
                and (
                    death.where == where
                    or (death.where == "commit" and inside and (place.writes.value > death.write or given[:1] == LAST))
                )
            ):
                die()
            return plain(self, *given, **named)

        setattr(kind, name, call)

    for name in WRITES:
        patch(StateFile, name, f"in a commit, before {name}", inside=True)
    patch(Watcher, "take", "reading")
    patch(Watcher, "step", "scoring")
    commit = Watcher.commit

    def counted(self: Watcher) -> None:
        place.writes.value = 1
        place.at("in a commit")
        commit(self)
        place.most.value, place.writes.value = max(place.most.value, place.writes.value), 0
        place.commits.value = self.versions
        place.at("after a commit")
        if death is not None and death.where == "after a commit" and self.versions >= death.commits:
            die()

    Watcher.commit = counted  # type: ignore[method-assign]
    if death is not None and death.where == "any moment":
        until = time.process_time() + death.after

        def wait() -> None:
            while time.process_time() < until:
                time.sleep(0.001)
            die()

        threading.Thread(target=wait, daemon=True).start()


@dataclass
class Round:
    """A log, and how it is watched."""

    home: Path
    seed: int
    models: bool

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)
        self.home.mkdir()
        self.stored = self.seed % 4 < 2  # whether attached models can be stored
        events = make_events(350, self.seed)
        if self.models:
            events += interactions(500, self.seed)
        events.sort(key=lambda event: event["time"] + self.rng.random() * SLACK)
        self.lines = [json.dumps(event).encode() + b"\n" for event in events]
        self.paths = [self.home / f"{name}.jsonl" for name in ("one", "two")]
        for number, path in enumerate(self.paths):
            path.write_bytes(b"".join(self.lines[number::2]))
        (self.home / "mine.py").write_text(OWN_MODEL + (STATE if self.stored else ""), encoding="utf-8")

    def attached(self) -> AttachedModels:
        if not self.models:
            return AttachedModels()
        train = [{"user_id": f"u{at % 20}", "item_id": f"i{at * at % 40}", "timestamp": at} for at in range(300)]
        given = {"isgd": "ISGD(factors=20)", "knn": "UKNN(neighbours=5)", "ease": str(self.home / "ease.npz"),
                 "own": f"{self.home / 'mine.py'}:Last(keep=30)"}  # fmt: skip
        if not Path(given["ease"]).exists():
            import polars as pl

            from recassay.data.io.archive import save_archive

            fitted = ra.models.EASE().fit(ra.read_interactions(pl.DataFrame(train)))
            save_archive(Path(given["ease"]), {"model": "EASE", "fitted": fitted})
        return AttachedModels(given, build_context(None, None).train)

    def watch(self, sources: Any, folder: Path | None, result: Path, place: Place, death: Death | None = None) -> None:
        """Watch the log to its end, or to the ``death`` of this process; write the final bits to ``result``."""
        arm(death, place)
        place.at("starting")
        follow = isinstance(sources, str)
        if folder is not None:
            watch_module.PER_COMMIT = 1
            opening.CHUNK = LINES * sum(map(len, self.lines)) // len(self.lines)
            if self.models:
                watching.SMALL_LOG = 3000
        watcher = Watcher(build_settings("ndcg@5 hit@5", segments=("arm",), **OPTIONS), folder, models=self.attached())
        everything = lambda one: one.counts["received"] >= len(self.lines)  # noqa: E731
        watch_module.Loop(watcher, open_sources(sources, follow=follow), everything if follow else lambda _: None,
                  finish=True, interval=0.02 if follow else 0.5).run()  # fmt: skip
        place.at("at its end")
        if follow:
            watcher.finish()
            watcher.commit()
        models = json.dumps(Watched(watcher, 0).to_dict()["models"], sort_keys=True)
        (result.with_suffix(".part")).write_text(bits(watcher) + models)
        result.with_suffix(".part").rename(result)
        watcher.close()
        os._exit(0)  # no matter what threads do

    def sound(self) -> tuple[str, int, int]:
        """Return the bits of a watch without deaths, which a replay must have, its commits, and most writes of one."""
        place, found = Place(), []
        for name, folder in (("undisturbed", self.home / "undisturbed"), ("replay", None)):
            if ended(fork(self.watch, [str(path) for path in self.paths], folder, self.home / f"{name}.bits", place)):
                raise RuntimeError(f"{name} was killed")
            found.append((self.home / f"{name}.bits").read_text())
            if folder is not None:
                commits = place.commits.value
        if found[0] != found[1]:
            raise RuntimeError("an undisturbed watch and a replay differ")
        return found[0], commits, place.most.value

    def deaths(self, kills: int, commits: int, writes: int, inside: int) -> Iterable[Death]:
        """Yield deaths in order of the commits after which they happen; at least ``inside`` of them are in a commit."""
        places = sorted(self.rng.sample(range(commits), min(kills, commits)))
        chosen = set(self.rng.sample(range(len(places)), min(inside, len(places))))
        elsewhere = ("reading", "scoring", "after a commit", "any moment", "any moment")
        for number, after in enumerate(places):
            where = "commit" if number in chosen else self.rng.choice(elsewhere)
            yield Death(where, after, self.rng.randrange(1, writes), self.rng.uniform(0, 0.6))

    def killed(self, kills: int, inside: int, counts: collections.Counter[str]) -> bool:
        """Watch the log through deaths, which are added to ``counts``; return whether the final bits are right."""
        wanted, commits, writes = self.sound()
        place, sources = Place(), [str(path) for path in self.paths]
        folder, result = self.home / "state", self.home / "end.bits"
        for death in self.deaths(kills, commits, writes, inside):
            code = ended(fork(self.watch, sources, folder, result, place, death))
            counts[place.text.value.decode() if code else ALIVE] += 1
        while ended(fork(self.watch, sources, folder, result, place)):
            pass
        return result.read_text() == wanted

    def restarted(self, restarts: int, counts: collections.Counter[str]) -> bool:
        """Watch a stream while it is written, its server dies, and now and then the watch; add deaths to ``counts``."""
        wanted, _, writes = self.sound()
        place, folder, result = Place(), self.home / "state", self.home / "end.bits"
        (self.home / "redis").mkdir()
        server = Redis(self.home / "redis")
        url = f"redis://127.0.0.1:{server.port}/0?stream=events"
        producer = fork(produce, server.port, self.lines, place)
        watch = fork(self.watch, url, folder, result, place)
        try:
            for number in range(restarts):
                place.sent.value = len(self.lines) * (number + 1) // (restarts + 1)
                before = place.commits.value
                while place.commits.value == before and watch.is_alive():
                    time.sleep(0.002)
                time.sleep(self.rng.uniform(0, 0.1))
                if number % 2:  # the watch dies too, at first
                    watch.kill()
                    ended(watch)
                    counts["Redis: " + place.text.value.decode()] += 1
                where = place.text.value.decode()
                server.restart()
                counts[f"{SERVER}, the watch was {where.partition(', before')[0]}"] += 1
                if number % 2:
                    death = Death("commit", place.commits.value, self.rng.randrange(1, writes))
                    watch = fork(self.watch, url, folder, result, place, death)
                    place.sent.value += len(self.lines) // (restarts + 1) // 2
                    ended(watch)
                    counts["Redis: " + place.text.value.decode()] += 1
                    watch = fork(self.watch, url, folder, result, place)
            place.sent.value = len(self.lines)
            ended(watch)
        finally:
            for process in (producer, watch):
                process.kill()
                process.join()
            server.process.kill()
            server.process.wait()
        return result.exists() and result.read_text() == wanted


def produce(port: int, lines: list[bytes], place: Place) -> None:
    """Write lines to a stream, as many as ``place.sent`` allows; each has its own id, so none is written twice."""
    import redis

    client, number = redis.Redis(port=port), 0
    while number < len(lines):
        if number >= place.sent.value:
            time.sleep(0.002)
            continue
        try:
            client.xadd("events", {"event": lines[number].strip()}, id=f"{number + 1}-0")
        except redis.exceptions.ResponseError as error:
            if "equal or smaller" not in str(error):
                raise
        except (redis.exceptions.ConnectionError, redis.exceptions.TimeoutError):
            time.sleep(0.02)
            continue
        number += 1
        time.sleep(0.0005)
    os._exit(0)


class Attack:
    """Rounds that were disturbed, a count of where their processes died, and their faults."""

    def __init__(self, home: Path, seed: int) -> None:
        self.home, self.seed = home, seed
        self.counts: collections.Counter[str] = collections.Counter()
        self.faults: list[str] = []

    def died(self, *, server: bool = False, inside: str = "") -> int:
        """Return how many processes died: watches, or servers; ``inside`` is a text that says where."""
        return sum(
            n for what, n in self.counts.items()
            if what.startswith(SERVER) == server and inside in what and what != ALIVE
        )  # fmt: skip

    def round(self, number: int, kind: str, size: int, inside: int = 0) -> None:
        one = Round(self.home / str(number), self.seed * 1000 + number, models=number % 2 == 1)
        try:
            same = one.restarted(size, self.counts) if kind == "redis" else one.killed(size, inside, self.counts)
            text = "same bits" if same else "FAULT: other bits"
        except RuntimeError as error:
            text = f"FAULT: {error}"
        if text != "same bits":
            self.faults.append(f"round {number} ({kind}): {text}")
        print(f"round {number}, {size} deaths, {kind}{', models' * one.models}: {text}", flush=True)
        shutil.rmtree(one.home)

    def table(self) -> str:
        rows = [f"{count:7,}  {what}" for what, count in sorted(self.counts.items())]
        inside = self.died(inside=COMMIT)
        rows.append(f"{self.died():7,}  kills of a watch, {inside:,} of them inside a commit; "
                    f"{self.died(server=True):,} of a Redis server; {len(self.faults):,} faults")  # fmt: skip
        return "\n".join(rows + self.faults)


def main() -> int:
    """Kill, and print a table of what was killed where."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--kills", type=int, default=20, help="of watches of files")
    options.add_argument("--commits", type=int, default=None, help="how many of them at least inside a commit")
    options.add_argument("--redis", type=int, default=0, help="kills of a Redis server")
    options.add_argument("--per-round", type=int, default=PER_ROUND, help="kills; 1000: one after every commit")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--first", type=int, default=0, help="number of the first round")
    options.add_argument("--seconds", type=float, default=1e9, help="begin no further round after this time")
    given = options.parse_args()
    commits = given.kills * 3 // 10 if given.commits is None else given.commits
    if given.redis and not shutil.which("redis-server"):
        print("no redis-server: its rounds are left out")
        given.redis = 0
    print(f"live-kill: seed {given.seed}, rounds from number {given.first}", flush=True)
    number, began = given.first, time.monotonic()
    with tempfile.TemporaryDirectory(prefix="recassay-live-kill-", dir=MEMORY_FOLDER) as place:
        attack = Attack(Path(place), given.seed)
        with contextlib.suppress(KeyboardInterrupt):
            while len(attack.faults) < MOST_FAULTS and time.monotonic() - began < given.seconds:
                kills, inside = given.kills - attack.died(), commits - attack.died(inside=COMMIT)
                restarts = given.redis - attack.died(server=True)
                if restarts > 0:
                    attack.round(number, "redis", min(PER_REDIS, restarts))
                elif kills > 0 or inside > 0:
                    size = min(given.per_round, max(kills, inside))
                    attack.round(number, "files", size, -(-max(inside, 0) * size // max(kills, inside)))
                else:
                    break
                number += 1
    print(f"{attack.table()}\nthe next round has number {number}")
    return int(bool(attack.faults))


if __name__ == "__main__":
    sys.exit(main())
