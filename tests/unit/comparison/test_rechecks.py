"""A verdict is computed again without the users, lists and ties that findings name, and says so where it is another."""

import dataclasses
import json
from io import StringIO

import numpy as np
import polars as pl
import pytest
from rich.console import Console

import recassay as ra
from recassay.comparison.verdict import Verdict
from recassay.metrics.registry import parse_metrics
from recassay.report.content.findings import finding_groups, verdict_without
from recassay.report.content.verdict import verdict_text
from recassay.report.folder.results import document, verdict_of_scores
from recassay.report.tables.scores import text_table
from recassay.study.config.schema import Judge
from recassay.study.run.study_scores import StudyScores, pool_folds

from ...scoring import score

USERS = 200
COLD = range(80)


def table(rows, *more):
    return pl.DataFrame(rows, ["user_id", "item_id", *more], orient="row")


TRUTH = table([(user, 5) for user in range(USERS)])
LOG = table([(user, item) for user in range(80, USERS) for item in (101, 102)] + [(999, item) for item in range(7)])


def run(hits, length=4):
    """Lists whose first item is relevant for the users in ``hits``, and no item for others."""
    items = {True: [5, 1, 2, 3], False: [1, 2, 3, 4]}
    rows = [(user, item, 9.5 - at) for user in range(USERS) for at, item in enumerate(items[user in hits][:length])]
    return table(rows, "score")


GOOD = run({user for user in range(USERS) if user % 2 or user in COLD})  # better for users with a past
OLD = run({user for user in range(USERS) if user % 4 == 0 or user in COLD})


def judged(runs, truth=TRUTH, metrics="ndcg@2", **options):
    scores = score(runs, truth, metrics, interval="normal", **options)
    comparison = ra.compare(scores)
    return scores, comparison, verdict_of_scores(scores, comparison)


def sentence(scores, verdict):
    return verdict_without(finding_groups(scores.findings, verdict), verdict)


class TestColdUsers:
    RUNS = {  # noqa: RUF012
        "knn": run({user for user in range(80, USERS) if user % 3}),
        "pop": run({*COLD, *(user for user in range(80, USERS) if user % 3 == 1)}),
    }

    def test_both_verdicts_are_in_the_headline_and_nobody_is_best(self):
        scores, _, verdict = judged(self.RUNS, train=LOG)
        [lead] = verdict.leads
        assert (lead.leader, lead.significant, lead.established) == ("pop", True, False)
        [other] = lead.turned
        assert (other.code, other.n, other.leader, other.significant) == ("C010", 120, "knn", True)
        known = pl.Series(scores.units).to_numpy() >= 80
        assert other.mean == pytest.approx(scores.values("knn", "ndcg@2")[known].mean())
        headline = verdict_text(verdict).headline
        assert headline.startswith("No system is established as best by ndcg@2: pop leads with 0.6")
        assert "but over the 120 users with training events knn leads with 0.6667, 0.3333 above pop (p <" in headline
        assert sentence(scores, verdict).startswith("Without what C010 names the verdict is another.")

    def test_the_document_and_the_page_say_it_and_keep_it(self, tmp_path):
        scores, comparison, verdict = judged(self.RUNS, train=LOG)
        stored = json.loads(json.dumps(document(scores, comparison)["verdict"]))
        assert [row["established"] for row in stored["leads"]] == [False]
        assert stored["leads"][0]["rechecks"][0]["leader"] == "knn"
        assert Verdict.from_dict(stored) == verdict
        page = scores.report(tmp_path / "page.html", comparison).read_text()
        block = page[page.index('id="verdict"') : page.index('id="findings"')]
        assert "knn leads with 0.6667" in block
        assert "pop leads with 0.6" in block
        assert "is best by" not in block
        assert 'class="headline turned"' in block
        assert "No finding could change the verdict" not in page

    def test_users_without_a_list_are_of_c010_if_they_have_no_training_events(self):
        runs = {**self.RUNS, "knn": self.RUNS["knn"].filter(pl.col("user_id") >= 80)}
        scores, comparison, _ = judged(runs, train=LOG)
        assert {finding.code for finding in scores.findings} == {"C010"}
        assert [(one.code, one.n, one.leader) for one in comparison.rechecks] == [("C010", 120, "knn")]
        runs["knn"] = runs["knn"].filter(pl.col("user_id") > 80)  # and one who has
        scores, comparison, _ = judged(runs, train=LOG)
        assert {finding.code for finding in scores.findings} == {"C001", "C010"}
        assert [(one.code, one.n) for one in comparison.rechecks] == [("C010", 120), ("C001", 119)]

    def test_an_evaluation_of_models_says_it_too(self):
        log = [(user, 5, user) for user in range(400, 440)] + [(user, 6, user) for user in range(400, 520)]
        log += [(user, 7, 300 + user) for user in range(400, 520)] + [(user, 6, 2000) for user in range(520, 700)]
        read = ra.read_interactions(table(log, "timestamp"))
        found = ra.evaluate(read, ["Popular", "UserKNN"], "ndcg@2", split="random(test=0.3)", references=False)
        named = {finding.code for finding in found.scores.findings}
        assert "C010" in named
        assert "C010" in {one.code for one in found.comparison.rechecks}

    def test_the_same_is_computed_from_chunks_of_files(self, tmp_path):
        for name, rows in self.RUNS.items():
            rows.write_csv(tmp_path / f"{name}.csv")
        TRUTH.write_csv(tmp_path / "truth.csv")
        LOG.write_csv(tmp_path / "log.csv")
        paths = {name: tmp_path / f"{name}.csv" for name in self.RUNS}
        _, whole, _ = judged(self.RUNS, train=LOG)
        _, chunked, _ = judged(paths, tmp_path / "truth.csv", train=tmp_path / "log.csv", memory="8GB")
        assert chunked.rechecks == whole.rechecks

    def test_where_no_mark_of_users_is_known_nothing_is_claimed(self):
        scores, _, _ = judged(self.RUNS, train=LOG)
        blind = dataclasses.replace(scores, named=None)
        verdict = verdict_of_scores(blind, ra.compare(blind))
        assert sentence(blind, verdict) == "C010 could change the verdict."

    def test_marks_of_several_folds_are_pooled_by_user(self):
        scores, _, _ = judged(self.RUNS, train=LOG)
        early = dataclasses.replace(scores, named={name: np.zeros_like(one) for name, one in scores.named.items()})
        pooled = pool_folds(
            [StudyScores(scores), StudyScores(early)], Judge().uncertainty, metrics=parse_metrics(scores.metrics)
        ).scores
        assert pooled.named["pop"].tolist() == scores.named["pop"].tolist()
        assert [one.leader for one in ra.compare(pooled).rechecks if one.code == "C010"] == ["knn"]


