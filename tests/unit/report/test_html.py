"""The page of a study: whole, in one file, the same each time, and true to what it was given."""

from __future__ import annotations

import subprocess
import sys
from html.parser import HTMLParser

import polars as pl
import pytest

from recassay.data.exhibit import Exhibit
from recassay.data.finding import Finding
from recassay.report.html import page
from recassay.report.page.board import boards
from recassay.report.page.figures import Room
from recassay.report.page.verdict import verdict

NASTY = "<script>alert('x')</script>&\"\x1b"
VOID = {"meta", "br", "link", "img", "hr", "input"}


class Reader(HTMLParser):
    """Reads a page: its elements, their text, and whether every one is closed where it should be."""

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


def said(rows, comparisons=(), **more):
    [board] = boards(rows, comparisons)
    return [" ".join(verdict(grid, **more)) for grid in board.grids]


@pytest.fixture(scope="module")
def full():
    return page(
        "A study",
        "What is this?",
        ROWS,
        comparisons=[pair("pop", "svd", -0.1, significant=True)],
        findings=[Finding("C001", "info", "Small", "d"), Finding("B001", "error", "Large", "e", "svd")],
        exhibits=[exhibit(LINES)],
        lock={"study": "a", "versions": {"recassay": "0.1.0"}, "judge": {"level": 0.9}},
        failures=[{"system": "als", "dataset": "ml", "fold": 0, "code": "U112", "message": "no", "traceback": "Trace"}],
    )


def test_it_is_one_whole_page_with_its_parts_in_order(full):
    read = Reader(full)
    ids = [attrs["id"] for tag, attrs in read.elements if tag == "section"]
    assert ids == ["findings", "card", "verdict", "results", "exhibits", "failures", "made"]
    assert len(read.all("h1")) == 1
    assert [attrs["lang"] for attrs in read.all("html")] == ["en"]
    every_id = [attrs["id"] for _, attrs in read.elements if "id" in attrs]
    assert len(every_id) == len(set(every_id))


def test_every_reference_inside_the_page_has_its_target(full):
    read = Reader(full)
    ids = {attrs["id"] for _, attrs in read.elements if "id" in attrs}
    wanted = [attrs["href"].removeprefix("#") for attrs in read.all("a")]
    wanted += [attrs["aria-labelledby"] for _, attrs in read.elements if "aria-labelledby" in attrs]
    assert wanted
    assert set(wanted) <= ids


def test_nothing_is_fetched(full):
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


def test_without_a_script_everything_is_there_and_nothing_is_hidden(full):
    read = Reader(full)
    assert [attrs.get("hidden", "shown") for attrs in read.all("form")] == [None]  # what needs the script, alone
    assert not [attrs for tag, attrs in read.elements if tag in ("article", "figure", "table") and "hidden" in attrs]
    assert len(page("t", "", ROWS)) < 60_000


def test_every_number_is_there_as_it_was_computed():
    third = 1 / 3
    read = Reader(page("t", "", [row("a", third), row("b", 0.25)]))
    held = [attrs["data-v"] for attrs in read.all("td") if attrs.get("data-v")]
    assert repr(third) in held
    assert repr(0.25 - third) in held


def test_raised_letters_name_the_systems_that_are_beaten():
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


def test_what_a_reader_can_choose_has_two_answers_or_more():
    def choices(text):
        return [attrs["name"] for attrs in Reader(text).all("select")]

    assert choices(page("t", "", [row("a", 0.1)])) == []
    assert choices(page("t", "", [row("a", 0.1), row("a", 0.2, metric="ndcg@20")])) == ["cut"]
    assert choices(page("t", "", [row("a", 0.1), row("a", 0.2, metric="mrr")])) == ["metric", "cut"]
    assert choices(page("t", "", [row("a", 0.1), {**row("a", 0.1, "x"), "dataset": "b"}])) == ["data", "design"]


def test_figures_are_left_out_where_there_is_no_room_and_that_is_told(monkeypatch):
    monkeypatch.setattr("recassay.report.html.Room", lambda: Room(left=0))
    text = page("t", "", ROWS)
    assert "3 figures were left out" in text
    assert 'class="figure"' not in text


def test_a_long_table_of_comparisons_is_cut_and_says_so(monkeypatch):
    monkeypatch.setattr("recassay.report.page.tables.MOST_PAIRS", 1)
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


def test_the_same_study_gives_the_same_bytes():
    def made():
        return page("t", "a", ROWS, exhibits=[exhibit(LINES)], lock={"study": "x"})

    assert made() == made()


