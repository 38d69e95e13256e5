"""Papers: their files, sources, verdicts and stored results."""

import functools
import json
import re
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import recassay as ra
from recassay.errors import UsageError
from recassay.reproduction.paper import PaperClaim, find_paper, read_paper, verdict_on
from recassay.reproduction.run import PERSONAL, code_version, is_outdated, read_reproduction, reproduce
from recassay.reproduction.sources import Sources

from ...refusals import refused

sys.path.insert(0, str(Path(__file__).parents[3] / "docs"))
from _generators.gallery import gallery_index, gallery_page

PAPERS = sorted((Path(__file__).parents[3] / "reproductions").glob("*.yaml"))
STORED = [path for path in PAPERS if path.with_suffix("").is_dir()]
SMALL = """
title: Small
reference: Nobody, 2026.
about: Two systems on two data sets.
needs: Nothing.
sources:
  scores:
    file: scores
    quick: {columns: {system: [a, b], dataset: 3, split: [random, time]}, values: ["ndcg@10"]}
  agreement:
    agreement: {of: scores, along: split, each_dataset: true}
  counts:
    keep: true
    sql: SELECT system, COUNT(*) AS n, AVG("ndcg@10") AS mean FROM scores GROUP BY system
claims:
  six:
    claim: There are six values of each system
    where: page 1
    paper: 6
    value: SELECT system AS what, n AS value FROM counts
    within: 0
  tau:
    claim: Orders agree
    where: page 2
    value: SELECT AVG(tau) AS value FROM agreement
    at_least: -1
  unknown:
    claim: It is known
    where: page 3
    unchecked: The data are gone.
figures:
  means: {title: Means, caption: All means., sql: "SELECT system, mean FROM counts", x: mean, y: system, kind: dot}
"""


@pytest.fixture
def small(tmp_path):
    (tmp_path / "small.yaml").write_text(SMALL)
    return tmp_path / "small.yaml"


def claim(**bounds):
    return PaperClaim(claim="c", where="w", value="SELECT 1 AS value", **bounds)


def word(rows, **bounds):
    return verdict_on("c", claim(**bounds), pl.DataFrame(rows)).word


def test_a_claim_holds_if_its_whole_interval_is_within_the_bounds():
    inside, across, outside = {"value": [0.5], "low": [0.4], "high": [0.6]}, {"at_least": 0.45}, {"at_least": 0.7}
    assert word(inside, at_least=0.4, at_most=0.6) == "confirmed"
    assert word(inside, **across) == "partly"
    assert word(inside, **outside) == "refuted"


def test_a_tolerance_around_the_papers_number_looks_at_the_value_alone():
    assert word({"value": [0.71], "low": [0.1], "high": [0.9]}, within=0.01, paper=0.7) == "confirmed"
    assert word({"value": [0.71, 0.4], "paper": [0.7, 0.5]}, within=0.01, paper="two numbers") == "partly"


def test_a_claim_is_refuted_only_if_every_case_fails():
    assert word({"value": [1.0, 0.0]}, at_least=1) == "partly"
    assert word({"value": [0.0, 0.0]}, at_least=1) == "refuted"
    assert word({"value": [float("nan")]}, at_least=1) == "refuted"


def test_what_was_run_unlike_the_paper_refutes_nothing():
    assert word({"value": [1.0, 0.0]}, at_least=1, unlike="Another log.") == "other settings"
    assert word({"value": [1.0]}, at_least=1, unlike="Another log.") == "confirmed"
    assert word({"value": [0.0]}, at_least=1, unlike="Another log.") == "other settings"


def test_a_page_says_how_settings_differ_although_that_was_written_after_the_run(small, tmp_path):
    beyond = SMALL.replace("    at_least: -1", "    at_least: 2")
    small.write_text(beyond)
    reproduce(read_paper(small), tmp_path / "out", quick=True)
    small.write_text(beyond.replace("at_least: 2", "at_least: 2\n    unlike: The log is another one."))
    again = read_reproduction(read_paper(small), tmp_path / "out" / "result")
    assert not is_outdated(again)
    page = gallery_page(again)
    assert "**1 confirmed, 1 other settings, 1 not checkable.**" in page
    assert "**Other settings.** The log is another one." in page
    assert "| [Small](small.md) | 1 | 0 | 0 | 1 | 1 |" in gallery_index([again])


