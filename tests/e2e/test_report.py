"""The report page in a browser: opened from a file, in light and dark mode, on a desktop and on a phone."""

from __future__ import annotations

import json
import math

import polars as pl
import pytest

from recassay.comparison.verdict import Lead, verdict_of
from recassay.results.exhibit import Exhibit
from recassay.results.score_set import Place

from ..unit.report.verdicts import page as make_page
from .conftest import HOSTILE


def summary_of(study):
    return json.loads((study / "summary.json").read_text(encoding="utf-8"))


def numbers(recorded, article):
    """Return the means of the ranked table of an article by system, at full precision."""
    rows = article.locator("table.ranked tbody tr").all()
    return {row.locator(".id").inner_text(): float(row.locator("td.mean").get_attribute("data-v")) for row in rows}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 375])
def test_the_page_makes_no_requests_and_logs_no_messages(study, opened, scheme, width):
    recorded = opened(study / "report.html", width=width, scheme=scheme)
    recorded.page.wait_for_load_state("networkidle")
    assert recorded.requests == [(study / "report.html").resolve().as_uri()]
    assert recorded.messages == []


@pytest.mark.parametrize("width", [1280, 375])
def test_the_page_is_as_wide_as_the_window(study, opened, width):
    page = opened(study / "report.html", width=width).page
    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_names_are_shown_as_text(study, opened):
    recorded = opened(study / "report.html")
    assert recorded.page.title() == HOSTILE
    assert recorded.page.locator("h1").inner_text() == HOSTILE
    assert HOSTILE in recorded.page.locator("article:visible table.ranked").first.inner_text()
    assert recorded.page.locator("article:visible svg.figure text", has_text=HOSTILE[:8]).count()
    assert recorded.page.locator("img").count() == 0
    assert recorded.page.locator("script").count() == 1
    assert recorded.messages == []


@pytest.mark.path
def test_every_selection_shows_the_means_of_the_summary(study, opened):
    recorded = opened(study / "report.html")
    rows = [row for row in summary_of(study)["rows"] if row["fold"] == "all"]
    for data, metric, cut in [
        ("one", "ndcg", "10"),
        ("two", "ndcg", "5"),
        ("two", "recall", "10"),
        ("one", "mrr", "none"),
    ]:
        for design in ("lists", "TI-AR-AN", "TI-1R-NN(9)"):
            recorded.choose("data", data)
            recorded.choose("metric", metric)
            if cut != recorded.page.input_value("select[name=cut]"):
                recorded.choose("cut", cut)
            recorded.choose("design", design)
            [article] = recorded.shown("article.view")
            heading = f"{metric}@{cut}" if cut != "none" else metric
            wanted = {
                row["system"]: row["mean"]
                for row in rows
                if (row["dataset"], row["metric"], row["design"]) == (data, heading, design)
            }
            assert numbers(recorded, article) == wanted
            assert article.locator("h3").inner_text() == f"{heading} under {design}"


def test_every_mean_is_the_mean_over_users(study, opened):
    recorded = opened(study / "report.html")
    values = pl.read_parquet(study / "scores.parquet").filter(dataset="one", design="lists")
    [article] = recorded.shown("article.view")
    found = numbers(recorded, article)
    assert len(found) == 3
    for system, mean in found.items():
        assert mean == pytest.approx(values.filter(system=system)["ndcg@5"].mean(), abs=1e-12)


def test_a_selection_limits_the_next_one(study, opened):
    recorded = opened(study / "report.html")
    recorded.choose("metric", "mrr")
    assert recorded.page.input_value("select[name=cut]") == "none"
    assert recorded.page.is_disabled("select[name=cut]")
    recorded.choose("metric", "ndcg")
    assert not recorded.page.is_disabled("select[name=cut]")
    assert recorded.page.input_value("select[name=cut]") == "5"
    assert len(recorded.shown("article.across")) == 1
    assert "Shown: ndcg@5" in recorded.page.locator("#shown").inner_text()


def test_controls_work_with_the_keyboard(study, opened):
    recorded = opened(study / "report.html")
    recorded.page.focus("select[name=design]")
    before = recorded.shown("article.view")[0].locator("h3").inner_text()
    recorded.page.keyboard.press("ArrowDown")
    after = recorded.shown("article.view")[0].locator("h3").inner_text()
    assert (before, after) == ("ndcg@5 under lists", "ndcg@5 under TI-AR-AN")


def test_the_first_tab_stop_skips_to_the_results(study, opened):
    page = opened(study / "report.html").page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.getAttribute('href')") == "#results"


