"""``reference/findings.md``: every check, with an example finding that is computed while the page is written."""

from __future__ import annotations

import contextlib
import inspect
import tempfile
import textwrap
from dataclasses import dataclass
from typing import Any

from recassay.checks.base import CHECKS

INTRODUCTION = """\
# Findings

Whenever runs are scored, numbered checks examine the data and the results. Their findings are printed below the
table, and are in `findings.jsonl`, in the `findings` of `--json`, and in Python in `scores.findings`. A finding is not
an error: the numbers are right under the printed conventions, and the finding says what to know before you rely on
them. A code never changes its meaning.

| severity | meaning |
| --- | --- |
| `info` | good to know; does not change a decision by itself |
| `warning` | may change a decision |
| `error` | the numbers cannot mean what they seem to |

`recassay check FOLDER` runs every check on a folder of results and prints its outcome: a finding, fine, or not
applicable with the reason ([check a study](../howto/check-a-study.md)). `--fail-on warning` ends a command with status 1 if a finding is at least that severe
([judge in CI](../howto/judge-in-ci.md)). Findings of group B come from `ra.judge`; those of group S from `ra.correct`, `ra.judge` and `ra.sampling_curve`; those
of group G from `ra.sequences.score_sequences`. All are in the `findings` of the result. A check does not apply if it needs data
that was not given, such as a training log.
"""

GROUPS = {
    "B": "Bias: how the design affects the order of systems",
    "C": "Coverage: which users and items the files cover",
    "D": "Decisions: what to know before choosing a system",
    "G": "Generated sequences: what cannot be learned from training, or is not there",
    "H": "Home: systems evaluated by the metric that they optimise",
    "L": "Leakage: test information in training",
    "P": "Profiles: what they do not reproduce",
    "R": "Reading: what the files leave unclear",
    "S": "Sampling: limits of sampled candidates",
    "T": "Ties: results that depend on the order of ties",
    "V": "Drift: changes during a stream",
    "W": "Watching: problems of live events",
}


@dataclass(frozen=True)
class Example:
    """What to do about a finding, and code whose ``scores``, or ``findings``, have it."""

    do: str
    code: str


JUDGED = """
        from recassay.data.synthetic import log

        fold = ra.split.random(test=0.2, seed=7)(log(users=300, items=90, events={events}, seed=2))[0]
        runs = [ra.play(one, fold, ra.protocols.ranking()) for one in (ra.models.Popular(), ra.models.Random())]
        findings = ra.judge(runs, "{designs}", "{metric}").findings
        """

LIVE = """
        from recassay.checks import diagnose
"""

