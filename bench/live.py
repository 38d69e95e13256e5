"""Measure the live judge: exposures a second with join, duplicates, state on disk and six metrics.

    python bench/live.py [EXPOSURES]
    python bench/live.py --memory EXPOSURES [FOLDER]

Parquet parts are replayed; then the same events come as JSON from a Redis server of this machine. Beside it a join of
the same events with dicts in plain Python, without state and metrics, and river where it is installed. At last the time
from an event to the page that counts it, at 5,000 events a second. Writes its section of bench/RESULTS.md.

With ``--memory`` events are generated while they are read, with a window of 30 minutes, and memory and the size of the
state are printed every million events. It may be interrupted; with a FOLDER the same command resumes.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from recassay.cli.watch import SHOW_EVERY
from recassay.live.clock import SECOND
from recassay.live.events import lines
from recassay.live.opening import open_sources
from recassay.live.results import Watched
from recassay.live.server import Server
from recassay.live.settings import WatchSettings
from recassay.live.sources import BATCH, Arrival, Source
from recassay.live.watch import Loop
from recassay.live.watcher import Watcher
from tools import help_if_asked, write_section

PER_SECOND, PART, ITEMS, USERS = 115.0, 500_000, 20_000, 200_000  # 10 million exposures a day of event time
TITLE = "Live evaluation"
TEXT = f"""## {TITLE}

{{count:,}} exposures of ten items and a click for one in ten, replayed with join, duplicates and the state on disk;
{{cores}} cores. The machine did other work meanwhile (load averages {{load}}), so the processor time says more than the
wall clock.

| source | exposures a second | processor µs each | exposures per processor second | state, MB | memory, MB |
| --- | ---: | ---: | ---: | ---: | ---: |
{{rows}}

Redis hands out the events of the first {PART:,} exposures{{parser}}; its own processor time is not counted. From an
event to the page that counts it, at 5,000 events a second from a file: median {{median}} s, 99th percentile {{high}} s,
at most {{most}} s. A second of events took {{spent}} s of processor time; the wait is longer where less of a processor
is free.

