"""A use of every public verb and class, as a person writes it: type checkers must accept it. Nothing here is run."""

from __future__ import annotations

import polars as pl

import recassay as ra


def prepare() -> tuple[ra.Interactions, ra.Fold, ra.Truth, ra.Features]:
    log: ra.Interactions = ra.read_interactions("ratings.csv", columns="user=uid,item=iid")
    fold: ra.Fold = ra.split.random(test=0.2, seed=7)(log)[0]
    assert isinstance(ra.read_fold("folds/0"), ra.Fold)
    return log, fold, ra.read_truth("truth.parquet"), ra.read_items("items.csv")


def judge_lists(log: ra.Interactions, fold: ra.Fold, truth: ra.Truth, items: ra.Features) -> pl.DataFrame:
    run: ra.Run = ra.play(ra.models.ALS(factors=64), fold, ra.protocols.ranking(relevant_from=5))
    runs: list[ra.Run] = [run, ra.read_run("mine.csv"), *ra.read_runs("runs/*.parquet")]
    scores: ra.Scores = ra.score(runs, truth, ["ndcg@10", "recall@20"], train=log, items=items, within=0.01)
    comparison: ra.types.Comparison = ra.compare(scores, baseline="pop", test="permutation", correction="holm", seed=1)
    designs: ra.types.DesignScores = ra.judge(run, designs=["TI-AR-AN", "P1R(bins=10)"], metrics="precision@10")
    found: ra.types.Evaluation = ra.evaluate(log, ["Popular", ra.models.UserKNN()], "ndcg@10")
    contest: ra.types.SuddenDeath = ra.sudden_death(runs, truth, at=10)
    shown: ra.types.Interleaving = ra.interleave(runs, truth, at=10)
    needed: ra.types.Power = ra.users_needed(scores, wanted=0.01)
    findings: tuple[ra.types.Finding, ...] = scores.findings
    print(ra.explain("ndcg"), comparison, designs.summary(), found.scores, contest, shown, needed, findings)
    gate: ra.types.Gate = ra.gate(run, "release", truth, {"ndcg@10": "0.5%"}, require=["coverage@10 >= 0.3"], train=log)
    print(gate.verdict, ra.score_arrays([1, 0], [0.5, 0.4], "mrr", groups=[2]), ra.scorer("ndcg@10", groups="qid"))
    print(ra.home_and_away(scores, objectives={"mine": "ndcg@10"}))
    return scores.summary()


def conclude(scores: ra.Scores) -> None:
    stored: ra.types.ScoreSet = ra.read_scores("results")
    decision: ra.types.Decision = ra.decide(stored, baseline="pop")
    ranked: ra.overall.Across = ra.overall.across(stored)
    steady: ra.overall.Consistency = ra.overall.consistency(stored, along="seed")
    table: ra.overall.FinishedScores = ra.overall.read_finished("table.csv")
    finished: ra.overall.FinishedConclusions = ra.overall.conclude(table)
    print(decision, ranked, steady, finished, ra.overall.order_agreement(table, "split"))
    print(ra.overall.global_score(scores, {"ndcg@10": 1.0}), ra.overall.pareto(scores))


def diversify(run: ra.Run, truth: ra.Truth, items: ra.Features) -> None:
    diverse: ra.types.Reranked = ra.rerank(run, "MMR(weight=0.3)", items=items)
    weights: ra.types.Weights = ra.choose_weight(run, "MMR", truth, "ild@10", keep="ndcg@10", loss=0.05, items=items)
    points: ra.Scores = ra.score([run, diverse.run], truth, "ndcg@10")
    print(weights, ra.trade_off(points, "ndcg@10", baseline="ALS"))


def sample(run: ra.Run) -> None:
    curve: ra.sampled.SamplingCurve = ra.sampling_curve(run, sizes=[10, 100, None], by=["uniform"], metric="hit@10")
    print(curve, ra.correct("ranks.csv", sample=100, pool=3_000))
    print(ra.sampled.mapped_cutoff(10, pool=3_000, sample=100), ra.sampled.sampled_ranks(run, 100))


def stream(log: ra.Interactions) -> None:
    rules = ra.protocols.prequential(at=10, folds="none")
    one, other = (ra.play(model, log, rules, metrics="recall@10") for model in ("ISGD", "StreamPopular"))
    outcomes: ra.Outcomes = one.outcomes
    curve: ra.types.Curve = ra.over_time(outcomes, "recall@10", window=5_000)
    compared: ra.types.OverTime = ra.compare_over_time(one, other, metric="recall@10", window=5_000, alpha=0.01)
    print(curve, one.findings, compared.summary(), ra.overall.declared([compared]))
    print(ra.overall.over_folds(one, "recall@10"), ra.overall.compare_folds(one, other, metric="recall@10"))
    print(ra.watch("events.jsonl", "hit@10", until="hit@10: new > old"))


def generate(log: ra.Interactions) -> None:
    sequences: ra.sequences.Sequences = ra.split.sessions(gap=3600)(log)
    fold: ra.sequences.SequenceFold = ra.split.latest_sequences(test=0.2)(sequences)[0]
    model = ra.models.sequence.NGram(order=2)
    made: tuple[ra.sequences.Generated, ...] = ra.sequences.generate(model, fold, ra.protocols.sequence(k=5))
    scores: ra.Scores = ra.sequences.score_sequences(fold, made, ra.sequences.sequeval(5))
    print(ra.sequences.by_position(fold, made), ra.sequences.sequence_sizes(fold), ra.sequences.parallel_view(scores))
    print(ra.sequences.item_counts(fold, made), ra.sequences.item_frequency(fold, made))
    print(ra.sequences.perplexity_by_position(fold, {"mine": model}))


def extend() -> None:
    @ra.metric(bounds=(0, 1))
    def first_place(items: object, truth: object) -> float:
        return 1.0

    print(first_place, ra.register(ra.metrics.Accuracy), ra.metrics.parse_metric("ndcg@10"))
    print(ra.options.Execution(memory="2GB"), ra.options.Uncertainty(level=0.9))


def elsewhere() -> None:
    spark = ra.spark_session()
    log = ra.spark_log(spark.read.parquet("log"))
    fold = ra.spark_fold(spark.read.parquet("train"), spark.read.parquet("test"))
    print(log, ra.play("Popular", fold, ra.protocols.ranking()))
    print(ra.run_study("study.yaml", "out", quick=True))


def fail() -> None:
    try:
        prepare()
    except (ra.InputError, ra.UsageError) as error:
        print(error.code, error.hint)
    except (ra.RecassayError, ra.types.InternalError):
        raise