def test_without_javascript_everything_is_shown(study, opened):
    recorded = opened(study / "report.html", java_script_enabled=False)
    data_sets, metrics, designs = 2, 4, 3
    assert len(recorded.shown("article.view")) == data_sets * metrics * designs
    assert not recorded.shown("form, .tools")


def test_tables_are_saved_at_full_precision(study, opened):
    recorded = opened(study / "report.html")
    with recorded.page.expect_download() as caught:
        recorded.shown("article.view")[0].locator(".block > .tools button").first.click()
    assert caught.value.suggested_filename == "ndcg@5-lists.csv"
    table = pl.read_csv(caught.value.path())
    rows = [row for row in summary_of(study)["rows"] if row["fold"] == "all" and row["dataset"] == "one"]
    wanted = {row["system"]: row["mean"] for row in rows if (row["metric"], row["design"]) == ("ndcg@5", "lists")}
    assert dict(zip(table["System"], table["mean"], strict=True)) == wanted


def test_the_data_of_every_exhibit_equal_the_file_of_the_study(study, opened):
    recorded = opened(study / "report.html")
    for figure in recorded.shown("#exhibits figure"):
        name = figure.get_attribute("data-file")
        kept = sorted((study / "exhibits" / "one").rglob(f"{name}.csv"))
        if not kept or "two" in figure.locator("h3").inner_text():
            continue
        with recorded.page.expect_download() as caught:
            figure.get_by_role("button", name="as CSV").click()
        assert pl.read_csv(caught.value.path()).equals(pl.read_csv(kept[0]))


@pytest.mark.parametrize(("kind", "begins"), [("SVG", b"<svg"), ("PNG", b"\x89PNG")])
def test_figures_are_saved(study, opened, kind, begins):
    recorded = opened(study / "report.html")
    with recorded.page.expect_download() as caught:
        recorded.shown("article.view figure")[0].get_by_role("button", name=f"as {kind}").click()
    content = caught.value.path().read_bytes()
    assert content.startswith(begins)
    assert b"var(" not in content[:4000]
    assert len(content) > 1000


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (375, "dark")])
def test_the_page_has_no_serious_accessibility_violations(study, opened, scheme, width):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    page = opened(study / "report.html", width=width, scheme=scheme).page
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    found = axe.Axe().run(page).response["violations"]
    serious = [one for one in found if one["impact"] in ("serious", "critical")]
    violations = [(one["id"], one["help"], one["nodes"][0]["html"][:200]) for one in serious]
    assert violations == []


def test_a_page_with_one_result_has_no_controls(tmp_path, opened):
    path = tmp_path / "small.html"
    path.write_text(make_page("Small", "", [{"system": "a", "design": "lists", "metric": "mrr", "mean": 0.5, "n": 3}]))
    recorded = opened(path)
    assert not recorded.shown("form")
    assert len(recorded.shown("article.view")) == 1
    assert recorded.messages == []


def test_text_of_every_kind_of_figure_stays_inside(tmp_path, opened):
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
        Exhibit("bar", "Bars", "", wide, "design", "rank", "system", kind="bar"),
        Exhibit("line", "Lines", "", wide, "design", "rank", "system", low="low", high="high"),
    ]
    path = tmp_path / "kinds.html"
    path.write_text(make_page("Kinds", "", [], exhibits=shown), encoding="utf-8")
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


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """Write the page of many systems with long names, metrics and places, which is packed; return its path."""
    systems = [f"a model with a rather long name {number}" for number in range(6)]
    metrics = [f"{name}@{k}" for name in ("ndcg", "recall", "precision") for k in (5, 10)]
    about = {"protocol": "ranking", "seed": 0, "design": "lists", "fold": "all", "n": 900}
    rows = [
        {
            "dataset": data,
            "split": split,
            "system": system,
            "metric": metric,
            "mean": mean,
            "low": mean,
            "high": mean + 0.1,
            **about,
        }
        for data in ("games", "music", "shop", "books")
        for split in ("random(test=0.2)", "global_time(quantile=0.8)", "last")
        for metric in metrics
        for mean, system in enumerate(systems)
    ]
    path = tmp_path_factory.mktemp("large") / "report.html"
    path.write_text(
        make_page("Many systems", "Which one should the shop take, whatever the split?", rows), encoding="utf-8"
    )
    return path


