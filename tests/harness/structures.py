"""Random Python objects in place of the arguments of public verbs: a case is a number, from which a call follows."""

# ruff: noqa: E501 - one call per line

from __future__ import annotations

import datetime
import decimal
import fractions
import functools
import inspect
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import recassay as ra
from recassay.data.synthetic import log as make_log

Call = tuple[str, list[Any], dict[str, Any]]  # name, arguments by position and by name


class Hostile:
    """An object whose texts, lengths and members cannot be had."""

    def _refuse(self, *_: object) -> Any:
        raise ValueError("hostile")

    __len__ = __iter__ = __getitem__ = __bool__ = __float__ = __index__ = _refuse


def plain(rng: random.Random) -> Any:
    """Return a value without parts."""
    return rng.choice((
        None, True, False, 0, 1, -1, 3, 7, 2**31, 2**63, 2**64, -(2**70), 10**400, 0.0, 0.5, -0.5, 1.0, 1e-300, 1e308,
        float("nan"), float("inf"), -float("inf"), "", "x", "a,b", "1", "\0", "\ud800", "é", "ndcg@5", "run", "a" * 300,
        "no/such/file", "user=a", "truth.csv", b"", b"x", b"\xff", bytearray(b"x"), memoryview(b"xy"), 1j,
        np.int64(3), np.float32(0.5), np.float64("nan"), np.uint8(200), np.bool_(True), np.str_("x"),
        decimal.Decimal("1.5"), decimal.Decimal("NaN"), fractions.Fraction(1, 3), datetime.timedelta(days=1),
        datetime.datetime(2020, 1, 1), datetime.date(2020, 1, 1), Path("truth.csv"), Path("/"), Ellipsis, NotImplemented,
        object(), Hostile(), int, dict, ra.Run, ra.models.Popular, len, print, random, lambda *_, **__: 1, range(3), range(0),
        slice(1), "{", "(((", "k=1", "ndcg@0", "ndcg@99999999999999999999", "AI-AR-AN", "Popular", "nope(",
    ))  # fmt: skip


def nested(rng: random.Random, depth: int = 3) -> Any:
    """Return a random object: a value, or a container of random objects."""
    if depth == 0 or rng.random() < 0.45:
        return plain(rng)
    size = rng.choice((0, 1, 1, 2, 3))
    parts = [nested(rng, depth - 1) for _ in range(size)]
    kind = rng.randrange(12)
    if kind == 0:
        return parts
    if kind == 1:
        return tuple(parts)
    if kind == 2:
        return dict(zip((_key(rng) for _ in parts), parts, strict=True))
    if kind == 3:
        return {_key(rng) for _ in parts}
    if kind == 4:
        return iter(parts)
    if kind == 5:
        return np.array([rng.choice((0, 1, 2, -1, np.nan)) for _ in parts]).reshape(rng.choice(((-1,), (1, -1))))
    if kind == 6:
        return np.array([plain(rng) for _ in parts] + [None], dtype=object)
    if kind == 7:
        names = rng.sample(("user_id", "item_id", "score", "rank", "gain", "timestamp", "x", ""), rng.randrange(4))
        dtypes = (pl.Int64, pl.String, pl.Float64, pl.Null, pl.List(pl.Int64), pl.Boolean, pl.Binary, pl.Date)
        return pl.DataFrame({name: pl.Series([None] * size, dtype=rng.choice(dtypes)) for name in names})
    if kind == 8:
        return pl.Series("x", [rng.choice((0, 1, None)) for _ in parts])
    if kind == 9:
        return {"a": parts, "b": parts}
    if kind == 10:
        return [parts, parts]
    return {rng.choice(("ann", 1, "\ud800")): {rng.choice(("x", 1, None, 2.5)): part for part in parts}}


def _key(rng: random.Random) -> Any:
    while True:
        key = plain(rng)
        if isinstance(key, str | int | float | bytes | tuple | Path | type | None):
            return key


