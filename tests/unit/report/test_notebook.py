"""Display of results in notebooks: correct numbers, escaped names, and figures that can be saved."""

from __future__ import annotations

import math
from html.parser import HTMLParser
from xml.etree import ElementTree

import polars as pl
import pytest

import recassay as ra
from recassay.errors import UsageError
from recassay.results.exhibit import Exhibit
from recassay.results.finding import Finding, Findings

HOSTILE = "<img src=x onerror=alert(1)>"
TRUTH = {"ann": ["x"], "bob": ["y"], "cem": ["z"]}
RUNS = {HOSTILE: {"ann": ["x"], "bob": ["y"], "cem": ["x"]}, "b": {"ann": ["y"], "bob": ["y"], "cem": ["x"]}}


@pytest.fixture(scope="module")
def scores():
    return ra.score(RUNS, TRUTH, "hit@1 mrr", interval="normal")


class Read(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.words = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)

    def handle_data(self, data):
        self.words.append(data)


def test_scores_show_means_intervals_and_findings(scores):
    read = Read(scores._repr_html_())
    assert read.tags.count("tr") == 1 + 4 + 1 + 1  # means by metric and system, then a finding
    assert f"{2 / 3:.4f}" in read.words
    assert f"{1 / 3:.4f}" in read.words
    assert HOSTILE in read.words
    assert "img" not in read.tags
    assert any("C009" in word for word in read.words)


def test_comparisons_show_a_row_per_pair_and_metric(scores):
    read = Read(ra.compare(scores)._repr_html_())
    assert read.tags.count("tr") == 1 + 2
    assert f"+{1 / 3:.4f}" in read.words
    assert any("paired permutation test, Holm" in word for word in read.words)


def test_findings_are_displayed_together_and_alone(scores):
    assert isinstance(scores.findings, Findings)
    assert Read(scores.findings._repr_html_()).tags.count("tr") == 1 + len(scores.findings) == 2
    assert "No findings" in Findings()._repr_html_()
    assert "img" not in Read(Finding("C001", "info", HOSTILE, HOSTILE, HOSTILE)._repr_html_()).tags


def test_a_plot_is_svg_with_a_dot_per_system(scores, tmp_path):
    picture = scores.plot()
    tree = ElementTree.fromstring(picture._repr_svg_())
    assert len([one for one in tree.iter() if one.get("class") == "m"]) == 2
    assert any("hit@1" in (one.text or "") for one in tree.iter())
    assert picture.save(tmp_path / "means.svg").read_text(encoding="utf-8") == picture.svg
    assert scores.plot("mrr").svg != picture.svg
    with pytest.raises(UsageError, match="U101"):
        scores.plot("mmr")


def test_a_plot_of_an_undefined_metric_is_refused():
    scores = ra.score({"a": {"ann": ["x"]}}, {"ann": {"x": 0.0}}, "hit@1", interval=None)
    assert math.isnan(scores.rows[0].mean)
    with pytest.raises(UsageError, match="undefined for every system"):
        scores.plot()


def test_a_figure_can_be_saved_as_png(scores, tmp_path):
    pytest.importorskip("resvg_py")
    assert scores.plot().save(tmp_path / "means.png").read_bytes()[:4] == b"\x89PNG"


def test_exhibits_show_their_figures_and_escaped_caption():
    one = Exhibit("e", "Title", HOSTILE, pl.DataFrame({"x": [1, 2], "y": [1.0, 2.0]}), "x", "y")
    text = one._repr_html_()
    assert "<svg" in text
    assert "<img" not in text


def test_a_long_comparison_is_cut_with_a_note():
    runs = {f"s{number:02d}": {"ann": ["x"], "bob": ["y"]} for number in range(13)}
    text = ra.compare(ra.score(runs, TRUTH, "hit@1", interval=None))._repr_html_()
    assert "18 more rows" in text
