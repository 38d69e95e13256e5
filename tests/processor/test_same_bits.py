"""Results have the same bits whatever instructions the processor has, and whatever its threads."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def load(name):
    spec = importlib.util.spec_from_file_location(f"processor_{name}", HERE / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SETTINGS = load("settings")
STORED = json.loads((HERE / "digests.json").read_text(encoding="utf-8"))


def digests(setting, *options):
    command = [sys.executable, str(HERE / "digest.py"), *options]
    done = subprocess.run(command, env=SETTINGS.environment(setting), capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr[-2000:]
    return json.loads(done.stdout)


# The others are run by settings.py, which takes minutes; the last of these turns off what the others do one by one.
@pytest.mark.parametrize("setting", ["plain", "4 threads", "an old processor"])
def test_every_digest_is_the_stored_one(setting):
    assert digests(setting) == STORED


def test_no_digest_depends_on_the_last_bit_of_a_logarithm_or_power_of_numpy():
    assert digests("NumPy without AVX-512", "--noise") == STORED
