"""`recassay reproduce`: the verdict table, what is stored, and what is refused."""

from recassay.reproduction.paper import PaperFile


def test_the_verdicts_of_generated_data_are_marked(recassay, tmp_path):
    answer = recassay("reproduce", "everyones-a-winner", "--quick", "-o", tmp_path / "out")
    assert answer.code == 0
    assert "Every network, once tuned, is above every other network" in answer.out
    assert "These numbers are of generated data" in answer.out
    assert (tmp_path / "out" / "result" / "lock.json").is_file()


def test_json_is_one_document(recassay, tmp_path):
    answer = recassay("reproduce", "everyones-a-winner", "--quick", "--json", "-o", tmp_path / "out")
    assert answer.json["quick"]
    assert answer.json["claims"]["seven_networks"] == {"verdict": "not checkable", "cases": []}


def test_stored_verdicts_are_listed(recassay):
    answer = recassay("reproduce", "--list", "--json")
    assert {row["paper"] for row in answer.json["papers"]} >= {"time-to-split", "everyones-a-winner"}


def test_a_check_that_finds_changed_claims_ends_with_status_one(recassay, monkeypatch):
    monkeypatch.setattr("recassay.reproduction.run.claims_digest", lambda _: "another")
    answer = recassay("reproduce", "time-to-split", "--check")
    assert answer.code == 1
    assert "the sources or claims in its file changed" in answer.out


def test_a_paper_and_a_folder_are_needed(recassay):
    answer = recassay("reproduce", "time-to-split")
    assert answer.code == 2
    assert "[U105] reproduce needs a folder for the results" in answer.err


def test_a_check_of_all_papers_goes_on_after_one_without_stored_results(recassay, monkeypatch, tmp_path):
    monkeypatch.setattr(PaperFile, "results", tmp_path)
    answer = recassay("reproduce", "--check")
    assert (answer.code, "time-to-split: no stored results" in answer.out) == (0, True)
    assert "[I318]" in recassay("reproduce", "time-to-split", "--check").err
