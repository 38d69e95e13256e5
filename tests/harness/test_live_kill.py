"""A few deaths of live evaluations; ``make live`` has hundreds."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.gate
ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "tests.harness.live_kill"]  # of its own: it forks, and must not have run a query


def said(*options):
    found = subprocess.run([*COMMAND, *options], check=False, cwd=ROOT, capture_output=True, text=True)
    assert found.returncode == 0, found.stdout + found.stderr
    return found.stdout


def test_killed_at_any_moment_the_final_bits_are_those_of_an_undisturbed_watch_and_of_a_replay():
    found = said("--kills", "8", "--commits", "4", "--per-round", "4", "--first", "1")
    assert "round 1, 4 deaths, files, models: same bits" in found
    assert "files: same bits" in found


def test_a_redis_server_that_dies_while_events_are_written_loses_nothing():
    pytest.importorskip("redis", reason="needs the library redis: pip install 'recassay[live]'")
    if not shutil.which("redis-server"):
        pytest.skip("needs redis-server: apt-get install redis-server")
    found = said("--kills", "0", "--redis", "2")
    assert "redis: same bits" in found
    assert "2 of a Redis server; 0 faults" in found