@functools.cache
def things() -> dict[str, Any]:
    """Return sound nouns by name: logs, folds, runs, scores, streams and sequences."""
    log = make_log(users=30, items=20, events=300)
    fold = ra.split.random(test=0.2)(log)[0]
    runs = [ra.play(model, fold, ra.protocols.ranking(k=10)) for model in (ra.models.Popular(), ra.models.Random())]
    scores = ra.score(runs, fold, "ndcg@5 recall@5", interval=None)
    streams = {
        name: ra.play(name, log, ra.protocols.prequential(at=3, warmup=50)) for name in ("StreamPopular", "ISGD")
    }
    designs = ra.judge(runs, "AI-AR-AN AI-1R-NN(5)", "hit@3", interval=None)
    return {
        "log": log, "fold": fold, "run": runs[0], "runs": runs, "scores": scores, "streams": streams,
        "designs": designs, "table": {"ann": {"x": 0.5, "y": 0.2}, "bob": {"x": 1.0}}, "truth": {"ann": ["x"], "bob": ["y"]},
        "items": {"x": ["a"], "y": ["a", "b"]},
        "events": [{"event": "exposure", "user": "u", "items": ["a", "b"], "time": 1}, {"event": "outcome", "user": "u", "item": "a", "time": 2}],
    }  # fmt: skip


@functools.cache
def sequences() -> tuple[Any, Any]:
    """Return a fold of sequences and what a model generated for it."""
    lists = ra.split.ready_made()(make_log(users=20, items=20, events=120))
    (fold,) = ra.split.latest_sequences(test=0.3)(lists)
    return fold, ra.sequences.generate(ra.models.sequence.NGram(), fold)


