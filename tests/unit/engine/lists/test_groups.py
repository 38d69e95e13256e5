"""Means by group: equal to scoring the users, or the relevant items, of a group alone."""

import numpy as np
import polars as pl
import pytest

import recassay as ra
from recassay.errors import UsageError

from ....refusals import refused
from ....scoring import score

RNG = np.random.default_rng(11)
USERS, ITEMS = 60, 30
COUNTRIES = ["de", "fr", "it", "mt"]
OF_USER = RNG.choice(COUNTRIES, USERS, p=[0.4, 0.35, 0.2, 0.05]).tolist()
OF_ITEM = [RNG.choice(["war", "drama", "noir"], RNG.integers(1, 3), replace=False).tolist() for _ in range(ITEMS)]
TRUTH = pl.DataFrame(
    [(u, int(i), float(RNG.integers(1, 6))) for u in range(USERS) for i in RNG.choice(ITEMS, 6, replace=False)],
    schema=["user_id", "item_id", "rating"],
    orient="row",
)
RUNS = {
    name: {u: [int(i) for i in RNG.choice(ITEMS, 10, replace=False)] for u in range(USERS - missing)}
    for name, missing in (("als", 0), ("pop", 4))
}
COUNTRY = pl.DataFrame({"user": range(USERS), "country": OF_USER}).sample(fraction=1, shuffle=True, seed=1)
GENRE = pl.DataFrame({"item": range(ITEMS), "genre": OF_ITEM})
METRICS = ["ndcg@5", "recall@5", "precision@5", "rmse"][:3]
FAST = {"interval": "normal"}


def scored(**options):
    return score(RUNS, TRUTH, METRICS, **FAST, **options)


def only(scores):
    (groups,) = scores.groups
    return groups


def test_a_group_of_users_has_the_numbers_of_its_users_alone():
    groups = only(scored(users=COUNTRY, by="country", smallest_group=5))
    for country in groups.groups:
        members = [user for user in range(USERS) if OF_USER[user] == country]
        alone = score(RUNS, TRUTH.filter(pl.col("user_id").is_in(members)), METRICS, **FAST)
        for row in alone.rows:
            found = groups.row(row.system, row.metric, country)
            assert (found.n, found.mean) == (row.n, pytest.approx(row.mean, rel=1e-12))
            assert (found.low, found.high) == (pytest.approx(row.low), pytest.approx(row.high))


def test_a_group_of_items_has_the_numbers_of_its_relevant_items_alone():
    groups = only(scored(items=GENRE, by_item="genre"))
    assert groups.metrics == ("ndcg@5", "recall@5")
    assert "number of relevant items" in groups.left_out["precision@5"]
    for genre in groups.groups:
        members = [item for item in range(ITEMS) if genre in OF_ITEM[item]]
        alone = score(RUNS, TRUTH.filter(pl.col("item_id").is_in(members)), groups.metrics, **FAST)
        for row in alone.rows:
            found = groups.row(row.system, row.metric, genre)
            assert (found.n, found.mean) == (row.n, pytest.approx(row.mean, rel=1e-12))
            assert (found.low, found.high) == (pytest.approx(row.low), pytest.approx(row.high))


def test_small_groups_are_hidden_and_counted():
    sizes = {country: OF_USER.count(country) for country in COUNTRIES}
    groups = only(scored(users=COUNTRY, by="country", smallest_group=10))
    shown = [country for country in COUNTRIES if sizes[country] >= 10]
    assert list(groups.groups) == shown
    assert groups.hidden == len(COUNTRIES) - len(shown)
    assert groups.hidden_users == sum(sizes[country] for country in COUNTRIES if country not in shown)


def test_the_gap_is_that_of_the_best_and_the_worst_group():
    groups = only(scored(users=COUNTRY, by="country"))
    for gap in groups.gaps:
        means = {row.group: row.mean for row in groups.rows if (row.system, row.metric) == (gap.system, gap.metric)}
        assert (gap.best, gap.worst) == (max(means, key=means.get), min(means, key=means.get))
        assert gap.gap == pytest.approx(max(means.values()) - min(means.values()))
        assert gap.low <= gap.gap <= gap.high
        assert gap.pairs == len(means) * (len(means) - 1) // 2
        assert 0 < gap.p <= 1
        assert gap.significant == (gap.p <= 0.05)