Made by `python bench/live.py`.
"""


def part(number: int, size: int = PART) -> pl.DataFrame:
    """Return the ``number``-th ``size`` exposures with their clicks."""
    rng = np.random.default_rng(number)
    times = 1.7e9 + (number * size + np.arange(size)) / PER_SECOND
    users = rng.integers(0, USERS, size)
    items = rng.integers(0, ITEMS, (size, 10))
    request = pl.Series(np.arange(number * size, (number + 1) * size)).cast(pl.String)
    names = pl.Series(np.arange(ITEMS)).cast(pl.String)
    shown = pl.DataFrame(
        {"request_id": request, "user_id": pl.Series(users).cast(pl.String), "time": times}
    ).with_columns(
        items=names.gather(items.ravel()).reshape((size, 10)).arr.to_list(),
        arm=pl.Series(np.where(users % 2 == 0, "old", "new")),
    )
    clicked = np.flatnonzero(rng.random(size) < 0.1)
    clicks = pl.DataFrame(
        {"request_id": request.gather(clicked), "time": times[clicked] + 60, "item_id": names.gather(items[clicked, 2])}
    )
    return pl.concat([shown, clicks], how="diagonal").sort("time")


def plain(paths: list[Path], count: int) -> str:
    """Return the speed of a join with dicts, one event after another."""
    begin, used = time.perf_counter(), time.process_time()
    shown: dict[str, list[str]] = {}
    hits = 0
    for path in paths:
        for row in pl.read_parquet(path).iter_rows(named=True):
            if row["items"] is not None:
                shown[row["request_id"]] = row["items"]
            else:
                hits += row["item_id"] in shown.get(row["request_id"], ())
    return text_of(count, begin, used)


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def measured(watcher: Watcher, given: str, count: int, *, once: bool = False) -> str:
    """Read a source to its end; return a text about speed, processor time, size of the state and memory."""
    begin, used = time.perf_counter(), time.process_time()
    Loop(watcher, open_sources(given, follow=once), once=once, interval=5.0).run()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return f"{text_of(count, begin, used)} | {state_bytes(watcher) / 1e6:,.0f} | {memory:,.0f}"


def state_bytes(watcher: Watcher) -> int:
    """Return the size of the state file and its write-ahead log; 0 in memory."""
    folder = watcher.state.folder
    return 0 if folder is None else sum(path.stat().st_size for path in folder.glob("state.sqlite*"))


def text_of(count: int, begin: float, used: float) -> str:
    """Return speed by the wall clock, processor time of each, and speed by processor time, since two moments."""
    took, used = time.perf_counter() - begin, time.process_time() - used
    return f"{count / took:,.0f} | {used / count * 1e6:.1f} | {count / used:,.0f}"


def with_redis(home: Path) -> str:
    """Read the first part, as JSON, from a Redis server of this machine, which keeps nothing on disk."""
    import redis

    port = free_port()
    server = subprocess.Popen(
        ["redis-server", "--port", str(port), "--save", "", "--dir", str(home)], stdout=subprocess.DEVNULL
    )
    try:
        client = redis.Redis(port=port, retry=redis.retry.Retry(redis.backoff.ConstantBackoff(0.1), 100))
        client.ping()
        events = part(0)
        shown = int(events["items"].is_not_null().sum())
        content = lines(events)
        for begin in range(0, len(content), 1000):
            pipe = client.pipeline(transaction=False)
            for line in content[begin : begin + 1000]:
                pipe.xadd("events", {"event": line})
            pipe.execute()
        watcher = Watcher(WatchSettings(), home / "state redis")
        text = measured(watcher, f"redis://127.0.0.1:{port}/0?stream=events", shown, once=True)
        assert watcher.counts["received"] == len(content)
        watcher.close()
        return text
    finally:
        server.terminate()
        server.wait()


def produce(path: str, rate: int, seconds: float) -> None:
    """Write ``rate`` events a second to a file, each with the time at which it was written."""
    begun, number = time.time(), 0
    with open(path, "ab", buffering=0) as file:
        while (now := time.time()) < begun + seconds:
            made = []
            while number < (now - begun) * rate:
                event: dict[str, object] = {"request_id": str(number), "time": now}
                if number % 10:
                    event |= {"user_id": str(number % 5003), "arm": "ab"[number % 5003 % 2]}
                    event |= {"items": [str((number + place) % ITEMS) for place in range(10)]}
                else:  # a click on the exposure before
                    event |= {"request_id": str(number - 1), "item_id": str((number + 1) % ITEMS)}
                made.append(json.dumps(event).encode() + b"\n")
                number += 1
            file.write(b"".join(made))
            time.sleep(0.02)


def latency(home: Path, rate: int = 5000, seconds: float = 20.0) -> list[float]:
    """Return median, 99th percentile and maximum of the time from an event to the page that counts it, in seconds.

    The last number is the processor time spent in a second of events.
    """
    path = home / "events.jsonl"
    path.touch()
    settings = WatchSettings(window=5 * SECOND, lateness=SECOND, every=5 * SECOND, user_window=10 * SECOND)
    watcher, server, shown = Watcher(settings, home / "state latency"), Server(":0"), []
    producer = subprocess.Popen([sys.executable, __file__, "--produce", str(path), str(rate), str(seconds)])

    def committed(one: Watcher) -> bool:
        if not shown or time.time() - shown[-1][0] >= SHOW_EVERY:  # as recassay watch --http does
            server.publish(Watched(one, time.time_ns() // 1000))
            shown.append((time.time(), one.counts["received"]))
        return producer.poll() is not None and one.counts["received"] >= rate * seconds * 0.99

    server.start()
    used = time.process_time()
    try:
        Loop(watcher, open_sources(str(path), follow=True), committed).run()
    finally:
        producer.kill()
        server.stop()
        watcher.close()
    made = np.array([json.loads(line)["time"] for line in path.open()][: shown[-1][1]])
    times, counts = np.array(shown).T
    waits = times[np.searchsorted(counts, np.arange(made.size), side="right")] - made
    waits = waits[made > made[0] + 5]  # the first seconds load compiled code
    spent = (time.process_time() - used) / (made[-1] - made[0])
    return [*np.quantile(waits, [0.5, 0.99, 1.0]).round(2).tolist(), round(float(spent), 2)]


def with_river(events: int = 20_000) -> str | None:
    """Return the speed of a recommender of river that predicts and learns one event after another; None without river.

    Its ``progressive_val_score`` refuses recommenders (0.26), so the loop is written out.
    """
    try:
        from river import metrics, reco
    except ImportError:
        return None
    rng, model, error = np.random.default_rng(0), reco.BiasedMF(n_factors=10), metrics.MAE()
    users, items = rng.integers(0, USERS, events).tolist(), rng.integers(0, ITEMS, events).tolist()
    begin, used = time.perf_counter(), time.process_time()
    for user, item, clicked in zip(users, items, (rng.random(events) < 0.1).astype(float).tolist(), strict=True):
        error.update(clicked, model.predict_one(user, item))
        model.learn_one(user, item, clicked)
    return text_of(events, begin, used)


class Generated(Source):
    """A source that generates each batch when it is read, so that nothing but the live judge fills memory."""

    follow = False

    def __init__(self, exposures: int) -> None:
        self.parts, self.number = exposures // BATCH, 0

    def start(self, positions: Mapping[str, Any]) -> list[str]:
        self.number = positions.get("generated", 0)
        return ["generated"]

    def poll(self, timeout: float) -> list[Arrival]:
        self.number += 1
        self.at_end = self.number >= self.parts
        return [Arrival("generated", part(self.number - 1, BATCH), self.number)]


def resident() -> float:
    """Return the memory of this process that is resident now, in bytes."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def memory(exposures: int, folder: Path) -> None:
    """Watch generated exposures; print memory and the size of the state every million events."""
    watcher, shown = Watcher(WatchSettings(), folder), []
    print("events, M   resident, MB   most so far, MB   state, MB   keys, MB   users, MB   open exposures   CPU s")

    def show(one: Watcher) -> None:
        join, users = one.join, one.tally.users
        keys = sum(one.slots.nbytes + one.values.nbytes for one in (join.seen, join.by_request))
        arrays = (users.latest.slots, users.latest.values, users.sums, users.counts, users.first, users.arm)
        table = sum(array.nbytes for array in arrays)
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        sizes = [size / 1e6 for size in (one.counts["received"], resident(), most, state_bytes(one), keys, table)]
        print("{:9.1f} {:14,.0f} {:17,.0f} {:11,.0f} {:10,.0f} {:11,.0f} {:16,} {:7.0f}".format(
            *sizes, join.n_open, time.process_time()), flush=True)  # fmt: skip

    def committed(one: Watcher) -> None:
        millions = one.counts["received"] // 1_000_000
        if not shown or millions > shown[-1]:
            shown.append(millions)
            show(one)

    try:
        Loop(watcher, [Generated(exposures)], committed, interval=5.0).run()
    except KeyboardInterrupt:
        print("interrupted")
    finally:
        show(watcher)
        watcher.close()


