"""``ra.evaluate``: one call from a log to tested scores, with every default stated."""

import functools

import pytest

import recassay as ra
from recassay.data.io import formats
from recassay.data.synthetic import log
from recassay.errors import UsageError

LOG = log(users=80, items=60, events=2000, seed=1)
SAME = ra.read_interactions({"user_id": list("aabbcc") * 6, "item_id": list("uvwxyz") * 6, "timestamp": [7] * 36})


@functools.cache
def evaluated():
    return ra.evaluate(LOG, ["PureSVD(factors=4)", ra.models.Random()])


def test_it_does_what_the_verbs_do_one_after_another():
    fold = ra.split.global_time(quantile=0.8)(LOG)[0]
    run = ra.play("PureSVD(factors=4)", fold, ra.protocols.ranking(bins=0))
    assert evaluated().runs["PureSVD(factors=4)"].frame().equals(run.frame())
    expected = ra.score(run, fold, "ndcg@10").row("PureSVD(factors=4)", "ndcg@10")
    assert evaluated().scores.row("PureSVD(factors=4)", "ndcg@10").mean == expected.mean
    assert evaluated().comparison == ra.compare(evaluated().scores)


def test_it_prints_the_verdict_and_what_its_findings_do_to_it():
    lines = repr(evaluated()).splitlines()
    assert lines[0].startswith(("PureSVD", "Popular", "ItemKNN", "No system is established as best"))
    assert "by ndcg@10" in lines[0]
    assert lines[1].startswith(("No finding could change the verdict", "Without what", "The verdict was not computed"))
    assert lines[0].replace("<", "&lt;") in evaluated()._repr_html_()


def test_references_are_added_once_and_marked():
    assert evaluated().references[0] == "Popular (reference)"
    assert evaluated().scores.systems == ("PureSVD(factors=4)", "Random", *evaluated().references)
    given = ra.evaluate(LOG, {"mine": "Popular"}, "ndcg@10")
    assert [name for name in given.scores.systems if name.startswith("Popular")] == []


@pytest.mark.parametrize(
    ("source", "split"),
    [
        (LOG, "global_time(quantile=0.8), chosen"),
        ({user: ["x", "y", "z"] for user in "abc"}, "last, chosen"),
        ([(user, item) for user in "abcdef" for item in "uvwxyz"], "random(test=0.2), chosen"),
        (SAME, "random(test=0.2), chosen"),
        (ra.split.leave_out(n=1)(LOG)[0], "leave_out, given as a fold"),
    ],
)
def test_the_split_is_the_strictest_that_the_times_allow_and_is_stated(source, split):
    found = ra.evaluate(source, "Popular", "ndcg@10", references=False)
    assert found.stated["split"].startswith(split)
    assert found.comparison.rows == ()


def test_several_folds_are_refused_with_what_to_write():
    with pytest.raises(UsageError, match=r"U124.*3 folds"):
        ra.evaluate(LOG, "Popular", split="k_folds(k=3)")


def test_two_systems_of_one_name_are_refused():
    with pytest.raises(UsageError, match="U109"):
        ra.evaluate(LOG, ["Popular", "Popular"])


def test_it_prints_and_shows_what_it_did():
    text = repr(evaluated())
    assert "\nevaluation of 4 systems\n" in text
    assert "chosen by the times of the log" in text
    assert "PureSVD(factors=4) - Random" in text
    assert "Popular (reference)" in evaluated()._repr_html_()


def test_the_page_of_scores_is_one_file(tmp_path):
    path = evaluated().report(tmp_path / "page.html")
    page = path.read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert "PureSVD(factors=4)" in page
    assert sorted(tmp_path.iterdir()) == [path]
    assert evaluated().scores.report(str(tmp_path / "other.html")).is_file()


def test_an_explanation_is_the_page_of_the_command_line(capfd):
    page = ra.explain("ndcg")
    assert page.name == "ndcg[@k]"
    assert "discount" in repr(page)
    assert page._repr_html_().startswith("<pre>")
    with pytest.raises(UsageError):
        ra.explain("ndgc")


@pytest.mark.parametrize("known", formats(), ids=lambda known: known.name)
def test_every_file_format_is_explained(known):
    page = ra.explain(known.name)
    text = " ".join([page.title, *page.sections.values()])
    assert f"--format {known.name}" in text
    assert known.description[1:] in text


def test_a_format_is_explained_by_name_or_beside_the_profile_and_the_model_of_its_name():
    assert (ra.explain("uirt").kind, ra.explain("uirt").title) == (
        "file format", "User, item, rating, timestamp without a header.",
    )  # fmt: skip
    kinds = {name: ra.explain(name).kind for name in ("recbole", "sasrec", "SASRec")}
    assert kinds == {"recbole": "profile", "sasrec": "model", "SASRec": "model"}
