"""Every metric has the same values, means, counts and findings when users are judged in parts, however they are cut."""

import dataclasses
import pickle
from functools import reduce
from operator import add

import numpy as np
import polars as pl
import pytest

import recassay as ra
from recassay.backends import out_of_core
from recassay.data import chunks
from recassay.data.interactions import Interactions
from recassay.data.read import read_interactions, read_items, read_run, read_truth
from recassay.data.run import Run
from recassay.data.truth import Truth
from recassay.engine.lists.job import Job
from recassay.errors import InputError, UsageError
from recassay.metrics.align import Conventions
from recassay.metrics.base import UnitMetric, truth_statistics_for
from recassay.metrics.context import Context
from recassay.metrics.registry import METRICS, parse_metrics
from recassay.naming.grammar import parse
from recassay.profiles import PROFILES

from ..refusals import refused
from .test_metrics import ALL, N_USERS, bits, remapped, table_of_distances, world


def kind_of(text):
    return METRICS.find(parse(text).name)


def builds(text):
    try:
        return parse_metrics(text)
    except UsageError:  # some forms of a metric cannot do without a cut-off
        return {}


OPTIONAL = [text.removesuffix("@5") for text in ALL if text.endswith("@5") and kind_of(text).cutoff == "optional"]
WHOLE_LISTS = [text for text in OPTIONAL if builds(text)]
USERS = range(1, N_USERS + 1)


def cuts(by):
    """Ways to deal users out to parts, which ascend."""
    return {
        "one user a part": [*([user] for user in USERS[:8]), USERS[8:55], *([user] for user in USERS[55:])],
        "two parts": [USERS[:7], USERS[7:]],
        "empty parts between": [[], USERS[:20], [], [], USERS[20:21], USERS[21:], []],
        "parts without lists, or without a hit": [USERS[:57], USERS[57:]],
    }[by]


def job_of(tables, texts, **conventions):
    truth = read_truth(tables["truth"])
    context = Context(read_interactions(tables["train"]), read_items(tables["items"]), table_of_distances(tables))
    named = parse_metrics(texts)
    facts = truth_statistics_for(named.values(), truth)
    resolved = {heading: metric.resolve(facts) for heading, metric in named.items()}
    excludes = tuple(one for profile in PROFILES.kinds.values() for one in profile.excludes)
    return Job(resolved, Conventions(**conventions), context, excludes, threads=1)


def judged(job, run, truth):
    """The judgement of all rows at once."""
    return job.judge(read_run(run, "mine"), read_truth(truth))


def in_parts(job, run, truth, dealt, log=None):
    """The judgement of rows that were dealt out; with a ``log`` each part has the training rows of its own users."""
    whole = read_truth(truth)
    known = dataclasses.replace(job.context, judged_items=whole.vocabulary.decode(np.unique(whole.items)))
    job = dataclasses.replace(job, context=known)
    if log is not None:
        counts = counted(log, dealt)
        job = job.with_train(Interactions.from_frame(log.clear(), whole=counts))

    def rows(frame, users):
        return frame.filter(pl.col("user_id").is_in(list(users)))

    def part(users):
        own = job if log is None else job.with_train(Interactions.from_frame(rows(log, users), whole=counts))
        return own.judge_part(
            Run.from_frame(rows(run, users), "mine", origin="mine"), Truth.from_frame(rows(truth, users))
        )

    one = reduce(add, [part(users) for users in dealt])
    assert one.units.equals(whole.queries)
    return job.combine("mine", one)


def counted(log, dealt):
    """Counts of a log of which each part knows its own users, and one more part those whom nobody judges."""
    own = [log.filter(pl.col("user_id").is_in(list(users))) for users in dealt]
    own.append(log.filter(~pl.col("user_id").is_in([user for users in dealt for user in users])))
    return reduce(add, (Interactions.from_frame(rows).item_counts for rows in own))