EXAMPLES = {
    "B001": Example(
        "Before you look at the results, decide which design answers your question, and report the other designs "
        "next to it. [Choose a design](../howto/choose-a-design.md) compares them.",
        JUDGED.format(events=7_000, designs="TI-AR-AN, P1R", metric="ndcg@5"),
    ),
    "B002": Example(
        "Evaluate under `P1R`, or split with `uniform_items` and evaluate under `U1R`, which remove popularity. "
        "Whether popularity is a bias or a signal depends on why users rated what they rated (Cañamares and "
        "Castells 2018).",
        JUDGED.format(events=7_000, designs="TI-1R-NN(20)", metric="mrr"),
    ),
    "B003": Example(
        "Use such a mean to compare systems, not data sets. Read the column `corrected` as well, or evaluate one "
        "relevant item at a time (1R): that mean depends only on the size of the target sets.",
        JUDGED.format(events=2_000, designs="TI-AR-AN", metric="precision@10"),
    ),
    "B004": Example(
        "Compare every system with a popularity baseline, and evaluate under `P1R` or on a uniform split, which "
        "remove popularity.",
        """
        truth = {f"user {u}": [f"item {u * 7919 % 2_000}", "hit 1", "hit 2"] for u in range(2_000)}
        scores = ra.score({"mine": truth}, truth, "hit@1")
        """,
    ),
    "B005": Example(
        "Report metrics of the whole catalogue (`coverage@10`, `gini@10`) next to accuracy; see [beyond "
        "accuracy](../howto/beyond-accuracy.md).",
        """
        train = {f"user {u}": [f"item {u * 7919 % 500}"] for u in range(500)}
        everybody_the_same = {user: ["item 1", "item 2", "item 3"] for user in train}
        truth = {user: ["item 1"] for user in train}
        scores = ra.score({"mine": everybody_the_same}, truth, "hit@3", train=train)
        """,
    ),
    "C001": Example(
        "Find out why the system has no list for them: new users, a crash, or a filter. With `missing='skip'`, "
        "systems that answer for different users are compared on different users; by default all are compared on "
        "the same ones.",
        """
        truth = {"ann": ["x"], "bob": ["y"], "cem": ["z"]}
        scores = ra.score({"mine": {"ann": ["x"]}}, truth, "hit@1")
        """,
    ),
    "C002": Example(
        "Request as many items as the largest cut-off. Missing items count as misses, except in metrics with "
        "`divide_by='list'`.",
        """
        scores = ra.score({"mine": {"ann": ["x"]}}, {"ann": ["x", "y"]}, "precision@5")
        """,
    ),
    "C003": Example(
        "Remove repeats where the lists are made. By default the first occurrence counts and later items move up;"
        " `--duplicates` has other options.",
        """
        scores = ra.score({"mine": {"ann": ["x", "x", "y"]}}, {"ann": ["x", "y"]}, "hit@2")
        """,
    ),
    "C004": Example(
        "Nothing, if the run was made for all users and the truth has only some of them.",
        """
        scores = ra.score({"mine": {"ann": ["x"], "eve": ["x"]}}, {"ann": ["x"]}, "hit@1")
        """,
    ),
    "C005": Example(
        "Check `--relevant-from`, and users who disliked all their held-out items. `--no-relevant zero` counts "
        "them as 0, as trec_eval does.",
        """
        truth = {"ann": {"x": 5.0}, "bob": {"y": 2.0}}
        scores = ra.score({"mine": {"ann": ["x"], "bob": ["y"]}}, truth, "hit@1", relevant_from=4)
        """,
    ),
    "C006": Example(
        "Check how the truth was made. Counting such a row twice, as some libraries do, raises precision and recall.",
        """
        truth = [("ann", "x", 1.0), ("ann", "x", 3.0)]
        scores = ra.score({"mine": {"ann": ["x"]}}, truth, "hit@1")
        """,
    ),
    "C007": Example(
        "Check that both files use the same ids. Metrics of novelty treat such items as never seen.",
        """
        train = {"ann": ["a"], "bob": ["x"]}
        scores = ra.score({"mine": {"ann": ["x", "new"]}}, {"ann": ["x"]}, "hit@1", train=train)
        """,
    ),
    "C008": Example(
        "Find out why the model gives NaN. The finding appears because of `--nan last`; without it NaN is an "
        "error (I301).",
        """
        run = ra.read_run({"ann": {"x": 0.9, "y": float("nan")}}, "mine", nan="last")
        scores = ra.score(run, {"ann": ["x"]}, "hit@1")
        """,
    ),
    "C009": Example(
        "Evaluate more users. Below ten, read the single values instead of their mean.",
        """
        scores = ra.score({"mine": {"ann": ["x"], "bob": ["y"]}}, {"ann": ["x"], "bob": ["z"]}, "hit@1")
        """,
    ),
    "C010": Example(
        "Evaluate new users separately: a system can only give them its default recommendations, and a model that knows "
        'users by their events gives none. `users="known"` (`--users known`, in a study `users: known`) scores the '
        "others alone; `random(test=0.2, by='user')`, `leave_out(n=1)` and `last(n=1)` leave every test user a past.",
        """
        train = {"ann": ["a"], "bob": ["x"]}
        scores = ra.score({"mine": {"eve": ["x"]}}, {"eve": ["x"]}, "hit@1", train=train)
        """,
    ),
    "C011": Example(
        "State their number when you report recall: no system that learns from the log alone can reach 1.",
        """
        train = {"ann": ["a"], "bob": ["x"]}
        scores = ra.score({"mine": {"ann": ["x"]}}, {"ann": ["x", "new"]}, "hit@1", train=train)
        """,
    ),
    "C012": Example(
        "Check how the runs were made: the same file under two names, or a setting that had no effect. `recassay "
        "check` runs this check.",
        """
        from recassay.report.folder.checks import findings_in
        from recassay.report.folder.results import write_results

        run = {"ann": ["x"], "bob": ["y"]}
        write_results(ra.score({"old": run, "new": run}, {"ann": ["x"], "bob": ["z"]}, "hit@1"), None, "results")
        findings = findings_in("results")
        """,
    ),
    "C013": Example(
        "Evaluate all systems on the same users: leave `missing` at `zero`, or read the differences, which are over "
        "the users that both have; the verdict says over how many.",
        """
        runs = {"all": {"ann": ["x"], "bob": ["y"]}, "some": {"ann": ["x"]}}
        scores = ra.score(runs, {"ann": ["x"], "bob": ["z"]}, "hit@1", conventions=ra.options.ConventionOptions(missing="skip"))
        """,
    ),
    "C019": Example(
        "Look whether the file of the system is whole: a file that was cut after its rows were shuffled ends nowhere "
        "early. If the system has no more items, compare at a cut-off that all lists reach. The verdict is computed "
        "again without the users whose list is short in one system only, and says so if it is another.",
        """
        runs = {"whole": {"ann": ["x", "y"], "bob": ["y", "x"]}, "cut": {"ann": ["x"], "bob": ["x"]}}
        scores = ra.score(runs, {"ann": ["x"], "bob": ["x"]}, "ndcg@2")
        """,
    ),
    "D001": Example(
        "Correct for the number of pairs: `--correction holm`, the default, if no false claim is acceptable, or "
        "`bh` to screen many systems. Better still, choose the few comparisons that matter before you look.",
        """
        users = list(range(12)) * 3
        systems = ["als"] * 12 + ["bpr"] * 12 + ["pop"] * 12
        mrr = [0.5, 0.3] * 6 + [0.4, 0.3, 0.5, 0.2] * 3 + [0.4, 0.2] * 6
        scores = ra.read_scores({"user": users, "system": systems, "mrr": mrr})
        findings = ra.decide(scores, correction="none").findings
        """,
    ),
    "D002": Example(
        "Train with three seeds or more (`seeds: [1, 2, 3]` in a study), and check whether the order of systems "
        "differs between them: `recassay compare DIR --by seed`.",
        """
        from pathlib import Path

        study = "study: one-seed\\ndata: {generate: 'log(users=60, items=40, events=1000)'}\\nsplit: random(test=0.2)\\n"
        Path("one-seed.yaml").write_text(study + "models: ['PLSA(factors=2)', Popular]\\nmetrics: ndcg@10\\n")
        ra.run_study("one-seed.yaml", "one-seed")
        findings = ra.decide(ra.read_scores("one-seed")).findings
        """,
    ),
    "D003": Example(
        "Tune the baseline, or find out what broke it, before you claim anything about systems that beat it. To "
        "see whether the target sets alone reward popularity, use [other designs](../howto/choose-a-design.md).",
        """
        users, systems = list(range(40)) * 3, ["mine"] * 40 + ["tuned-badly"] * 40 + ["popular"] * 40
        mrr = [0.6, 0.4] * 20 + [0.1, 0.2] * 20 + [0.3, 0.2] * 20
        scores = ra.read_scores({"user": users, "system": systems, "mrr": mrr})
        findings = ra.decide(scores, baseline="tuned-badly").findings
        """,
    ),
    "D004": Example(
        "Use the permutation test, which is the default. [Simulations](../explanation/uncertainty.md#tests) say how "
        "much too often the bootstrap test claims a difference.",
        """
        users, systems = list(range(20)) * 2, ["als"] * 20 + ["pop"] * 20
        scores = ra.read_scores({"user": users, "system": systems, "mrr": [0.6, 0.4] * 10 + [0.5, 0.2] * 10})
        findings = ra.decide(scores, test="bootstrap").findings
        """,
    ),
    "P001": Example(
        "See which metrics differ, and what they are here instead (`recassay explain recbole`). Do not compare "
        "them with numbers that the library printed.",
        """
        run = {"mine": {"ann": {"x": 0.5, "y": 0.5}}}
        scores = ra.score(run, {"ann": ["x"]}, "hit@1", profile="recbole")
        """,
    ),
    "H001": Example(
        "Report such a metric together with others, and state which systems optimise it. Decide by metrics that "
        "no system optimises, such as Sudden Death or a metric of relevance. [Sudden "
        "Death](../howto/sudden-death.md) has a full example. `ra.home_and_away` runs this check.",
        """
        import polars as pl

        items = pl.DataFrame({"item_id": ["x", "y", "z"], "tags": [["a"], ["a"], ["b"]]})
        runs = {"mf": {"ann": ["x", "y"], "bob": ["y", "x"]}, "mmr": {"ann": ["x", "z"], "bob": ["y", "z"]}}
        scores = ra.score(runs, {"ann": ["y"], "bob": ["x"]}, "mrr ild@2", items=items)
        findings = ra.home_and_away(scores, objectives={"mmr": "MMR"}).findings
        """,
    ),
    "L001": Example(
        "If the system must not recommend items that users already have, filter them: they take up ranks. If the "
        "truth has them too, the split leaks.",
        """
        scores = ra.score({"mine": {"ann": ["a", "x"]}}, {"ann": ["x"]}, "hit@2", train={"ann": ["a"], "bob": ["x"]})
        """,
    ),
    "L002": Example(
        "Split by time (`global_time`, `windows`) if the system will be used on an unseen future. If you cannot, "
        "state which split it was: a system that learns trends gains most from the future. The check reads a "
        "fold, not runs.",
        """
        from recassay.checks.studies import fold_findings

        log = ra.read_interactions({"user_id": [1, 1, 2, 2], "item_id": [7, 8, 7, 9], "timestamp": [1, 2, 3, 4]})
        findings = fold_findings(ra.split.last(n=1)(log)[0])
        """,
    ),
    "L004": Example(
        "Read the log with times if there are any. With positions in histories, `last` keeps a user's own future "
        "out of training. Whether training events of other users are later is unknown; say so in the report. The "
        "check reads a fold, not runs.",
        """
        from recassay.checks.studies import fold_findings

        log = ra.read_interactions({"ann": ["x", "y", "z"], "bob": ["y", "x"]})  # in order, user by user
        findings = fold_findings(ra.split.last(n=1)(log)[0])
        """,
    ),
    "L005": Example(
        "Read finer times if there are any, or state that row order breaks ties. With times in whole days, the "
        "last item of many users is ambiguous; `recassay stats` counts them. The check reads a fold, not runs.",
        """
        from recassay.checks.studies import fold_findings

        columns = {"user_id": [1, 1, 1, 2, 2], "item_id": [*"xyzxy"], "timestamp": [10, 30, 30, 5, 40]}
        findings = fold_findings(ra.split.last(n=1)(ra.read_interactions(columns))[0])
        """,
    ),
    "G001": Example(
        "Remove rare items with `ra.split.filters` before you make sequences, or smooth the model if its "
        "perplexity matters. In a random split such items are rare; in a split by time they may be new.",
        """
        import polars as pl

        frame = pl.DataFrame({"sequence_id": [1, 1, 2, 2, 2], "item_id": ["a", "b", "a", "b", "new"], "timestamp": range(5)})
        lists = ra.sequences.Sequences.from_frame(frame)
        fold = ra.split.latest_sequences(test=0.5)(lists)[0]
        scores = ra.sequences.score_sequences(fold, ra.sequences.generate(ra.models.sequence.Unigram(), fold), interval=None)
        """,
    ),
    "G002": Example(
        "Give the similarities of more pairs, or a dense matrix; or use `similarity='training'` or `'features'`, which "
        "have one for every pair of known items.",
        """
        import polars as pl

        frame = pl.DataFrame({"sequence_id": [1, 1, 1, 2, 2], "item_id": ["a", "b", "c", "a", "b"], "timestamp": range(5)})
        fold = ra.split.latest_sequences(test=0.5)(ra.sequences.Sequences.from_frame(frame))[0]
        one = pl.DataFrame({"item_id": ["a"], "other_id": ["b"], "similarity": [0.5]})
        given = "seq_diversity(similarity='given')@3"
        generated = ra.sequences.generate(ra.models.sequence.MostPopular(), fold, ra.protocols.sequence(k=3))
        scores = ra.sequences.score_sequences(fold, generated, given, similarities=one, interval=None)
        """,
    ),
    "G003": Example(
        "Look whether the file is complete and whether its sequence ids are those of `seeds.parquet`. If the system "
        "cannot continue some seeds, this is its result.",
        """
        import polars as pl

        frame = pl.DataFrame({"sequence_id": [1, 1, 2, 2, 3, 3], "item_id": [*"ababba"], "timestamp": range(6)})
        fold = ra.split.latest_sequences(test=0.7)(ra.sequences.Sequences.from_frame(frame))[0]
        rows = pl.DataFrame({"sequence_id": [0], "position": [1], "item_id": ["b"]})
        scores = ra.sequences.score_sequences(fold, {"mine": rows}, "seq_precision@1", interval=None)
        """,
    ),
    "L003": Example(
        "If users are expected to return to items, this is intended and nothing leaks. Otherwise split the log so"
        " that an event is in one part only.",
        """
        train = {"ann": ["a", "x"], "bob": ["x"]}
        scores = ra.score({"mine": {"ann": ["y", "x"]}}, {"ann": ["x"]}, "hit@1", train=train)
        """,
    ),
    "R001": Example(
        "Pass `--order row` if the rows of every list are in best-first order. Otherwise write a rank or a score:"
        " files are easily sorted by something else.",
        """
        import polars as pl

        run = pl.DataFrame({"user_id": ["ann", "ann"], "item_id": ["x", "y"]})
        scores = ra.score(run, {"ann": ["x"]}, "mrr")
        """,
    ),
    "R002": Example(
        "Name the column, `--truth-columns gain=NAME`, with `--relevant-from` if its scale needs it; or remove it"
        " from the file if it says nothing about relevance.",
        """
        import polars as pl

        truth = pl.DataFrame({"user_id": ["ann", "ann"], "item_id": ["x", "y"], "Bewertung": [5, 1]})
        scores = ra.score({"mine": {"ann": ["x"]}}, truth, "ndcg@1")
        """,
    ),
    "R003": Example(
        "Write a file for each system, fold or part, or keep the rows of one.",
        """
        import polars as pl

        columns = {"user_id": ["ann"] * 4, "item_id": ["x", "y", "y", "z"], "model": ["als", "als", "bpr", "bpr"]}
        run = pl.DataFrame({**columns, "score": [0.9, 0.1, 0.8, 0.2]})
        scores = ra.score(run, {"ann": ["x"]}, "mrr")
        """,
    ),
    "R004": Example(
        "If they are ranks, name the column, `--columns rank=NAME`, and look at the mean again. If they are "
        "scores, nothing is wrong.",
        """
        run = {user: {"x": 1, "y": 2, "z": 3} for user in range(12)}
        scores = ra.score(run, {user: ["x"] for user in range(12)}, "mrr")
        """,
    ),
    "R005": Example(
        "Find out which of the two is meant. Lists that were re-ranked may still have their old scores; ranks "
        "that count upwards from the worst item are a mistake.",
        """
        import polars as pl

        run = pl.DataFrame({"user_id": ["ann"] * 2, "item_id": ["x", "y"], "rank": [1, 2], "score": [0.1, 0.9]})
        scores = ra.score(run, {"ann": ["x"]}, "mrr")
        """,
    ),
    "R006": Example(
        "Remove such rows where they are made: by a join that found no match, or by concatenating files with "
        "their headers.",
        """
        scores = ra.score({"mine": {"ann": ["x"], "nan": ["y"]}}, {"ann": ["x"]}, "mrr")
        """,
    ),
    "R007": Example(
        "Write ids in the same way in all files, as text, before a program turns `007` into 7 or 12 into 12.0.",
        """
        scores = ra.score({"mine": {"ann": ["x", "007"]}}, {"ann": ["x", "7"]}, "recall@2")
        """,
    ),
    "R008": Example(
        "Compare the ids of both files: row numbers in one and ids in the other have few in common by chance. "
        "Give `--train` if the system may recommend items that no test user chose.",
        """
        run = {user: [f"new {user} {place}" for place in range(19)] + ["x"] * (user == 0) for user in range(12)}
        scores = ra.score({"mine": run}, {user: ["x"] for user in range(12)}, "hit@20")
        """,
    ),
    "R009": Example(
        "State from which gain an item is relevant: `--relevant-from 0.5`, or 4 for ratings up to 5.",
        """
        scores = ra.score({"mine": {"ann": ["x"]}}, {"ann": {"x": 0.5}}, "recall@1")
        """,
    ),
    "R010": Example(
        "Nothing, if you replaced the run on purpose. Otherwise delete the file, and the study computes it again.",
        """
        from recassay.checks import diagnose

        findings = diagnose("replaced runs", system="als", files=["runs/ml-1m/k_folds(k=5)/fold-0/seed-0/als.parquet"])
        """,
    ),
    "S001": Example(
        "Compute full ranks with the systems: nothing else settles it. If you cannot, report the order as "
        "undecided. [Correct sampled results](../howto/correct-sampled-results.md) has the details.",
        """
        import numpy as np

        rng = np.random.default_rng(1)
        steady, daring = np.repeat(30, 500), np.repeat([2, 300], 250)  # full ranks among 1,001
        ranks = {
            name: 1 + rng.hypergeometric(full - 1, 1001 - full, 100)
            for name, full in {"steady": steady, "daring": daring}.items()
        }
        findings = ra.correct(ranks, pool=1_000, sample=100, metrics="hit@10").findings
        """,
    ),
    "S002": Example(
        "Add a design that uses all candidates (`TI-AR-AN`, `AI-1R-AN`): it comes from the same pass.",
        JUDGED.format(events=7_000, designs="TI-1R-NN(20)", metric="mrr"),
    ),
    "S003": Example(
        "Sample fewer items, or use all of them. Users with few candidates have easier target sets, and the mean "
        "is over sets of different sizes.",
        """
        from recassay.data.synthetic import log

        fold = ra.split.random(test=0.2, seed=7)(log(users=300, items=90, events=7_000, seed=2))[0]
        run = ra.play(ra.models.Popular(), fold, ra.protocols.ranking())
        findings = ra.judge(run, "AI-1R-NN(80)", "mrr", short="all").findings
        """,
    ),
    "S004": Example(
        "Give runs whose systems can score again, and at most 2,000 candidates; or draw samples: `ra.judge(runs, "
        "\"AI-1R-NN(100, by='popularity', replace=False)\", metrics, method='sample')`.",
        """
        from recassay.data.synthetic import log

        fold = ra.split.last(n=1)(log(users=200, items=90, events=5_000, seed=2))[0]
        run = ra.play(ra.models.Popular(), fold, ra.protocols.next_item())
        findings = ra.sampling_curve(
            run.standings, [20], by="popularity", replace=False, resamples=10
        ).findings
        """,
    ),
    "R011": Example(
        "If the numbers are ratings, name their column; if not, nothing.",
        """
        log = {"user": [1, 1, 2], "item": ["x", "y", "x"], "Feedback": [7, 3, 10]}
        scores = ra.score({"mine": {1: ["z"], 2: ["y"]}}, {1: ["z"], 2: ["y"]}, "hit@1", train=log)
        """,
    ),
    "R012": Example(
        "Compare the size of the file with that at its source, and copy or download it again.",
        """
        rows = [f"user {u},item {u % 7},{9783 + u}" for u in range(200)]
        with open("run.csv", "w") as file:
            file.write("\\n".join(["user,item,score", *rows])[:-2])
        scores = ra.score("run.csv", {f"user {u}": [f"item {u % 7}"] for u in range(200)}, "hit@1")
        """,
    ),
    "T001": Example(
        "Break ties at random where the lists are made, or score with `--ties expected`. Under `optimistic`, do "
        "not compare a system that ties with one that does not.",
        """
        run = {"ann": {"x": 1.0, "y": 1.0}, "bob": {"x": 1.0, "y": 1.0, "z": 0.5}}
        scores = ra.score({"mine": run}, {"ann": ["x"], "bob": ["y"]}, "mrr")
        """,
    ),
    "T002": Example(
        "Let the system compute finer scores, or break ties at random where the scores are made. Do not compare "
        "such a mean with one from another program, which uses a single order of ties.",
        """
        from recassay.data.synthetic import log

        fold = ra.split.random(test=0.2, seed=7)(log(users=30, items=90, events=200, seed=2))[0]
        run = ra.play(ra.models.Popular(), fold, ra.protocols.ranking())
        findings = ra.judge(run, "TI-AR-AN", "mrr").findings
        """,
    ),
    "C014": Example(
        "Decide what the system is for: what users have not consumed yet, or what they consume next. Play the "
        "stream with `repeats='allow'` as well, and report both.",
        """
        rows = [(f"user {n % 20}", f"item {n % 20 + n // 40 % 3}") for n in range(2_000)]
        model = ra.models.incremental.StreamPopular()
        findings = ra.play(model, ra.read_interactions(rows), ra.protocols.prequential(at=5, order="row")).findings
        """,
    ),
    "C015": Example(
        "Start with a warm-up, so that users are known; or state that the mean is over returning users.",
        """
        rows = [(f"user {n // 2}", f"item {n % 7}") for n in range(400)] + [(f"guest {n}", "item 1") for n in range(300)]
        model = ra.models.incremental.StreamPopular()
        findings = ra.play(model, ra.read_interactions(rows), ra.protocols.prequential(at=5, order="row")).findings
        """,
    ),
    "C016": Example(
        "State in the report which users and items the results are about, and check whether the order of systems "
        "differs without the filter.",
        """
        from recassay.checks import diagnose

        findings = diagnose("removed rows", steps={"filters": (1_000, {"item too rare": 80, "user too quiet": 70})})
        """,
    ),
    "C017": Example(
        "Compare the item ids of the run with those of the table of items: text and numbers, leading zeros, "
        "another catalogue.",
        """
        from recassay.checks import diagnose

        findings = diagnose("re-ranking", rows=400_000, bare=399_200)
        """,
    ),
    "C018": Example(
        "Name a file of features next to the data, `items: FILE`, or leave the metrics out.",
        """
        from recassay.checks import diagnose

        findings = diagnose("absent metrics", metrics=["ild@10", "eild@10"])
        """,
    ),
    "S005": Example(
        "Give systems whose scores do not tie, or draw the target sets: `ra.judge(runs, designs, metrics, "
        "method='sample')`. Fewer draws, or a larger catalogue, have a smaller error.",
        """
        from recassay.data.synthetic import log

        fold = ra.split.random(test=0.2, seed=7)(log(users=300, items=40, events=4_000, seed=2))[0]
        run = ra.play(ra.models.Popular(), fold, ra.protocols.ranking())
        findings = ra.judge(run, "AI-1R-NN(50, by='popularity')", "hit@1").findings
        """,
    ),
    "S006": Example(
        "Use a cut-off that every list reaches, and compare with that.",
        """
        truth = {"ann": ["d"], "bob": ["b"]}
        long = {"ann": ["a", "b", "c", "d"], "bob": ["a", "b", "c", "d"]}
        scores = ra.score({"long": long, "short": {user: items[:2] for user, items in long.items()}}, truth, "mrr")
        """,
    ),
    "V001": Example(
        "Look at the curve (`ra.over_time`), report the periods before and after the change separately, and find "
        "its cause: a new catalogue, other users, a fault of the model. [Compare over "
        "time](../howto/compare-over-time.md) marks alarms.",
        """
        import numpy as np

        from recassay.checks.streams import drift_findings

        hits = np.repeat([1.0, 0.0], 500)
        outcomes = ra.Outcomes("mine", np.arange(1000), {"recall@10": hits}, events=1000)
        findings = drift_findings(outcomes, "recall@10", ra.drift.PageHinkley(threshold=20))
        """,
    ),
    "V002": Example(
        "Treat the change as real. Evaluate systems before and after it separately, and refit models that do not "
        "learn during the stream.",
        """
        import numpy as np

        from recassay.checks.streams import drift_findings

        hits = np.repeat([1.0, 0.0], 500)
        outcomes = ra.Outcomes("mine", np.arange(1000), {"recall@10": hits}, events=1000)
        detectors = [ra.drift.PageHinkley(threshold=20), ra.drift.ADWIN()]
        findings = drift_findings(outcomes, "recall@10", detectors)
        """,
    ),
    "W001": Example(
        "Compare the two logs: is every list logged, and do request ids agree? Feedback may also come after the "
        "window (`--window`).",
        """
        shown = [{"request_id": "1", "user_id": "ann", "items": ["x"], "time": 60}]
        clicks = [{"request_id": "2", "item_id": "x", "time": 70}]
        findings = ra.watch(shown + clicks, "hit@1").findings
        """,
    ),
    "W002": Example(
        "Give the table of the items that are served now.",
        """
        shown = [{"request_id": "1", "user_id": "ann", "items": ["x", "new"], "time": 60}]
        findings = ra.watch(shown, "hit@1", items={"item_id": ["x", "y"], "genre": ["war", "war"]}).findings
        """,
    ),
    "W003": Example(
        "Check how lists are merged before they are shown.",
        """
        shown = [{"request_id": "1", "user_id": "ann", "items": ["x", "y", "x"], "time": 60}]
        findings = ra.watch(shown, "hit@1").findings
        """,
    ),
    "W004": Example(
        "Log the probability with which the request was assigned to its arm, at the moment of assignment.",
        LIVE
        + """
        findings = diagnose("live", inverse_propensity={"new": (1.2, 0.01), "old": (0.99, 0.01)})
        """,
    ),
    "W005": Example(
        "Set the clock of the machine that logs, and check the unit of its times.",
        """
        shown = [{"request_id": "1", "user_id": "ann", "items": ["x"], "time": "2999-01-01"}]
        findings = ra.watch(shown, "hit@1").findings
        """,
    ),
    "W006": Example(
        "Check whether the arm is switched off, or whether its log has stopped.",
        LIVE
        + """
        findings = diagnose("live", silent={"new": 3600.0, "old": 0.0})
        """,
    ),
    "W007": Example(
        "Do not read differences. Look for what treats the arms differently: redirects, caches, crashes, missing "
        "logs, bots.",
        LIVE
        + """
        findings = diagnose("live", assigned={"new": 9200, "old": 10000}, mismatch=2e-6)
        """,
    ),
    "W008": Example(
        "If many events are late, allow more with `--lateness`; they are in `dead-letters.jsonl`, which can be fed again.",
        """
        shown = [{"request_id": str(n), "user_id": "ann", "items": ["x"], "time": n} for n in (5000, 60)]
        findings = ra.watch(shown, "hit@1").findings
        """,
    ),
    "W009": Example(
        "See the reason of each in `dead-letters.jsonl`. [The schema](live-events.md) says what an event needs.",
        """
        shown = [{"request_id": "1", "user_id": "ann", "items": ["x"], "time": 60}, {"user_id": "bob"}]
        findings = ra.watch(shown, "hit@1").findings
        """,
    ),
    "W010": Example(
        "Keep a user in one arm: assign by a hash of the user id.",
        """
        shown = [
            {"request_id": str(n), "user_id": "ann", "items": ["x"], "time": n, "arm": arm}
            for n, arm in enumerate(("new", "old"))
        ]
        findings = ra.watch(shown, "hit@1").findings
        """,
    ),
    "W011": Example(
        "Look at the curve at that time, and at what was deployed then.",
        LIVE
        + """
        alarms = ((1767571200000000, "new", "hit@10", 1767564000000000, 0.7, 0.8),)
        findings = diagnose("live", alarms=alarms)
        """,
    ),
    "W012": Example(
        "Nothing, where other parts of a page lead to items; otherwise check the request ids.",
        """
        shown = [{"request_id": "1", "user_id": "ann", "items": ["x"], "time": 60}]
        clicks = [{"request_id": "1", "item_id": "z", "time": 70}]
        findings = ra.watch(shown + clicks, "hit@1").findings
        """,
    ),
    "W013": Example(
        "Check whether the log is still written, and whether it is still read.",
        LIVE
        + """
        findings = diagnose("live", lag=7200.0)
        """,
    ),
    "W014": Example(
        "Find out why so many events are rejected; then move `dead-letters.jsonl` away and write to a new folder.",
        LIVE
        + """
        findings = diagnose("live", letters_dropped=12)
        """,
    ),
    "W015": Example(
        "Give the class `state()` and `load_state(state)`: [watch a running "
        "recommender](../howto/watch-live.md#attach-a-model) has an example.",
        LIVE
        + """
        why = "an archive cannot hold an object of mine.Last"
        findings = diagnose("live", unstored=(250_000, why))
        """,
    ),
    "W016": Example(
        "Compare the names in the rule, and in `--control`, with the field `arm` of the exposures; give metrics without "
        "limits some with `--limits`.",
        """
        shown = [{"request_id": "1", "user_id": "ann", "items": ["x"], "time": 60, "arm": "new"}]
        findings = ra.watch(shown, "hit@1", until="hit@1: nwe > old").findings
        """,
    ),
}


