"""Every check fires on what it is for, is silent on what is well, and does not apply where it cannot know."""

import dataclasses
from pathlib import Path

import polars as pl
import pytest

import recassay as ra
from recassay.checks import diagnose
from recassay.checks.base import CHECKS, Check, check, format_count, format_share
from recassay.checks.files import _missing_values, _pairs
from recassay.checks.lists import count
from recassay.errors import UsageError
from recassay.results.finding import SEVERITIES, Finding

from ...refusals import refused
from ...scoring import score

DOCS = Path(__file__).parents[3] / "docs" / "reference" / "findings.md"
USERS = range(1, 13)
TRUTH = pl.DataFrame([(user, item) for user in USERS for item in (1, 2)], ["user_id", "item_id"], orient="row")
GOOD = [(user, item, score) for user in USERS for item, score in ((1, 0.9), (3, 0.5))]
LOG = [(user, item) for user in USERS for item in (4, 5)] + [(1, 3), (2, 1), (3, 2)]
CROWD = range(1, 601)
OTHERS = [(user, 4) for user in USERS] + [(99, item) for item in (1, 2, 3)]


def findings(rows=GOOD, truth=TRUTH, metrics="recall@2", train=None, columns=("user_id", "item_id", "score"), **more):
    run = pl.DataFrame(rows, list(columns), orient="row")
    given = None if train is None else pl.DataFrame(train, ["user_id", "item_id"], orient="row")
    scores = score({"mine": run}, truth, metrics, train=given, interval="normal", **more)
    assert [one.code for one in scores.findings] == sorted(one.code for one in scores.findings)
    return {one.code: one for one in scores.findings}


def test_a_sound_evaluation_has_no_finding():
    assert findings() == {}
    assert findings(train=OTHERS) == {}