@pytest.mark.parametrize("width", [375, 768, 1400])
def test_a_large_page_shows_its_verdict_at_once_and_never_scrolls_sideways(large, opened, width):
    page = opened(large, width=width).page
    assert page.evaluate("document.querySelector('.headline .answer').getBoundingClientRect().bottom") < 700
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    assert page.evaluate("document.documentElement.scrollWidth") == width
    outside = """() => [...document.querySelectorAll('main *')].filter((one) => !one.closest('.scroll, .plot, .quiet')
        && one.getBoundingClientRect().right > innerWidth + 1).map((one) => one.outerHTML.slice(0, 80))"""
    assert page.evaluate(outside) == []
    assert page.locator("article").count() == 2  # of one metric and place: others are unpacked when they are selected


@pytest.fixture(scope="module")
def wordy(tmp_path_factory):
    """Write the page of a verdict in many words about systems with all their parameters; return its path."""
    systems = [f"BPR(factors={2**n}, learning_rate=0.0{n}, regularization=0.01, iterations=200)" for n in range(4, 10)]
    about = {"protocol": "ranking", "seed": 0, "design": "lists", "fold": "all", "n": 900}
    rows, leads = [], []
    for first, metric in enumerate(["ndcg@10", "recall@10", "mrr", "precision@5", "hit@10"]):
        place = Place("a-data-set-of-the-shop", "global_time(quantile=0.8)", "ranking", "lists", 0)
        order = systems[first:] + systems[:first]
        rows += [
            {**place._asdict(), **about, "metric": metric, "system": system, "mean": 0.3 - 0.02 * rank}
            for rank, system in enumerate(order)
        ]
        leads.append(
            Lead(
                place, metric, tuple(systems), order[0], 0.3, 0.28, 0.32, order[1], 0.02, 0.01, 0.04, 0.09, 15, 900,
                "permutation", "holm", first > 0, beaten=tuple(order[2:]), baseline=systems[0],
                better=tuple(systems[1:3]), unclear=tuple(systems[3:]),
            )
        )  # fmt: skip
    path = tmp_path_factory.mktemp("wordy") / "report.html"
    question = "Does a tuned model beat the neighbours, and is the gain worth its cost on every split that we have?"
    path.write_text(make_page("Which model?", question, rows, verdict=verdict_of(leads)), encoding="utf-8")
    return path


@pytest.mark.parametrize("width", [375, 1400])
def test_a_verdict_in_many_words_fits_on_the_first_screen(wordy, opened, width):
    page = opened(wordy, width=width).page
    assert page.evaluate("document.querySelector('.headline').getBoundingClientRect().bottom") < 700
    names = page.locator(".answer abbr").all()
    assert names[0].inner_text() == "BPR(factors=16, …)"
    assert names[0].get_attribute("title").startswith("BPR(factors=16, learning_rate=0.04, reg")
    page.locator(".more > summary").click()
    assert page.locator(".against li").first.is_visible()
    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_a_verdict_in_few_words_is_not_folded(study, opened):
    page = opened(study / "report.html").page
    assert page.locator(".more").get_attribute("open") is not None
    assert not page.locator(".more > summary").is_visible()


def test_names_of_systems_have_room_in_the_ranked_table(large, opened):
    page = opened(large, width=375).page
    heights = page.evaluate(
        "[...document.querySelectorAll('table.ranked tbody th')].map((one) => one.getBoundingClientRect().height)"
    )
    line = page.evaluate("parseFloat(getComputedStyle(document.querySelector('table.ranked tbody th')).lineHeight)")
    assert max(heights) < 5 * line


def test_a_screen_reader_and_the_keyboard_meet_the_parts_in_their_order(study, opened):
    page = opened(study / "report.html").page
    tree = page.context.new_cdp_session(page).send("Accessibility.getFullAXTree")["nodes"]
    nodes = {node["nodeId"]: node for node in tree}

    def walk(node):
        if not node.get("ignored"):
            yield node.get("role", {}).get("value"), node.get("name", {}).get("value", "")
        for child in node.get("childIds", ()):
            yield from walk(nodes[child])

    read = list(walk(tree[0]))
    headings = [name for role, name in read if role == "heading"]
    parts = ["Verdict", "Findings", "The study", "Results", "Exhibits", "Settings"]
    assert [name for name in headings if name in parts] == parts
    unnamed = [
        role
        for role, name in read
        if role in ("region", "table", "button", "link", "combobox", "image", "figure") and not name
    ]
    assert unnamed == []
    stops = page.evaluate(
        "[...document.querySelectorAll('a, button, select, summary, [tabindex]')].map((one) => one.tabIndex)"
    )
    assert set(stops) == {0}  # so the keyboard goes through the page in the order of its text