PLACE = re.compile(r"\b(table|figure|section|equation|lemma|abstract|sentence)s?\b")
CLAIMS = [(path.stem, name) for path in PAPERS for name in read_paper(path).paper.claims]


@pytest.mark.parametrize(("paper", "name"), CLAIMS, ids=map("/".join, CLAIMS))
def test_a_claim_says_where_in_the_paper_it_is_or_that_it_is_not_there(paper, name):
    claim = find_paper(paper).paper.claims[name]
    assert claim.added or PLACE.search(claim.where), claim.where
    assert not (claim.added and claim.paper is not None), "a number that is not in the paper is not the paper's"


def test_a_question_that_is_not_the_papers_is_counted_apart(small, tmp_path):
    small.write_text(SMALL.replace("where: page 2", "where: not in the paper"))
    found = reproduce(read_paper(small), tmp_path / "out", quick=True)
    assert "**1 confirmed, 1 not checkable.** Added to the paper's claims: 1 confirmed." in gallery_page(found)
    assert "| [Small](small.md) | 1 | 0 | 0 | 0 | 1 |" in gallery_index([found])


def test_a_reproduction_writes_verdicts_tables_figures_and_a_lock(small, tmp_path):
    found = reproduce(read_paper(small), tmp_path / "out", quick=True)
    assert [one.word for one in found.verdicts] == ["confirmed", "confirmed", "not checkable"]
    result = tmp_path / "out" / "result"
    assert pl.read_csv(result / "tables" / "counts.csv")["n"].to_list() == [6, 6]
    assert (result / "figures" / "means.svg").read_text().startswith("<svg")
    again = read_reproduction(read_paper(small), result)
    assert again.to_dict() == found.to_dict()
    assert not is_outdated(again)
    page = gallery_page(again)
    assert "**2 confirmed, 1 not checkable.**" in page
    assert "The data are gone." in page
    assert "| [Small](small.md) | 2 | 0 | 0 | 0 | 1 |" in gallery_index([again])


def test_every_run_has_the_same_digests_on_any_number_of_threads(small, tmp_path):
    text = SMALL.replace("dataset: 3", "dataset: 1500").replace("AVG(tau) AS value FROM agreement", "0 AS value")
    gaps = """  gaps:
    sql: >-
      SELECT a.split AS split, AVG(a."ndcg@10" - b."ndcg@10") AS gap, STDDEV(a."ndcg@10" * b."ndcg@10") AS spread
      FROM scores a JOIN scores b ON a.dataset = b.dataset AND a.split = b.split WHERE a.system < b.system
      GROUP BY a.split
"""
    small.write_text(re.sub(r"  agreement:\n.*\n", gaps, text))
    papers = [reproduce(read_paper(small), tmp_path / f"{n}", quick=True, threads=1 + n % 2) for n in range(6)]
    assert len({json.dumps(found.lock["tables"]) for found in papers}) == 1
    assert {"gaps", "counts"} <= papers[0].lock["tables"].keys()


def test_results_are_outdated_when_claims_change_but_not_when_an_explanation_does(small, tmp_path):
    reproduce(read_paper(small), tmp_path / "out", quick=True)
    result = tmp_path / "out" / "result"
    small.write_text(SMALL.replace("    at_least: -1", "    at_least: -1\n    why: Because."))
    assert not is_outdated(read_reproduction(read_paper(small), result))
    small.write_text(SMALL.replace("at_least: -1", "at_least: 0"))
    assert is_outdated(read_reproduction(read_paper(small), result))


