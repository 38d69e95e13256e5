"""``recassay run``: its output and its exit status."""

import json
import re
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


def test_the_output_has_a_table_findings_and_the_folder(recassay, study):
    done = recassay("run", "study.yaml", "-o", "out")
    assert (done.code, done.err) == (0, "")
    assert "generated, random(test=0.2)" in done.out
    assert [line.split()[-4:] for line in done.out.splitlines() if "metric" in line] == [
        ["design", "metric", "Popular", "Random"]
    ]
    assert "L002 warning" in done.out
    assert "The results are in out" in done.out
    assert (study / "out" / "summary.json").is_file()


def test_json_output_equals_the_summary_file(recassay, study):
    done = recassay("run", "study.yaml", "-o", "out", "--json")
    assert (done.code, done.err) == (0, "")
    assert done.json == json.loads((study / "out" / "summary.json").read_text())
    assert {row["system"] for row in done.json["rows"]} == {"Popular", "Random"}


def test_the_option_times_prints_times(recassay, study):
    lines = recassay("run", "study.yaml", "-o", "out", "--times").out.splitlines()
    at = next(number for number, line in enumerate(lines) if line.split() == ["seconds", "fit", "recommend"])
    assert [line.split()[0] for line in lines[at + 2 : at + 4]] == ["Popular", "Random"]
    assert lines[at + 4].startswith("evaluation of all systems: ")
    done = recassay("run", "study.yaml", "-o", "out", "--times", "--json").json
    stages = {row["what"]: row for row in done.pop("times")}
    assert set(stages) == {"fit", "answer", "judge"}
    assert done == json.loads((study / "out" / "summary.json").read_text())
    assert "seconds" not in recassay("run", "study.yaml", "-o", "out").out


def test_the_quick_version_needs_another_folder(recassay, study):
    assert recassay("run", "study.yaml", "-o", "out", "--quick", "--jobs", 1).code == 0
    done = recassay("run", "study.yaml", "-o", "out")
    assert (done.code, "U134" in done.err, done.out) == (2, True, "")


def test_the_option_fail_on_sets_the_exit_status(recassay, study):
    assert recassay("run", "study.yaml", "-o", "out", "--fail-on", "warning").code == 1
    assert recassay("run", "study.yaml", "-o", "out", "--fail-on", "error").code == 0


def test_a_failed_model_sets_the_exit_status_and_keeps_the_other_results(recassay, study, monkeypatch):
    from recassay.models.baselines import Popular

    fit = Popular.fit
    calls = []

    def failing(self, train):
        calls.append(train)
        if len(calls) > 1:  # the first call is the dry run
            raise ValueError("no more")
        return fit(self, train)

    monkeypatch.setattr(Popular, "fit", failing)
    done = recassay("run", "study.yaml", "-o", "out")
    assert done.code == 1
    assert "Popular failed on generated, random(test=0.2), fold 0, seed 0:\nno more" in done.err
    assert "Random" in done.out
    (failure,) = (study / "out" / "failures").rglob("*.json")
    assert json.loads(failure.read_text())["code"] == "ValueError"


def test_a_model_that_fails_in_the_dry_run_sets_the_exit_status(recassay, study, monkeypatch):
    from recassay.models.baselines import Popular

    def failing(self, train):
        raise ValueError("no more")

    monkeypatch.setattr(Popular, "fit", failing)
    done = recassay("run", "study.yaml", "-o", "out")
    assert done.code == 1
    assert "Popular failed in the dry run of generated, random(test=0.2), and was left out:\n[U135]" in done.err
    assert "Random" in done.out
    text = (study / "study.yaml").read_text().replace("Random", "Popular")
    (study / "all.yaml").write_text(re.sub("models:.*", "models: [Popular]", text))
    assert (recassay("run", "all.yaml", "-o", "all").code, (study / "all").exists()) == (2, False)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(("--fail-on", "warn"), "U107"), (("--data", "."), None)],
)
def test_options_are_checked(recassay, study, arguments, code):
    done = recassay("run", "study.yaml", "-o", "out", *arguments)
    assert (done.code, code is None or code in done.err) == (2 if code else 0, True)


