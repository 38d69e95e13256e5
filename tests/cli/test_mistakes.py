"""Errors in files and options: a code, counts, an example, a hint; no traceback and no incomplete files."""

import os
import signal
import subprocess
import sys

import pytest

import recassay as ra
from recassay.errors import InputError, InternalError, explanations

# Name: files that cause the error, arguments, code, and words of the message.
SCORE = ("score", "truth.csv", "runs")
R, T = "runs/first.csv", "truth.csv"
BAD_FILES = {
    "a missing truth": ({}, ("score", "nowhere.csv", "runs"), "I101", ["nowhere.csv", "Try:"]),
    "a missing run": ({}, ("score", "truth.csv", "nowhere.csv"), "I101", ["nowhere.csv"]),
    "a missing log": ({}, (*SCORE, "-m", "epc@2", "--train", "nowhere.csv"), "I101", ["nowhere.csv"]),
    "a file without bytes": ({R: ""}, SCORE, "I102", ["first.csv"]),
    "a file with a header alone": ({R: "user_id,item_id,score\n"}, SCORE, "I102", ["first.csv", "no rows"]),
    "a truth without rows": ({T: "user_id,item_id,gain\n"}, SCORE, "I102", ["truth.csv"]),
    "a Parquet file cut short": ({"runs/cut.parquet": b"PAR1\x15\x04"}, SCORE, "I104", ["cut.parquet"]),
    "a broken line": ({R: "user_id,item_id,score\n1,10,0.9\n1,11\n2,10,0.5\n"}, SCORE, "I105", ["line 3"]),
    "another encoding": ({R: "user_id,item_id,score\nJos\xe9,10,0.9\n".encode("latin-1")}, SCORE, "I106", ["UTF-8"]),
    "a folder without runs": ({"empty/notes.txt~": ""}, ("score", "truth.csv", "empty"), "I109", ["empty"]),
    "other columns": ({R: "fish,fowl,score\n1,10,1\n"}, SCORE, "I201", ["'fish'", "'fowl'", "--columns"]),
    "words as scores": ({R: "user_id,item_id,score\n1,10,good\n1,11,bad\n"}, SCORE, "I105", ["line 2", "'good'"]),
    "a column twice": ({R: "user,userid,item_id\n1,1,10\n"}, SCORE, "I203", ["'user'", "'userid'", "--columns"]),
    "a score that is NaN": ({R: "user_id,item_id,score\n1,10,NaN\n1,11,1\n"}, SCORE, "I301",
                            ["1 of 2 scores", "user 1", "item 10", "--nan last"]),
    "a score that is infinite": ({R: "user_id,item_id,score\n1,10,inf\n1,11,1\n"}, SCORE, "I301", ["1 of 2", "(inf)"]),
    "a score that is missing": ({R: "user_id,item_id,score\n1,10,\n1,11,1\n"}, SCORE, "I301", ["1 of 2 scores"]),
    "a negative rank": ({R: "user_id,item_id,rank\n1,10,-3\n1,11,1\n"}, SCORE, "I302",
                        ["1 of 2 ranks", "(-3", "item 10"]),
    "a missing rank": ({R: "user_id,item_id,rank\n1,10,\n1,11,1\n"}, SCORE, "I302", ["1 of 2 ranks", "missing"]),
    "a negative gain": ({T: "user_id,item_id,gain\n1,10,-1\n1,11,2\n"}, SCORE, "I303",
                        ["1 of 2 gains", "(-1.0)", "item 10", "--negative unjudged"]),
    "a missing id": ({R: "user_id,item_id,score\n,10,1\n1,11,1\n"}, SCORE, "I304", ["first.csv"]),
    "an item twice": ({R: "user_id,item_id,score\n1,10,1\n1,10,0.5\n1,11,0\n"}, (*SCORE, "--duplicates", "error"),
                      "I305", ["1 rows of 1 lists", "item 10", "user 1", "--duplicates first"]),
    "a gain that is NaN": ({T: "user_id,item_id,gain\n1,10,NaN\n1,11,2\n"}, SCORE, "I303", ["1 of 2 gains"]),
    "other users": ({R: "user_id,item_id,score\n77,10,1\n78,10,1\n"}, SCORE, "I401",
                    ["none of the 4 users", "(such as 1, 2, 3)", "(such as 77, 78)", "--columns"]),
    "other items": ({R: "user_id,item_id,score\n1,770,1\n2,780,1\n"}, SCORE, "I401", ["770, 780", "10", "--columns"]),
    "users as words in one file": ({R: "user_id,item_id,score\nu1,10,1\n"}, SCORE, "I403", ["'u1'", "such as 1"]),
    "items as words in one file": ({R: "user_id,item_id,score\n1,i10,1\n"}, SCORE, "I401", ["'i10'", "(such as 11"]),
    "a user without a list": ({R: "user_id,item_id,score\n1,10,1\n"}, (*SCORE, "--missing", "error"), "I404",
                              ["3 of 4 queries", "the first 2", "--missing zero"]),
    "a log of other items": ({"log.csv": "user_id,item_id\n1,555\n"}, (*SCORE, "-m", "epc@2", "--train", "log.csv"),
                             "I406", ["555", "training log"]),
    "features of other items": ({"items.csv": "item_id,genres\n555,a|b\n"},
                                (*SCORE, "-m", "ild@2", "--items", "items.csv"), "I407", ["555", "features"]),
    "items without features": ({"items.csv": "item_id\n10\n"}, (*SCORE, "-m", "ild@2", "--items", "items.csv"),
                               "I201", ["features"]),
}  # fmt: skip
BAD_OPTIONS = {
    "a metric misspelt": (("-m", "ndgc@2"), "U101", ["'ndgc'", "did you mean 'ndcg'"]),
    "a metric unlike any": (("-m", "xyzzy@2"), "U101", ["choose one of", "ndcg"]),
    "no metric": (("-m", " "), "U101", ["no metric was named"]),
    "a parameter misspelt": (("-m", "ndcg(gian='exp2')@2"), "U102", ["'gian'", "did you mean 'gain'"]),
    "a choice misspelt": (("-m", "ndcg(gain='expo2')@2"), "U102", ["'expo2'", "did you mean 'exp2'"]),
    "a value out of range": (("-m", "rbp(p=1.5)"), "U102", ["p=1.5"]),
    "a metric without parameters": (("-m", "precision(p=1)@2"), "U102", ["no parameter 'p'"]),
    "a cut-off of 0": (("-m", "ndcg@0"), "U103", ["ndcg@0", "at least 1"]),
    "a negative cut-off": (("-m", "ndcg@-1"), "U103", ["ndcg@-1"]),
    "half a cut-off": (("-m", "ndcg@1.5"), "U103", ["1.5"]),
    "no cut-off where one is needed": (("-m", "precision"), "U103", ["precision@10"]),
    "a cut-off where none is known": (("-m", "rprec@2"), "U103", ["no cut-off"]),
    "a bracket left open": (("-m", "ndcg(gain='exp2'@2"), "U104", ["does not parse"]),
    "something else": (("-m", "1+1"), "U104", ["does not parse"]),
    "no log": (("-m", "epc@2"), "U105", ["--train"]),
    "no item features": (("-m", "ild@2"), "U105", ["--items"]),
    "neither": (("-m", "epd@2"), "U105", ["--train", "--items"]),
    "a profile misspelt": (("--profile", "trec_evil"), "U115", ["did you mean 'trec_eval'"]),
    "a metric that a profile lacks": (("--profile", "trec_eval", "-m", "epc@2"), "U115", ["no epc", "it has", "ndcg"]),
    "a tie policy misspelt": (("--ties", "expekted"), "U107", ["did you mean 'expected'"]),
    "an order misspelt": (("--order", "scores"), "U107", ["did you mean 'score'"]),
    "a policy for duplicates misspelt": (("--duplicates", "frist"), "U107", ["did you mean 'first'"]),
    "a policy for missing users misspelt": (("--missing", "skipp"), "U107", ["did you mean 'skip'"]),
    "a precision misspelt": (("--precision", "simple"), "U107", ["did you mean 'single'"]),
    "a format misspelt": (("--format", "parket"), None, ["parquet"]),
    "a policy for NaN misspelt": (("--nan", "lats"), "U107", ["did you mean 'last'"]),
    "a policy for negative gains misspelt": (("--negative", "unjugded"), "U107", ["did you mean 'unjudged'"]),
    "a table misspelt": (("--table", "markdwn"), "U107", ["did you mean 'markdown'"]),
    "a severity misspelt": (("--fail-on", "warnings"), "U107", ["did you mean 'warning'"]),
    "an interval misspelt": (("--interval", "bootstrp"), None, ["did you mean 'bootstrap'"]),
    "a test misspelt": (("--test", "permutations"), None, ["did you mean 'permutation'"]),
    "a correction misspelt": (("--correction", "hohlm"), None, ["did you mean 'holm'"]),
    "a policy for nothing to find misspelt": (("--no-relevant", "undefind"), None, ["did you mean 'undefined'"]),
    "a baseline misspelt": (("--baseline", "frist"), "U108", ["did you mean 'first'"]),
    "a level of 2": (("--level", "2"), None, ["level"]),
    "a metric without expected value": (("-m", "err", "--ties", "expected"), "U110", ["err", "ties"]),
    "a column choice misspelt": (("--columns", "usr=user_id"), "U102", ["did you mean 'user'"]),
    "a column that is not there": (("--columns", "user=uid"), "I201", ["'uid'", "'user_id'"]),
}  # fmt: skip