def same(part, whole):
    assert {key: column.tobytes() for key, column in part.columns.items()} == {
        key: column.tobytes() for key, column in whole.columns.items()
    }
    assert repr(part.rows) == repr(whole.rows)  # the digits of a float are those that make it
    assert part.findings == whole.findings


@pytest.fixture(scope="module")
def tables():
    return world()


@pytest.mark.parametrize(
    "by", ["one user a part", "two parts", "empty parts between", "parts without lists, or without a hit"]
)
def test_every_metric_in_parts(tables, by):
    job, run = job_of(tables, ALL + WHOLE_LISTS), tables["runs"]["odd"]
    whole = judged(job, run, tables["truth"])
    assert {"T001", "C002", "C003", "P001", "L001"} <= {one.code for one in whole.findings}
    same(in_parts(job, run, tables["truth"], cuts(by)), whole)


USER_BY_USER = [text for text, metric in parse_metrics(ALL + WHOLE_LISTS).items() if not metric.needs_whole_log]
NEEDS_ALL = [text for text in ALL if text not in USER_BY_USER]


@pytest.mark.parametrize("by", ["one user a part", "empty parts between", "parts without lists, or without a hit"])
def test_a_part_needs_the_training_rows_of_its_own_users_only(tables, by):
    job, run = job_of(tables, USER_BY_USER), tables["runs"]["even"]
    whole = judged(job, run, tables["truth"])
    assert {"C007", "L001"} <= {one.code for one in whole.findings}
    same(in_parts(job, run, tables["truth"], cuts(by), tables["train"]), whole)


@pytest.mark.parametrize("texts", [USER_BY_USER, NEEDS_ALL], ids=["the log in parts", "the log whole"])
def test_every_metric_where_runs_truth_and_log_are_files(tables, texts, tmp_path, monkeypatch):
    monkeypatch.setattr(out_of_core, "ROW_COPIES", 8 * 2**30 / (24 * 150))  # rows of some 150 places in lists a piece
    monkeypatch.setattr(chunks, "MAX_ROWS", 90)
    files = {name: tmp_path / f"{name}.parquet" for name in (*tables["runs"], "truth", "train")}
    for name, path in files.items():
        table = {**tables["runs"], **tables}[name]
        (table if name == "even" else table.sample(fraction=1.0, shuffle=True, seed=1)).write_parquet(path)
    truth, train = files.pop("truth"), files.pop("train")
    beside = {"train": train, "items": tables["items"], "distances": table_of_distances(tables), "interval": None}
    whole, cut = (
        bits(ra.score(files, truth, texts, **beside, execution=ra.options.Execution(memory=memory)))
        for memory in (None, "8GB")
    )
    assert cut == whole


@pytest.mark.parametrize("text", NEEDS_ALL)
def test_what_needs_the_whole_log_refuses_a_part_of_it_before_any_list(tables, text):
    job = job_of(tables, [text])
    some = Interactions.from_frame(tables["train"].clear(), whole=counted(tables["train"], [[]]))
    with refused("U110") as caught:
        job.metrics[text].prepare(truth_statistics_for([], read_truth(tables["truth"])), job.with_train(some).context)
    assert text.partition("@")[0].partition("(")[0] in str(caught.value)


def test_what_needs_the_whole_log_says_so(tables):
    """A metric that does not say so and asks for it meets the same error where it asks."""
    some = Interactions.from_frame(tables["train"].clear(), whole=counted(tables["train"], [[]]))
    with pytest.raises(UsageError, match="U110"):
        some.by_item  # noqa: B018
    assert {kind_of(text).name for text in set(ALL) - set(USER_BY_USER)} >= {"ild", "epd", "alpha_ndcg", "calibration"}