# For each check: what makes it fire (arguments of `findings`), and words of its detail.
FIRES = {
    "C001": ({"rows": GOOD[2:]}, ["1 of 12 (8.3 %) users", "such as 1", "missing='skip'"]),
    "C002": ({"rows": GOOD[1:]}, ["1 of 12 (8.3 %) lists hold fewer than 2 items", "the shortest holds 1"]),
    "C003": ({"rows": [*GOOD, (5, 1, 0.1)]}, ["in 1 row of 1 list", "were dropped", "item 1 for user 5"]),
    "C004": ({"rows": [*GOOD, (77, 1, 0.1)]}, ["1 of 13 (7.7 %) lists", "such as 77", "not scored"]),
    "C005": ({"metrics": "recall(relevant_from=2.0)@2", "truth": TRUTH.with_columns(gain=1 + (pl.col("user_id") > 2))},
             ["2 of 12 (17 %) users", "recall(relevant_from=2.0)@2"]),
    "C006": ({"truth": pl.concat([TRUTH, TRUTH.head(3)])}, ["3 rows of the truth repeat"]),
    "C007": ({"train": OTHERS[:-1]}, ["12 of 24 (50 %) recommended rows", "such as 3"]),
    "C008": ({"rows": [*GOOD[:-1], (12, 3, float("nan"))]}, ["1 item with a NaN score is placed last"]),
    "C009": ({"truth": TRUTH.head(8)}, ["recall@2 is a mean over 4 units"]),
    "B004": ({"rows": [(user, 1, 0.9) for user in CROWD], "columns": ("user_id", "item_id", "score"),
              "truth": pl.DataFrame([(user, item) for user in CROWD for item in (1, 10 + user % 150)],
                                    ["user_id", "item_id"], orient="row"), "metrics": "recall@1"},
             ["half of 1,200 relevant rows are of 1 of 151 (0.7 %) relevant items"]),
    "B005": ({"rows": [(user, item, 1 / item) for user in CROWD for item in (1, 2)],
              "truth": pl.DataFrame([(user, 1) for user in CROWD], ["user_id", "item_id"], orient="row"),
              "train": [(user, 100 + user % 150) for user in CROWD] + [(999, 1)]},
             ["600 lists hold 2 of 151 (1.3 %) items"]),
    "C010": ({"train": OTHERS[1:]}, ["1 of 12 (8.3 %) users of the truth", "such as 1", "users='known'", "by='user'"]),
    "C011": ({"train": [*OTHERS[:-2], OTHERS[-1]]}, ["12 of 24 (50 %) rows of the truth", "such as 2"]),
    "L003": ({"train": LOG + OTHERS}, ["2 of 24 (8.3 %) rows of the truth", "training events"]),
    "L001": ({"train": LOG}, ["2 of 24 (8.3 %) recommended rows", "training events"]),
    "T001": ({"rows": [(user, item, 0.5) for user in USERS for item in (1, 3)], "metrics": "recall@1"},
             ["12 rows of 12 lists tie", "recall@1 is 0.5000 and could be 0.0000 to 0.5000", "ties='expected'"]),
    "R001": ({"rows": [row[:2] for row in GOOD], "columns": ("user_id", "item_id")},
             ["neither a rank nor a score", "the order of its rows"]),
    "R002": ({"truth": TRUTH.with_columns(Bewertung=1 + pl.col("item_id"))},
             ["column 'Bewertung' of the truth holds numbers (2 to 3", "gain=Bewertung"]),
    "R003": ({"rows": [(*row, model) for row in GOOD for model in ("als", "bpr")],
              "columns": ("user_id", "item_id", "score", "model")},
             ["column 'model' of the run has 2 values (such as 'als', 'bpr')", "for 12 of 12 users"]),
    "R004": ({"rows": [(user, item, item) for user in USERS for item in (1, 2, 3)]},
             ["in all 12 lists the scores are 1, 2, 3, ...", "rank=NAME"]),
    "R005": ({"rows": [(user, item, item, item / 9) for user in USERS for item in (1, 2, 3)],
              "columns": ("user_id", "item_id", "rank", "score")},
             ["24 of 24 (100 %) neighbours in 12 lists", "ranks decide"]),
    "R006": ({"rows": [(name, 1, 0.9) for name in ("nan", *map(str, USERS))],
              "truth": TRUTH.with_columns(pl.col("user_id").cast(pl.String))},
             ["1 user of run and truth", "such as 'nan' in the run"]),
    "R007": ({"rows": [(user, f" {item}", score) for user, item, score in GOOD] + [(1, "2", 0.1)],
              "truth": TRUTH.with_columns(pl.col("item_id").cast(pl.String))},
             ["1 item of the truth and of the run", "'1' in the truth and ' 1' in the run"]),
    "R008": ({"rows": [(user, 1000 + user * 100 + item, 1 / item) for user in USERS for item in range(1, 21)]
              + [(1, 1, 0.0)]},
             ["1 of 241 (0.4 %) recommended rows"]),
    "R009": ({"truth": TRUTH.with_columns(gain=0.5)}, ["the highest gain of the truth is 0.5", "from 1"]),
}  # fmt: skip
NEEDS_TRAIN = {"B005", "C007", "C010", "C011", "L001", "L003"}


@pytest.mark.parametrize("code", FIRES)
def test_a_check_fires(code, tmp_path):
    options, words = FIRES[code]
    options = dict(options)
    if code == "C008":
        run = pl.DataFrame(options.pop("rows"), ["user_id", "item_id", "score"], orient="row")
        scores = ra.score(ra.read_run(run, "mine", nan="last"), TRUTH, "recall@2", interval=None)
        found = {one.code: one for one in scores.findings}
    else:
        found = findings(**options)
    assert code in found
    assert found[code].system == "mine"
    assert found[code].title == CHECKS.kinds[code].title
    for word in words:
        assert word in found[code].detail


@pytest.mark.parametrize(("relevant", "severity"), [(3, "info"), (1, "warning"), (2, "warning")])
def test_rank_like_scores_in_any_row_order_are_a_warning_unless_they_place_relevant_items_on_top(relevant, severity):
    rows = [(user, item, item) for item in (2, 1, 3) for user in USERS]
    truth = pl.DataFrame([(user, relevant) for user in USERS], ["user_id", "item_id"], orient="row")
    found = findings(rows, truth, "mrr")["R004"]
    assert found.severity == severity
    if relevant != 2:
        share = "12 of 12 (100 %)" if relevant == 3 else "0 of 12 (0 %)"
        assert f"puts {share} relevant items of the lists into their upper half" in found.detail


