"""A Spark session on this machine, shared by all tests; without Java or PySpark they are skipped, in one line."""

import os
import shutil
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
MISSING = [] if shutil.which("java") or os.environ.get("JAVA_HOME") else ["Java 17"]
try:
    import pyspark  # noqa: F401
except ModuleNotFoundError:
    MISSING.append("PySpark (pip install 'recassay[spark]')")


def pytest_collection_modifyitems(items):
    if MISSING:
        skip = pytest.mark.skip(reason=f"Spark needs {' and '.join(MISSING)}")
        for item in items:
            if HERE in item.path.parents:
                item.add_marker(skip)


@pytest.fixture(scope="session")
def spark():
    from recassay.engine.spark.session import SETTINGS

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").appName("recassay tests")
    for name, value in {**SETTINGS, "spark.sql.shuffle.partitions": "3", "spark.driver.memory": "1g"}.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
