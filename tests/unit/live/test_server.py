"""The server of a watch: page, updates, metrics, health, documents."""

import json
import shutil
import socket
import subprocess
import urllib.error
import urllib.request
from dataclasses import replace
from types import SimpleNamespace

import pytest

import recassay as ra
from recassay.live.clock import HOUR, wall_clock
from recassay.live.display import exhibits
from recassay.live.sources import Source

pytest.importorskip("starlette", reason="needs starlette and uvicorn: pip install 'recassay[live]'")
pytest.importorskip("uvicorn", reason="needs starlette and uvicorn: pip install 'recassay[live]'")
parser = pytest.importorskip("prometheus_client.parser", reason="needs prometheus-client: pip install 'recassay[live]'")

from recassay.live.server import Server  # noqa: E402

SHOWN = [
    {
        "request_id": str(n),
        "user_id": f"u{n % 7}",
        "items": ["<b>", "y"],
        "time": 700 * n,
        "arm": "ab"[n % 7 % 2],
        "place": "x",
    }
    for n in range(40)
]
CLICKS = [{"request_id": str(n), "item_id": "y", "time": 700 * n + 5} for n in range(0, 40, 3)]


def get(server, path):
    with urllib.request.urlopen(server.url + path, timeout=10) as answer:
        return answer.read().decode()


@pytest.fixture(scope="module")
def server():
    found = ra.watch(SHOWN + CLICKS, "hit@2", lateness="1d", user_window="1h", segments=["place"], until="hit@2: a > b")
    one = Server(":0")
    one.start()
    with pytest.raises(urllib.error.HTTPError, match="503"):
        get(one, "health")
    one.publish(found)
    yield one
    one.stop()


def test_the_page_names_no_other_host_and_its_parts_have_names(server):
    page = get(server, "")
    assert server.host == "127.0.0.1"
    assert "http://" not in page.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in page
    assert all(part in page for part in ('<html lang="en">', 'name="viewport"', 'aria-label="Means of the arms"'))
    assert get(server, "content") in page


def families(server):
    return {family.name: family for family in parser.text_string_to_metric_families(get(server, "metrics"))}


def test_metrics_are_read_by_the_official_parser(server):
    found = families(server)
    means = found["recassay_mean"].samples
    assert {sample.labels["segment"] for sample in means} == {"", "place=x"}
    assert {sample.labels["k"] for sample in means} == {"2"}
    events = {sample.labels["bin"]: sample.value for sample in found["recassay_events"].samples}
    assert events["judged"] == len(SHOWN) + len(CLICKS)


@pytest.mark.skipif(not shutil.which("promtool"), reason="needs promtool: apt-get install prometheus")
def test_metrics_follow_the_conventions_that_promtool_checks(server):
    command = ["promtool", "check", "metrics"]
    found = subprocess.run(command, input=get(server, "metrics"), capture_output=True, text=True, check=False)
    assert (found.returncode, found.stdout, found.stderr) == (0, "", "")


def test_documents_and_health(server):
    document = json.loads(get(server, "api/watch.json"))
    assert json.loads(get(server, "api/arms.json")) == document["arms"]
    assert json.loads(get(server, "health"))["status"] == "ok"
    with pytest.raises(urllib.error.HTTPError, match="404"):
        get(server, "api/secrets.json")


def test_differences_and_their_bounds_are_metrics(server):
    found = families(server)
    [row] = json.loads(get(server, "api/comparisons.json"))
    assert (row["a"], row["b"], row["metric"]) == ("a", "b", "hit@2")
    names = {"difference": "difference", "adjusted": "adjusted_difference", "low": "difference_lower_bound",
             "high": "difference_upper_bound", "p_adjusted": "difference_p_value"}  # fmt: skip
    for key, name in names.items():
        [sample] = found[f"recassay_{name}"].samples
        assert sample.labels == {"metric": "hit", "k": "2", "a": "a", "b": "b"}
        assert sample.value == row[key]