@pytest.mark.parametrize("changed", [False, True])
def test_the_lock_names_the_commit_or_without_a_checkout_the_version(tmp_path, monkeypatch, changed):
    file = tmp_path / "src/recassay/reproduction/run.py"
    file.parent.mkdir(parents=True)
    file.write_text("first")
    monkeypatch.setattr("recassay.reproduction.run.__file__", str(file))
    assert code_version() == ra.__version__
    run = functools.partial(subprocess.run, cwd=tmp_path, check=True, capture_output=True, text=True)
    run(["git", "init", "-q"])
    run(["git", "add", "."])
    run(["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qm", "first"])
    if changed:
        file.write_text("second")
    assert code_version() == run(["git", "rev-parse", "HEAD"]).stdout[:12] + "+" * changed


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("title: Small", "titel: Small", "a paper has no key 'titel' here"),
        ("    where: page 2\n", "", "the paper lacks the key 'where'"),
        ("    at_least: -1\n", "", "needs at_least, at_most or within"),
        ("    sql: SELECT system", "    study: x\n    sql: SELECT system", "needs exactly one of"),
        ("    file: scores\n", "    sql: SELECT 1\n", "quick goes with file"),
        ("    unchecked: The data", "    unlike: Another log.\n    unchecked: The data", "unlike goes with value"),
        ("    unchecked: The data are gone.\n", "", "needs either value, a query, or unchecked"),
    ],
)
def test_a_wrong_file_is_refused_with_the_key(small, old, new, says):
    small.write_text(SMALL.replace(old, new))
    with refused("U132") as error:
        read_paper(small)
    assert says in str(error.value)


def test_an_unknown_paper_is_refused():
    with pytest.raises(UsageError, match=r"\[U115\] there is no paper 'time-to-spilt'[\s\S]*time-to-split"):
        find_paper("time-to-spilt")


@pytest.mark.parametrize(
    ("new", "says"),
    [("SELECT x FROM", "the query of claims.tau fails"), ("SELECT 1 AS v", "no column value"),
     ("SELECT tau AS value FROM agreement WHERE tau > 2", "returns no row")],
)  # fmt: skip
def test_a_query_that_fails_names_its_claim(small, tmp_path, new, says):
    small.write_text(SMALL.replace("SELECT AVG(tau) AS value FROM agreement", new))
    with refused("U263", match=says):
        reproduce(read_paper(small), tmp_path / "out", quick=True)


def test_a_kept_table_has_no_ids_of_users(small, tmp_path):
    small.write_text(SMALL.replace("SELECT system, COUNT", "SELECT system, 1 AS user_id, COUNT"))
    with refused("U132", match="the kept table counts has a column 'user_id'"):
        reproduce(read_paper(small), tmp_path / "out", quick=True)


def test_missing_and_broken_results_are_refused(small, tmp_path):
    with refused("I318", match="there are no results of small"):
        read_reproduction(read_paper(small), tmp_path)


STUDY = """
study: tiny
data: {generate: "log(users=60, items=40, events=900, seed=1)"}
split: random(test=0.2)
models: {popular: Popular, other: MODEL}
metrics: ndcg@10
quick: {split: random(test=0.3)}
"""


def test_a_study_gives_its_rows_and_its_lock(small, tmp_path):
    study = "  scores:\n    study: tiny.yaml\n"
    text = SMALL.replace(SMALL[SMALL.index("  scores:") : SMALL.index("  counts:")], study)
    text = text.replace('COUNT(*) AS n, AVG("ndcg@10")', "COUNT(*) AS n, AVG(mean)").replace("paper: 6", "paper: 2")
    small.write_text(text.replace("AVG(tau) AS value FROM agreement", "MIN(mean) AS value FROM scores"))
    (tmp_path / "tiny.yaml").write_text(STUDY.replace("MODEL", "Random"))
    found = reproduce(read_paper(small), tmp_path / "out", quick=True)
    assert found.verdicts[0].word == "confirmed"
    assert found.lock["sources"]["scores"]["models"] == {"popular": "Popular", "other": "Random"}
    assert len(list((tmp_path / "out").glob("code-*"))) == 1


