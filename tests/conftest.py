"""What tests of several folders share."""

import os
import shutil
import sys
from pathlib import Path

import pytest
from hypothesis import settings

# Java compiles each method once and quickly, since most run a few times: optimising took half of the tests of Spark.
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")

# `make test` tries the same random input everywhere, so it never fails by chance; `make properties` tries other input.
settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("fuzz", derandomize=False, deadline=None, print_blob=True)
settings.load_profile("same")


def pytest_xdist_auto_num_workers():
    """Return one worker more than there are cores: one that waits for Java, a browser or a server leaves its core."""
    return len(os.sched_getaffinity(0)) + 1 if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@pytest.fixture(scope="session")
def spark():
    """A Spark session on two cores, which tries a task three times; without Java or PySpark its tests are skipped."""
    if not (shutil.which("java") or os.environ.get("JAVA_HOME")):
        pytest.skip("Spark needs Java 17: apt-get install openjdk-17-jre-headless")
    pyspark = pytest.importorskip("pyspark.sql", reason="Spark needs pyspark: pip install 'recassay[spark]'")
    from recassay.backends.spark.session import SETTINGS

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = pyspark.SparkSession.builder.master("local[2,3]").appName("recassay tests")
    here = {"spark.executorEnv.PYTHONPATH": str(Path(__file__).parents[1])}  # workers are to find functions of tests
    several = {"spark.sql.shuffle.partitions": "3", "spark.sql.adaptive.enabled": "false"}  # or few rows are one task's
    for name, value in {**SETTINGS, **several, **here, "spark.driver.memory": "1g"}.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
