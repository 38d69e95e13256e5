"""Results are the same to 1e-9 whatever instructions the processor has, and to the bit for any number of threads."""

from __future__ import annotations

import functools
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

HERE = Path(__file__).parent
spec = importlib.util.spec_from_file_location("processor_settings", HERE / "settings.py")
SETTINGS = importlib.util.module_from_spec(spec)
spec.loader.exec_module(SETTINGS)


@functools.cache
def digests(setting):
    command = [sys.executable, str(HERE / "digest.py")]
    done = subprocess.run(command, env=SETTINGS.environment(setting), capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr[-2000:]
    return json.loads(done.stdout)


# The others are run by settings.py, which takes minutes; the last of these turns off what the others do one by one.
@pytest.mark.parametrize("setting", ["plain", "an old processor"])
def test_results_are_the_stored_ones(setting):
    stored = json.loads((HERE / "digests.json").read_text(encoding="utf-8"))
    found = digests(setting)
    assert found.keys() == stored.keys()
    for name, section in found.items():
        assert section["whole"] == stored[name]["whole"], name
        np.testing.assert_allclose(section["sums"], stored[name]["sums"], rtol=1e-9, atol=1e-9, err_msg=name)


def test_results_have_the_same_bits_for_any_number_of_threads():
    assert digests("4 threads") == digests("plain")


@pytest.mark.parametrize("function", [np.log, np.log2, np.log1p, np.exp, np.exp2, lambda x: x**-0.7, lambda x: 0.8**x])
def test_the_result_for_a_number_does_not_depend_on_its_place_in_an_array(function):
    x = np.random.default_rng(1).uniform(0.001, 30, 2_003)
    expected = function(x)
    for begin, end, step in ((1, 2_003, 1), (3, 20, 1), (7, 8, 1), (0, 2_003, 3), (5, 1_999, 2)):
        assert np.array_equal(function(x[begin:end:step]), expected[begin:end:step])
        assert np.array_equal(function(x[begin:end:step].copy()), expected[begin:end:step])
