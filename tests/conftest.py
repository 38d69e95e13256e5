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


def of_spark(nodeid):
    """Return whether a test needs a Spark session, which takes as long to start as many tests to run."""
    return nodeid.startswith("tests/spark/")


def pytest_collection_modifyitems(items):
    """Put the longest first: Spark, then the examples of the pages."""
    items.sort(key=lambda item: (not of_spark(item.nodeid), not item.nodeid.startswith("tests/docs/")))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Give a worker a file at a time, but all of Spark to one worker, so that Java starts once."""
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return "spark" if of_spark(nodeid) else nodeid.partition("::")[0]

    return ByFile(config, log)


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
