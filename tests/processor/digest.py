"""Digests of results that are the same to 1e-9 on every machine: run as a script, print them as JSON.

    python tests/processor/digest.py            print the digests of this machine
    python tests/processor/digest.py --write    and store them, after numbers changed on purpose

The variable DIGEST_THREADS is the number of threads; without it they are as many as there are processors.

A digest covers one kind of result: values, means, intervals and p-values of scored run files, generated logs, splits,
samples, streams, generated sequences. ``test_digests.py`` compares them with ``digests.json``.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np

HERE = Path(__file__).parent
STORED = HERE / "digests.json"
SECTIONS: dict[str, Callable[[], Iterator[Any]]] = {}
JUDGEMENTS: dict[str, Any] = {}  # values of the scored runs, by their names


def section(make: Callable[[], Iterator[Any]]) -> Callable[[], Iterator[Any]]:
    """Register a kind of result, whose arrays and numbers the function yields."""
    SECTIONS[make.__name__.replace("_", " ")] = make
    return make


def digest(parts: Iterator[Any]) -> dict[str, Any]:
    """Return a hash of whole numbers and texts, and of each array of floats the size and two sums.

    The second sum weights values by their places, so that two values that swap change it. NaN and inf count as 0.
    """
    whole, sums = hashlib.blake2b(digest_size=16), []
    for part in parts:
        values = np.asarray(part)
        if values.dtype.kind == "f":
            known = np.where(np.isfinite(values), values, 0.0).ravel()
            places = 1 + np.arange(known.size) % 1009 / 1009
            sums.append([int(np.isfinite(values).sum()), float(known.sum()), float((known * places).sum())])
        else:
            whole.update(repr(values.tolist()).encode())
    return {"whole": whole.hexdigest(), "sums": sums}


@cache
def tables() -> dict[str, Any]:
    """Return a log of 2,000 users, its split, and four runs whose scores come from hashes of user and item."""
    import polars as pl

    import recassay as ra
    from recassay.columnar.identity import mix
    from recassay.data.synthetic import item_features, log

    made = log(users=2_000, items=800, events=60_000, seed=11)
    fold = ra.split.random(test=0.2, seed=7)(made)[0]
    popular = np.argsort(-fold.train.item_events, kind="stable")
    runs = {}
    for number, share in enumerate((0.0, 0.3, 0.6, 0.9)):
        pairs = np.arange(2_000)[:, None] * 1_000 + popular[:120]
        chance = (mix(pairs.astype(np.uint64) + np.uint64(number << 40)) >> np.uint64(44)).astype(np.float64) / 2**20
        score = share * np.arange(120)[::-1] / 120 + (1 - share) * chance
        order = np.argsort(-score, axis=1, kind="stable")[:, :50]
        user = np.repeat(np.arange(2_000) + 1, 50)
        item = popular[order].ravel() + 1
        worth = np.take_along_axis(score, order, axis=1).ravel()
        runs[f"mix-{number}"] = pl.DataFrame({"user_id": user, "item_id": item, "score": worth})
    pairs = fold.test.frame().with_row_index()
    gains = mix(pairs["index"].to_numpy().astype(np.uint64)) % np.uint64(4)
    truth = pairs.select("user_id", "item_id").with_columns(gain=pl.Series(gains.astype(np.float64)))
    return {"log": made, "fold": fold, "runs": runs, "truth": truth, "items": item_features(items=800, seed=11)}


@cache
def scored(interval: str) -> Any:
    """Return scores of the runs under metrics of all families."""
    import recassay as ra
    from recassay.engine.lists.job import Job

    judge = Job.judge

    def judged_once(job: Any, run: Any, truth: Any) -> Any:
        """Return the values of a run; only their intervals differ between the methods."""
        if run.name not in JUDGEMENTS:
            JUDGEMENTS[run.name] = judge(job, run, truth)
        return JUDGEMENTS[run.name]

    metrics = [
        "ndcg@10", "ndcg(gain='exp2')@20", "ndcg(gain='exp2', ideal='retrieved')@20", "ndcg(discount='jk')@10",
        "rbp(p=0.8)", "rbp(p=0.95, normalize=True)@30", "rbp_residual(p=0.9)", "err(scale=3)@20", "mrr", "map",
        "dcg@20", "map@10", "mean_precision@25", "recall@20", "precision@10", "hit@10", "f1@10", "efd@10", "epd@10",
        "ild@10", "eild@10", "alpha_ndcg@10", "err_ia@10", "calibration@10", "ips@10", "snips@10",
        "stratified_recall@10", "coverage@10", "gini@10", "entropy@10", "gini_simpson@10",
    ]  # fmt: skip
    made = tables()
    runs = {name: ra.read_run(frame, name) for name, frame in made["runs"].items()}
    truth, items = ra.read_truth(made["truth"]), ra.read_items(made["items"])
    with mock.patch.object(Job, "judge", judged_once):
        return ra.score(
            runs,
            truth,
            metrics,
            train=made["fold"].train,
            items=items,
            interval=ra.options.Uncertainty(interval, resamples=2_000),
        )


@section
def values_of_scores() -> Iterator[Any]:
    found = scored("bootstrap")
    for system in found.systems:
        for metric in found.unit_metrics:
            yield found.values(system, metric)


@section
def means_of_scores() -> Iterator[Any]:
    for row in scored("bootstrap").rows:
        yield row.system, row.metric
        yield row.mean


@section
def intervals_of_scores() -> Iterator[Any]:
    for method in ("bootstrap", "percentile", "abc", "normal"):
        for row in scored(method).rows:
            yield np.array([row.low, row.high], np.float64)


@section
def p_values() -> Iterator[Any]:
    import recassay as ra
    from recassay.stats import significance

    found = scored("bootstrap")
    for test in significance.TESTS:
        metrics = ("hit@10",) if test == "mcnemar" else ("ndcg@10", "mrr", "recall@20", "hit@10")
        some = SimpleNamespace(
            systems=found.systems, unit_metrics=metrics, values=found.values, weights=lambda system, metric: None
        )
        compared = ra.compare(some, test=test, correction="holm", resamples=2_000)
        yield [(row.p, row.p_adjusted, row.difference, row.low, row.high) for row in compared.rows]


@section
def other_statistics() -> Iterator[Any]:
    from recassay.stats.anytime import anytime_bounds
    from recassay.stats.over_datasets import correlated_t, friedman, signed_rank

    found = scored("bootstrap")
    column = [found.values(system, "ndcg@10") for system in found.systems]
    table = np.array([[np.nanmean(one[begin : begin + 200]) for one in column] for begin in range(0, 1600, 200)])
    result = friedman(table)
    yield [result.chi_square, result.p, result.f, result.p_f]
    yield round(result.critical_difference, 9)  # a root that is searched to 1e-12
    yield signed_rank(table[:, 0] - table[:, 1], rope=0.001, samples=10_000)
    yield correlated_t(table[:, 0] - table[:, 1], rho=0.2, rope=0.001)
    hits = np.nan_to_num(found.values(found.systems[0], "hit@10") - found.values(found.systems[3], "hit@10"))
    bounds = anytime_bounds(hits)
    yield from (bounds.low, bounds.high)


@section
def generated_logs() -> Iterator[Any]:
    from recassay.data.synthetic import drifting, log, power_law

    made = [
        tables()["log"],
        log(users=300, items=100, events=4_000, exponent=0.5, seed=1),
        power_law(users=800, items=200, ratings=9_000, alpha=1.3, c1=2.5, c2=7.1, seed=4),
        drifting(users=200, items=90, events=3_000, changes=2, seed=2),
    ]
    for one in made:
        for column in one.frame():
            yield column.to_numpy()


@section
def splits() -> Iterator[Any]:
    import polars as pl

    from recassay import split
    from recassay.data.interactions import Interactions

    frame = tables()["log"].frame()
    rows = np.arange(frame.height)
    made = Interactions.from_frame(frame.with_columns(rating=pl.Series(rows % 5 + 1.0)))
    for text in (
        "global_time(quantile=0.8)", "global_time(quantile=0.7, validation=0.1)", "k_folds(k=3)", "last(validation=1)",
        "k_folds(k=4, by='user', validation=0.25)", "leave_out(n=2, validation=2)", "random(test=0.2, seed=7)",
        "random(test=0.3, by='user', validation=0.2)", "skew(test=0.1, held_out=0.3)", "uniform_items(test=0.1)",
        "user_folds(k=3, reveal=0.5)", "windows(length=8640000)", "wtd(test=0.1, held_out=0.3)",
    ):  # fmt: skip
        for fold in split.parse(text)(made):
            for part in (fold.train, fold.test, fold.validation):
                yield text if part is None else np.concatenate([part.users, part.items])


@section
def samples_and_designs() -> Iterator[Any]:
    import recassay as ra
    from recassay.data.synthetic import log

    fold = ra.split.random(test=0.2, seed=7)(log(users=200, items=150, events=4_000, seed=12))[0]
    runs = [ra.play(model, fold, ra.protocols.ranking()) for model in (ra.models.Popular(), ra.models.Random(seed=3))]
    metrics = ["precision@10", "ndcg@10", "mrr", "hit@10", "map"]
    for method, designs in (
        ("exact", ["TI-AR-AN", "AI-1R-NN(50)", "TI-1R-NN(20, by='popularity')", "TI-AR-NN(40)"]),
        ("sample", ["TI-1R-NN(20)", "TI-1R-NN(20, by='popularity')"]),
    ):
        more = {"method": "sample", "draws": 3} if method == "sample" else {}
        judged = ra.judge(runs, designs, metrics, interval=None, **more)
        yield judged.summary().select("mean", "random").to_numpy()


@section
def sequences() -> Iterator[Any]:
    import polars as pl

    import recassay as ra
    from recassay.models import sequence

    rows = np.arange(9_000)
    frame = pl.DataFrame({"sequence_id": rows // 9, "item_id": (rows * rows // 7 + rows % 9 * 3) % 40})
    fold = ra.split.random_sequences(test=0.3, seed=1)(ra.sequences.Sequences.from_frame(frame))[0]
    systems = {"popular": sequence.MostPopular(), "bigram": sequence.NGram(order=2)}
    made = [one for name, system in systems.items() for one in ra.sequences.generate(system, fold, name=name)]
    found = ra.sequences.score_sequences(
        fold, made, "seq_precision@5 seq_ndcg@5 seq_novelty@5 seq_surprise seq_perplexity", resamples=1_000
    )
    for row in found.rows:
        yield [row.mean, row.low, row.high]
    yield ra.sequences.perplexity_by_position(fold, systems).table["perplexity"].to_numpy()


@section
def streams() -> Iterator[Any]:
    import recassay as ra
    from recassay.models import incremental

    log = ra.split.random(test=0.1, seed=1)(tables()["log"])[0].test
    learners = (
        incremental.ISGD(factors=8),
        incremental.BPRMF(factors=8),
        incremental.UKNN(),
        incremental.StreamItemKNN(),
    )
    for learner in learners:
        stream = ra.play(learner, log, ra.protocols.prequential(at=10, detector="ADWIN"))
        for heading in ("recall@10", "ndcg@10"):
            yield stream.outcomes.of(heading)
        yield [alarm.event for alarm in stream.alarms]


@section
def models_of_counts() -> Iterator[Any]:
    import recassay as ra

    fold = tables()["fold"]
    for model in (ra.models.Popular(), ra.models.Random(seed=1), ra.models.ItemKNN(), ra.models.UserKNN()):
        run = ra.play(model, fold, ra.protocols.ranking(k=20))
        yield from (run.items, run.scores)


def digests(only: str = "") -> dict[str, Any]:
    """Return the digest of every kind of result, or of those whose name holds a word."""
    return {name: digest(make()) for name, make in SECTIONS.items() if only in name}


if __name__ == "__main__":
    if threads := os.environ.get("DIGEST_THREADS"):
        os.sched_getaffinity = lambda process: set(range(int(threads)))
    found = digests(sys.argv[-1] if sys.argv[-1].isalpha() else "")
    print(json.dumps(found))
    if "--write" in sys.argv:
        STORED.write_text(json.dumps(found) + "\n", encoding="utf-8")