def test_names_have_no_power():
    rows = [row(NASTY, 0.2, NASTY, NASTY), row("b", 0.3, NASTY, NASTY), row("b", 0.3, "other", NASTY)]
    rows = [{**one, "dataset": NASTY, "split": NASTY} for one in rows]
    pairs = [{**pair(NASTY, "b", 0.1, significant=True, design=NASTY, metric=NASTY), "dataset": NASTY, "split": NASTY}]
    table = LINES.with_columns(system=pl.lit(NASTY), bin=pl.lit(NASTY)).rename({"mean": NASTY})
    text = page(
        NASTY, NASTY, rows,
        comparisons=[{**one, "test": NASTY} for one in pairs],
        findings=[Finding(NASTY, "error", NASTY, NASTY, NASTY)],
        exhibits=[Exhibit(NASTY, NASTY, NASTY, table, "removed", NASTY, "system", "bin")],
        lock={NASTY: NASTY, "versions": {NASTY: NASTY}, "data": [{"name": NASTY, "events": 1, "users": 1, "items": 1}]},
        failures=[{"system": NASTY, "dataset": NASTY, "code": NASTY, "message": NASTY, "traceback": NASTY}],
    )  # fmt: skip
    read = Reader(text)
    assert "<script>alert" not in text
    assert "\x1b" not in text
    assert "<script>alert('x')</script>&\"\\x1b" in read.text
    assert len(read.all("script")) == 1


@pytest.mark.parametrize("lock", [None, {}])
def test_nothing_at_all_is_a_page_too(lock):
    read = Reader(page("Nothing", "", [], lock=lock))
    assert "There are no results." in read.text
    assert "No findings." in read.text
    assert [attrs["id"] for attrs in read.all("section")] == ["findings", "verdict", "results"]


def test_findings_are_told_errors_first(full):
    text = Reader(full).text
    assert text.index("Large") < text.index("Small")


def test_numbers_are_rounded_as_everywhere_and_the_best_is_marked(full):
    read = Reader(full)
    assert "0.3000 best 0.2900–0.3100" in read.text
    assert "90 % interval" in read.text
    assert full.count("is-best") == 4 + full.count(".is-best")  # under both designs, and of each alone


def test_a_mean_that_is_undefined_is_called_so():
    text = Reader(page("t", "", [row("a", None), row("b", 0.25)])).text
    assert "b has 0.2500 (95 % interval 0.2400–0.2600); no other system has a value." in text
    assert "undefined" in text
    assert "nan" not in text.lower().replace("finance", "")
    assert said([row("a", None)]) == ["ndcg@10 is undefined for every system."]


def test_a_lead_is_believed_by_the_test_of_the_two():
    rows = [row("pop", 0.2), row("svd", 0.3)]
    certain = said(rows, [pair("pop", "svd", -0.1, significant=True)])[0]
    assert certain.startswith("svd leads with 0.3000 (95 % interval 0.2900–0.3100), 0.1000 above pop: more than its")
    assert "difference 0.0800–0.1200, adjusted p 0.0200" in certain  # the pair turned round
    doubtful = said(rows, [pair("svd", "pop", 0.1, significant=False)])[0]
    assert "within its uncertainty, so the two cannot be told apart" in doubtful


def test_within_uncertainty_the_best_that_is_surely_beaten_is_named():
    rows = [row("a", 0.3), row("b", 0.29), row("c", 0.28), row("d", 0.1)]
    pairs = [pair("a", "b", 0.01, significant=False), pair("a", "c", 0.02, significant=False)]
    told = said(rows, [*pairs, pair("d", "a", -0.2, significant=True)])[0]
    assert told.endswith("The best system that it does beat is d.")


def test_against_a_baseline_alone_the_lead_over_it_is_told():
    rows = [row("a", 0.3), row("b", 0.295), row("pop", 0.1)]
    told = said(rows, [pair("a", "pop", 0.2, significant=True), pair("b", "pop", 0.195, significant=True)])[0]
    assert told.endswith("so the lead is not established. The best system that it does beat is pop.")


def test_without_a_test_the_intervals_speak():
    assert "intervals do not overlap" in said([row("a", 0.2), row("b", 0.3)])[0]
    assert "overlap, so the lead is not established" in said([row("a", 0.29), row("b", 0.3)])[0]
    bare = [{**row("a", 0.29), "low": None}, row("b", 0.3)]
    assert "how certain that is, was not asked" in said(bare)[0]


def test_lower_is_better_where_it_is():
    rows = [row("a", 0.2, metric="rmse"), row("b", 0.3, metric="rmse")]
    assert said(rows)[0].startswith("a leads with 0.2000 (95 % interval 0.1900–0.2100), 0.1000 below b")
    upside_down = [{**one, "higher_is_better": True} for one in rows]
    assert said(upside_down)[0].startswith("b leads")


