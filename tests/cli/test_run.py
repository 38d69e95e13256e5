"""``recassay run``: what it prints, and its exit status."""

import json
import subprocess
import sys

import pytest

STUDY = """\
study: small
data: {generate: "log(users=60, items=40, events=900)"}
split: random(test=0.2)
models: [Popular, Random]
metrics: [recall@5, ndcg@10]
judge: {resamples: 100}
quick: {data: {generate: "log(users=30, items=20, events=200)"}}
"""


@pytest.fixture
def study(tmp_path, monkeypatch):
    (tmp_path / "study.yaml").write_text(STUDY)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_table_the_findings_and_where_the_files_are(recassay, study):
    done = recassay("run", "study.yaml", "-o", "out")
    assert (done.code, done.err) == (0, "")
    assert "generated, random(test=0.2)" in done.out
    assert [line.split()[-4:] for line in done.out.splitlines() if "metric" in line] == [
        ["design", "metric", "Popular", "Random"]
    ]
    assert "L002 warning" in done.out
    assert "The results are in out" in done.out
    assert (study / "out" / "summary.json").is_file()


def test_json_is_the_summary(recassay, study):
    done = recassay("run", "study.yaml", "-o", "out", "--json")
    assert (done.code, done.err) == (0, "")
    assert done.json == json.loads((study / "out" / "summary.json").read_text())
    assert {row["system"] for row in done.json["rows"]} == {"Popular", "Random"}


def test_times_are_shown_if_asked_for(recassay, study):
    lines = recassay("run", "study.yaml", "-o", "out", "--times").out.splitlines()
    at = next(number for number, line in enumerate(lines) if line.split() == ["seconds", "fit", "answer"])
    assert [line.split()[0] for line in lines[at + 2 : at + 4]] == ["Popular", "Random"]
    assert lines[at + 4].startswith("judging all of them: ")
    done = recassay("run", "study.yaml", "-o", "out", "--times", "--json").json
    judged = {row["what"]: row for row in done.pop("times")}
    assert set(judged) == {"fit", "answer", "judge"}
    assert done == json.loads((study / "out" / "summary.json").read_text())
    assert "seconds" not in recassay("run", "study.yaml", "-o", "out").out


def test_quick_is_another_study_and_needs_another_folder(recassay, study):
    assert recassay("run", "study.yaml", "-o", "out", "--quick", "--jobs", 1).code == 0
    done = recassay("run", "study.yaml", "-o", "out")
    assert (done.code, "U134" in done.err, done.out) == (2, True, "")


def test_findings_can_fail_it(recassay, study):
    assert recassay("run", "study.yaml", "-o", "out", "--fail-on", "warning").code == 1
    assert recassay("run", "study.yaml", "-o", "out", "--fail-on", "error").code == 0


def test_a_failed_model_fails_it_and_the_table_of_the_others_is_there(recassay, study, monkeypatch):
    from recassay.models.popular import Popular

    fit = Popular.fit
    calls = []

    def failing(self, train):
        calls.append(train)
        if len(calls) > 1:  # the first is the trial
            raise ValueError("no more")
        return fit(self, train)

    monkeypatch.setattr(Popular, "fit", failing)
    done = recassay("run", "study.yaml", "-o", "out")
    assert done.code == 1
    assert "Popular failed on generated, random(test=0.2), fold 0, seed 0:\nno more" in done.err
    assert "Random" in done.out
    (failure,) = (study / "out" / "failures").rglob("*.json")
    assert json.loads(failure.read_text())["code"] == "ValueError"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(("--engine", "spork"), "U107"), (("--fail-on", "warn"), "U107"), (("--data", "."), None)],
)
def test_options(recassay, study, arguments, code):
    done = recassay("run", "study.yaml", "-o", "out", *arguments)
    assert (done.code, code is None or code in done.err) == (2 if code else 0, True)


def test_spark_without_java_is_told_before_anything_is_done(recassay, study, monkeypatch):
    pytest.importorskip("pyspark")
    monkeypatch.setattr("pyspark.sql.SparkSession.getActiveSession", lambda: None)
    monkeypatch.setattr("recassay.engine.spark.session._java", lambda: False)
    done = recassay("run", "study.yaml", "-o", "out", "--engine", "spark")
    assert (done.code, "U227" in done.err, (study / "out").exists()) == (2, True, False)


def test_a_study_that_is_not_there(recassay, study):
    done = recassay("run", "studi.yaml", "-o", "out")
    assert (done.code, "I101" in done.err) == (2, True)


def test_help_loads_nothing_heavy():
    code = "import sys; from recassay.cli import main; sys.argv = ['recassay', 'run', '--help']; main()"
    told = f"import atexit, sys; atexit.register(lambda: print(*sys.modules, file=sys.stderr)); {code}"
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    assert "Run a study" in done.stdout
    assert {"numba", "polars", "numpy", "yaml", "recassay.study"} & set(done.stderr.split()) == set()