def test_sudden_death_between_systems_of_a_study(tmp_path):
    sources = "  scores:\n    study: tiny.yaml\n  won:\n    sudden_death: {of: scores, at: [1, 5]}\n"
    text = SMALL.replace(SMALL[SMALL.index("  scores:") : SMALL.index("claims:")], sources)
    claimed = "SELECT system AS what, sudden_death AS value, low, high FROM won WHERE at = 5"
    text = text[: text.index("  tau:")].replace("SELECT system AS what, n AS value FROM counts", claimed)
    (tmp_path / "small.yaml").write_text(text)
    (tmp_path / "tiny.yaml").write_text(STUDY.replace("MODEL", "Random"))
    file = read_paper(tmp_path / "small.yaml")
    reproduce(file, tmp_path / "out", quick=True)
    (place,) = (tmp_path / "out").glob("code-*")
    sources = Sources(file, place, None, quick=True)
    sources.make(str)
    decision = ra.decide(ra.read_scores(place / "studies/scores"), sudden_death=[1, 5])
    (contest,) = decision.sudden_deaths.values()
    assert sources.tables["won"].drop("dataset").equals(contest.summary([1, 5]))
    assert sources.tables["won"]["dataset"].unique().to_list() == ["generated"]
    pairs = sources.tables["won_pairs"].filter(pl.col("at") == 5).row(0, named=True)
    assert {pairs["a"], pairs["b"]} == {"popular", "other"}
    assert pairs["difference"] == pytest.approx(contest.share(pairs["a"], 5) - contest.share(pairs["b"], 5), abs=1e-12)


STREAMS = """
study: tiny
data:
  generate: "log(users=100, items=60, events=1500, seed=1)"
  protocol: [prequential(at=5), "prequential(at=5, match='future', credit='share')"]
protocol: prequential(at=5)
models: {popular: StreamPopular, recent: Recent, random: StreamRandom}
metrics: recall@5
over_time: {detectors: []}
quick: {judge: {interval: none}}
"""


def reproduced_streams(tmp_path, over_time):
    sources = f"  scores:\n    study: tiny.yaml\n  ahead:\n    over_time: {over_time}\n"
    text = SMALL.replace(SMALL[SMALL.index("  scores:") : SMALL.index("claims:")], sources)
    claimed = "SELECT CONCAT(a, b, window) AS what, significant AS value FROM ahead WHERE level = 0.05"
    text = text[: text.index("  tau:")].replace("SELECT system AS what, n AS value FROM counts", claimed)
    (tmp_path / "small.yaml").write_text(text)
    (tmp_path / "tiny.yaml").write_text(STREAMS)
    file = read_paper(tmp_path / "small.yaml")
    found = reproduce(file, tmp_path / "out", quick=True)
    (place,) = (tmp_path / "out").glob("code-*")
    sources = Sources(file, place, None, quick=True)
    sources.make(str)
    return found, sources.tables, place / "studies/scores"


def test_signed_mcnemar_on_the_streams_of_a_study(tmp_path):
    wanted = (
        "{of: scores, metric: recall@5, baseline: popular, windows: [50, 5000], fading: [0.99], levels: [0.05, 0.2]}"
    )
    found, tables, folder = reproduced_streams(tmp_path, wanted)
    assert len(found.verdicts[0].cases) == 6  # of the two protocols, the one with values of 0 and 1
    assert found.lock["sources"]["scores"]["protocol"] == "prequential"
    paths = {path.stem: path for path in (folder / "runs").rglob("*.parquet") if "future" not in str(path)}
    outcomes = {name: ra.Outcomes.read(paths[name]) for name in ("popular", "recent", "random")}
    expected = ra.compare_over_time(outcomes, metric="recall@5", baseline="popular", window=50, alpha=0.2)
    tests = tables["ahead_tests"].filter(pl.col("level") == 0.2)
    assert tests.select("a", "b", "p_adjusted", "low").equals(expected.summary().select("a", "b", "p_adjusted", "low"))
    full = expected.curve.filter(~pl.col("partial") & (pl.col("a") == "random"))
    own = tables["ahead"].filter(a="random", level=0.2, window="the last 50 scored events").row(0, named=True)
    assert own["windows"] == full.height
    assert own["b_ahead"] == (full["better"] == "popular").sum() / full.height > 0
    assert own["b_above"] == (full["mean_b"] > full["mean_a"]).mean()
    differ = full.filter(pl.col("mean_a") != pl.col("mean_b"))
    assert own["significant"] == differ["better"].is_not_null().mean()
    (tmp_path / "literal").mkdir()
    literal = wanted.replace("windows: [50, 5000]", "windows: [9], fewest: 0, exact: false")
    _, tables_9, _ = reproduced_streams(tmp_path / "literal", literal)
    claimed = tables_9["ahead"].filter(window="the last 9 scored events")["significant"]
    assert claimed.max() > 0  # windows of nine events have no ten that tell two systems apart
    long = tables["ahead"].filter(window="the last 5,000 scored events")
    assert long["windows"].to_list() == [0] * 4
    assert long["significant"].to_list() == [None] * 4
    assert set(tables["ahead_curves"]["pair"]) == {"recent and popular", "random and popular"}