def test_where_lower_is_better_the_worst_group_has_the_largest_mean():
    truth = TRUTH.with_columns(pl.lit(3.0).alias("rating"))
    run = TRUTH.with_columns((pl.lit(3.0) + (pl.col("user_id") % 2)).alias("score")).drop("rating")
    users = pl.DataFrame({"user": range(USERS), "odd": [str(user % 2) for user in range(USERS)]})
    (gap,) = only(score({"svd": run}, truth, "rmse", users=users, by="odd", **FAST)).gaps
    assert (gap.worst, gap.best) == ("1", "0")
    assert gap.gap == pytest.approx(-1.0)


def test_a_real_difference_is_found_and_noise_is_not():
    truth = {user: ["x"] for user in range(200)}
    run = {user: ["x" if user % 10 < (9 if user < 100 else 2) else "y"] for user in range(200)}
    users = pl.DataFrame({
        "user": range(200),
        "half": ["first" if user < 100 else "last" for user in range(200)],
        "noise": [str(user % 3) for user in range(200)],
    })  # fmt: skip
    half, noise = score({"a": run}, truth, "hit@1", users=users, by=["half", "noise"], **FAST).groups
    (gap,) = half.gaps
    assert (gap.best, gap.worst, gap.significant) == ("first", "last", True)
    assert all(row.significant for row in half.rows)
    assert not noise.gaps[0].significant
    assert not any(row.significant for row in noise.rows)


def test_the_column_may_be_in_the_truth_or_the_training_log():
    with_country = TRUTH.with_columns(pl.col("user_id").replace_strict(dict(enumerate(OF_USER))).alias("country"))
    expected = only(scored(users=COUNTRY, by="country")).frame()
    assert only(score(RUNS, with_country, METRICS, by="country", **FAST)).frame().equals(expected)
    assert only(scored(train=with_country, by="country")).frame().equals(expected)


def test_users_without_a_group_are_counted():
    some = COUNTRY.filter(pl.col("user") < 50)
    assert only(scored(users=some, by="country", smallest_group=5)).without == 10


def test_scores_in_chunks_have_the_same_groups_of_users(tmp_path):
    TRUTH.write_parquet(tmp_path / "truth.parquet")
    for name, lists in RUNS.items():
        rows = [(user, item, rank) for user, items in lists.items() for rank, item in enumerate(items, start=1)]
        frame = pl.DataFrame(rows, schema=["user_id", "item_id", "rank"], orient="row")
        frame.write_parquet(tmp_path / f"{name}.parquet")
    paths = {name: tmp_path / f"{name}.parquet" for name in RUNS}
    made = {"users": COUNTRY, "by": "country", **FAST}
    whole = score(paths, tmp_path / "truth.parquet", METRICS, **made)
    chunks = score(paths, tmp_path / "truth.parquet", METRICS, memory="8GB", **made)
    assert only(chunks).frame().equals(only(whole).frame())


def test_groups_survive_json_and_show_themselves():
    groups = only(scored(users=COUNTRY, by="country"))
    again = ra.types.GroupScores.from_dict(groups.to_dict())
    assert again.frame().equals(groups.frame())
    assert again.gaps_frame().equals(groups.gaps_frame())
    assert "By country (users)" in repr(groups)
    assert "By country (users)" in groups._repr_html_()


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        ({"by": "country"}, "U105", "users=FILE"),
        ({"by_item": "genre"}, "U105", "items=FILE"),
        ({"users": COUNTRY, "by": "country", "smallest_group": 50}, "U215", "fewer than two groups of 50 users"),
        ({"users": COUNTRY, "by": "country", "smallest_group": 1}, "U102", "at least 2"),
        ({"users": COUNTRY, "by": "country", "within": 0.5}, "U215", "need a number of users that does not"),
    ],
)
def test_groups_that_cannot_be_made(options, code, words):
    with refused(code, match=words):
        scored(**options)


def test_a_column_with_too_many_groups_is_refused():
    truth = {user: ["x"] for user in range(404)}
    users = pl.DataFrame({"user": range(404), "zip": [f"z{user // 2}" for user in range(404)]})
    with pytest.raises(UsageError, match="makes 202 groups of 2 users or more; at most 100 are compared"):
        score({"a": truth}, truth, "hit@1", users=users, by="zip", smallest_group=2, **FAST)


def test_no_metric_by_group_of_items_is_refused():
    with pytest.raises(UsageError, match=r"U215(.|\n)*precision@5"):
        score(RUNS, TRUTH, "precision@5", items=GENRE, by_item="genre", **FAST)
