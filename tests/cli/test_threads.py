"""The command line tells OpenBLAS how long its idle threads stay awake, unless the user has."""

import os
import subprocess
import sys

import pytest

ASK = """
import os, sys
from recassay.cli import main
sys.argv = ["recassay", "--version"]
try:
    main()
except SystemExit:
    print(os.environ["OPENBLAS_THREAD_TIMEOUT"], "numpy" in sys.modules)
"""


@pytest.mark.parametrize(("given", "used"), [({}, "20"), ({"OPENBLAS_THREAD_TIMEOUT": "26"}, "26")])
def test_idle_threads_sleep_soon(given, used):
    """It is told before NumPy starts the threads."""
    environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_THREAD_TIMEOUT"} | given
    done = subprocess.run([sys.executable, "-c", ASK], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == f"{used} False"
