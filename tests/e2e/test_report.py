"""The page of a study as a reader has it: in a browser, from a file, in both colours, on a desk and on a phone."""

from __future__ import annotations

import json
import math

import polars as pl
import pytest

from recassay.data.exhibit import Exhibit
from recassay.report.html import page as made

from .conftest import HOSTILE


def summary_of(study):
    return json.loads((study / "summary.json").read_text(encoding="utf-8"))


def numbers(watched, article):
    """System to mean of the ranked table of an article, as it was computed."""
    rows = article.locator("table.ranked tbody tr").all()
    return {row.locator(".id").inner_text(): float(row.locator("td.mean").get_attribute("data-v")) for row in rows}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 375])
def test_it_asks_the_network_for_nothing_and_complains_of_nothing(study, opened, scheme, width):
    watched = opened(study / "report.html", width=width, scheme=scheme)
    watched.page.wait_for_load_state("networkidle")
    assert watched.asked == [(study / "report.html").resolve().as_uri()]
    assert watched.said == []


@pytest.mark.parametrize("width", [1280, 375])
def test_it_is_as_wide_as_the_window(study, opened, width):
    page = opened(study / "report.html", width=width).page
    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_names_are_text(study, opened):
    watched = opened(study / "report.html")
    assert watched.page.title() == HOSTILE
    assert watched.page.locator("h1").inner_text() == HOSTILE
    assert HOSTILE in watched.page.locator("article:visible table.ranked").first.inner_text()
    assert watched.page.locator("article:visible svg.figure text", has_text=HOSTILE[:8]).count()
    assert watched.page.locator("img").count() == 0
    assert watched.page.locator("script").count() == 1
    assert watched.said == []


def test_every_mean_is_the_one_of_the_summary_whatever_is_chosen(study, opened):
    watched = opened(study / "report.html")
    rows = [row for row in summary_of(study)["rows"] if row["fold"] == "all"]
    for data, metric, cut in [
        ("one", "ndcg", "10"),
        ("two", "ndcg", "5"),
        ("two", "recall", "10"),
        ("one", "mrr", "none"),
    ]:
        for design in ("lists", "TI-AR-AN", "TI-1R-NN(9)"):
            watched.choose("data", data)
            watched.choose("metric", metric)
            if cut != watched.page.input_value("select[name=cut]"):
                watched.choose("cut", cut)
            watched.choose("design", design)
            [article] = watched.shown("article.view")
            heading = f"{metric}@{cut}" if cut != "none" else metric
            wanted = {
                row["system"]: row["mean"]
                for row in rows
                if (row["dataset"], row["metric"], row["design"]) == (data, heading, design)
            }
            assert numbers(watched, article) == wanted
            assert article.locator("h3").inner_text() == f"{heading} under {design}"


def test_every_mean_is_that_of_the_values_of_users(study, opened):
    watched = opened(study / "report.html")
    values = pl.read_parquet(study / "scores.parquet").filter(dataset="one", design="lists")
    [article] = watched.shown("article.view")
    found = numbers(watched, article)
    assert len(found) == 3
    for system, mean in found.items():
        assert mean == pytest.approx(values.filter(system=system)["ndcg@5"].mean(), abs=1e-12)


def test_a_choice_narrows_the_next_one(study, opened):
    watched = opened(study / "report.html")
    watched.choose("metric", "mrr")
    assert watched.page.input_value("select[name=cut]") == "none"
    assert watched.page.is_disabled("select[name=cut]")
    watched.choose("metric", "ndcg")
    assert not watched.page.is_disabled("select[name=cut]")
    assert watched.page.input_value("select[name=cut]") == "5"
    assert len(watched.shown("article.across")) == 1
    assert "Shown: ndcg@5" in watched.page.locator("#shown").inner_text()


def test_controls_answer_to_the_keyboard(study, opened):
    watched = opened(study / "report.html")
    watched.page.focus("select[name=design]")
    before = watched.shown("article.view")[0].locator("h3").inner_text()
    watched.page.keyboard.press("ArrowDown")
    after = watched.shown("article.view")[0].locator("h3").inner_text()
    assert (before, after) == ("ndcg@5 under lists", "ndcg@5 under TI-AR-AN")


def test_the_first_stop_of_the_keyboard_skips_to_the_results(study, opened):
    page = opened(study / "report.html").page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.getAttribute('href')") == "#results"


