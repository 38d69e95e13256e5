"""The report page: complete, a single file, deterministic, and faithful to its input."""

from __future__ import annotations

import subprocess
import sys
from html.parser import HTMLParser

import polars as pl
import pytest

from recassay.report.content.grids import result_grids
from recassay.report.page.content import design_sentences
from recassay.report.page.figures import SizeBudget
from recassay.results.exhibit import Exhibit
from recassay.results.finding import Finding

from ..verdicts import page

NASTY = "<script>alert('x')</script>&\"\x1b"
VOID = {"meta", "br", "link", "img", "hr", "input"}


class Reader(HTMLParser):
    """Parser of a page: its elements and text; fails if an element is not closed in order."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.stack, self.texts = [], [], []
        self.feed(text)
        self.close()
        assert self.stack == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.stack.pop() == tag

    def handle_data(self, data):
        if not {"script", "style"} & set(self.stack):
            self.texts.append(data)

    def all(self, tag):
        return [attrs for name, attrs in self.elements if name == tag]

    @property
    def text(self):
        return " ".join("".join(self.texts).split())


def row(system, mean, design="lists", metric="ndcg@10", **more):
    low, high = (None, None) if mean is None else (mean - 0.01, mean + 0.01)
    about = {"dataset": "ml", "split": "random(test=0.2)", "protocol": "ranking", "seed": 0, "fold": "all"}
    return {
        **about,
        "system": system,
        "design": design,
        "metric": metric,
        "mean": mean,
        "low": low,
        "high": high,
        "n": 40,
        **more,
    }


def pair(a, b, difference, *, significant, design="lists", metric="ndcg@10"):
    about = {"dataset": "ml", "split": "random(test=0.2)", "protocol": "ranking", "seed": 0}
    return {
        **about, "design": design, "metric": metric, "a": a, "b": b, "difference": difference,
        "low": difference - 0.02, "high": difference + 0.02, "p": 0.01, "p_adjusted": 0.02, "effect": 0.2, "n": 40,
        "test": "permutation", "correction": "holm", "significant": significant,
    }  # fmt: skip


def exhibit(table, **more):
    axes = {"x": "removed", "y": "mean", "series": "system", "low": "low", "high": "high"}
    return Exhibit("sparsity", "Fewer ratings", "Precision falls.", table, **axes | more)


LINES = pl.DataFrame(
    {
        "removed": [0.0, 0.5, 0.0, 0.5],
        "mean": [0.4, 0.2, 0.3, 0.1],
        "low": [0.3, 0.1, 0.2, 0.0],
        "high": [0.5, 0.3, 0.4, 0.2],
        "system": ["a", "a", "b", "b"],
    }
)
ROWS = [row("pop", 0.2), row("svd", 0.3), row("pop", 0.5, "TI-1R-NN(9)"), row("svd", 0.4, "TI-1R-NN(9)")]


def agreement(rows, comparisons=()):
    [results] = result_grids(rows, comparisons)
    return " ".join(sentence for grid in results.grids for sentence in design_sentences(grid))


@pytest.fixture(scope="module")
def full():
    return page(
        "A study",
        "What is this?",
        ROWS,
        comparisons=[pair("pop", "svd", -0.1, significant=True)],
        findings=[Finding("C001", "info", "Small", "d"), Finding("B001", "error", "Large", "e", "svd")],
        exhibits=[exhibit(LINES)],
        lock={"versions": {"recassay": "0.1.0"}, "judge": {"level": 0.9}},
        failures=[{"system": "als", "dataset": "ml", "fold": 0, "code": "U112", "message": "no", "traceback": "Trace"}],
    )


def test_the_page_has_all_sections_in_order_and_unique_ids(full):
    read = Reader(full)
    ids = [attrs["id"] for tag, attrs in read.elements if tag == "section"]
    assert ids == ["verdict", "findings", "card", "results", "exhibits", "failures", "made"]
    assert len(read.all("h1")) == 1
    assert [attrs["lang"] for attrs in read.all("html")] == ["en"]
    every_id = [attrs["id"] for _, attrs in read.elements if "id" in attrs]
    assert len(every_id) == len(set(every_id))


def test_every_reference_inside_the_page_has_a_target(full):
    read = Reader(full)
    ids = {attrs["id"] for _, attrs in read.elements if "id" in attrs}
    wanted = [attrs["href"].removeprefix("#") for attrs in read.all("a")]
    wanted += [attrs["aria-labelledby"] for _, attrs in read.elements if "aria-labelledby" in attrs]
    assert wanted
    assert set(wanted) <= ids


def test_the_page_loads_nothing_from_the_network(full):
    read = Reader(full)
    assert not read.all("link") + read.all("img") + read.all("iframe")
    for _, attrs in read.elements:
        assert not any(attrs.get(name) for name in ("src", "srcset", "data", "action", "background"))
        assert attrs.get("href", "#").startswith("#")
        assert "url(" not in (attrs.get("style") or "")
    style = full[full.index("<style>") : full.index("</style>")]
    assert "url(" not in style
    assert "@import" not in style
    [policy] = [one["content"] for one in read.all("meta") if one.get("http-equiv") == "Content-Security-Policy"]
    assert policy.startswith("default-src 'none'")
    assert "http" not in policy


def test_without_javascript_only_the_controls_are_hidden(full):
    read = Reader(full)
    assert [attrs.get("hidden", "shown") for attrs in read.all("form")] == [None]  # the controls need the script
    assert not [attrs for tag, attrs in read.elements if tag in ("article", "figure", "table") and "hidden" in attrs]
    assert len(page("t", "", ROWS)) < 60_000


def test_numbers_are_kept_at_full_precision():
    third = 1 / 3
    read = Reader(page("t", "", [row("a", third), row("b", 0.25)]))
    held = [attrs["data-v"] for attrs in read.all("td") if attrs.get("data-v")]
    assert repr(third) in held
    assert repr(0.25 - third) in held


def test_superscript_letters_mark_significant_wins():
    rows = [row("a", 0.3), row("b", 0.2), row("c", 0.1)]
    pairs = [
        pair("a", "b", 0.1, significant=True),
        pair("c", "a", -0.2, significant=True),
        pair("b", "c", 0.1, significant=False),
    ]
    text = page("t", "", rows, comparisons=pairs)
    assert text.count("<sup>") == 1
    assert "<sup>bc</sup>" in text
    worse = page("t", "", [{**one, "metric": "rmse"} for one in rows], comparisons=[{**pairs[0], "metric": "rmse"}])
    assert "<sup>a</sup>" in worse  # less is better


def test_with_a_baseline_superscripts_mark_only_systems_that_are_better_than_it():
    rows = [row("a", 0.3), row("b", 0.2), row("c", 0.1)]
    pairs = [pair("a", "b", 0.1, significant=True), pair("c", "b", -0.1, significant=True)]
    text = page("t", "", rows, comparisons=pairs)
    assert text.count("<sup>") == 1  # b is better than c, which the legend does not speak of
    assert "<sup>b</sup>" in text
    assert "marks systems that are significantly better than the baseline (b, b; adjusted p ≤ 0.05)" in text
    every = page("t", "", rows, comparisons=[*pairs, pair("a", "c", 0.2, significant=True)])
    assert "the baseline (" not in every


def test_controls_exist_only_for_properties_with_several_values():
    def choices(text):
        return [attrs["name"] for attrs in Reader(text).all("select")]

    assert choices(page("t", "", [row("a", 0.1)])) == []
    assert choices(page("t", "", [row("a", 0.1), row("a", 0.2, metric="ndcg@20")])) == ["cut"]
    assert choices(page("t", "", [row("a", 0.1), row("a", 0.2, metric="mrr")])) == ["metric", "cut"]
    assert choices(page("t", "", [row("a", 0.1), {**row("a", 0.1, "x"), "dataset": "b"}])) == ["data", "design"]


def test_figures_beyond_the_size_budget_are_left_out_and_counted(monkeypatch):
    monkeypatch.setattr("recassay.report.folder.page.SizeBudget", lambda: SizeBudget(left=0))
    text = page("t", "", ROWS)
    assert "3 figures were left out" in text
    assert text.count('class="figure"') == 1  # the picture of all systems


def test_a_long_table_of_comparisons_is_cut_with_a_note(monkeypatch):
    monkeypatch.setattr("recassay.report.folder.page.MAX_PAIRS", 1)
    pairs = [pair("pop", "svd", -0.1, significant=True, design=design) for design in ("lists", "TI-1R-NN(9)")]
    text = Reader(page("t", "", ROWS, comparisons=pairs)).text
    assert "Head to head: 2 comparisons" in text
    assert "1 more are in summary.json" in text


def test_tables_have_captions_and_scopes(full):
    read = Reader(full)
    assert len(read.all("table")) == len(read.all("caption")) > 0
    assert {attrs.get("scope") for attrs in read.all("th")} == {"row", "col"}
    for attrs in [one for one in read.all("div") if one.get("class") == "scroll"]:
        assert attrs["tabindex"] == "0"
        assert attrs["role"] == "region"
        assert attrs.get("aria-label") or attrs.get("aria-labelledby")


def test_equal_input_gives_equal_bytes():
    def made():
        return page("t", "a", ROWS, exhibits=[exhibit(LINES)], lock={"judge": {}})

    assert made() == made()


def test_names_cannot_inject_markup_or_control_characters():
    rows = [row(NASTY, 0.2, NASTY, NASTY), row("b", 0.3, NASTY, NASTY), row("b", 0.3, "other", NASTY)]
    rows = [{**one, "dataset": NASTY, "split": NASTY} for one in rows]
    pairs = [{**pair(NASTY, "b", 0.1, significant=True, design=NASTY, metric=NASTY), "dataset": NASTY, "split": NASTY}]
    table = LINES.with_columns(system=pl.lit(NASTY), bin=pl.lit(NASTY)).rename({"mean": NASTY})
    text = page(
        NASTY, NASTY, rows,
        comparisons=[{**one, "test": NASTY} for one in pairs],
        findings=[Finding(NASTY, "error", NASTY, NASTY, NASTY)],
        exhibits=[Exhibit(NASTY, NASTY, NASTY, table, "removed", NASTY, "system", "bin")],
        lock={
            NASTY: NASTY, "versions": {NASTY: NASTY}, "data": [{"name": NASTY, "events": 1, "users": 1, "items": 1}],
        },
        failures=[{"system": NASTY, "dataset": NASTY, "code": NASTY, "message": NASTY, "traceback": NASTY}],
    )  # fmt: skip
    read = Reader(text)
    assert "<script>alert" not in text
    assert "\x1b" not in text
    assert "<script>alert('x')</script>&\"\\x1b" in read.text
    assert len(read.all("script")) == 1


def test_empty_results_give_a_page():
    read = Reader(page("Nothing", "", []))
    assert "There are no results." in read.text
    assert "No findings." in read.text
    assert [attrs["id"] for attrs in read.all("section")] == ["verdict", "findings", "results"]


def test_findings_are_sorted_errors_first(full):
    text = Reader(full).text
    assert text.index("Large") < text.index("Small")


def test_numbers_are_rounded_and_the_best_is_marked(full):
    read = Reader(full)
    assert "0.3000 best 0.2900–0.3100" in read.text
    assert "90 % interval" in read.text
    assert full.count("is-best") == 4 + full.count(".is-best")  # in the table of each design, and in the matrix of both


def test_an_undefined_mean_is_shown_as_undefined():
    text = Reader(page("t", "", [row("a", None), row("b", 0.25)])).text
    assert "b has 0.2500 (95 % interval 0.2400–0.2600) by ndcg@10" in text
    assert "undefined" in text
    assert "nan" not in text.lower().replace("finance", "")
    assert "There is no verdict" in page("t", "", [row("a", None)])


def test_an_unknown_metric_has_no_leader():
    text = page("t", "", [row("a", 0.2, metric="mine"), row("b", 0.3, metric="mine")])
    assert "There is no verdict" in text
    assert "0.2000 (a) to 0.3000 (b)" in text
    assert "best</span>" not in text


def test_a_metric_that_describes_lists_has_no_leader():
    rows = [row("a", 0.3), row("b", 0.2), row("a", 0.1, metric="ild@10"), row("b", 0.9, metric="ild@10")]
    read = Reader(page("t", "", rows))
    assert "1 metric describes the lists, and no system is best by it" in read.text
    assert "0.1000 (a) to 0.9000 (b)" in read.text


def test_findings_that_could_change_the_verdict_come_first_and_others_are_folded(full):
    findings = [
        Finding("C001", "warning", "Users without a list", "d", "pop"),
        Finding("C002", "warning", "Short", "d", "third"),
        Finding("C001", "warning", "Users without a list", "e", "svd"),
    ]
    text = page("t", "", [*ROWS, row("third", 0.1)], findings=findings)
    read = Reader(text)
    assert "C001 could change the verdict. The verdict was not computed without what C002 names." in read.text
    assert "1 finding to read first" in read.text
    assert read.text.count("Users without a list") == 1
    folded = text.index(
        "1 more finding: information, and warnings about other systems or without which the verdict is the same"
    )
    assert text.index("<code>C001</code>") < folded < text.index("<code>C002</code>")


def test_results_of_a_large_page_are_packed_and_visible_without_a_script():
    rows = [row(name, 0.1, metric=f"ndcg@{k}") for k in range(1, 62) for name in ("a", "b")]
    text = page("t", "", rows)
    assert text.count('<div class="packed"') == text.count("<noscript>") == 62  # one for each metric, one for the place
    assert len(Reader(text).all("article")) == 2 * 61
    assert "<noscript>" not in page("t", "", rows[:-2])


def test_designs_with_another_leader_are_named():
    sentence = agreement(ROWS)
    assert "The leader depends on the design: under TI-1R-NN(9) pop leads." in sentence
    assert (
        "The other design ranks the systems differently than lists; the largest change is under TI-1R-NN(9)" in sentence
    )
    assert "Kendall's tau -1.00" in sentence
    text = Reader(page("t", "", ROWS)).text
    assert "different order, τ -1.00" in text


def test_another_leader_is_stated_with_its_significance():
    about = {"difference": -0.1, "design": "TI-1R-NN(9)"}
    swapped = {known: [pair("svd", "pop", significant=known, **about)] for known in (True, False)}
    assert "under TI-1R-NN(9) pop leads (significant)." in agreement(ROWS, swapped[True])
    assert "under TI-1R-NN(9) pop leads (not significant)." in agreement(ROWS, swapped[False])


def test_designs_with_the_same_order_are_reported():
    same = [row(system, mean, design) for design in "xyz" for system, mean in (("a", 0.1), ("b", 0.2))]
    assert agreement(same).endswith("All 3 designs rank the systems in the same order.")


def test_a_change_of_order_below_the_leader_is_reported():
    means = {"x": (0.3, 0.2, 0.1), "y": (0.3, 0.1, 0.2), "z": (0.3, 0.2, 0.1)}
    rows = [row(s, m, design) for design, line in means.items() for s, m in zip("abc", line, strict=True)]
    sentence = agreement(rows)
    assert (
        "The leader is the same under all 3 designs. 1 of the 2 other designs ranks the systems differently than x"
        in sentence
    )


def test_the_longer_axis_of_the_matrix_is_vertical():
    many = [row(system, 0.1, f"d{number}") for number in range(4) for system in "ab"]
    assert '<th scope="col">Design</th>' in page("t", "", many)
    few = [row(system, 0.1, design) for system in "abc" for design in "xy"]
    assert '<tr><th scope="col">System</th>\n' in page("t", "", few)


def test_a_cell_without_a_row_is_a_dash():
    text = Reader(page("t", "", [row("a", 0.2, "x"), row("b", 0.3, "x"), row("a", 0.2, "y")])).text
    assert "–" in text


def test_every_data_set_has_its_own_results():
    rows = [row("a", 0.2), {**row("a", 0.4), "dataset": "other"}]
    text = Reader(page("t", "", rows)).text
    assert text.count("ml · random(test=0.2) · ranking · seed 0") == 1
    assert text.count("other · random(test=0.2) · ranking · seed 0") == 1


def test_single_folds_follow_the_results_over_all_folds():
    folds = [{**row("a", mean), "fold": number} for number, mean in enumerate((0.1, 0.3))]
    text = Reader(page("t", "", [*folds, row("a", 0.2)])).text
    assert "a has 0.2000" in text
    assert "Results by fold" in text
    assert "Results by fold" not in page("t", "", [folds[0], row("a", 0.1)])
    without_all = Reader(page("t", "", folds)).text
    assert "No system has results in every fold" in without_all
    assert "Results by fold" in without_all


def test_columns_without_information_are_left_out():
    rows = [row("a", 0.2, rho=0.01, corrected=0.1, short=0, missing=3), row("b", 0.3, rho=None, short=0)]
    text = page("t", "", rows)
    for heading, shown in (("rho", True), ("corrected", True), ("missing", True), ("short", False), ("sets", False)):
        assert (f'<th scope="col" class="value">{heading}</th>' in text) == shown


def test_a_long_data_table_is_cut_with_a_note():
    table = pl.DataFrame({"x": list(range(1_200)), "y": [0.5] * 1_200})
    text = page("t", "", [], exhibits=[Exhibit("long", "t", "c", table, "x", "y")])
    assert "200 more rows are not shown." in text


def test_jinja_is_imported_only_when_a_page_is_made():
    code = "import sys, recassay.report.folder.page; print({'jinja2'} & set(sys.modules))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "set()"


def test_the_figure_says_how_systems_are_ordered():
    other = [row("pop", 0.4) | {"dataset": "lastfm"}, row("svd", 0.3) | {"dataset": "lastfm"}]
    lists = [one for one in ROWS if one["design"] == "lists"]
    top, ranks = "best on top", "in order of their mean rank over all settings"
    shown = [Reader(page("A", "", rows)).text for rows in (lists, lists + other)]
    assert [(top in text, ranks in text) for text in shown] == [(True, False), (False, True)]


def test_other_families_of_metrics_are_answered_beside_the_verdict():
    rows = [row(system, mean, metric="ild@10") for system, mean in (("pop", 0.2), ("svd", 0.1))]
    text = Reader(page("A", "Does diversity suffer?", [*ROWS, *rows])).text
    sentence = "Diversity (ild@10): highest pop with 0.2000, lowest svd with 0.1000, 0.1000 apart (not tested)."
    assert text.index("svd leads by ndcg@10") < text.index(sentence) < text.index("best on top")