def _calls() -> dict[str, tuple[Callable[..., Any], Callable[[], tuple[list[Any], dict[str, Any]]]]]:
    """Return the public verbs, and a function that returns sound arguments of each."""
    t = things
    quick = {"resamples": 20}
    return {
        "read_run": (ra.read_run, lambda: ([t()["table"]], {})),
        "read_runs": (ra.read_runs, lambda: ([{"a": t()["table"]}], {})),
        "read_truth": (ra.read_truth, lambda: ([t()["truth"]], {})),
        "read_interactions": (ra.read_interactions, lambda: ([t()["truth"]], {})),
        "read_items": (ra.read_items, lambda: ([t()["items"]], {})),
        "read_scores": (ra.read_scores, lambda: ([pl.DataFrame({"system": ["a", "b"], "user": [1, 1], "ndcg": [0.5, 0.1]})], {})),
        "read_finished": (ra.overall.read_finished, lambda: ([pl.DataFrame({"dataset": ["d", "d"], "system": ["a", "b"], "ndcg": [0.1, 0.2]})], {})),
        "read_fold": (ra.read_fold, lambda: (["fold"], {})),
        "score": (ra.score, lambda: ([t()["table"], t()["truth"], "ndcg@5"], {"interval": "normal"})),
        "compare": (ra.compare, lambda: ([t()["scores"]], dict(quick))),
        "evaluate": (ra.evaluate, lambda: ([t()["log"], ["Popular"]], {"metrics": "ndcg@5"})),
        "play": (ra.play, lambda: (["Popular", t()["fold"], ra.protocols.ranking(k=3)], {})),
        "play stream": (ra.play, lambda: (["StreamPopular", t()["log"], ra.protocols.prequential(at=3, warmup=50)], {})),
        "judge": (ra.judge, lambda: ([t()["runs"], "AI-1R-NN(5)", "hit@3"], dict(quick))),
        "decide": (ra.decide, lambda: ([ra.read_scores(pl.DataFrame({"system": ["a", "b"] * 2, "dataset": ["d", "d", "e", "e"], "user": [1] * 4, "ndcg": [0.5, 0.1, 0.3, 0.2]}))], dict(quick))),
        "across": (ra.overall.across, lambda: ([{"a": t()["scores"], "b": t()["scores"]}], {"samples": 200})),
        "consistency": (ra.overall.consistency, lambda: ([t()["scores"]], dict(quick))),
        "global_score": (ra.overall.global_score, lambda: ([t()["scores"], {"ndcg@5": 1.0}], {})),
        "pareto": (ra.overall.pareto, lambda: ([t()["scores"]], {})),
        "parallel_view": (ra.sequences.parallel_view, lambda: ([t()["scores"]], {})),
        "users_needed": (ra.users_needed, lambda: ([t()["scores"]], {"wanted": 0.1})),
        "trade_off": (ra.trade_off, lambda: ([t()["scores"], "ndcg@5", "recall@5"], {"baseline": t()["scores"].systems[0]})),
        "choose_weight": (ra.choose_weight, lambda: ([t()["table"], "MMR", t()["truth"], "ndcg@2"], {"items": t()["items"], "grid": [0.5]})),
        "rerank": (ra.rerank, lambda: ([t()["table"], "MMR"], {"items": t()["items"]})),
        "correct": (ra.correct, lambda: ([[1, 2, 5]], {"sample": 9, "pool": 100, **quick})),
        "mapped_cutoff": (ra.sampled.mapped_cutoff, lambda: ([3], {"sample": 9, "pool": 100})),
        "sampled_ranks": (ra.sampled.sampled_ranks, lambda: ([t()["run"], 5], {})),
        "sampling_curve": (ra.sampling_curve, lambda: ([t()["runs"]], {"sizes": [3, None], **quick})),
        "interleave": (ra.interleave, lambda: ([{"a": t()["table"], "b": t()["table"]}, t()["truth"], 2], {"draws": 3, **quick})),
        "sudden_death": (ra.sudden_death, lambda: ([{"a": t()["table"], "b": t()["table"]}, t()["truth"], 2], dict(quick))),
        "home_and_away": (ra.home_and_away, lambda: ([t()["scores"]], {})),
        "over_time": (ra.over_time, lambda: ([t()["streams"]["ISGD"], "recall@3"], {})),
        "compare_over_time": (ra.compare_over_time, lambda: ([t()["streams"]["ISGD"], t()["streams"]["StreamPopular"]], {"metric": "recall@3"})),
        "over_folds": (ra.overall.over_folds, lambda: ([list(t()["streams"].values()), "recall@3"], {"points": 10})),
        "compare_folds": (ra.overall.compare_folds, lambda: ([[one] for one in t()["streams"].values()], {"metric": "recall@3"})),
        "declared": (ra.overall.declared, lambda: ([[ra.compare_over_time(*t()["streams"].values(), metric="recall@3")]], {})),
        "generate": (ra.sequences.generate, lambda: ([ra.models.sequence.NGram(), sequences()[0]], {})),
        "score_sequences": (ra.sequences.score_sequences, lambda: ([*sequences()], dict(quick))),
        "by_position": (ra.sequences.by_position, lambda: ([*sequences()], dict(quick))),
        "item_counts": (ra.sequences.item_counts, lambda: ([*sequences()], {})),
        "item_frequency": (ra.sequences.item_frequency, lambda: ([*sequences()], {})),
        "sequence_sizes": (ra.sequences.sequence_sizes, lambda: ([sequences()[0]], {})),
        "perplexity_by_position": (ra.sequences.perplexity_by_position, lambda: ([sequences()[0], {"m": ra.models.sequence.NGram()}], {})),
        "sequeval": (ra.sequences.sequeval, lambda: ([3], {})),
        "explain": (ra.explain, lambda: (["ndcg"], {})),
        "parse_metric": (ra.metrics.parse_metric, lambda: (["ndcg@5"], {})),
        "watch": (ra.watch, lambda: ([t()["events"]], {"metrics": "hit@2"})),
        "run_study": (ra.run_study, lambda: (["study.yaml", "out"], {})),
        "split.parse": (ra.split.parse, lambda: (["random(test=0.2)"], {})),
        "models.parse": (ra.models.parse, lambda: (["ItemKNN(neighbours=5)"], {})),
        "protocols.parse": (ra.protocols.parse, lambda: (["ranking(k=3)"], {})),
        "drift.parse": (ra.drift.parse, lambda: (["ADWIN"], {})),
        "designs.parse": (ra.designs.parse, lambda: (["AI-AR-AN"], {})),
        "split": (lambda log, **how: ra.split.random(**how)(log), lambda: ([t()["log"]], {"test": 0.2})),
        "k_folds": (lambda log, **how: ra.split.k_folds(**how)(log), lambda: ([t()["log"]], {"k": 2, "by": "user"})),
        "ranking": (ra.protocols.ranking, lambda: ([], {"k": 3})),
        "prequential": (ra.protocols.prequential, lambda: ([], {"at": 3, "warmup": 5})),
        "Uncertainty": (ra.options.Uncertainty, lambda: ([], {"method": "bootstrap", "level": 0.9, "resamples": 20, "seed": 1})),
        "ConventionOptions": (ra.options.ConventionOptions, lambda: ([], {"ties": None, "missing": "skip"})),
        "GroupOptions": (ra.options.GroupOptions, lambda: ([], {"smallest_group": 3, "correction": "holm"})),
        "Until": (ra.options.Until, lambda: ([], {"width": 0.1, "strata": 2})),
        "Execution": (ra.options.Execution, lambda: ([], {"threads": 1, "memory": "2GB"})),
        "ReadOptions": (ra.options.ReadOptions, lambda: ([], {"columns": "user=u", "nan": "error"})),
    }  # fmt: skip