def test_without_a_script_everything_is_shown(study, opened):
    watched = opened(study / "report.html", java_script_enabled=False)
    boards, metrics, designs = 2, 4, 3
    assert len(watched.shown("article.view")) == boards * metrics * designs
    assert not watched.shown("form, .tools")


def test_tables_are_saved_as_they_were_computed(study, opened):
    watched = opened(study / "report.html")
    with watched.page.expect_download() as caught:
        watched.shown("article.view")[0].locator(".block > .tools button").first.click()
    assert caught.value.suggested_filename == "ndcg@5-lists.csv"
    table = pl.read_csv(caught.value.path())
    rows = [row for row in summary_of(study)["rows"] if row["fold"] == "all" and row["dataset"] == "one"]
    wanted = {row["system"]: row["mean"] for row in rows if (row["metric"], row["design"]) == ("ndcg@5", "lists")}
    assert dict(zip(table["System"], table["mean"], strict=True)) == wanted


def test_the_table_behind_every_exhibit_is_the_table_of_the_experiment(study, opened):
    watched = opened(study / "report.html")
    for figure in watched.shown("#exhibits figure"):
        name = figure.get_attribute("data-file")
        kept = sorted((study / "exhibits" / "one").rglob(f"{name}.csv"))
        if not kept or "two" in figure.locator("h3").inner_text():
            continue
        with watched.page.expect_download() as caught:
            figure.get_by_role("button", name="as CSV").click()
        assert pl.read_csv(caught.value.path()).equals(pl.read_csv(kept[0]))


@pytest.mark.parametrize(("kind", "begins"), [("SVG", b"<svg"), ("PNG", b"\x89PNG")])
def test_pictures_are_saved(study, opened, kind, begins):
    watched = opened(study / "report.html")
    with watched.page.expect_download() as caught:
        watched.shown("article.view figure")[0].get_by_role("button", name=f"as {kind}").click()
    content = caught.value.path().read_bytes()
    assert content.startswith(begins)
    assert b"var(" not in content[:4000]
    assert len(content) > 1000


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (375, "dark")])
def test_nothing_serious_keeps_anybody_from_reading_it(study, opened, scheme, width):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    page = opened(study / "report.html", width=width, scheme=scheme).page
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    found = axe.Axe().run(page).response["violations"]
    serious = [one for one in found if one["impact"] in ("serious", "critical")]
    told = [(one["id"], one["help"], one["nodes"][0]["html"][:200]) for one in serious]
    assert told == []


def test_a_study_without_a_choice_has_no_controls(tmp_path, opened):
    path = tmp_path / "small.html"
    path.write_text(made("Small", "", [{"system": "a", "design": "lists", "metric": "mrr", "mean": 0.5, "n": 3}]))
    watched = opened(path)
    assert not watched.shown("form")
    assert len(watched.shown("article.view")) == 1
    assert watched.said == []


def test_every_kind_of_picture_stays_in_its_frame(tmp_path, opened):
    wide = pl.DataFrame(
        [
            {
                "design": f"TI-1R-NN({n})",
                "system": f"a long name of a system {s}",
                "rank": n + s,
                "low": 0.0,
                "high": 20.0,
            }
            for n in range(14)
            for s in range(9)
        ]
    )
    shown = [
        Exhibit("heat", "Heat", "", wide, "design", "system", kind="heat", value="rank"),
        Exhibit("dot", "Dots", "", wide, "rank", "design", "system", low="low", high="high", kind="dot"),
        Exhibit("par", "Parallel", "", wide, "design", "rank", "system", kind="parallel"),
        Exhibit("bar", "Bars", "", wide, "design", "rank", "system", kind="bar"),
        Exhibit("line", "Lines", "", wide, "design", "rank", "system", low="low", high="high"),
    ]
    path = tmp_path / "kinds.html"
    path.write_text(made("Kinds", "", [], exhibits=shown), encoding="utf-8")
    page = opened(path).page
    outside = page.evaluate(
        """() => [...document.querySelectorAll('svg.figure text')].filter((text) => {
            const own = text.getBoundingClientRect(), frame = text.ownerSVGElement.getBoundingClientRect();
            return own.left < frame.left - 1 || own.right > frame.right + 1 || own.bottom > frame.bottom + 1
                || own.top < frame.top - 1;
        }).map((text) => text.ownerSVGElement.getAttribute('aria-label') + ': ' + text.textContent)"""
    )
    assert outside == []
    assert not math.isnan(page.evaluate("document.documentElement.scrollWidth"))
