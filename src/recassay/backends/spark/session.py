"""The Spark session that does the work, and the translation of its errors."""

from __future__ import annotations

import base64
import contextlib
import os
import pickle
import re
import shutil
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from recassay.errors import InputError, RecassayError, UsageError
from recassay.optional import need

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DEFAULT_PYTHON = "python3"  # what Spark starts by default
JAVA = "Java 17 or later"
INSTALL = "on Debian and Ubuntu: apt-get install openjdk-17-jre-headless; elsewhere set JAVA_HOME"

NO_LIMIT = str(2**31 - 1)  # bytes; with a limit Spark adds up the size of a batch again at each row

# Settings of a session that is started here, on one machine; an active session keeps its own.
MASTER = "local[*,2]"  # all cores; a task whose worker dies is tried a second time
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "32",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
    "spark.sql.execution.arrow.maxBytesPerBatch": NO_LIMIT,
    "spark.driver.memory": "2g",
}

REMOTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")  # hdfs://, s3a://, dbfs:/, file:/
CARRIED = re.compile(r"recassay-error:([A-Za-z0-9+/=]+)")
FILE = re.compile(r"((?:[a-z0-9]+:/|/)[^\s'\"]*\.(?:parquet|pq|orc|avro|csv|json)[^\s'\",:]*)")

OTHER_PYTHON = {
    r"PYTHON_VERSION_MISMATCH|Python in worker has different version": "have another version of Python than the driver",
    r"Cannot run program \"[^\"]*\"": "do not find the Python that they should start",
    r"from pyspark.daemon's stdout": "start a Python that ends at once",
    r"No module named '(recassay|polars|numpy|numba|pyarrow)": (
        "have a Python without recassay or one of its dependencies"
    ),
}

BAD_FILES = {
    "PATH_NOT_FOUND|FILE_NOT_EXIST": ("I101", "file not found", "check the path, and that all nodes see it"),
    "FAILED_READ_FILE|CANNOT_READ_FILE_FOOTER|is not a Parquet file": (
        "I104", "a part file is damaged, or is not what its name says", "write it again, or remove it from the folder",
    ),
}  # fmt: skip

Result = TypeVar("Result")


def spark_session() -> SparkSession:
    """Return the active session; else that of ``spark-submit``, or a new one on all cores of this machine.

    The workers of an active session on this machine get the Python that runs here, unless another one is configured.
    """
    pyspark = need("pyspark.sql", for_="the Spark engine")
    active: SparkSession | None = pyspark.SparkSession.getActiveSession()
    if active is not None:
        _use_this_python(active)
        return active
    if not _has_java():
        raise UsageError("U227", f"Spark needs {JAVA}, which is not installed", where="engine='spark'", hint=INSTALL)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # workers are to find what this process found
    builder = pyspark.SparkSession.builder.appName("recassay")
    if "spark.master" not in (given := _submitted_settings()):
        if not os.environ.keys() & {"SPARK_HOME", "SPARK_CONF_DIR"}:  # whose defaults may name a cluster
            builder = builder.master(MASTER)
        for name, value in SETTINGS.items():
            builder = builder if name in given else builder.config(name, value)
    try:
        with _stderr_silenced():
            made: SparkSession = builder.getOrCreate()
    except KeyboardInterrupt as stopped:
        _end_starting_java(stopped)
        raise
    except Exception as error:  # of any type: the gateway fails in many ways
        raise UsageError(
            "U227", f"Spark does not start: {_first_line(error)}", where="engine='spark'", hint=f"{JAVA}? {INSTALL}"
        ) from error
    made.sparkContext.setLogLevel("ERROR")
    return made


def session_of(table: DataFrame) -> SparkSession:
    """Return the session of a table; its workers get the Python that runs here, as in :func:`spark_session`."""
    found: SparkSession = table.sparkSession
    _use_this_python(found)
    return found


def _use_this_python(spark: SparkSession) -> None:
    """Make workers start the Python that runs here.

    By default Spark starts any ``python3``, which may be another version, or lack recassay.
    """
    if "PYSPARK_PYTHON" in os.environ or not is_local(spark) or spark.conf.get("spark.pyspark.python", None):
        return
    context = getattr(spark, "_sc", None)  # Spark Connect has none
    if context is not None and context.pythonExec == DEFAULT_PYTHON:
        context.pythonExec = sys.executable