@pytest.mark.parametrize(
    ("ties", "duplicates"),
    [("id_descending", "keep"), ("row", "last"), ("ranx", "keep"), ("expected", "last"), ("pessimistic", "keep")],
)
def test_every_convention_in_parts(tables, ties, duplicates):
    texts = ["ndcg@5", "recall@3", "mrr", "map", "ild@5", "gini@5", "rmse", "snips@5"]
    job = job_of(tables, texts, ties=ties, duplicates=duplicates)
    run = tables["runs"]["odd"]
    same(in_parts(job, run, tables["truth"], cuts("one user a part")), judged(job, run, tables["truth"]))


@pytest.mark.parametrize(
    "name",
    [lambda ids: pl.Series([f"é{one:05d}" for one in ids], dtype=pl.String), lambda ids: ids.cast(pl.UInt64) + 2**63],
    ids=["strings", "unsigned"],
)
def test_any_ids_in_parts(tables, name):
    """Also where the ids of one part fit 32 bits and those of another do not."""
    other = remapped(tables, name, name)
    texts = ["ndcg@5", "coverage(catalogue='truth')@5", "gini@5", "ild@5", "epc@5", "mae"]
    job = job_of(other, texts)
    dealt = [list(name(pl.Series(list(part), dtype=pl.Int64))) for part in cuts("empty parts between")]
    run = other["runs"]["even"]
    whole = judged(job, run, other["truth"])
    same(in_parts(job, run, other["truth"], dealt), whole)
    same(in_parts(job, run, other["truth"], dealt, other["train"]), whole)


def test_parts_travel(tables):
    """What a part adds can be sent from one process to another, and add up there."""
    job = job_of(tables, "ndcg@5 gini@5 snips@5 mae")
    run, truth = read_run(tables["runs"]["odd"], "mine"), read_truth(tables["truth"])
    part = job.judge_part(run, truth)
    sent = pickle.loads(pickle.dumps(part))
    assert sent.units.equals(part.units)
    same(job.combine("mine", sent), job.judge(run, truth))


STRANGE = [
    ("I401", {"user": 1_000}), ("I401", {"item": 1_000}), ("I406", {"train": 1_000}), ("I407", {"items": 1_000}),
    ("I305", {"duplicates": "error"}), ("I404", {"missing": "error"}),
]  # fmt: skip


@pytest.mark.parametrize(("code", "options"), STRANGE)
def test_what_is_refused_is_refused_in_parts(tables, code, options):
    how = dict(options)
    moved = dict(tables)
    run = tables["runs"]["even"].with_columns(
        pl.col("user_id") + how.pop("user", 0), pl.col("item_id") + how.pop("item", 0)
    )
    for name in ("train", "items"):
        moved[name] = tables[name].with_columns(pl.col("item_id") + how.pop(name, 0))
    job = job_of(moved, "ndcg@5 epc@5 subtopic_recall@5", **how)
    with refused(code) as whole:
        judged(job, run, moved["truth"])
    dealt = [list(USERS[:9]), list(USERS[9:]) + [user + 1_000 for user in USERS]]
    with pytest.raises(InputError) as parts:
        in_parts(job, run, tables["truth"], dealt)
    assert str(parts.value).splitlines()[0] == str(whole.value).splitlines()[0]


def test_an_item_right_for_somebody_in_another_part_is_no_stranger(tables):
    """Each part alone has no item in common with its truth, and both together have."""
    truth = pl.DataFrame({"user_id": [1, 2], "item_id": [10, 20]})
    run = pl.DataFrame({"user_id": [1, 2], "item_id": [20, 30], "score": [1.0, 1.0]})
    job = Job(parse_metrics("recall@1"), Conventions(), Context())
    same(in_parts(job, run, truth, [[1], [2]]), judged(job, run, truth))


def test_the_contract_looks_at_every_metric_with_and_without_cutoff():
    assert {kind_of(text).name for text in WHOLE_LISTS} >= {
        "ndcg",
        "recall",
        "map",
        "mrr",
        "err_ia",
        "alpha_ndcg",
    }
    assert sum(issubclass(kind_of(text), UnitMetric) for text in ALL + WHOLE_LISTS) > 100