def test_health_names_a_source_that_does_not_answer_and_its_age(server):
    assert json.loads(get(server, "health"))["sources"][0]["state"] == "ended"
    source = Source()
    source.name, source.problem, source.answered = "redis://h/0?stream=a", "gone", wall_clock() - 45_000_000
    before, server.sources = server.sources, [source]
    try:
        with pytest.raises(urllib.error.HTTPError, match="503") as refused:
            get(server, "health")
        health = json.loads(refused.value.read())
        assert health["status"] == "waiting"
        [row] = health["sources"]
        assert (row["source"], row["state"], row["problem"]) == ("redis://h/0?stream=a", "waiting", "gone")
        assert 45 <= row["seconds since answer"] < 60
        found = families(server)
        assert found["recassay_source_up"].samples[0].value == 0
        assert found["recassay_source_answer_age_seconds"].samples[0].value >= 45
        assert found["recassay_source_event_age_seconds"].samples == []  # none has come
    finally:
        server.sources = before


def answer_to(server, host):
    request = urllib.request.Request(server.url + "api/arms.json", headers={"Host": host})
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        with error:
            return error.code


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1:8000", "[::1]", "[::1]:8000"])
def test_names_of_this_machine_are_served(server, host):
    assert answer_to(server, host) == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example:80", "10.0.0.1", "[::"]
)
def test_other_hosts_are_refused(server, host):
    assert answer_to(server, host) == 421


def test_hosts_of_a_server_on_all_addresses_and_of_one_with_a_name():
    everywhere, named = Server("0.0.0.0:0"), Server("watch.example:0")
    served = {host for host in ("10.0.0.1", "[fe80::1]:80", socket.gethostname(), "evil.example", "watch.example:80")
              if everywhere._is_served(host)}  # fmt: skip
    assert served == {"10.0.0.1", "[fe80::1]:80", socket.gethostname()}
    assert named._is_served("Watch.example:80")
    assert not named._is_served("10.0.0.1")


def test_an_address_of_ip_version_6():
    server = Server("[::1]:0")
    try:
        server.start()
    except ra.UsageError:
        pytest.skip("this machine has no IPv6")
    try:
        assert server.url.startswith("http://[::1]:")
        with pytest.raises(urllib.error.HTTPError, match="503"):
            get(server, "health")
    finally:
        server.stop()


def test_a_page_that_is_open_when_the_server_stops_prints_nothing(capfd):
    server = Server(":0")
    server.start()
    with urllib.request.urlopen(server.url + "events", timeout=10) as answer:
        assert answer.readline() == b"data: 0\n"
        server.stop()
        assert not server.thread.is_alive()
        assert answer.read() == b"\n"
    assert capfd.readouterr() == ("", "")


def test_updates_are_sent(server):
    with urllib.request.urlopen(server.url + "events", timeout=10) as answer:
        assert answer.headers["Content-Type"].startswith("text/event-stream")
        assert answer.readline() == b"data: 1\n"


def test_an_address_that_is_taken_is_refused(server):
    with pytest.raises(ra.UsageError, match="U254"):
        Server(f":{server.port}").start()
    with pytest.raises(ra.UsageError, match="U107"):
        Server("everywhere")
    with pytest.raises(ra.UsageError, match="U107"):
        Server(":\N{SUPERSCRIPT TWO}")


def test_curves_have_whole_hours_and_mark_versions_that_replaced_another():
    shown = [{**one, "model_version": "1" if at < 20 else "2"} for at, one in enumerate(SHOWN)]
    found = ra.watch([*shown, {**SHOWN[0], "request_id": "x", "time": 700 * 39 + 1800}], "hit@2", lateness="1d")
    document = found.to_dict()
    [curve, _] = exhibits(found, document)
    marks = ", ".join(curve.table["mark"].drop_nulls())
    assert set(marks.split(", ")) == {"a version 2", "b version 2"}
    cut = replace(found, watcher=SimpleNamespace(**vars(found.watcher)))
    cut.watcher.join = SimpleNamespace(watermark=round(5.5 * HOUR) + found.watcher.settings.window)
    [curve, _] = exhibits(cut, document)
    assert curve.table["hour"].max() == 4