def main(exposures: int) -> None:
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        parts = home / "parts"
        parts.mkdir()
        for number in range(max(1, exposures // PART)):
            part(number).write_parquet(parts / f"{number:05d}.parquet")
        count = max(1, exposures // PART) * PART
        Loop(Watcher(WatchSettings()), open_sources(part(0)[:20_000], follow=False), finish=True).run()  # compiles
        for metrics in (("hit@10",), WatchSettings().metrics):
            watcher = Watcher(WatchSettings(metrics=metrics), home / f"state {len(metrics)}")
            text = measured(watcher, str(parts), count)
            rows.append(f"| Parquet files, {len(metrics)} metric{'s' * (len(metrics) > 1)} | {text} |")
            watcher.close()
            print(rows[-1], flush=True)
        if shutil.which("redis-server"):
            rows.append(f"| Redis, 6 metrics | {with_redis(home)} |")
            print(rows[-1], flush=True)
        rows.append(f"| dicts in plain Python: the join alone | {plain(sorted(parts.iterdir()), count)} | | |")
        river = with_river()
        if river is not None:
            rows.append(f"| river: a predictor of clicks, no lists and no join | {river} | | |")
        print("\n".join(rows[-2:]), flush=True)
        median, high, most, spent = latency(home)
        load = ", ".join(f"{one:.1f}" for one in os.getloadavg())
    text = TEXT.format(count=count, rows="\n".join(rows), median=median, high=high, most=most, spent=spent, load=load,
                       cores=os.cpu_count(),
                       parser=", parsed by hiredis" if find_spec("hiredis") else "")  # fmt: skip
    print(text)
    write_section(TITLE, text)


if __name__ == "__main__":
    help_if_asked(__doc__)
    if sys.argv[1:2] == ["--memory"]:
        with tempfile.TemporaryDirectory() as made:
            memory(int(sys.argv[2]), Path(sys.argv[3] if len(sys.argv) > 3 else made))
    elif sys.argv[1:2] == ["--produce"]:
        produce(sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 2_000_000)
