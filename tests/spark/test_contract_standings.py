"""What is played on Spark has the same bits as here: lists, standings and what designs make of them."""

import numpy as np
import polars as pl
import pytest

import recassay as ra
from recassay.backends.spark import designs as on_spark_judge
from recassay.backends.spark import play as on_spark_play
from recassay.data.synthetic import log
from recassay.errors import InputError, UsageError

from ..refusals import refused
from .test_contract import spread

USERS, ITEMS, FACTORS = 90, 60, 16
ASK = ra.protocols.ranking(k=20, relevant_from=3, bins=4)
FRAME = log(users=USERS, items=ITEMS, events=1_500, seed=4).frame()
PART = np.random.default_rng(3).choice(3, size=FRAME.height, p=[0.7, 0.2, 0.1])


@pytest.fixture(scope="module", autouse=True)
def many_pieces(spark):
    """Every task has some users, and sees them a few at a time."""
    settings = {"spark.sql.adaptive.enabled": "false", "spark.sql.execution.arrow.maxRecordsPerBatch": "60"}
    before = {name: spark.conf.get(name) for name in settings}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(on_spark_play, "ROWS", 40)
        for name, value in settings.items():
            spark.conf.set(name, value)
        yield
    for name, value in before.items():
        spark.conf.set(name, value)


@pytest.fixture(scope="module")
def frame():
    ratings = np.random.default_rng(1).integers(1, 6, FRAME.height).astype(float)
    return (
        FRAME.select("user_id", "item_id")
        .with_columns(rating=pl.Series(ratings))
        .with_columns(pl.format("u{}", "user_id").alias("user_id"))
    )


@pytest.fixture(scope="module")
def fold(frame):
    whole = ra.read_interactions(frame)
    train, test, validation = (whole.take(part == PART) for part in range(3))
    return ra.Fold(train, test, "global", {"name": "given"}, validation)


def vectors(ids, seed):
    """Of all but the last."""
    rng = np.random.default_rng(seed)
    table = rng.standard_normal((ids.len(), FACTORS)).round(1)
    return pl.DataFrame({"id": ids, "features": table.tolist()})[:-1]


@pytest.fixture(scope="module")
def factors(fold):
    return (
        vectors(fold.train.user_vocabulary.ids, 1),
        vectors(fold.train.item_vocabulary.ids, 2),
    )


def parts(spark, frame, how):
    from recassay.backends.spark.folds import spark_fold

    return spark_fold(
        *(spread(spark, frame.filter(pl.Series(part == PART)), how) for part in range(3)), leakage="global"
    )


def same_run(mine, theirs):
    assert mine.frame().equals(theirs.frame())
    assert np.array(mine.frame()["score"]).tobytes() == np.array(theirs.frame()["score"]).tobytes()
    one, other = mine.standings, theirs.standings
    assert one.frame().equals(other.frame())
    assert one.queries.equals(other.queries)
    assert one.offsets.tolist() == other.offsets.tolist()
    assert (one.users, one.unlisted, one.how) == (other.users, other.unlisted, other.how)
    assert one.everyone.equals(other.everyone)
    for name in ("pool", "mass"):
        mine_, theirs_ = getattr(one, name), getattr(other, name)
        assert {base: counts.tolist() for base, counts in mine_.items()} == {b: c.tolist() for b, c in theirs_.items()}
    assert one.popularity.tolist() == other.popularity.tolist()


@pytest.mark.parametrize("how", ["one row a partition", "empty partitions", "one partition"])
def test_factors_are_played_to_the_same_bits(spark, frame, fold, factors, how):
    users, items = factors
    theirs = ra.play(ra.models.FactorTable(users, items, name="als"), fold, ASK)
    model = ra.models.FactorTable(spread(spark, users, how), spark.createDataFrame(items.to_arrow()), name="als")
    mine = ra.play(model, parts(spark, frame, how), ASK)
    assert (mine.name, mine.played.users, mine.played.queries) == ("als", USERS, theirs.standings.queries.len())
    same_run(mine.here(), theirs)
    assert len(mine.chunks.inputFiles()) == 3  # three tasks had some users each


DESIGNS = [
    "AI-AR-AN", "TI-AR-AN", "TI-1R-NN(8)", "AI-AR-NN(9)", "AI-1R-NN(9, by='popularity')", "P1R(bins=4)", "PAR(bins=4)",
    "rated_only",
]  # fmt: skip
METRICS = ["precision@10", "ndcg@10", "mrr", "auc"]


@pytest.fixture(scope="module")
def played(spark, frame, fold, factors):
    """Two systems, on Spark and here; the second leaves many ties."""
    users, items = factors
    on = parts(spark, frame, "empty partitions")
    als = ra.models.FactorTable(spark.createDataFrame(users.to_arrow()), items, name="als")
    mine = [ra.play(model, on, ASK) for model in (als, ra.models.Popular())]
    als = ra.models.FactorTable(users, items, name="als")
    return mine, [ra.play(model, fold, ASK) for model in (als, ra.models.Popular())]


def worths(assay):
    return [repr(row) for row in assay.rows]


