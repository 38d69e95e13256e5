"""Sentences on the families of metrics beside the verdict: who is highest and lowest, and by how much."""

import pytest

from recassay.comparison.verdict import verdict_of
from recassay.report.content.findings import family_of, family_sentences
from recassay.report.content.grids import result_grids

from ..verdicts import verdict_from_rows


def row(system, metric, mean, dataset="ml"):
    return {
        "dataset": dataset,
        "split": "s",
        "protocol": "p",
        "seed": 0,
        "system": system,
        "metric": metric,
        "mean": mean,
    }


def compared(metric, a, b, difference, p, low=None, high=None):
    place = {"dataset": "ml", "split": "s", "protocol": "p", "seed": 0}
    tested = {"difference": difference, "low": low, "high": high, "p_adjusted": p, "significant": p < 0.05}
    return {**place, "metric": metric, "a": a, "b": b, **tested}


def sentences(rows, comparisons=()):
    groups = result_grids(rows, comparisons)
    return family_sentences(verdict_from_rows(groups, 0.95), groups)


ROWS = [
    row(system, metric, mean)
    for metric, means in {"ndcg@10": (0.3, 0.2, 0.1), "ild@10": (0.5, 0.4, 0.6), "coverage@10": (0.9, 0.2, 0.2)}.items()
    for system, mean in zip("abc", means, strict=True)
]


def test_a_family_beside_that_of_the_verdict_has_a_sentence_with_the_difference_and_its_uncertainty():
    tests = [compared("ild@10", "b", "c", -0.2, 0.0004, -0.25, -0.15), compared("ild@10", "a", "c", -0.1, 0.5)]
    assert sentences(ROWS, tests) == (
        "Diversity (ild@10): highest c with 0.6000, lowest b with 0.4000, 0.2000 apart (95 % interval 0.1500–0.2500; "
        "p = 0.0004); a, which leads by ndcg@10, has 0.5000.",
        "Coverage (coverage@10): highest a with 0.9000, lowest b and c with 0.2000, 0.7000 apart (not tested).",
    )


def test_metrics_of_the_verdict_s_family_have_no_sentence_and_one_metric_stands_for_a_family():
    more = [row(system, "recall@10", mean) for system, mean in zip("abc", (0.1, 0.2, 0.3), strict=True)]
    more += [row(system, "eild@10", mean) for system, mean in zip("abc", (0.1, 0.2, 0.3), strict=True)]
    assert sentences([*ROWS, *more]) == sentences(ROWS)
    assert sentences([one for one in ROWS if one["metric"] == "ndcg@10"]) == ()


def test_where_no_metric_says_who_is_better_every_family_has_a_sentence():
    described = [one for one in ROWS if one["metric"] != "ndcg@10"]
    groups = result_grids(described, [])
    found = family_sentences(verdict_of([]), groups)
    assert [text.split(" ", 1)[0] for text in found] == ["Diversity", "Coverage"]
    assert "leads" not in " ".join(found)


def test_several_settings_are_counted():
    other = [row(system, "ild@10", mean, "lastfm") for system, mean in zip("abc", (0.8, 0.3, 0.6), strict=True)]
    other += [row(system, "ndcg@10", 0.5, "lastfm") for system in "abc"]
    assert sentences([*ROWS, *other])[0] == (
        "Diversity (ild@10): highest c on 1 and a on 1, lowest b on 2, of 2 settings; 0.2000 to 0.5000 apart."
    )


@pytest.mark.parametrize(
    ("means", "text"), [((0.5, 0.5, 0.5), "all 3 systems have 0.5000."), ((0.5, None, None), None)]
)
def test_equal_systems_and_undefined_means(means, text):
    rows = [row(system, "ild@10", mean) for system, mean in zip("abc", means, strict=True)]
    accuracy = [one for one in ROWS if one["metric"] == "ndcg@10"]
    assert sentences([*accuracy, *rows]) == (() if text is None else (f"Diversity (ild@10): {text}",))


def test_every_metric_has_a_family_that_reads_as_words():
    from recassay.metrics.registry import METRICS

    families = {name: family_of(f"{name}@5") or family_of(name) for name in METRICS.kinds}
    assert {"accuracy", "diversity", "novelty", "coverage", "popularity", "calibration"} <= set(families.values())
    assert [name for name, family in families.items() if not family or "_" in family] == []