def is_local(spark: SparkSession) -> bool:
    """Return whether driver and workers are on one machine and see the same files."""
    return str(spark.conf.get("spark.master", "local")).startswith("local")


def spark_path(spark: SparkSession, path: str | Path) -> str:
    """Return a path as Spark finds it.

    On one machine it is made absolute from the current folder of this process; Java would use the folder where it was
    started.
    """
    plain = REMOTE.match(str(path)) is None
    return str(Path(path).expanduser().absolute()) if plain and is_local(spark) else str(path)


def carry_errors(work: Callable[..., Iterator[Result]]) -> Callable[..., Iterator[Result]]:
    """Return a function that does ``work`` in a task and writes errors of recassay as text into an exception.

    The errors then reach the driver, where :func:`translate_errors` restores them.
    """

    def careful(*given: Any, **named: Any) -> Iterator[Result]:
        try:
            yield from work(*given, **named)
        except RecassayError as error:
            packed = base64.b64encode(pickle.dumps(error)).decode()
            raise RuntimeError(f"{error}\nrecassay-error:{packed}") from None

    return careful


@contextlib.contextmanager
def translate_errors() -> Iterator[None]:
    """Translate errors of Spark within this context: errors of tasks, and files that are missing or damaged."""
    try:
        yield
    except RecassayError:
        raise
    except Exception as error:
        known = _translated(str(error))
        if known is None:
            raise
        raise known from error


def _translated(text: str) -> RecassayError | None:
    """Return the error of recassay that the text of an error of Spark stands for; None if there is none."""
    if carried := CARRIED.search(text):
        return pickle.loads(base64.b64decode(carried[1]))  # type: ignore[no-any-return]
    for sign, what in OTHER_PYTHON.items():
        if re.search(sign, text):
            hint = (
                f"set PYSPARK_PYTHON={sys.executable} before the session starts; on a cluster, a path that all nodes "
                "have"
            )
            return UsageError("U227", f"the workers of Spark {what}", where="PYSPARK_PYTHON", hint=hint)
    for sign, (code, what, hint) in BAD_FILES.items():
        if re.search(sign, text):
            return InputError(code, what, where=_path_in(text), hint=hint)
    return None


def _path_in(text: str) -> str:
    found = FILE.search(text) or re.search(r"((?:[a-z0-9]+:/|/)[^\s'\",]+)", text)
    return re.sub(r"^file:/+", "/", found[1]).rstrip(".") if found else "the input"


def _has_java() -> bool:
    home = os.environ.get("JAVA_HOME")
    return bool(shutil.which("java") or (home and (Path(home) / "bin" / "java").is_file()))


def _submitted_settings() -> set[str]:
    """Return the names of the Spark settings that ``spark-submit`` or the environment has set."""
    words = os.environ.get("PYSPARK_SUBMIT_ARGS", "") + " " + os.environ.get("SPARK_CONF", "")
    names = set(re.findall(r"(spark\.[A-Za-z.]+)=", words))
    master = "--master" in words or "MASTER" in os.environ or "SPARK_REMOTE" in os.environ
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ  # started by spark-submit
    return names | ({"spark.master"} if master or submitted else set())


def _end_starting_java(stopped: KeyboardInterrupt) -> None:
    """Kill Java if the interrupt came while pyspark was waiting for its port.

    pyspark then removes the folder in which Java writes the port, and Java, which fails to write it, never ends: it
    would keep the pipes of this process open, so that ``recassay run ... | tee log`` would never end either.
    """
    for frame, _ in traceback.walk_tb(stopped.__traceback__):
        started = frame.f_locals.get("proc") if frame.f_code.co_name == "launch_gateway" else None
        if isinstance(started, subprocess.Popen):
            started.kill()
            started.wait()


@contextlib.contextmanager
def _stderr_silenced() -> Iterator[None]:
    """Discard stderr while the virtual machine starts: it prints warnings about itself."""
    keep = os.dup(2)
    try:
        with open(os.devnull, "w") as nothing:
            os.dup2(nothing.fileno(), 2)
            yield
    finally:
        os.dup2(keep, 2)
        os.close(keep)


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