@pytest.mark.parametrize(("users", "severity"), [(100, "warning"), (101, "info")])
def test_users_without_training_events_are_a_warning_from_one_percent_on(users, severity):
    truth = {user: [1, 2] for user in range(users)}
    train = [(user, 4) for user in range(1, users)] + [(999, item) for item in (1, 2, 3)]
    lists = {user: [1, 3] for user in range(users)}
    one = ra.score({"mine": lists}, truth, "recall@2", train=train, interval=None).findings
    assert [(each.code, each.severity) for each in one] == [("C010", severity)]
    del lists[0]
    both = ra.score({"mine": lists}, truth, "recall@2", train=train, interval=None).findings
    assert [(each.code, each.severity) for each in both] == [("C010", severity)]
    assert "such as 0 (no list for 1 of them); no system can personalise" in both[0].detail
    assert "no list" not in one[0].detail
    del lists[1]
    mixed = ra.score({"mine": lists}, truth, "recall@2", train=train, interval=None).findings
    assert (mixed[0].code, mixed[0].severity) == ("C001", "warning")
    assert "have no list, 1 of them without training events, such as 0" in mixed[0].detail


def test_every_check_has_a_test():
    tested_elsewhere = {
        "D001",
        "D002",
        "D003",
        "P001",
        "L002",
        "L004",
        "L005",
        "B001",
        "B002",
        "B003",
        "G001",
        "G002",
        "G003",
        "S001",
        "V001",
        "V002",
    }
    tested_elsewhere |= {"R010", "C012", "C013", "C014", "C015", "C016", "H001", "S002", "S003", "S004", "S006", "T002"}
    tested_elsewhere |= {"C017", "C018", "C019", "D004", "R011", "R012"}
    tested_elsewhere |= {"S005"}
    tested_elsewhere |= {f"W{number:03}" for number in range(1, 17)}
    assert set(FIRES) | tested_elsewhere == set(CHECKS.kinds) | tested_elsewhere


@pytest.mark.parametrize("code", sorted(NEEDS_TRAIN))
def test_a_check_that_needs_the_log_does_not_apply_without_it(code):
    assert CHECKS.kinds[code].needs == {"train"}
    options = dict(FIRES[code][0])
    del options["train"]
    assert code not in findings(**options)


def test_ties_without_effect_are_no_finding():
    beyond_the_cutoff = [(user, item, score) for user in USERS for item, score in ((1, 0.9), (3, 0.5), (4, 0.5))]
    assert "T001" not in findings(beyond_the_cutoff, metrics="recall@1")
    both_relevant = [(user, item, 0.5) for user in USERS for item in (1, 2)]
    assert "T001" not in findings(both_relevant, metrics="recall@1")


def test_ties_within_the_interval_are_info():
    rows = [(user, 1 if user % 2 else 3, 0.9) for user in USERS] + [(1, 3, 0.9), *((u, 4, 0.1) for u in USERS)]
    assert findings(rows, metrics="recall@1")["T001"].severity == "info"
    assert findings(**FIRES["T001"][0])["T001"].severity == "warning"


@pytest.mark.parametrize("ties", ["expected", "optimistic", "pessimistic"])
def test_a_tie_policy_that_handles_ties_gives_no_finding(ties):
    assert "T001" not in findings(**FIRES["T001"][0], ties=ties)


def test_kept_repeats_are_reported_as_counted():
    assert "for user 5, are counted again" in findings(**FIRES["C003"][0], duplicates="keep")["C003"].detail


def test_contradicting_gains_are_counted():
    truth = TRUTH.with_columns(gain=1.0)
    truth = pl.concat([truth, truth.head(2).with_columns(gain=2.0)])
    assert "2 rows of the truth" in findings(truth=truth)["C006"].detail
    assert "2 rows of them with another gain" in findings(truth=truth)["C006"].detail


def test_an_unknown_user_has_no_training_events():
    assert "L001" not in findings(train=[(user + 100, item) for user, item in LOG])


def test_a_log_whose_users_are_of_another_type():
    with refused("I403", match="user ids are integers in one table and strings in the other"):
        findings(train=[(f"u{user}", item) for user, item in LOG])
    assert findings(train=[(str(user), item) for user, item in LOG]) == findings(train=LOG)


def test_a_finding_about_the_truth_is_reported_once():
    truth = pl.concat([TRUTH, TRUTH.head(1)])
    runs = {name: pl.DataFrame(GOOD, ["user_id", "item_id", "score"], orient="row") for name in ("a", "b")}
    found = [one for one in ra.score(runs, truth, "recall@2", interval=None).findings if one.code == "C006"]
    assert [one.system for one in found] == ["a, b"]


