"""`recassay list`, `explain`, `stats` and help: every name can be listed and explained."""

import re

import pytest

from recassay import __version__, models, protocols, split
from recassay import experiments as bias
from recassay.checks.base import CHECKS
from recassay.designs import grammar
from recassay.errors import explanations
from recassay.metrics.registry import HEADINGS, METRICS
from recassay.profiles import PROFILES
from recassay.sampled import estimators

LISTS = {
    "metrics": lambda: METRICS.kinds, "profiles": lambda: PROFILES.kinds, "checks": lambda: CHECKS.kinds,
    "splits": lambda: split.REGISTRY.built_in, "filters": lambda: split.filters.REGISTRY.built_in,
    "sequences": lambda: split.sequences.REGISTRY.built_in,
    "sequence-models": lambda: models.sequence.REGISTRY.built_in,
    "models": lambda: models.REGISTRY.built_in, "protocols": lambda: protocols.REGISTRY.built_in,
    "experiments": lambda: bias.REGISTRY.built_in, "estimators": lambda: estimators.REGISTRY.built_in,
    "designs": lambda: grammar.TITLES,
}  # fmt: skip


NAMED = [
    name
    for kind in (
        "splits",
        "filters",
        "sequences",
        "models",
        "sequence-models",
        "protocols",
        "experiments",
        "estimators",
        "designs",
    )
    for name in LISTS[kind]()
]


class TestList:
    @pytest.mark.parametrize("kind", LISTS)
    def test_the_list_has_all_names(self, recassay, kind):
        answer = recassay("list", kind)
        assert (answer.code, answer.err) == (0, "")
        for name in LISTS[kind]():
            assert re.search(rf"^{name}\b", answer.out, re.MULTILINE), name
        assert f"{len(LISTS[kind]())} {kind}" in answer.out

    @pytest.mark.parametrize("kind", LISTS)
    def test_json(self, recassay, kind):
        rows = recassay("list", kind, "--json").json
        assert {re.match(r"[\w-]+", row["name"]).group() for row in rows} == set(LISTS[kind]())
        assert all(row["title"] and row["group"] for row in rows)

    def test_metrics_are_listed_by_default(self, recassay):
        assert recassay("list").out == recassay("list", "metrics").out

    def test_an_unknown_list_is_refused(self, recassay):
        answer = recassay("list", "metricks")
        assert (answer.code, answer.out) == (2, "")
        assert answer.err.startswith("[U107]")
        assert "did you mean 'metrics'?" in answer.err


class TestExplain:
    def test_a_metric(self, recassay):
        of_recassay = [name for name, kind in METRICS.names.items() if kind.__module__.startswith("recassay.")]
        for name in sorted(of_recassay):
            answer = recassay("explain", name)
            assert (answer.code, answer.err) == (0, "")
            for heading in HEADINGS:
                assert f"\n{heading}\n" in answer.out
            for parameter in METRICS.names[name].defaults():
                assert parameter in answer.out

    def test_anything_else(self, recassay):
        for name in [*PROFILES.kinds, *CHECKS.kinds, *explanations(), *NAMED]:
            answer = recassay("explain", name)
            assert (answer.code, answer.err) == (0, "")
            assert name in answer.out
            assert recassay("explain", name, "--json").json["name"] == name

    @pytest.mark.parametrize(
        ("name", "values"),
        [
            ("hit", "0 to 1 (with other parameters 0 to any size)"),
            ("ild", "0 to 1 (with other parameters 0 to 2)"),
            ("rbp", "0 to 1 (with other parameters 0 to any size)"),
            ("dcg", "0 to any size"),
            ("recall", "0 to 1"),
        ],
    )
    def test_the_range_is_that_of_the_default_parameters(self, recassay, name, values):
        assert f"\nrange: {values}, higher is better\n" in recassay("explain", name).out

    def test_paragraphs_of_a_check_are_broken_by_the_terminal_alone(self, recassay):
        page = recassay("explain", "R004", "--json").json
        assert page["sections"]["What"].count("\n") == 2 * page["sections"]["What"].count("\n\n")
        assert "\n\n" in page["sections"]["What"]

    def test_a_metric_with_parameters_or_a_cutoff(self, recassay):
        plain = recassay("explain", "ndcg").out
        assert recassay("explain", "ndcg@10").out == recassay("explain", "ndcg(gain='exp2')@10").out == plain

    def test_codes_in_small_letters(self, recassay):
        assert recassay("explain", "c001").out == recassay("explain", "C001").out
        assert recassay("explain", "i101").out == recassay("explain", "I101").out

    def test_json(self, recassay):
        page = recassay("explain", "ndcg", "--json").json
        assert set(page["sections"]) >= set(HEADINGS)
        gain = next(one for one in page["parameters"] if one["name"] == "gain")
        assert gain["default"] == "linear"
        assert gain["choices"] == ["'linear'", "'exp2'", "'binary'"]

    @pytest.mark.parametrize(("name", "meant"), [("ndgc", "ndcg"), ("lenskitt", "lenskit"), ("C0001", "C001")])
    def test_a_misspelt_name_gets_a_suggestion(self, recassay, name, meant):
        answer = recassay("explain", name)
        assert (answer.code, answer.out) == (2, "")
        assert f"did you mean '{meant}'?" in answer.err


class TestStats:
    def test_counts(self, recassay, folder):
        answer = recassay("stats", "log.csv")
        assert (answer.code, answer.err) == (0, "")
        found = recassay("stats", "log.csv", "--json").json
        assert (found["rows"], found["users"], found["items"], found["pairs"], found["duplicates"]) == (6, 4, 3, 6, 0)
        assert found["density"] == pytest.approx(6 / 12)

    def test_the_sequences_of_a_rule_are_described(self, recassay, folder):
        found = recassay("stats", "log.csv", "--json", "--sequences", "ready_made").json
        assert (found["sequences"]["sequences"], found["sequences"]["lengths"]["mean"]) == (2, 2.0)
        assert recassay("stats", "log.csv", "--json").json["sequences"] is None
        answer = recassay("stats", "log.csv", "--sequences", "random_sequences")
        assert (answer.code, answer.err[:6]) == (2, "[U102]")

    def test_the_kind_of_times_is_printed(self, recassay, folder):
        rows = [f"{user},{item},{place}" for user in (1, 2) for place, item in enumerate((10, 11, 12))]
        (folder / "log.csv").write_text("\n".join(["user_id,item_id,timestamp", *rows]))
        assert "an order within each user only" in recassay("stats", "log.csv").out
        assert recassay("stats", "log.csv", "--json").json["times"]["kind"] == "user"
        answer = recassay("stats", "log.csv", "--times", "clock")
        assert "clock times" in answer.out
        assert recassay("stats", "log.csv", "--times", "order").err.startswith("[U107]")

    def test_a_missing_log_is_refused(self, recassay, folder):
        answer = recassay("stats", "nowhere.csv")
        assert (answer.code, answer.out) == (2, "")
        assert answer.err.startswith("[I101]")


class TestHelp:
    def test_the_version_is_printed(self, recassay):
        assert recassay("--version").out == f"recassay {__version__}\n"

    def test_no_arguments_print_help(self, recassay):
        answer = recassay()
        assert "Usage" in answer.out + answer.err