def test_a_verdict_that_is_the_same_without_the_users_of_each_finding_says_so():
    runs = {"good": GOOD, "old": OLD.filter(pl.col("user_id") != 199)}
    scores, comparison, verdict = judged(runs, train=LOG)
    assert {finding.code for finding in scores.findings} == {"C001", "C010"}
    assert [(one.code, one.leader, one.significant) for one in comparison.rechecks] == [
        ("C010", "good", True), ("C001", "good", True),
    ]  # fmt: skip
    assert "good is best by ndcg@2" in verdict_text(verdict).headline
    assert sentence(scores, verdict) == (
        "No finding could change the verdict: without what C001 and C010 name it is the same."
    )


def test_missing_lists_of_one_system_can_turn_the_verdict():
    few = GOOD.filter(pl.col("user_id") >= 130)
    scores, _, verdict = judged({"few": few, "old": OLD})
    assert verdict.leads[0].leader == "old"
    assert "over the 70 users with a list from every system few leads" in verdict_text(verdict).headline
    assert sentence(scores, verdict).startswith("Without what C001 names the verdict is another.")


class TestLengthsOfLists:
    def test_a_file_of_which_a_third_of_the_rows_is_gone_is_a_warning(self):
        cut = GOOD.filter(pl.int_range(pl.len()).hash(3) % 3 > 0)
        scores, _, _ = judged({"cut": cut, "old": OLD, "good": GOOD}, metrics="ndcg@4")
        [found] = [finding for finding in scores.findings if finding.code == "C019"]
        short = scores.row("cut", "ndcg@4").short
        assert found.severity == "warning"
        assert f"{short:,} of cut and 0 of " in found.detail

    def test_a_run_of_fewer_items_beside_longer_ones_is_a_warning(self):
        scores, _, verdict = judged({"good": run(range(0, USERS, 2), length=2), "old": OLD}, metrics="ndcg@4")
        assert {"C002", "C019"} <= {finding.code for finding in scores.findings}
        assert sentence(scores, verdict).startswith("C019 could change the verdict.")  # nobody has a list like others'

    def test_lists_that_are_as_short_in_every_system_are_not(self):
        runs = {name: rows.filter((pl.col("user_id") % 5 > 0) | (pl.col("score") > 9)) for name, rows in
                {"good": GOOD, "old": OLD}.items()}  # fmt: skip
        scores, _, verdict = judged(runs, metrics="ndcg@4")
        assert {finding.code for finding in scores.findings} == {"C002"}
        assert (
            sentence(scores, verdict) == "No finding could change the verdict: without what C002 names it is the same."
        )

    def test_a_few_short_lists_of_one_system_are_not(self):
        shorter = GOOD.filter((pl.col("user_id") > 7) | (pl.col("score") > 8))
        scores, _, _ = judged({"good": shorter, "old": OLD}, metrics="ndcg@4")
        assert {finding.code for finding in scores.findings} == {"C002"}