class TestRegister:
    def test_codes_are_unique_and_every_check_has_a_title(self):
        for code, one in CHECKS.kinds.items():
            assert one.code == code
            assert one.severity in SEVERITIES
            assert one.ask.__doc__
            assert one.title[0].isupper()

    def test_a_code_can_be_registered_once(self):
        with pytest.raises(UsageError, match=r"U109.*two checks are named 'C001'"):
            check("C001", "again", "info")(lambda missing: None)

    def test_an_answer_may_state_its_own_severity(self, facts):
        one = Check("Z001", "t", "info", lambda run_rows: ("error", "bad"))
        assert one(facts) == Finding("Z001", "error", "t", "bad", "mine")
        assert dataclasses.replace(one, ask=lambda run_rows: "so")(facts).severity == "info"
        assert dataclasses.replace(one, ask=lambda run_rows: None)(facts) is None
        assert dataclasses.replace(one, needs=frozenset({"train"}))(facts) is None
        assert dataclasses.replace(one, ask=lambda train: "so")(facts) is None

    def test_facts_have_all_fields_that_checks_need(self, facts):
        assert [one.code for one in diagnose("lists", **facts)] == []

    @pytest.mark.skipif(not DOCS.exists(), reason="the documentation is not here")
    def test_every_check_has_an_entry_in_the_reference(self):
        text = DOCS.read_text()
        for code, one in CHECKS.kinds.items():
            assert f"### {code}" in text
            assert one.title in text


@pytest.fixture
def facts():
    from recassay.data.read import read_run, read_truth
    from recassay.metrics.align import align

    run = pl.DataFrame(GOOD, ["user_id", "item_id", "score"], orient="row")
    alignment = align(read_run(run, "mine"), read_truth(TRUTH))
    counted, _ = count(alignment, 2, None)
    about = {"system": "mine", "rows": (), "deepest": 2, "conventions": alignment.conventions}
    return about | counted.facts(alignment.counts)


class TestFinding:
    def test_severities_are_ordered(self):
        for place, own in enumerate(SEVERITIES):
            finding = Finding("C001", own, "t", "d")
            assert [finding.at_least(severity) for severity in SEVERITIES] == [place >= other for other in range(3)]

    def test_a_finding_is_written_with_all_its_fields(self):
        finding = Finding("C001", "info", "t", "d", "mine")
        assert finding.to_dict() == {"code": "C001", "severity": "info", "title": "t", "detail": "d", "system": "mine"}


@pytest.mark.parametrize(
    ("part", "whole", "said"),
    [(0, 5, "0 of 5 (0 %)"), (1, 3, "1 of 3 (33 %)"), (1, 1_000_000, "1 of 1,000,000 (0.00 %)"),
     (5, 5, "5 of 5 (100 %)"), (0, 0, "0 of 0 (0 %)"), (1, 50, "1 of 50 (2.0 %)")],
)  # fmt: skip
def test_shares_as_text(part, whole, said):
    assert format_share(part, whole) == said


def test_counts_as_text():
    assert [format_count(n, "row") for n in (0, 1, 2)] == ["0 rows", "1 row", "2 rows"]


def test_ids_that_stand_for_nothing_are_found_wherever_they_are_sorted():
    texts = [
        "",
        " ",
        "\u2003NaN",
        "0",
        "#N/A",
        "<na>",
        "<x>",
        "NIL",
        "Nan",
        "nano",
        "none ",
        "null\n",
        "zone",
        "É",
        "\x7f",
    ]
    found = _missing_values(pl.Series(sorted(texts, key=str.encode)))
    assert set(found) == {"", " ", "\u2003NaN", "#N/A", "<na>", "NIL", "Nan", "none ", "null\n"}
    assert _missing_values(pl.Series(["a", "b"])) == []
    assert _missing_values(pl.Series([], dtype=pl.String)) == []


def test_ids_of_many_lines_are_searched_as_one_by_one(monkeypatch):
    monkeypatch.setattr("recassay.checks.files.LINES", 2)
    judged, listed = pl.Series(["a", "b", "c", "d", "ab\n0"]), pl.Series(["a", "b", "c", "D", "e"])
    assert len(list(_pairs("item", judged, listed))) == 1
    assert not list(_pairs("item", judged, listed.head(3)))
