"""Figures: positions, order and scales of what is drawn, and escaping of text."""

from __future__ import annotations

import datetime
import re
from pathlib import Path
from xml.etree import ElementTree

import polars as pl
import pytest

from recassay.report.figures import panels, undrawn
from recassay.report.figures.chart import linear, logarithmic, scale_of
from recassay.report.figures.export import standalone, write_figures
from recassay.report.folder.page import page
from recassay.report.folder.results import ResultFolder
from recassay.results.exhibit import Exhibit

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "<img src=x onerror=alert(1)>\"'&\x1b"
LINES = pl.DataFrame(
    {
        "removed": [0.0, 0.5, 0.0, 0.5],
        "mean": [0.4, 0.2, 0.3, 0.1],
        "low": [0.3, 0.1, 0.2, 0.0],
        "high": [0.5, 0.3, 0.4, 0.2],
        "system": ["a", "a", "b", "b"],
    }
)


def exhibit(table=LINES, **more):
    axes = {"x": "removed", "y": "mean", "series": "system", "low": "low", "high": "high"}
    return Exhibit("sparsity", "Fewer ratings", "Precision falls.", table, **axes | more)


def drawn(one):
    return [ElementTree.fromstring(panel.svg) for panel in panels(one)]


def kind(tree, name):
    return [one for one in tree.iter() if name in (one.get("class") or "").split()]


def texts(tree):
    return [one.text for one in tree.iter(f"{SVG}text")]


def coordinates(path):
    return [tuple(map(float, pair.split())) for pair in re.split("[ML]", path.get("d").rstrip("Z"))[1:]]


def test_a_line_has_a_band_and_a_single_point_has_a_whisker():
    [tree] = drawn(exhibit())
    assert len(kind(tree, "b")) == 2
    [single] = drawn(exhibit(LINES.head(1)))
    assert not kind(single, "b")
    assert len(kind(single, "l")) == 1


def test_points_are_drawn_in_the_order_of_the_axis():
    for table in (LINES, LINES.reverse()):
        [tree] = drawn(exhibit(table, low=None, high=None))
        for line in kind(tree, "l")[2:]:  # the first two belong to the legend
            assert coordinates(line) == sorted(coordinates(line))


def test_larger_values_are_higher_and_smaller_ranks_are_higher():
    for downwards in (False, True):
        [tree] = drawn(exhibit(low=None, high=None, downwards=downwards))
        first = coordinates(kind(tree, "l")[2])
        assert (first[0][1] < first[1][1]) == (not downwards)


def test_panels_share_their_scales_and_colours():
    found = panels(exhibit(LINES.with_columns(removed=pl.lit(1.0)), facet="system"))
    assert [panel.heading for panel in found] == ["system: a", "system: b"]
    first, second = (ElementTree.fromstring(panel.svg) for panel in found)
    assert [one for one in texts(first) if one[0].isdigit()] == [one for one in texts(second) if one[0].isdigit()]
    assert [len(kind(tree, "c0")) for tree in (first, second)] == [2, 1]  # the legend in both panels, the line in one


def test_rows_that_cannot_be_drawn_are_counted():
    table = LINES.with_columns(mean=pl.Series([0.4, None, float("nan"), 0.1]))
    shown = exhibit(table, log_x=True)  # the first row is at 0
    assert undrawn(shown) == 3
    assert "3 rows of the table cannot be drawn" in page(ResultFolder(Path(), (), exhibits=(shown,)))
    assert len(panels(shown)) == 1


def test_bars_start_at_zero():
    table = pl.DataFrame({"bin": ["top", "10", "2"], "share": [0.5, -0.3, 0.2]})
    [tree] = drawn(Exhibit("b", "t", "c", table, "bin", "share", kind="bar"))
    top, ten, two = kind(tree, "m")
    zero = float(top.get("y")) + float(top.get("height"))
    assert float(ten.get("y")) == pytest.approx(zero, abs=0.11)
    assert float(two.get("y")) + float(two.get("height")) == pytest.approx(zero, abs=0.11)
    assert [one for one in texts(tree) if one in ("top", "10", "2")] == ["top", "10", "2"]


def test_bars_on_a_logarithmic_axis_start_at_its_lower_end():
    table = pl.DataFrame({"system": ["a", "b"], "seconds": [0.01, 100.0]})
    [tree] = drawn(Exhibit("b", "t", "c", table, "system", "seconds", kind="bar", log_y=True))
    feet = [float(one.get("y")) + float(one.get("height")) for one in kind(tree, "m")]
    assert feet[0] == pytest.approx(feet[1], abs=0.11)
    assert all(float(one.get("height")) > 1 for one in kind(tree, "m"))


def test_dots_are_in_the_order_of_the_table_with_lines_for_bounds():
    table = pl.DataFrame({"system": ["b", "a"], "mean": [0.2, 0.1], "low": [0.1, 0.0], "high": [0.3, None]})
    [tree] = drawn(Exhibit("d", "t", "c", table, "mean", "system", low="low", high="high", kind="dot"))
    b, a = kind(tree, "m")
    assert float(b.get("cy")) < float(a.get("cy"))
    assert float(b.get("cx")) > float(a.get("cx"))
    assert len(kind(tree, "l")) == 1  # no bound, no line