def pages() -> dict[str, str]:
    """Return the text of the page by its path."""
    checks = CHECKS.kinds
    missing, unknown = sorted(checks.keys() - EXAMPLES.keys()), sorted(EXAMPLES.keys() - checks.keys())
    if missing or unknown:
        raise KeyError(
            f"docs/_generators/findings.py: no example for {missing}; examples for checks that are gone: {unknown}"
        )
    parts = [INTRODUCTION, "| code | severity | finding |\n| --- | --- | --- |"]
    parts += [f"| [{code}](#{code.lower()}) | {check.severity} | {check.title} |" for code, check in checks.items()]
    for letter, heading in GROUPS.items():
        parts.append(f"\n## {heading}\n")
        parts += [_section(check) for code, check in checks.items() if code.startswith(letter)]
    strange = {code for code in checks if code[0] not in GROUPS}
    if strange:
        raise KeyError(f"say in docs/_generators/findings.py what the groups of {sorted(strange)} are")
    return {"reference/findings.md": "\n".join(parts)}


def _section(check: Any) -> str:
    example = EXAMPLES[check.code]
    code = textwrap.dedent(example.code).strip("\n")
    needs = (
        f" It needs {' and '.join(f'`--{need}`' for need in sorted(check.needs))}." if check.needs - {"fold"} else ""
    )
    severity, detail = _found(check.code, code)
    return "\n".join(
        [
            f"### {check.code}", "", f"**{check.title}.** {' '.join((inspect.getdoc(check.ask) or '').split())}{needs}",
            "", example.do, "", "```python", "import recassay as ra", "", code, "```", "", f"> **{severity} {check.code}** {detail}", "",
        ]
    )  # fmt: skip


def _found(code: str, example: str) -> tuple[str, str]:
    import recassay as ra

    namespace: dict[str, Any] = {"ra": ra}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        exec(compile(example, code, "exec"), namespace)
    findings = namespace["findings"] if "findings" in namespace else namespace["scores"].findings
    found = [finding for finding in findings if finding.code == code]
    if not found:
        raise AssertionError(f"the example of {code} has no such finding")
    return found[0].severity, found[0].detail
