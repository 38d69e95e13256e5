"""Workers of a session that somebody else made: which Python they are, and what is said where it is another one."""

import os
import shutil
import subprocess
import sys
import textwrap

import pytest

from recassay.backends.spark import session

from ..refusals import refused

SCRIPT = """
    import sys
    from pyspark.sql import SparkSession
    import recassay as ra
    from recassay.errors import UsageError

    spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    # 200 partitions by default, a task each
    spark = spark.config("spark.sql.shuffle.partitions", "2").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    truth = spark.sql("SELECT * FROM VALUES ('ann', 'x'), ('bob', 'y') AS t(user_id, item_id)")
    rows = "('ann', 'x', 1), ('ann', 'y', 2), ('bob', 'x', 1)"
    run = spark.sql(f"SELECT * FROM VALUES {rows} AS t(user_id, item_id, rank)")
    print(ra.score({"mine": run}, truth, "hit@1", interval=None).rows[0].mean, spark.sparkContext.pythonExec)
    spark.sparkContext.pythonExec = "/there/is/no/python"
    try:
        ra.score({"mine": run}, truth, "hit@1", interval=None)
    except UsageError as error:
        print(error.code, error.hint)
"""


def test_a_session_of_ones_own_starts_the_python_that_runs_here(tmp_path):
    pytest.importorskip("pyspark.sql", reason="Spark needs pyspark: pip install 'recassay[spark]'")
    wrong = tmp_path / "python3"  # found first, and of no use
    wrong.write_text("#!/bin/sh\nexit 1\n")
    wrong.chmod(0o755)
    environment = {name: value for name, value in os.environ.items() if name != "PYSPARK_PYTHON"}
    environment["PATH"] = os.pathsep.join([str(tmp_path), environment["PATH"]])
    assert shutil.which("python3", path=environment["PATH"]) == str(wrong)
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(SCRIPT)], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    first, second = done.stdout.splitlines()[-2:]
    assert first == f"0.5 {sys.executable}"
    assert second.startswith("U227 set PYSPARK_PYTHON=")


@pytest.mark.parametrize(
    ("message", "what"),
    [
        (
            "PySparkRuntimeError: [PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.9",
            "another version",
        ),
        ('java.io.IOException: Cannot run program "python3": error=2, No such file or directory', "do not find"),
        ("ModuleNotFoundError: No module named 'recassay'", "without recassay"),
    ],
)
def test_what_spark_says_of_another_python_is_said_with_what_to_set(message, what):
    with refused("U227", match=what) as caught, session.translate_errors():
        raise RuntimeError(message)
    assert sys.executable in caught.value.hint


class Session:
    """A session as far as it is looked at."""

    def __init__(self, master, **settings):
        self.conf = {"spark.master": master, **settings}
        self._sc = type("Context", (), {"pythonExec": "python3"})()


@pytest.mark.parametrize(
    ("master", "variable", "settings", "found"),
    [
        ("local[2]", None, {}, sys.executable),
        ("local[2]", "python3", {}, "python3"),  # somebody chose it
        ("local[2]", None, {"spark.pyspark.python": "python3"}, "python3"),
        ("yarn", None, {}, "python3"),  # what runs here says nothing of other machines
    ],
)
def test_whoever_chose_a_python_keeps_it(monkeypatch, master, variable, settings, found):
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    if variable:
        monkeypatch.setenv("PYSPARK_PYTHON", variable)
    made = Session(master, **settings)
    session._use_this_python(made)
    assert made._sc.pythonExec == found
