"""A command that is interrupted while Java starts ends, and Java with it."""

import contextlib
import os
import signal
import subprocess
import sys
import time

import pytest

START = "from recassay.backends.spark.session import spark_session; spark_session()"
# What Java does once the folder in which it should write its port is gone: it goes on forever.
JAVA = """#!/bin/sh
echo $$ > "{home}/started.part" && mv "{home}/started.part" "{home}/started"
exec sleep 600
"""


@pytest.fixture
def started(tmp_path):
    """Return a process that waits for the port of a Java that never writes it, and this Java's process id."""
    pytest.importorskip("pyspark.sql", reason="Spark needs pyspark: pip install 'recassay[spark]'")
    (tmp_path / "bin").mkdir()
    for name in ("java", "spark-submit"):
        (tmp_path / "bin" / name).write_text(JAVA.format(home=tmp_path))
        (tmp_path / "bin" / name).chmod(0o755)
    homes = {"SPARK_HOME": str(tmp_path), "JAVA_HOME": str(tmp_path)}
    process = subprocess.Popen(
        [sys.executable, "-c", START], env=os.environ | homes, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    until = time.monotonic() + 120
    while not (tmp_path / "started").exists() and process.poll() is None and time.monotonic() < until:
        time.sleep(0.05)
    java = int((tmp_path / "started").read_text())
    yield process, java
    for number in (process.pid, java):
        with contextlib.suppress(ProcessLookupError):
            os.kill(number, signal.SIGKILL)


def test_an_interrupt_while_java_starts_leaves_nobody_who_holds_the_pipes(started):
    process, java = started
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)  # ends when nobody holds the other end
    assert err.strip().splitlines()[-1] == "KeyboardInterrupt"
    with pytest.raises(ProcessLookupError):
        os.kill(java, 0)
