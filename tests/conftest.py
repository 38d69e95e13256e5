"""What tests of several folders share."""

import atexit
import gc
import os
import shutil
import sys
from pathlib import Path

import pytest
from hypothesis import settings

from recassay.naming.named import Named
from recassay.threads import available

from . import kernels

# Java compiles each method once and quickly, since most run a few times: optimising took half of the tests of Spark.
# In the small code cache that Java then chooses it discards code and compiles it again, for 7 % of these tests' time.
JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=240m -Xmn400m"
os.environ.setdefault("SPARK_SUBMIT_OPTS", JAVA)

# Workers share the processor: threads of PyTorch and of BLAS that wait in a loop take it from the others.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "20")

# Clearing huge pages for arrays that live for a moment took more time than computing with them.
os.environ.setdefault("NUMPY_MADVISE_HUGEPAGE", "0")

# No test takes the power away, and waiting for the disk took 16 s of the tests.
os.fsync = lambda handle: None

# `make test` tries the same random input everywhere, so it never fails by chance, and `make test-gate` more of it;
# `make properties` tries other input.
settings.register_profile("same", derandomize=True, deadline=None, max_examples=15)
settings.register_profile("gate", derandomize=True, deadline=None, max_examples=50)
settings.register_profile("fuzz", derandomize=False, deadline=None, print_blob=True)
settings.load_profile("same")

gc.set_threshold(50_000)  # as the command line does: tests make few cycles, and a worker holds a million objects


def keeps_kernels(config):
    """Return whether this process looks after compiled kernels: no worker, and no cache that the user chose."""
    return not hasattr(config, "workerinput") and "NUMBA_CACHE_DIR" not in os.environ


def pytest_configure(config):
    if keeps_kernels(config):
        kernels.restore()


def pytest_unconfigure(config):
    if hasattr(config, "workerinput") and "_duckdb" in sys.modules:
        atexit.register(os._exit, 0)  # DuckDB's binding lists at the end what it has not freed
    if keeps_kernels(config):
        kernels.store()


@pytest.hookimpl(wrapper=True)
def pytest_collection(session):
    """Collect tests without searching for garbage, and leave what they brought out of later searches: it stays."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def of_spark(nodeid):
    """Return whether a test needs a Spark session, which takes as long to start as many tests to run."""
    return nodeid.startswith("tests/spark/")


LONGEST = (
    "tests/spark/",
    "tests/docs/test_docs.py",
    "tests/unit/study/",
    "tests/contract/",
    "tests/property/",
    "tests/e2e/",
    "tests/processor/test_digests.py",
    "tests/agreement/",
    "tests/unit/checks/",
)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark what only the gate runs, and put the longest first, so that no worker has a long file left at the end."""
    for item in items:
        if of_spark(item.nodeid):
            item.add_marker("spark")
        if "browser" in item.fixturenames:
            item.add_marker("browser")
        marks = {mark.name for mark in item.iter_markers()}
        if marks & {"spark", "browser", "wheel", "peers", "pages"} and "path" not in marks:
            item.add_marker("gate")
    items.sort(key=lambda item: next((n for n, path in enumerate(LONGEST) if item.nodeid.startswith(path)), 99))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Give a worker a file at a time, but all of Spark to one worker, so that Java starts once."""
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return "spark" if of_spark(nodeid) else nodeid.partition("::")[0]

    return ByFile(config, log)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config):
    """Have a worker more than processors: Spark, browsers and programs that tests start often wait."""
    return available() + 1


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


@pytest.fixture(autouse=True)
def registries_forget_classes_of_tests():
    """Take the name from a class that a test or its files define, so that no later test finds it in a registry."""
    n_before = Named.n_defined
    before = kinds_of_others()
    yield
    if Named.n_defined != n_before:
        for kind in kinds_of_others() - before:
            kind.name = ""


def kinds_of_others():
    """Return the classes that recassay's registries find and that are not recassay's."""
    found = [Named]
    for kind in found:
        found += kind.__subclasses__()
    return {kind for kind in found if not kind.__module__.startswith("recassay.")}
