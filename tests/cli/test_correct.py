"""`recassay correct`: estimates in a table that fits, a JSON document, and errors with a code."""

import re

import numpy as np
import pytest

import recassay as ra

POOL, SAMPLE = 1_000, 100


@pytest.fixture
def ranks(tmp_path, monkeypatch):
    """Write ranks of two systems that sampling orders wrongly: full ranks 30, 30 against 2, 300."""
    rng = np.random.default_rng(5)
    for name, full in (("steady", [30, 30]), ("daring", [2, 300])):
        above = np.repeat(full, 100) - 1
        rows = enumerate(1 + rng.hypergeometric(above, POOL - above, SAMPLE))
        (tmp_path / f"{name}.csv").write_text("user_id,rank\n" + "".join(f"{user},{rank}\n" for user, rank in rows))
    monkeypatch.chdir(tmp_path)
    return tmp_path


HOW = ("--pool", POOL, "--sample", SAMPLE)


def test_a_single_system_has_estimates_and_no_findings(recassay, ranks):
    answer = recassay("correct", "steady.csv", *HOW, "-m", "hit@10 mrr", "--resamples", 200)
    assert (answer.code, answer.err) == (0, "")
    found = ra.correct("steady.csv", pool=POOL, sample=SAMPLE, metrics="hit@10 mrr", resamples=200)
    for row in found.means.iter_rows(named=True):
        assert f"{row['mean']:z.4f}" in answer.out
        assert f"{row['sampled']:.4f}" in answer.out
    assert "bias_variance(gamma=0.01)" in answer.out
    assert "ranking of 1,000 candidates, from ranks among 100 candidates sampled without replacement" in answer.out
    assert "The intervals do not include the bias of the estimators." in " ".join(answer.out.split())
    assert "findings" not in answer.out.lower()


def test_the_order_of_several_systems_is_checked(recassay, ranks):
    answer = recassay("correct", "steady.csv", "daring.csv", *HOW, "-m", "hit@10", "--interval", "none")
    assert (answer.code, answer.err) == (0, "")
    assert "S001" in answer.out
    assert "interval" not in answer.out
    assert recassay("correct", ranks, *HOW, "-m", "hit@10", "--fail-on", "warning").code == 1
    assert recassay("correct", ranks, *HOW, "-m", "hit@10", "--fail-on", "error").code == 0
    settled = recassay("correct", ranks, *HOW, "-m", "auc")
    assert "No findings." in settled.out


def test_options_reach_the_correction(recassay, ranks):
    (ranks / "other.csv").write_text("who,place,pool\n1,3,40\n2,1,12\n")
    options = (
        "--sample",
        20,
        "--columns",
        "user=who,rank=place",
        "--replace",
        "--clip",
        "-m",
        "mrr",
        "--interval",
        "none",
    )
    found = recassay("correct", "other.csv", *options, "--json").json
    expected = ra.correct([3, 1], pool=[40, 12], sample=20, metrics="mrr", replace=True, clip=True, interval=None)
    assert [row["mean"] for row in found["rows"]] == pytest.approx(expected.means["mean"].to_list())
    assert found["settings"]["replace"] is found["settings"]["clip"] is True
    shown = recassay("correct", "other.csv", *options).out
    assert "12 to 40 candidates" in shown
    assert "with replacement" in shown


@pytest.mark.parametrize("width", [50, 60, 80, 100, 140])
def test_the_table_fits_and_numbers_are_complete(recassay, ranks, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    (ranks / "a-system-with-a-name-of-some-length.csv").write_text((ranks / "steady.csv").read_text())
    options = ("--estimator", "bias_variance, minimal_bias", "--resamples", 50, "-m", "hit@10")
    out = recassay("correct", ranks, *HOW, *options).out
    assert max(map(len, out.splitlines())) <= width
    table = out.partition("Estimates")[0]
    assert re.search(r"[0-9.]…|…[0-9.]", table) is None
    assert table.count("1.0000") == table.count("0.5000") * 2 == 4  # sampled hit@10
    assert "interval" in table
    assert "minimal_bias dropped" in " ".join(out.split())


@pytest.mark.parametrize(
    ("text", "options", "code", "words"),
    [
        ("user_id,rank\n1,2.5\n", HOW, "I331", ["2.5 in row 1", "one random order"]),
        ("user_id,rank\n1,0\n", HOW, "I331", ["add 1"]),
        ("user_id,rank\n1,2\n", ("--sample", 100), "I332", ["the number of candidates"]),
        ("user_id,rank\n1,2\n", ("--sample", 100, "--pool", 99), "I332", ["too small for 100 draws"]),
        ("user_id,rank\n1,2\n", ("--sample", 100, "--pool", 2**63), "I332", ["larger than 2,147,483,647"]),
        ("user_id,place_of_it\n1,2\n", HOW, "I201", ["rank", "--columns"]),
        ("user_id,rank\n1,2\n", (*HOW, "--by", "popularity"), "U151", ["uniform samples only"]),
        ("user_id,rank\n1,2\n", (*HOW, "--estimator", "bias_varance"), "U115", ["'bias_variance'"]),
        ("user_id,rank\n1,2\n", (*HOW, "-m", "err"), "U110", ["err"]),
        ("user_id,rank\n1,2\n", (*HOW, "--fail-on", "never"), "U107", ["'never'"]),
    ],
)
def test_errors_have_a_code(recassay, ranks, text, options, code, words):
    (ranks / "mine.csv").write_text(text)
    answer = recassay("correct", "mine.csv", *options)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith(f"[{code}]")
    assert all(word in answer.err for word in words), answer.err