def test_designs_have_the_same_bits(played):
    mine, theirs = (ra.judge(runs, DESIGNS, METRICS, short="all", resamples=200) for runs in played)
    assert worths(mine) == worths(theirs)
    assert mine.findings == theirs.findings
    assert mine.settings == theirs.settings
    assert mine.scores("TI-AR-AN").units.equals(theirs.scores("TI-AR-AN").units)


@pytest.mark.parametrize("users", ["all", "with_relevant"])
def test_designs_of_many_users_have_the_same_bits(played, users, monkeypatch):
    """Beyond what one process judges, tasks judge their own users."""
    monkeypatch.setattr(on_spark_judge.judge_on_spark, "__kwdefaults__", {"few": 20})
    options = {"users": users, "short": "all", "interval": "normal"}
    mine, theirs = (ra.judge(runs, DESIGNS, METRICS, **options) for runs in played)
    for one, other in zip(mine.rows, theirs.rows, strict=True):
        assert repr(one) == repr(other)
    assert mine.findings
    assert all("sampled by their ids" in finding.detail for finding in mine.findings)
    for design in mine.designs:
        one, other = mine.scores(design), theirs.scores(design)
        assert one.units.equals(other.units)
        for system in one.systems:
            for metric in one.metrics:
                assert one.values(system, metric).tobytes() == other.values(system, metric).tobytes()
                assert (one.weights(system, metric) is None) == (other.weights(system, metric) is None)
                if other.weights(system, metric) is not None:
                    assert one.weights(system, metric).tobytes() == other.weights(system, metric).tobytes()


def test_lists_are_scored_like_other_runs(spark, frame, fold, played):
    truth = frame.filter(pl.Series(PART == 1)).select("user_id", "item_id", gain=(pl.col("rating") >= 3).cast(float))
    on, here = played
    mine = ra.score(
        on, spark.createDataFrame(truth.to_arrow()), "ndcg@10 recall@10", interval=ra.options.Uncertainty(resamples=200)
    )
    theirs = ra.score(here, truth, "ndcg@10 recall@10", interval=ra.options.Uncertainty(resamples=200))
    assert mine.rows == theirs.rows
    alone = ra.score(on[0], spark.createDataFrame(truth.to_arrow()), "ndcg@10", interval=None)
    assert alone.row("als", "ndcg@10").mean == theirs.row("als", "ndcg@10").mean
    with refused("U109"):
        ra.score([on[0], on[0]], spark.createDataFrame(truth.to_arrow()), "ndcg@10")


def batch_scores(users):
    """Scores of a batch, from ids alone."""
    return np.array([[hash_of(user) * item % 7.0 for item in range(ITEMS)] for user in users])


def hash_of(user):
    return 1 + sum(map(ord, user)) % 13


@pytest.mark.parametrize(
    "model",
    [
        ra.models.ScoreBatches(batch_scores, name="batches"),
        ra.models.ScoreFunction(
            lambda user: {item: hash_of(user) * item % 5 for item in range(10, 20)}, name="one by one"
        ),
        ra.models.RecommendFunction(lambda user, k: list(range(hash_of(user), hash_of(user) + 15))[:k], name="lists"),
        ra.models.Random(seed=2),
    ],
    ids=str,
)
def test_whatever_learns_nothing_is_played(spark, frame, fold, model):
    ask = ra.protocols.ranking(k=5, popularity="all", keep_seen=True, bins=0)
    same_run(
        ra.play(model, parts(spark, frame, "one partition"), ask, name="mine").here(),
        ra.play(model, fold, ask, name="mine"),
    )


def test_what_is_not_played_on_spark(spark, frame, fold, factors, played):
    on = parts(spark, frame, "one partition")

    def refused(act):
        with pytest.raises((UsageError, InputError)) as caught:
            act()
        return caught.value.code

    users, items = factors
    narrow = users.with_columns(pl.col("features").list.head(3))
    table = spark.createDataFrame(narrow.to_arrow())
    assert refused(lambda: ra.play(ra.models.PureSVD(4), on, ASK)) == "U107"
    assert refused(lambda: ra.play(ra.models.Popular(), on, ra.protocols.next_item())) == "U107"
    assert refused(lambda: ra.play(ra.models.FactorTable(table, items), on, ASK)) == "I423"
    assert refused(lambda: ra.play(ra.models.FactorTable(table.select("id"), items), on, ASK)) == "I423"
    numbers = spark.createDataFrame([(1, 2)], ["user_id", "item_id"])
    assert refused(lambda: ra.spark_fold(spark.createDataFrame(frame.to_arrow()), numbers)) == "I403"
    mine, theirs = played
    assert refused(lambda: ra.judge([mine[0], theirs[1]], "TI-AR-AN", "ndcg@10")) == "U122"
    assert refused(lambda: ra.judge(mine, "TI-AR-AN", "ndcg@10", method="sample")) == "U107"
    strict = ra.play(ra.models.Popular(), on, ra.protocols.ranking(relevant_from=4), name="strict")
    assert refused(lambda: ra.judge([mine[0], strict], "TI-AR-AN", "ndcg@10")) == "I311"
    assert refused(lambda: ra.judge(mine, "TI-AR-NN(500)", "ndcg@10")) == "U120"