def test_a_missing_study_file_is_refused(recassay, study):
    done = recassay("run", "studi.yaml", "-o", "out")
    assert (done.code, "I101" in done.err) == (2, True)


def test_help_loads_nothing_heavy():
    code = "import sys; from recassay.cli import main; sys.argv = ['recassay', 'run', '--help']; main()"
    script = f"import atexit, sys; atexit.register(lambda: print(*sys.modules, file=sys.stderr)); {code}"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "Run a study" in done.stdout
    assert {"numba", "polars", "numpy", "yaml", "recassay.study"} & set(done.stderr.split()) == set()


@pytest.mark.parametrize(
    ("line", "wrong", "said"),
    [
        (
            "filters: [core(users=2, items=2)]",
            "core(users=2",
            'quote what has a comma: filters: ["core(users=2, items=2)"]',
        ),
        ("metrcs: ndcg@5", "no key 'metrcs' here", "did you mean 'metrics'?"),
        ("split: last(n=1)", "the log has no timestamps", "line 8"),
    ],
)
def test_a_mistake_in_a_study_is_named_with_its_line(recassay, tmp_path, line, wrong, said):
    (tmp_path / "log.csv").write_text("user_id,item_id\n" + "\n".join(f"{n % 9},{n % 7}" for n in range(60)))
    key = line.partition(":")[0]
    lines = [
        "study: wrong",
        "data: {path: log.csv}",
        "models: [Popular]",
        "designs: lists",
        "seeds: [0]",
        "metrics: ndcg@5",
    ]
    kept = [one for one in lines if one.partition(":")[0] != key.replace("metrcs", "metrics")]
    kept += ["split: random(test=0.3)"] if key != "split" else [""]
    (tmp_path / "study.yaml").write_text("\n".join([*kept, line]))
    answer = recassay("run", tmp_path / "study.yaml", "-o", tmp_path / "out")
    assert answer.code == 2
    assert wrong in answer.err
    assert said in answer.err


MISTAKES = {
    "metrcs: ndcg@5": "U132",
    "models: [Populr]": "U115",
    "metrics: ndgc@5": "U101",
    "split: randm(test=0.2)": "U115",
    "designs: TI-XX": "U118",
}
MISTAKES_IN_DATA = {
    "data: {path: nowhere.csv}": "I101",
    "data: {path: log.csv, columns: {user: uid}}": "I201",
    "split: last(n=1)": "I201",
    "split: global_time(quantile=0.8)": "I201",
    "protocol: ranking(relevant_from=4)": "I307",
}
MAIN = """
import sys
from recassay.cli import main
for number in range(int(sys.argv[1])):
    sys.argv = ["recassay", "run", f"{number}.yaml", "-o", "out"]
    try:
        main()
    except SystemExit as done:
        assert done.code == 2
print(*sys.modules)
"""


@pytest.mark.parametrize("mistakes", [MISTAKES, MISTAKES_IN_DATA], ids=["file", "data"])
def test_mistakes_are_told_and_those_of_the_file_before_slow_imports(tmp_path, mistakes):
    (tmp_path / "log.csv").write_text("user_id,item_id\n" + "\n".join(f"{n % 9},{n % 7}" for n in range(60)))
    right = {
        "study": "wrong", "data": "{path: log.csv}", "models": "[Popular, ItemKNN]", "metrics": "ndcg@5",
        "split": "random(test=0.3)",
    }  # fmt: skip
    for number, mistake in enumerate(mistakes):
        key, _, value = mistake.partition(": ")
        lines = [f"{name}: {text}" for name, text in (right | {key: value}).items()]
        (tmp_path / f"{number}.yaml").write_text("\n".join(lines))
    command = [sys.executable, "-c", MAIN, str(len(mistakes))]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert [line[1:5] for line in done.stderr.splitlines() if line.startswith("[")] == list(mistakes.values())
    slow = {"numba", "llvmlite", "scipy.sparse", "scipy.linalg", "torch", "pandas"}
    assert mistakes is MISTAKES_IN_DATA or not slow & set(done.stdout.split())
