"""Result tables in every format: complete numbers, escaped names, correct best system and significance."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from rich.console import Console

from recassay.api.compare import compare
from recassay.report.content.grids import grids_of
from recassay.report.tables.scores import score_table, text_table
from recassay.report.tables.verdict import findings_table
from recassay.results.finding import Finding
from recassay.results.scores import Scores, Summary

NAN = float("nan")
UNITS = 40
INTERVAL = {"method": "bootstrap", "level": 0.95, "resamples": 1000, "seed": 0}


def make(columns, *, higher=True, systems=None, **more):
    """Return scores from {(system, metric): values}; a float instead of values is a catalogue metric."""
    systems = systems or tuple(dict.fromkeys(system for system, _ in columns))
    metrics = tuple(dict.fromkeys(metric for _, metric in columns))
    rows = []
    for metric in metrics:
        for system in systems:
            values = columns[system, metric]
            same = {"missing": 0, "short": 0, "duplicate": 0, "undefined": 0, "higher_is_better": higher}
            if isinstance(values, float):
                rows.append(Summary(system, metric, values, UNITS, **same))
                continue
            defined = values[~np.isnan(values)]
            mean = defined.mean() if defined.size else NAN
            bounds = {"low": mean - 0.01, "high": mean + 0.01}
            rows.append(Summary(system, metric, mean, defined.size, **same, **bounds))
    per_unit = {key: values for key, values in columns.items() if not isinstance(values, float)}
    return Scores(
        units=pl.Series(range(UNITS)),
        systems=systems,
        metrics=metrics,
        per_unit=per_unit,
        rows=tuple(rows),
        settings={"interval": INTERVAL, "conventions": {}, **more},
    )


def around(mean, seed=0):
    """Return values with exactly this mean, whose order differs by seed."""
    wave = 0.05 * np.sin(np.arange(UNITS) * (seed + 1))
    return mean + wave - wave.mean()


@pytest.fixture
def scores():
    means = {"alpha": (0.5, 0.31), "beta": (0.4, 0.3), "gamma": (0.2, 0.32)}
    columns = {}
    for column, metric in enumerate(("ndcg@10", "recall(relevant_from=4.0)@20")):
        columns |= {(name, metric): around(pair[column], seed) for seed, (name, pair) in enumerate(means.items())}
    return make(columns)


def to_markdown(scores, comparison=None):
    return score_table(scores, comparison, "markdown")


def to_latex(scores, comparison=None):
    return score_table(scores, comparison, "latex")


def to_csv(scores):
    return score_table(scores, None, "csv")


def printed(renderable, width=100):
    screen = Console(width=width, file=io.StringIO(), color_system=None)
    screen.print(renderable)
    return screen.file.getvalue()


def bold(renderable, width=100):
    """Return the words printed in bold."""
    screen = Console(width=width, file=io.StringIO(), color_system="truecolor", force_terminal=True)
    styled = [segment for segment in screen.render(renderable) if segment.style and segment.style.bold]
    return [segment.text.strip() for segment in styled if segment.text.strip()]


def line_of(text, *words):
    """Return the words of the only line that contains all the given words."""
    lines = [line for line in text.splitlines() if all(word in line for word in words)]
    assert len(lines) == 1, text
    return lines[0].split()


class TestText:
    def test_a_row_per_metric_and_system_in_the_order_given(self, scores):
        text = printed(text_table(scores))
        assert [line.split()[-4:] for line in text.splitlines()[2:5]] == [
            ["alpha", "0.5000", "0.4900–0.5100", "40"],
            ["beta", "0.4000", "0.3900–0.4100", "40"],
            ["gamma", "0.2000", "0.1900–0.2100", "40"],
        ]
        assert text.splitlines()[2].startswith("ndcg@10 ")
        assert text.splitlines()[6].startswith("recall(relevant_from=4.0)@20 ")

    def test_differences_are_relative_to_the_best_without_a_baseline(self, scores):
        text = printed(text_table(scores, compare(scores)))
        first, second = text.split("recall(")
        assert line_of(first, "alpha")[-2:] == ["best", "–"]
        assert line_of(first, "beta")[-2] == "-0.1000"
        assert line_of(second, "gamma")[-2:] == ["best", "–"]
        assert line_of(second, "alpha")[-2] == "-0.0100"
        assert "Differences are relative to the best system of each metric." in text

    def test_differences_are_relative_to_the_baseline_if_given(self, scores):
        text = printed(text_table(scores, compare(scores, baseline="beta"))).split("recall(")[0]
        assert line_of(text, "alpha")[-2] == "+0.1000"
        assert line_of(text, "beta")[-2:] == ["baseline", "–"]
        assert line_of(text, "gamma")[-2] == "-0.2000"

    def test_p_is_adjusted(self, scores):
        comparison = compare(scores)
        row = next(row for row in comparison.rows if row.metric != "ndcg@10" and {row.a, row.b} == {"alpha", "gamma"})
        assert row.p_adjusted > 1.5 * row.p > 0.001
        assert (
            line_of(printed(text_table(scores, comparison)).split("recall(")[1], "alpha")[-1] == f"{row.p_adjusted:.4f}"
        )

    def test_the_best_mean_is_bold(self, scores):
        assert [word for word in bold(text_table(scores)) if "." in word] == ["0.5000", "0.3200"]

    def test_the_lowest_is_best_where_lower_is_better(self):
        columns = {("a", "rmse"): around(0.9), ("b", "rmse"): around(0.7, 1)}
        scores = make(columns, higher=False)
        text = printed(text_table(scores, compare(scores)))
        assert line_of(text, "b ", "0.7000")[-2] == "best"
        assert line_of(text, "a ", "0.9000")[-2] == "+0.2000"
        [grid] = grids_of(scores, compare(scores))[0].grids
        assert [grid.beaten("lists", name) for name in "ab"] == [[], ["a"]]

    def test_no_system_is_best_if_neither_direction_is_better(self):
        scores = make({("a", "arp@10"): around(3.0), ("b", "arp@10"): around(2.0, 1)}, higher=None)
        text = printed(text_table(scores, compare(scores)))
        assert line_of(text, "a ", "3.0000")[-2:] == ["–", "–"]
        assert grids_of(scores, None)[0].grids[0].best("lists") == []

    def test_a_single_system_is_not_marked_as_best(self):
        assert grids_of(make({("a", "ndcg@10"): around(0.5)}), None)[0].grids[0].best("lists") == []

    def test_undefined_means_and_missing_intervals_are_shown(self):
        columns = {("a", "ndcg@10"): np.full(UNITS, NAN), ("a", "coverage@10"): 0.25}
        text = printed(text_table(make(columns)))
        assert line_of(text, "ndcg@10")[-3:] == ["undefined", "–", "0"]
        assert line_of(text, "coverage@10")[-3:] == ["0.2500", "–", "40"]

    def test_counts_have_a_column_only_if_not_all_are_zero(self, scores):
        assert not re.search("missing|short|undefined|duplicate", printed(text_table(scores)))
        counted = replace(scores, rows=tuple(replace(row, missing=7 * (row.system == "beta")) for row in scores.rows))
        text = printed(text_table(counted))
        assert "missing" in text
        assert not re.search("short|undefined|duplicate", text)
        assert line_of(text.split("recall(")[0], "beta")[-1] == "7"

    @pytest.mark.parametrize("width", [52, 60, 72, 80, 100, 120, 200])
    def test_numbers_are_complete_at_every_width(self, scores, width):
        named = {
            "alpha": "a-name-that-is-so-long-that-it-cannot-be-shown-v1",
            "beta": "名前のとても長いシステム",
            "gamma": "g",
        }
        columns = {(named[system], metric): values for (system, metric), values in scores.per_unit.items()}
        long = make(columns)
        long = replace(long, rows=tuple(replace(row, missing=1_234, short=99, undefined=5) for row in long.rows))
        comparison = compare(long, baseline=named["alpha"])
        screen = Console(width=width, file=io.StringIO(), color_system=None)
        lines = screen.render_lines(text_table(long, comparison), screen.options)
        assert all(sum(segment.cell_length for segment in line) <= width for line in lines)
        text = printed(text_table(long, comparison), width)
        for row in long.rows:
            assert text.count(f" {row.mean:.4f} ") == 1
            assert f"{row.low:.4f}–{row.high:.4f}" in text
        for row in comparison.rows:
            assert f"{'+' if row.difference > 0 else '-'}{abs(row.difference):.4f}" in text
            assert f"{row.p_adjusted:.4f}" in text or row.p_adjusted < 0.00005
        assert {"1,234", "99", "5"} <= set(text.split())

    def test_non_default_conventions_are_printed_above(self, scores):
        defaults = {"order": "given", "ties": "id"}
        assert "Conventions" not in printed(text_table(replace(scores, settings={"conventions": defaults})))
        other = {
            "conventions": {**defaults, "ties": "trec"},
            "profile": "trec_eval",
            "metrics": {"mrr": "mrr(missing='skip')"},
        }
        first = printed(text_table(replace(scores, settings=other))).splitlines()[0]
        assert first == "Conventions: profile=trec_eval, ties=trec; mrr is mrr(missing='skip')."

    @pytest.mark.parametrize(
        ("baseline", "correction", "family", "note"),
        [
            ("beta", "holm", "metric", "paired permutation test, Holm over 2 pairs per metric."),
            (None, "bonferroni", "all", "paired permutation test, Bonferroni over 6 pairs."),
            (None, "none", "metric", "paired permutation test, p uncorrected for 3 pairs per metric."),
        ],
    )
    def test_the_note_names_the_interval_and_the_test(self, scores, baseline, correction, family, note):
        comparison = compare(scores, baseline=baseline, correction=correction, family=family)
        text = printed(text_table(scores, comparison), 200)
        assert f"95 % bootstrap interval (BCa) over 40 users; {note}" in text

    def test_the_kind_of_bootstrap_follows_the_number_of_users(self, scores):
        many = replace(scores, rows=tuple(replace(row, n=60_000) for row in scores.rows))
        assert "bootstrap interval (ABC) over 60,000 users" in printed(text_table(many))
        normal = replace(scores, settings={"interval": {**INTERVAL, "method": "normal", "level": 0.9}})
        assert "90 % interval (Student's t) over 40 users" in printed(text_table(normal))

    @pytest.mark.parametrize("name", ["[red]x[/red]", "[/]", "[link=http://a]b", ":smile:", "\\[x]"])
    def test_markup_in_names_is_printed_literally(self, name):
        scores = make({(name, "hit@1"): around(0.5)})
        found = scores.with_findings(Finding("C001", "warning", name, name, name))
        assert name in printed(text_table(found))
        assert printed(findings_table(found)).count(name) == 3

    @pytest.mark.parametrize("name", ["a\x1b[31mb", "a\nb", "a\rb", "a\u202eb", "a\x07b"])
    def test_names_cannot_control_the_terminal(self, name):
        scores = make({(name, "hit@1"): around(0.5)})
        found = scores.with_findings(Finding("C001", "warning", "title", f"such as {name}", name))
        text = printed(text_table(found)) + printed(findings_table(found))
        assert all(letter.isprintable() or letter == "\n" for letter in text)
        assert text.count(name.encode("unicode_escape").decode().removeprefix("a")) == 3


class TestFindings:
    def test_findings_are_sorted_by_severity_and_code(self, scores):
        found = scores.with_findings(
            Finding("C004", "info", "I", "d"), Finding("L001", "error", "E", "d"), Finding("C003", "warning", "W", "d"),
            Finding("C001", "warning", "W", "d"),
        )  # fmt: skip
        codes = re.findall(r"[CL]00\d", printed(findings_table(found)))
        assert codes == ["L001", "C001", "C003", "C004"]

    def test_a_finding_about_all_systems_says_so(self, scores):
        found = scores.with_findings(Finding("C001", "info", "T", "d", "alpha, beta, gamma"))
        assert "all systems" in printed(findings_table(found))

    def test_no_findings_is_a_single_line(self, scores):
        assert printed(findings_table(scores)) == "No findings.\n"


def cells(line):
    """Return the cells of a line of a Markdown table; escaped bars stay inside."""
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


class TestMarkdown:
    def test_systems_by_metrics_with_intervals_and_letters(self, scores):
        lines = to_markdown(scores, compare(scores)).splitlines()
        assert cells(lines[0]) == ["system", "ndcg@10", "recall(relevant\\_from=4.0)@20"]
        assert cells(lines[2])[:2] == ["a: alpha", "**0.5000**<sup>bc</sup> (0.4900–0.5100)"]
        assert cells(lines[4])[:2] == ["c: gamma", "0.2000 (0.1900–0.2100)"]

    def test_with_a_baseline_letters_mark_only_systems_that_are_better_than_it(self, scores):
        text = to_markdown(scores, compare(scores, baseline="beta"))
        lines = text.splitlines()
        assert cells(lines[2])[1] == "**0.5000**<sup>b</sup> (0.4900–0.5100)"
        assert "<sup>" not in lines[3]  # beta is better than gamma, which is not what the letters mean
        assert "Superscripts: significantly better than the baseline, b (other pairs were not compared)" in text

    def test_letters_mark_only_significant_differences(self):
        scores = make({("a", "hit@1"): around(0.500), ("b", "hit@1"): around(0.499, 1)})
        comparison = compare(scores)
        assert not comparison.rows[0].significant
        assert "<sup>" not in to_markdown(scores, comparison)

    def test_the_second_table_shows_counts(self, scores):
        counted = replace(scores, rows=tuple(replace(row, missing=2, duplicate=3) for row in scores.rows))
        counts = to_markdown(counted).split("\n\n")[-1].splitlines()
        assert cells(counts[0]) == ["system", "metrics", "n", "missing", "short", "undefined", "duplicate"]
        assert cells(counts[2]) == ["alpha", "all", "40", "2", "0", "0", "3"]

    def test_without_a_comparison_there_are_no_letters(self, scores):
        assert cells(to_markdown(scores).splitlines()[2])[:2] == ["alpha", "**0.5000** (0.4900–0.5100)"]

    def test_names_are_escaped_in_cells(self):
        text = to_markdown(make({("a|b <i>*x*</i> [l](u) `c`\n", "hit@1"): around(0.5)}))
        assert cells(text.splitlines()[2])[0] == "a\\|b \\<i\\>\\*x\\*\\</i\\> \\[l\\](u) \\`c\\`\\\\n"
        assert {len(cells(line)) for line in text.split("\n\n")[0].splitlines()} == {2}


class TestLatex:
    def test_best_bold_and_superscripts(self, scores):
        text = to_latex(scores, compare(scores))
        assert r"a\enspace alpha & \textbf{0.5000}\textsuperscript{bc} &" in text
        assert r" & {\scriptsize 0.4900\textendash{}0.5100} &" in text
        assert text.count(r"\toprule") == text.count(r"\midrule") == text.count(r"\bottomrule") == 1

    def test_the_second_best_of_three_systems_is_underlined(self):
        three = make({("a", "hit@1"): around(0.5), ("b", "hit@1"): around(0.4), ("c", "hit@1"): around(0.3)})
        text = to_latex(three)
        assert r"b & \underline{0.4000} \\" in text
        assert text.count(r"\underline") == 1
        two = make({("a", "hit@1"): around(0.5), ("b", "hit@1"): around(0.4)})
        assert r"\underline" not in to_latex(two)

    def test_the_caption_names_the_methods(self, scores):
        used = replace(scores, settings={**scores.settings, "conventions": {"ties": "trec"}})
        caption = re.search(r"\\caption\{(.*)\}", to_latex(used, compare(used))).group(1)
        assert caption.startswith(
            "Means, the best in bold, the second best underlined. 95 \\% bootstrap interval (BCa) over 40 users; paired"
        )
        assert caption.endswith("Conventions: ties=trec.")

    def test_every_special_character_is_escaped(self):
        name = "\\ { } $ & # % _ ^ ~ < > | \" ' ` [1] * -- ---"
        row = next(line for line in to_latex(make({(name, "a_b@1"): around(0.5)})).splitlines() if "0.5000" in line)
        assert row == (
            r"    \textbackslash{} \{ \} \$ \& \# \% \_ \textasciicircum{} \textasciitilde{} \textless{} "
            r"\textgreater{} \textbar{} \symbol{34} \textquotesingle{} \textasciigrave{} "
            r"{[}1] {*} -{}- -{}-{}- & 0.5000 \\"
        )

    def test_no_row_starts_with_an_option_of_the_previous_row(self):
        rows = to_latex(make({("x", "hit@1"): around(0.4), ("[2em]", "hit@1"): around(0.5, 1)}))
        assert not re.search(r"\\\\\s*[\[*]", rows)


class TestCsv:
    def test_csv_keeps_full_precision_and_all_counts(self, scores):
        rows = list(csv.DictReader(io.StringIO(to_csv(scores))))
        assert [(row["system"], row["metric"], float(row["mean"])) for row in rows] == [
            (row.system, row.metric, row.mean) for row in scores.rows
        ]
        assert all(int(row[count]) >= 0 for row in rows for count in Summary.COUNTS)

    def test_csv_keeps_names_with_commas_quotes_and_newlines(self):
        name = 'a, "b"\nc'
        assert next(csv.DictReader(io.StringIO(to_csv(make({(name, "hit@1"): around(0.5)})))))["system"] == name

    def test_undefined_numbers_are_empty_fields(self):
        row = next(csv.DictReader(io.StringIO(to_csv(make({("a", "hit@1"): np.full(UNITS, NAN)})))))
        assert (row["mean"], row["low"], row["n"]) == ("", "", "0")