def test_long_names_stay_distinct_and_whole_names_are_tooltips():
    names = [f"BPR(factors={number}, regularization=0.01, iterations=100)" for number in (16, 18, 160)]
    table = pl.DataFrame({"system": names, "mean": [0.2, 0.1, 0.3]})
    [tree] = drawn(Exhibit("d", "t", "c", table, "mean", "system", kind="dot"))
    labels = [one for one in tree.iter() if one.tag.endswith("text") and (one.text or "").startswith("BPR")]
    assert len({one.text for one in labels}) == 3
    assert all("…" in one.text for one in labels)
    assert sorted(one[0].text for one in labels) == sorted(names)


def test_a_cell_is_shaded_by_value_and_shows_its_label():
    table = pl.DataFrame(
        {"a": ["x", "y", "x"], "b": ["p", "p", "q"], "rank": [1, 3, None], "words": ["first", "third", None]}
    )
    shown = Exhibit("h", "t", "c", table, "a", "b", kind="heat", value="rank", downwards=True)
    [tree] = drawn(shown)
    assert [one.get("fill-opacity") for one in kind(tree, "h")] == ["0.50", "0.00", "0.00"]
    assert {"1", "3", "–"} <= set(texts(tree))
    [named] = drawn(Exhibit("h", "t", "c", table, "a", "b", kind="heat", value="rank", label="words"))
    assert {"first", "third", "–"} <= set(texts(named))


def test_cells_without_a_finite_value_are_not_shaded():
    table = pl.DataFrame({"a": ["x", "y"], "b": ["p", "p"], "value": [float("inf"), None]})
    [tree] = drawn(Exhibit("h", "t", "c", table, "a", "b", kind="heat", value="value"))
    assert [one.get("fill-opacity") for one in kind(tree, "h")] == ["0.00", "0.00"]


def test_bands_shade_ranges_and_marks_are_vertical_lines():
    table = pl.DataFrame(
        {"t": [0, 1, 2, 3], "y": [1.0, 2, 3, 4], "better": ["a", "a", None, "b"], "drift": [None, "drift", None, None]}
    )
    [tree] = drawn(Exhibit("o", "t", "c", table, "t", "y", band="better", mark="drift"))
    a, b = kind(tree, "g0") + kind(tree, "g1")
    assert float(a.get("x")) + float(a.get("width")) < float(b.get("x"))
    [mark] = kind(tree, "k")
    [line] = kind(tree, "l")
    assert coordinates(mark)[0][0] == coordinates(line)[1][0]
    assert "drift" in texts(tree)


def test_times_are_labelled_with_dates():
    days = [datetime.date(2020, 1, 1) + datetime.timedelta(days=30 * month) for month in range(5)]
    [tree] = drawn(Exhibit("o", "t", "c", pl.DataFrame({"day": days, "y": [1.0] * 5}), "day", "y"))
    assert "2020-01-01" in texts(tree)


@pytest.mark.parametrize("form", ["line", "point", "bar", "dot", "heat"])
def test_text_cannot_inject_elements_into_a_figure(form):
    table = pl.DataFrame({HOSTILE: [1.0, 2.0], "y": [1.0, 2.0], "s": [HOSTILE, "b"]})
    axes = {"dot": (HOSTILE, "s"), "heat": ("s", "s")}.get(form, (HOSTILE, "y"))
    more = {"value": "y", "label": "s"} if form == "heat" else {"mark": "s", "band": "s"} if form == "line" else {}
    series = None if form in ("dot", "heat") else "s"
    [panel] = panels(Exhibit(HOSTILE, HOSTILE, HOSTILE, table, *axes, series, kind=form, **more))
    tree = ElementTree.fromstring(panel.svg)
    assert not [one for one in tree.iter() if not one.tag.startswith(SVG) or one.tag == f"{SVG}img"]
    assert "\x1b" not in panel.svg
    ElementTree.fromstring(standalone(panel.svg))


@pytest.mark.parametrize("form", ["line", "bar", "dot", "heat"])
def test_an_empty_table_gives_no_figures(form):
    table = LINES.clear()
    assert panels(Exhibit("e", "t", "c", table, "removed", "system", kind=form, value="mean")) == []


def test_ticks_are_distinct_and_inside_the_axis():
    for low, high in ((0, 1), (-3, 17), (0.1234, 0.1235), (0, 2.5e6), (5, 5)):
        ticks = linear(low, high).ticks
        assert 2 <= len(ticks) <= 7
        assert all(-1e-9 <= tick.at <= 1 + 1e-9 for tick in ticks)
        assert len({tick.label for tick in ticks}) == len(ticks)
    assert [tick.label for tick in logarithmic(1, 10).ticks] == ["1", "2", "5", "10"]
    assert scale_of([True, False]).names == ("True", "False")


def test_exported_figures_contain_colours_instead_of_css_variables(tmp_path):
    [svg] = write_figures([exhibit()], tmp_path / "figures", "svg")
    text = svg.read_text(encoding="utf-8")
    assert "var(" not in text
    assert "#0b57b0" in text
    assert (tmp_path / "figures" / "001-sparsity.csv").read_text().splitlines()[0] == "removed,mean,low,high,system"


def test_a_png_has_three_pixels_per_unit(tmp_path):
    pytest.importorskip("resvg_py")
    [png] = write_figures([exhibit()], tmp_path, "png")
    content = png.read_bytes()
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    assert int.from_bytes(content[16:20], "big") == 3 * 400