@pytest.mark.parametrize(
    ("wanted", "says"),
    [
        ("{of: scores, metric: ndcg@5, windows: [50]}", "the study scores has no ndcg@5"),
        ("{of: scores, metric: recall@5, competitors: [popular, gru], windows: [50]}", "the study scores has no gru"),
    ],
)
def test_signed_mcnemar_of_what_a_study_lacks_is_refused(tmp_path, wanted, says):
    with refused("U263", match=says):
        reproduced_streams(tmp_path, wanted)


def test_a_study_resumes_with_the_same_code_and_begins_again_with_another(tmp_path, monkeypatch):
    (tmp_path / "tiny.yaml").write_text(STUDY.replace("MODEL", "Random"))
    text = SMALL.replace(SMALL[SMALL.index("  scores:") : SMALL.index("claims:")], "  scores:\n    study: tiny.yaml\n")
    text = text[: text.index("  tau:")].replace("SELECT system AS what, n AS value FROM counts", "SELECT 6 AS value")
    (tmp_path / "small.yaml").write_text(text)
    file = read_paper(tmp_path / "small.yaml")
    places = []
    for folder in ("out", "out", "other"):
        if folder == "other":
            monkeypatch.setattr("recassay.reproduction.run.code_version", lambda: "another")
        reproduce(file, tmp_path / "out", quick=True)
        places.append(sorted(path.name for path in (tmp_path / "out").glob("code-*")))
    assert [len(one) for one in places] == [1, 1, 2]


def test_a_failed_study_is_an_error(small, tmp_path, monkeypatch):
    class Failed:
        failures = ({"system": "gru", "message": "no memory"},)

    monkeypatch.setattr("recassay.reproduction.sources.run_study", lambda *_, **__: Failed())
    quick = SMALL[SMALL.index("    quick:") : SMALL.index("  agreement:")]
    small.write_text(SMALL.replace("file: scores", "study: tiny.yaml").replace(quick, ""))
    with refused("U263", match="gru failed in the study tiny: no memory"):
        Sources(read_paper(small), tmp_path, None).make(lambda _: None)


def test_a_system_that_may_fail_is_named_on_the_page(tmp_path):
    text = STUDY.replace("other: MODEL", "other: Random, linear: EASE(max_items=3)")
    (tmp_path / "tiny.yaml").write_text(text)
    text = SMALL.replace(
        SMALL[SMALL.index("  scores:") : SMALL.index("claims:")],
        "  scores:\n    study: tiny.yaml\n    may_fail: [linear]\n",
    )
    text = text[: text.index("  tau:")].replace("SELECT system AS what, n AS value FROM counts", "SELECT 6 AS value")
    (tmp_path / "small.yaml").write_text(text)
    found = reproduce(read_paper(tmp_path / "small.yaml"), tmp_path / "out", quick=True)
    assert [one.partition(" on ")[0] for one in found.lock["sources"]["scores"]["failed"]] == ["linear"]
    assert "; without linear on generated, which failed" in gallery_page(found)


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.stem)
def test_stored_results_are_those_of_the_claims_and_hold_no_ids(path):
    file = read_paper(path)
    found = read_reproduction(file, file.results)
    assert not found.lock["quick"]
    assert not is_outdated(found)
    assert [one.name for one in found.verdicts] == list(file.paper.claims)
    for table in (file.results / "tables").glob("*.csv"):
        assert not set(pl.read_csv(table, n_rows=1).columns) & set(PERSONAL)


def test_numbers_have_three_digits():
    case = verdict_on("c", claim(at_least=0), pl.DataFrame({"value": [0.00235], "low": [0.0022], "high": [0.0025]}))
    assert str(case.cases[0]) == "0.00235 [0.0022, 0.0025]"