class TestTies:
    def test_ties_that_can_turn_the_verdict(self):
        scores, comparison, verdict = judged({"tied": GOOD.with_columns(score=1.0), "old": OLD}, metrics="mrr")
        assert "T001" in {finding.code for finding in scores.findings}
        assert scores.row("tied", "mrr").mean == pytest.approx(0.7 / 4)
        [other] = comparison.rechecks
        assert (other.code, other.leader, other.mean) == ("T001", "tied", pytest.approx(0.7))
        turned = "but with ties in the worst order for old and in the best order for the others tied leads with 0.7000"
        assert turned in verdict_text(verdict).headline

    def test_ties_that_cannot(self):
        ties = (pl.col("user_id") > 150) & (pl.col("score") > 8)
        tied = GOOD.with_columns(score=pl.when(ties).then(9.0).otherwise("score"))
        scores, comparison, verdict = judged({"tied": tied, "old": run(range(0, USERS, 3))}, metrics="mrr")
        assert [(one.code, one.leader, one.significant) for one in comparison.rechecks] == [("T001", "tied", True)]
        same = "No finding could change the verdict: without what T001 names it is the same."
        assert sentence(scores, verdict) == same


def test_training_items_in_lists_and_truth_are_left_out():
    log = pl.concat([LOG, table([(user, 5) for user in range(80, 120)])])
    scores, comparison, _ = judged({"good": GOOD, "old": OLD}, train=log)
    assert {"C010", "L001", "L003"} <= {finding.code for finding in scores.findings}
    n = {one.code: one.n for one in comparison.rechecks}
    lists = pl.concat([GOOD, OLD]).filter((pl.col("item_id") == 5) & pl.col("user_id").is_between(80, 119))
    assert n == {"C010": 120, "L001": USERS - lists["user_id"].n_unique(), "L003": USERS - 40}


class TestSkippedUsers:
    RUNS = {"few": GOOD.filter(pl.col("user_id").is_between(70, 140)), "old": OLD}  # noqa: RUF012

    def test_means_over_other_users_are_a_finding_and_the_difference_says_over_whom_it_is(self):
        scores, comparison, verdict = judged(self.RUNS, missing="skip")
        assert {finding.code: finding.severity for finding in scores.findings}["C013"] == "warning"
        [lead] = verdict.leads
        assert lead.common == 71
        assert lead.common < scores.row("old", "ndcg@2").n
        assert "over the 71 users that both have" in verdict_text(verdict).headline
        console = Console(file=StringIO(), width=400)
        console.print(text_table(scores, comparison))
        assert "relative to the best system of each metric, over the users that both systems have." in (
            console.file.getvalue()
        )

    def test_other_users_of_a_metric_that_describes_lists_cannot_change_who_is_best(self):
        log = table([(user, item) for user in range(1, USERS) for item in (1, 2, 3, 5)])
        runs = {"good": GOOD, "old": OLD.filter(pl.col("user_id") > 0)}
        scores, _, verdict = judged(runs, metrics="ndcg@2 efd@2", train=log)
        assert {finding.code: finding.severity for finding in scores.findings}["C013"] == "info"
        assert "C013" not in sentence(scores, verdict)

    def test_nobody_is_best_whose_mean_is_best_over_other_users_only(self):
        few = run(set(range(100)) - {1, 2}).filter(pl.col("user_id") < 100)
        old = run(range(101))
        _, _, verdict = judged({"few": few, "old": old}, missing="skip")
        assert verdict.leads[0].leader == "few"
        assert "few has the best mean, 0.9800, but old is better by 0.0200 over the 100 users that both have" in (
            verdict_text(verdict).headline
        )


def test_ranks_given_as_scores_by_a_third_system_could_change_the_verdict():
    rows = [(user, item, at) for user in range(USERS) for at, item in enumerate((5, 1, 2, 3), start=1)]
    third = table(rows, "score").sample(fraction=1.0, shuffle=True, seed=1)
    scores, _, verdict = judged({"good": GOOD, "old": OLD, "third": third})
    assert verdict.systems == {"good", "old"}
    assert {finding.code: finding.severity for finding in scores.findings} == {"R004": "warning"}
    assert sentence(scores, verdict) == "R004 could change the verdict."