def assert_refused(answer, code, words, folder, before):
    assert answer.code == 2, answer
    assert answer.out == ""
    assert "Traceback" not in answer.err
    assert answer.err.startswith(f"[{code}]" if code else "[")
    assert answer.err[1:5] in explanations()
    assert "Try:" in answer.err
    for word in words:
        assert word in answer.err, f"{word} is not in\n{answer.err}"
    assert all_paths(folder) == before


def all_paths(folder):
    """Return every path below a folder, including hidden files."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.mark.parametrize(("files", "arguments", "code", "words"), BAD_FILES.values(), ids=BAD_FILES)
def test_bad_files_are_refused(recassay, folder, files, arguments, code, words):
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    before = all_paths(folder)
    assert_refused(recassay(*arguments, "-o", "out", "--json"), code, words, folder, before)


@pytest.mark.parametrize(("options", "code", "words"), BAD_OPTIONS.values(), ids=BAD_OPTIONS)
def test_bad_options_are_refused(recassay, folder, options, code, words):
    (folder / "runs" / "first.csv").write_text("user_id,item_id,score\n1,10,0.9\n1,11,0.9\n2,10,0.5\n")
    metric = () if "-m" in options else ("-m", "ndcg@2")
    before = all_paths(folder)
    assert_refused(recassay(*SCORE, *metric, *options, "-o", "out"), code, words, folder, before)


def test_two_runs_with_the_same_name_are_refused(recassay, folder):
    (folder / "other").mkdir()
    (folder / "other" / "first.csv").write_text((folder / "runs" / "first.csv").read_text())
    before = all_paths(folder)
    answer = recassay("score", "truth.csv", "runs/first.csv", "other/first.csv", "-o", "out")
    assert_refused(answer, "U109", ["two runs", "'first'", "other/first.csv"], folder, before)


@pytest.mark.parametrize(
    "command", [("score",), ("score", "truth.csv"), ("stats",), ("explain",), ("scoer",), (*SCORE, "--jsn")]
)
def test_a_malformed_command_line_prints_usage(recassay, folder, command):
    answer = recassay(*command)
    assert answer.code == 2
    assert answer.out == ""
    assert "Usage" in answer.err
    assert "Traceback" not in answer.err


@pytest.mark.parametrize("option", ["--threads", "--resamples"])
def test_counts_below_one_are_refused(recassay, folder, option):
    answer = recassay(*SCORE, option, "0")
    assert (answer.code, answer.out) == (2, "")


class TestOutput:
    def test_an_output_folder_that_is_a_file_is_refused(self, recassay, folder):
        (folder / "out").write_text("mine")
        before = all_paths(folder)
        assert_refused(recassay(*SCORE, "-m", "ndcg@2", "-o", "out"), "U111", ["out"], folder, before)
        assert (folder / "out").read_text() == "mine"

    @pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="the superuser may write anywhere")
    def test_an_output_folder_without_write_permission_is_refused(self, recassay, folder):
        (folder / "out").mkdir(mode=0o500)
        before = all_paths(folder)
        assert_refused(recassay(*SCORE, "-m", "ndcg@2", "-o", "out"), "U111", ["out"], folder, before)

    def test_an_output_folder_inside_a_file_is_refused(self, recassay, folder):
        before = all_paths(folder)
        assert_refused(recassay(*SCORE, "-m", "ndcg@2", "-o", "truth.csv/out"), "U111", ["out"], folder, before)

    @pytest.mark.parametrize(
        "name", ["scores.parquet", "findings.jsonl", "manifest.json", "summary.json", "report.html"]
    )
    def test_a_folder_with_files_of_others_is_refused_and_unchanged(self, recassay, folder, name):
        (folder / "out").mkdir()
        (folder / "out" / name).write_text("mine")
        before = all_paths(folder)
        assert_refused(recassay(*SCORE, "-m", "ndcg@2", "-o", "out"), "U111", ["out", name], folder, before)
        assert (folder / "out" / name).read_text() == "mine"

    def test_a_comparison_replaces_no_file_of_others(self, recassay, folder):
        assert recassay("score", "truth.csv", "runs", "-m", "ndcg@2", "-o", "out").code == 0
        answer = recassay("compare", "out", "-o", "runs")
        assert (answer.code, "[U111]" in answer.err) == (2, True)
        assert sorted(path.name for path in (folder / "runs").iterdir()) == ["first.csv", "second.csv"]
        assert [recassay("compare", "out", "-o", "new").code for _ in range(2)] == [0, 0]

    def test_a_file_that_somebody_put_into_a_folder_of_results_stays(self, recassay, folder):
        assert recassay(*SCORE, "-m", "ndcg@2", "-o", "out").code == 0
        (folder / "out" / "notes.txt").write_text("mine")
        (folder / "out" / "groups.csv").write_text("mine")
        assert recassay(*SCORE, "-m", "recall@2", "-o", "out").code == 0
        assert {(folder / "out" / name).read_text() for name in ("notes.txt", "groups.csv")} == {"mine"}


class TestExits:
    def test_an_interruption_has_its_own_status(self, recassay, folder, monkeypatch):
        def stopped(*_, **__):
            raise KeyboardInterrupt

        monkeypatch.setattr("recassay.api.score.score", stopped)
        answer = recassay(*SCORE, "-o", "out")
        assert answer.code == 130
        assert "Traceback" not in answer.err
        assert not (folder / "out").exists()

    def test_an_unexpected_error_is_reported_as_a_bug(self, recassay, folder, monkeypatch):
        def wrong(*_, **__):
            raise ZeroDivisionError("oops")

        monkeypatch.setattr("recassay.api.score.score", wrong)
        answer = recassay(*SCORE)
        assert (answer.code, answer.out) == (3, "")
        assert "ZeroDivisionError" in answer.err
        assert "report" in answer.err

    def test_a_metric_of_a_plugin_outside_its_bounds_is_a_mistake_of_its_author(self, recassay, folder):
        plugin = "import recassay as ra\n\n@ra.metric\ndef many(items, truth):\n    return 2.0 * len(items)\n"
        (folder / "own.py").write_text(plugin)
        answer = recassay("--plugin", "own.py", *SCORE, "-m", "many@2")
        assert (answer.code, answer.out) == (2, "")
        assert answer.err.startswith("[U243] many@2 is 4.0")
        assert "report" not in answer.err

    def test_a_metric_outside_its_bounds_is_an_internal_error(self, recassay, folder, monkeypatch):
        from recassay.metrics.ranking.recall import Recall

        monkeypatch.setattr(Recall, "judge", lambda metric, lists: lists.hits(None, 1.0) + 7.0)
        answer = recassay(*SCORE, "-m", "recall@2")
        assert (answer.code, answer.out) == (InternalError.exit_code, "")
        assert answer.err.startswith("[X101]")
        assert "recall@2 is" in answer.err
        assert "outside [0.0, 1.0]" in answer.err

    @pytest.mark.skipif(not hasattr(signal, "SIGPIPE"), reason="pipes break elsewhere in another way")
    @pytest.mark.parametrize(
        "words", [("list", "metrics"), ("list", "metrics", "--json"), ("explain", "ndcg"), ("--help",)]
    )
    def test_a_closed_pipe_is_no_error(self, words):
        command = [sys.executable, "-m", "recassay", *words]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            process.stdout.close()
            error = process.stderr.read().decode()
            process.wait()
        assert (process.returncode, error) == (0, "")


GENERATED = """study: x
data: {generate: 'log(users=60, items=40, events=900)'}
split: last(n=1)
models: [Popular]
metrics: [ndcg@5]
"""


def test_a_working_folder_that_was_deleted_is_named(recassay, tmp_path, monkeypatch):
    (tmp_path / "study.yaml").write_text(GENERATED)
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    for command in (("run", tmp_path / "study.yaml", "-o", "out"), ("score", "truth.csv", "run.csv", "-m", "ndcg")):
        answer = recassay(*command)
        assert (answer.code, answer.err.partition("]")[0]) == (2, "[I110"), answer.err
    with pytest.raises(InputError, match="working folder"):
        ra.run_study("study.yaml", "out")