def test_a_metric_that_is_not_known_has_no_leader():
    told = said([row("a", 0.2, metric="mine"), row("b", 0.3, metric="mine")])[0]
    assert told == "It has no better end; it goes from 0.2000 (a) to 0.3000 (b)."
    assert "best</span>" not in page("t", "", [row("a", 0.2, metric="mine"), row("b", 0.3, metric="mine")])


def test_equal_means_share_the_lead():
    assert said([row("a", 0.3), row("b", 0.3), row("c", 0.1)])[0].startswith("a and b share the lead with 0.3000")


def test_designs_that_disagree_are_named():
    told = said(ROWS)[0]
    assert "The lead does not hold under all designs: under TI-1R-NN(9) pop leads." in told
    assert "The other design orders the systems otherwise than lists; least like it is TI-1R-NN(9)" in told
    assert "Kendall's tau -1.00" in told
    text = Reader(page("t", "", ROWS)).text
    assert "other order, τ -1.00" in text


def test_a_new_leader_is_believed_by_the_test_of_the_two():
    about = {"difference": -0.1, "design": "TI-1R-NN(9)"}
    swapped = {certain: [pair("svd", "pop", significant=certain, **about)] for certain in (True, False)}
    assert "under TI-1R-NN(9) pop leads, by more than the uncertainty." in said(ROWS, swapped[True])[0]
    assert "under TI-1R-NN(9) pop leads, within the uncertainty." in said(ROWS, swapped[False])[0]


def test_designs_that_agree_are_said_to():
    same = [row(system, mean, design) for design in "xyz" for system, mean in (("a", 0.1), ("b", 0.2))]
    assert said(same)[0].endswith("All 3 designs put the systems in the same order.")


def test_an_order_below_the_lead_counts_too():
    means = {"x": (0.3, 0.2, 0.1), "y": (0.3, 0.1, 0.2), "z": (0.3, 0.2, 0.1)}
    rows = [row(s, m, design) for design, line in means.items() for s, m in zip("abc", line, strict=True)]
    told = said(rows)[0]
    assert "The lead holds under all 3 designs. 1 of the 2 other designs orders the systems otherwise than x" in told


def test_the_longer_side_runs_down_the_page():
    many = [row(system, 0.1, f"d{number}") for number in range(4) for system in "ab"]
    assert '<th scope="col">Design</th>' in page("t", "", many)
    few = [row(system, 0.1, design) for system in "abc" for design in "xy"]
    assert '<tr><th scope="col">System</th>\n' in page("t", "", few)


def test_a_cell_without_a_row_is_a_dash():
    text = Reader(page("t", "", [row("a", 0.2, "x"), row("b", 0.3, "x"), row("a", 0.2, "y")])).text
    assert "–" in text


def test_every_data_set_and_split_has_its_board():
    rows = [row("a", 0.2), {**row("a", 0.4), "dataset": "other"}]
    text = Reader(page("t", "", rows)).text
    assert text.count("ml · random(test=0.2) · ranking · seed 0") == 2  # in the verdict and in the results
    assert text.count("other · random(test=0.2) · ranking · seed 0") == 2


def test_folds_stand_below_what_is_over_all_of_them():
    folds = [{**row("a", mean), "fold": number} for number, mean in enumerate((0.1, 0.3))]
    text = Reader(page("t", "", [*folds, row("a", 0.2)])).text
    assert "a has 0.2000" in text
    assert "Fold by fold" in text
    assert "Fold by fold" not in page("t", "", [folds[0], row("a", 0.1)])
    lost = Reader(page("t", "", folds)).text
    assert "No system answered in every fold" in lost
    assert "Fold by fold" in lost


def test_what_stands_beside_a_mean_is_left_out_where_it_says_nothing():
    rows = [row("a", 0.2, rho=0.01, corrected=0.1, short=0, missing=3), row("b", 0.3, rho=None, short=0)]
    text = page("t", "", rows)
    for heading, there in (("rho", True), ("corrected", True), ("missing", True), ("short", False), ("sets", False)):
        assert (f'<th scope="col" class="value">{heading}</th>' in text) == there


def test_a_long_table_is_cut_and_says_so():
    table = pl.DataFrame({"x": list(range(1_200)), "y": [0.5] * 1_200})
    text = page("t", "", [], exhibits=[Exhibit("long", "t", "c", table, "x", "y")])
    assert "200 more rows are not shown." in text


def test_what_draws_is_imported_only_when_a_page_is_made():
    code = "import sys, recassay.report.html; print({'jinja2'} & set(sys.modules))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "set()"