CALLS: Mapping[str, Any] = _calls()
NAMES = [name.encode() for name in CALLS]


def damaged(value: Any, rng: random.Random) -> Any:
    """Return a random object; or, of a container, the same with one random part."""
    if isinstance(value, dict) and value and rng.random() < 0.4:
        return {**value, rng.choice([*value, _key(rng)]): nested(rng, 2)}
    if isinstance(value, list) and value and rng.random() < 0.4:
        at = rng.randrange(len(value))
        return [*value[:at], nested(rng, 2), *value[at + rng.randrange(2) :]]
    return nested(rng)


def make_call(seed: bytes) -> Call:
    """Return a call of a public verb with one or two arguments replaced by random objects."""
    rng = random.Random(seed)
    name = rng.choice(sorted(CALLS))
    function, sound = CALLS[name]
    arguments, options = sound()
    arguments = list(arguments)
    known = [one for one, of in inspect.signature(function).parameters.items() if of.kind == of.KEYWORD_ONLY]
    names = sorted({*known, *options} - {"progress"})
    for _ in range(rng.choice((1, 1, 2))):
        if arguments and (not names or rng.random() < 0.5):
            at = rng.randrange(len(arguments))
            arguments[at] = damaged(arguments[at], rng)
        elif names:
            chosen = rng.choice(names)
            options[chosen] = damaged(options.get(chosen), rng)
    return name, arguments, options


def call_soundly(name: str) -> None:
    """Call a verb with its sound arguments."""
    function, sound = CALLS[name]
    arguments, options = sound()
    function(*arguments, **options)


def call(seed: bytes) -> None:
    """Make the call of a number."""
    name, arguments, options = make_call(seed)
    CALLS[name][0](*arguments, **options)


def described(seed: bytes) -> str:
    """Return the call of a number as text."""
    name, arguments, options = make_call(seed)
    shown = [*(_shown(one) for one in arguments), *(f"{key}={_shown(one)}" for key, one in options.items())]
    return f"{name}({', '.join(shown)})"


def _shown(value: Any) -> str:
    try:
        return f"{value!r:.60}"
    except Exception:
        return type(value).__name__
