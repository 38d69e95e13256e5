"""Code that raises each error, for ``reference/errors.md``."""

from __future__ import annotations

# Code that raises each error in an empty folder; none where nothing can, or where the message differs (U143: what the
# program itself holds).
EXAMPLES: dict[str, str] = {
    "I101": """
        Path("truth.csv").write_text("user_id,item_id\\n1,7\\n")
        ra.read_truth("thruth.csv")
        """,
    "I102": """
        Path("run.csv").touch()
        ra.read_run("run.csv")
        """,
    "I104": """
        Path("run.json").write_text('{"ann": {"x": 0.5')
        ra.read_run("run.json")
        """,
    "I105": """
        Path("run.csv").write_text("user_id,item_id,score\\n1,7,0.5\\n1,8\\n2,7,0.1\\n")
        ra.read_run("run.csv")
        """,
    "I106": """
        Path("run.csv").write_bytes("user_id,item_id\\nann,caf\\u00e9\\n".encode("latin-1"))
        ra.read_run("run.csv")
        """,
    "I107": """
        Path("run.bin").write_bytes(b"\\x89HDF\\r\\n\\x1a\\n\\0\\0\\0\\0")
        ra.read_run("run.bin")
        """,
    "I108": """
        ra.read_run({"ann": {"x", "y"}})
        """,
    "I109": """
        Path("runs").mkdir()
        Path("runs/notes.md").write_text("to do")
        ra.read_runs("runs")
        """,
    "I111": """
        study = 'study: mine\\ndata: {name: ml-1m}\\nsplit: random(test=0.2)\\nmodels: [Popular]\\nmetrics: mrr\\n'
        Path("study.yaml").write_text(study)
        ra.run_study("study.yaml", "out")
        """,
    "I113": """
        Path("run.json").write_text('{"ann": {"x": 0.5}, "bob": {"y": 0.1, "z": 0.3, "y": 0.2}, "ann": {"y": 0.7}}')
        ra.read_run("run.json")
        """,
    "I117": """
        Path("run.csv").write_bytes(b"user_id,item_id,score," + b"x," * 10_000_000)
        ra.read_run("run.csv")
        """,
    "I201": """
        Path("run.csv").write_text("who,what,score\\n1,7,0.5\\n")
        ra.read_run("run.csv")
        """,
    "I202": """
        ra.read_run([{"user_id": 1, "item_id": 7.5, "score": 0.9}, {"user_id": 1, "item_id": 8.0, "score": 0.4}])
        """,
    "I203": """
        Path("run.csv").write_text("uid,user,item_id\\n1,1,7\\n")
        ra.read_run("run.csv")
        """,
    "I204": """
        Path("run.csv").write_text("user_id,item_id,Punkte\\n1,7,0.2\\n1,8,0.9\\n")
        ra.read_run("run.csv")
        """,
    "I301": """
        ra.read_run({"ann": {"x": 0.5, "y": float("nan")}})
        """,
    "I302": """
        Path("run.csv").write_text("user_id,item_id,rank\\n1,7,1\\n1,8,-2\\n")
        ra.read_run("run.csv")
        """,
    "I303": """
        ra.read_truth({"ann": {"x": 1, "y": -1}})
        """,
    "I304": """
        Path("truth.csv").write_text("user_id,item_id\\n1,7\\n,8\\n")
        ra.read_truth("truth.csv")
        """,
    "I305": """
        ra.score({"mine": {"ann": ["x", "x"]}}, {"ann": ["x"]}, "hit@2", conventions=ra.options.ConventionOptions(duplicates="error"))
        """,
    "I307": """
        from recassay.data.fold import Fold
        import numpy as np

        log = ra.read_interactions([("ann", "x"), ("ann", "y"), ("bob", "y")])
        fold = Fold(log.take(np.array([0, 2])), log.take(np.array([1])), "global", {})
        ra.play(ra.models.Popular(), fold, ra.protocols.ranking(relevant_from=4))
        """,
    "I308": """
        from types import SimpleNamespace
        from recassay.data.fold import Fold
        import numpy as np

        log = ra.read_interactions([("ann", "x"), ("ann", "y"), ("bob", "y")])
        fold = Fold(log.take(np.array([0, 2])), log.take(np.array([1])), "global", {})
        mine = SimpleNamespace(scores=lambda users: np.zeros((1, 2)))
        ra.play(mine, fold, ra.protocols.ranking(), name="mine")
        """,
    "I310": """
        from recassay.data.fold import Fold
        import numpy as np

        log = ra.read_interactions([("ann", "x"), ("ann", "y"), ("bob", "y")])
        fold = Fold(log.take(np.array([0, 1, 2])), log.take(np.array([1])), "global", {})
        ra.play(ra.models.Popular(), fold, ra.protocols.ranking())
        """,
    "I311": """
        from recassay.data.synthetic import log
        one, other = ra.split.k_folds(k=2)(log(users=50, items=40, events=600))
        runs = [ra.play(ra.models.Random(seed), part, ra.protocols.ranking()) for seed, part in enumerate((one, other))]
        ra.judge(runs, "TI-AR-AN", "ndcg@10")
        """,
    "I372": """
        from recassay.data.synthetic import log
        fold = ra.split.random(test=0.2)(log(users=50, items=40, events=600))[0]
        mine = ra.models.RecommendFunction(lambda user, k: ["the", "best"], name="mine")
        ra.play(mine, fold, ra.protocols.ranking())
        """,
    "I313": """
        Path("scores.csv").write_text("user,ndcg\\n1,0.5\\n2,0.1\\n")
        ra.read_scores("scores.csv")
        """,
    "I314": """
        ra.read_scores({"user": [1, 1], "system": ["als", "als"], "ndcg@10": [0.5, 0.4]})
        """,
    "I316": """
        Path("results").mkdir()
        ra.read_scores("results")
        """,
    "I318": """
        from recassay.report.folder.results import read_results

        Path("first").mkdir()
        Path("first/summary.json").write_text('{"rows": [{"system": "popular"}]}')
        read_results("first")
        """,
    "I319": """
        rows = [("ann", "x", 0.5), ("ann", "y", 0.4), ("ann", "x", 0.1)]
        run = ra.read_run(rows, keep_rows=False)
        ra.score(run, {"ann": ["x"]}, "mrr", conventions=ra.options.ConventionOptions(duplicates="last"))
        """,
    "I321": """
        log = ra.read_interactions([("ann", "x"), ("bob", "x"), ("bob", "x")])
        ra.models.GRU().fit(log.take(log.users == 0))
        """,
    "I322": """
        from recassay.data.synthetic import log
        fitted = ra.models.GRU(epochs=1).fit(log(users=20, items=30, events=100))
        fitted.with_log(log(users=20, items=40, events=100))
        """,
    "I341": """
        from recassay.data.synthetic import log
        fold = ra.split.last(n=2)(log(users=50, items=40, events=600))[0]
        ra.play(ra.models.Popular(), fold, ra.protocols.next_item())
        """,
    "I351": """
        from recassay.data.sequences import Sequences
        import polars as pl

        rows = [(1, "ann", "x"), (1, "bob", "y"), (2, "bob", "x"), (2, "bob", "y")]
        Sequences.from_frame(pl.DataFrame(rows, ["sequence_id", "user_id", "item_id"], orient="row"))
        """,
    "I353": """
        log = ra.read_interactions({"user_id": [1, 1, 1], "item_id": [7, 8, 9], "timestamp": [10, 10, 20]})
        ra.split.sessions(gap=30, ties="error")(log)
        """,
    "I354": """
        from types import SimpleNamespace
        from recassay.data.synthetic import log
        import numpy as np

        fold = ra.split.random_sequences()(ra.split.sessions(gap=1e6)(log(users=50, items=40, events=600)))[0]
        mine = SimpleNamespace(next_probabilities=lambda histories: np.full((len(histories), fold.n_items), 0.5))
        ra.sequences.generate(mine, fold, name="mine")
        """,
    "I361": """
        from recassay.data.synthetic import log
        made = ra.split.sessions(gap=1e6)(log(users=50, items=40, events=600))
        ra.sequences.generate(ra.models.sequence.NGram(), made, seeds=["unheard of"])
        """,
    "I362": """
        from recassay.data.generated import Generated
        from recassay.data.sequences import SequenceFold, Sequences
        import numpy as np, polars as pl

        rows = {"sequence_id": [1, 1, 2, 2], "item_id": ["x", "y", "y", "z"]}
        made = Sequences.from_frame(pl.DataFrame(rows))
        fold = SequenceFold(made.take(np.array([0])), made.take(np.array([1])))
        mine = Generated("mine", np.array([[2]]), np.array([[0.5]]), np.array([1.0]), seed=0)
        ra.sequences.score_sequences(fold, mine, "seq_diversity(similarity='given')@1", similarities=np.eye(2))
        """,
    "I363": """
        from recassay.data.generated import Generated
        from recassay.data.sequences import SequenceFold, Sequences
        import numpy as np, polars as pl

        rows = {"sequence_id": [1, 1, 2, 2], "item_id": ["x", "y", "y", "z"]}
        made = Sequences.from_frame(pl.DataFrame(rows))
        fold = SequenceFold(made.take(np.array([0])), made.take(np.array([1])))
        mine = Generated("mine", np.array([[2]]), np.array([[0.5]]), np.array([1.0]), seed=0)
        ra.sequences.score_sequences(fold, mine, "seq_serendipity(primitive='given')@1", primitive=["item-1"])
        """,
    "I331": """
        ra.correct([1, 2.5, 9], pool=3415, sample=100)
        """,
    "I332": """
        ra.correct([1, 2, 9], pool=50, sample=100)
        """,
    "I383": """
        log = ra.read_interactions({"user_id": ["ann", "bob", "ann"], "item_id": [*"xxy"], "timestamp": [1, 3, 2]})
        ra.play(ra.models.incremental.ISGD(), log, ra.protocols.prequential(order="error"))
        """,
    "I374": """
        class Mine:
            def learn(self, users, items, values):
                if users[0] > 0:
                    raise MemoryError("room for one user only")

            def scores(self, user):
                return [1.0]

        log = ra.read_interactions([("ann", "x"), ("bob", "y"), ("ann", "y")])
        ra.play(Mine(), log, ra.protocols.prequential(order="row"), name="mine")
        """,
    "I381": """
        from recassay.results.outcomes import Outcomes
        import numpy as np

        Outcomes("mine", np.array([0, 2, 1]), {"recall@10": np.array([0.0, 1.0, 1.0])}, events=3)
        """,
    "I384": """
        from recassay.results.outcomes import Outcomes
        import numpy as np

        mine = Outcomes("mine", np.array([0, 2]), {"mae": np.array([0.5, 3.0])}, events=3)
        yours = Outcomes("yours", np.array([0, 2]), {"mae": np.array([0.5, 1.0])}, events=3)
        ra.compare_over_time(mine, yours, metric="mae")
        """,
    "I385": """
        log = ra.read_interactions({"ann": ["x", "y", "z"], "bob": ["y", "x"]})  # in order, user by user
        ra.split.global_time(quantile=0.8)(log)
        """,
    "I386": """
        Path("log.csv").write_text("user_id,item_id,date\\n1,7,03/04/2020\\n1,8,05/04/2020\\n")
        ra.read_interactions("log.csv")
        """,
    "I387": """
        times = [978300760, 978300800, 978300900000, 978300950000]
        log = ra.read_interactions({"user_id": [1, 1, 2, 2], "item_id": [7, 8, 7, 9], "timestamp": times})
        ra.split.last(n=1)(log)
        """,
    "I401": """
        ra.score({"mine": {"u1": ["x"]}}, {"ann": ["x"]}, "hit@1")
        """,
    "I403": """
        ra.score({"mine": {"user-1": ["x"]}}, {1: ["x"]}, "hit@1")
        """,
    "I404": """
        ra.score({"mine": {"ann": ["x"]}}, {"ann": ["x"], "bob": ["y"]}, "hit@1", conventions=ra.options.ConventionOptions(missing="error"))
        """,
    "I406": """
        ra.score({"mine": {"ann": ["x"]}}, {"ann": ["x"]}, "epc@1", train={"ann": ["item-1"]})
        """,
    "I407": """
        items = [{"item_id": "item-1", "genres": "drama|war"}, {"item_id": "item-2", "genres": "war"}]
        ra.score({"mine": {"ann": ["x", "y"]}}, {"ann": ["x"]}, "ild@2", items=items)
        """,
    "I421": """
        import polars as pl
        counts = ra.read_interactions({"ann": ["x"], "bob": ["y"]}).item_counts
        ra.Interactions.from_frame(pl.DataFrame({"user_id": ["ann"], "item_id": ["z"]}), whole=counts)
        """,
    "I423": """
        import polars as pl
        users = pl.DataFrame({"id": ["ann", "bob"], "features": [[0.5, 1.0], [0.25]]})
        ra.models.FactorTable(users, users).fit(ra.read_interactions({"ann": ["x"], "bob": ["y"]}))
        """,
    "U101": """
        ra.metrics.parse_metric("ndgc@10")
        """,
    "U102": """
        ra.metrics.parse_metric("ndcg(gain='exp')@10")
        """,
    "U103": """
        ra.metrics.parse_metric("precision@0")
        """,
    "U104": """
        ra.metrics.parse_metric("rbp(p=0.9")
        """,
    "U105": """
        ra.score({"mine": {"ann": ["x"]}}, {"ann": ["x"]}, "coverage@10")
        """,
    "U115": """
        ra.score({"mine": {"ann": ["x"]}}, {"ann": ["x"]}, "hit@1", profile="trec-eval")
        """,
    "U107": """
        ra.score({"mine": {"ann": ["x"]}}, {"ann": ["x"]}, "hit@1", conventions=ra.options.ConventionOptions(ties="optimist"))
        """,
    "U108": """
        scores = ra.score({"als": {"ann": ["x"]}, "pop": {"ann": ["y"]}}, {"ann": ["x", "y"]}, "hit@1", interval=None)
        ra.compare(scores, baseline="popular")
        """,
    "U109": """
        for folder in ("monday", "tuesday"):
            Path(folder).mkdir()
            Path(folder, "als.csv").write_text("user_id,item_id\\n1,7\\n")
        ra.read_runs(["monday/als.csv", "tuesday/als.csv"])
        """,
    "U110": """
        run = {"ann": {"x": 0.5, "y": 0.5}}
        ra.score({"mine": run}, {"ann": {"x": 2.0, "y": 0.0}}, "err@2", conventions=ra.options.ConventionOptions(ties="expected"))
        """,
    "U111": """
        Path("results").write_text("a file, not a folder")
        from recassay.report.folder.results import write_results

        scores = ra.score({"mine": {"ann": ["x"]}}, {"ann": ["x"]}, "hit@1", interval=None)
        write_results(scores, None, "results")
        """,
    "U112": """
        from recassay.optional import need
        need("no_such_library", for_="MyModel")
        """,
    "U113": """
        scores = ra.score({"mine": {"ann": ["x"]}}, {"ann": ["x"]}, "hit@1", interval=None)
        ra.compare(scores)
        """,
    "U114": """
        runs = {"als": {"ann": ["x", "y"]}, "pop": {"ann": ["y", "x"]}}
        scores = ra.score(runs, {"ann": ["x"]}, "mrr", interval=None)
        ra.compare(scores, test="mcnemar")
        """,
    "U116": """
        log = ra.read_interactions({"user_id": [1, 1], "item_id": [7, 8], "timestamp": [10, 20]})
        ra.split.global_time(at=99)(log)
        """,
    "U151": """
        ra.correct([1, 2, 9], pool=3415, sample=100, by="popularity")
        """,
    "U152": """
        ra.correct([1, 2, 3], pool=3, sample=2, replace=True, prior=[0.7, 0.2, -0.1, 0.2])
        """,
    "U171": """
        from recassay.data.synthetic import log
        made = ra.split.sessions(gap=1e6)(log(users=50, items=40, events=600))
        ra.models.sequence.CRF(most_items=20).fit(made)
        """,
    "U172": """
        from recassay.data.synthetic import log
        fold = ra.split.random_sequences()(ra.split.sessions(gap=1e6)(log(users=50, items=40, events=600)))[0]
        ra.sequences.generate(ra.models.sequence.MostPopular(), fold, ra.protocols.sequence(k=100))
        """,
    "U173": """
        from recassay.data.synthetic import log
        fold = ra.split.random_sequences()(ra.split.sessions(gap=1e6)(log(users=50, items=40, events=600)))[0]
        ra.sequences.generate(ra.models.Popular(), fold)
        """,
    "U181": """
        ra.score({"mine": {"ann": ["x"]}}, {"ann": ["x"]}, "seq_precision@1")
        """,
    "U118": """
        from recassay import designs
        designs.parse("TI-1R-NN")
        """,
    "U122": """
        from recassay.data.synthetic import log
        fold = ra.split.random(test=0.2)(log(users=50, items=40, events=600))[0]
        run = ra.play(ra.models.Popular(), fold, ra.protocols.ranking())
        ra.judge(run, "U1R", "precision@10")
        """,
    "U120": """
        from recassay.data.synthetic import log
        fold = ra.split.random(test=0.2)(log(users=50, items=40, events=600))[0]
        run = ra.play(ra.models.Popular(), fold, ra.protocols.ranking())
        ra.judge(run, "TI-1R-NN(99)", "precision@10")
        """,
    "U123": """
        Path("mine.py").write_text("class MyModel: ...")
        ra.models.parse("mine.py:MyModle(factors=3)")
        """,
    "U131": """
        Path("study.yaml").write_text("study: mine\\nmodels: [Popular\\nmetrics: mrr\\n")
        ra.run_study("study.yaml", "out")
        """,
    "U132": """
        study = 'study: mine\\ndata: {generate: "log(users=20, items=30, events=100)"}\\nsplit: random(test=0.2)\\nmodels: [Popular]\\nmetrics: mrr\\nmetric: map\\n'
        Path("study.yaml").write_text(study)
        ra.run_study("study.yaml", "out")
        """,
    "U134": """
        study = 'study: mine\\ndata: {generate: "log(users=20, items=30, events=100)"}\\nsplit: random(test=0.2)\\nmodels: [Popular]\\nmetrics: mrr\\n'
        Path("study.yaml").write_text(study)
        ra.run_study("study.yaml", "out")
        Path("study.yaml").write_text(study.replace("test=0.2", "test=0.5"))
        ra.run_study("study.yaml", "out")
        """,
    "U135": """
        Path("log.csv").write_text("user,item,rating\\n" + "".join(f"{n % 9},{n},1\\n" for n in range(99)))
        study = 'study: mine\\ndata: {path: log.csv}\\nsplit: random(test=0.2)\\nmodels: [Popular]\\nmetrics: mrr\\nprotocol: ranking(relevant_from=4)\\n'
        Path("study.yaml").write_text(study)
        ra.run_study("study.yaml", "out")
        """,
    "U141": """
        from recassay.data.synthetic import log
        from recassay.models.base.capabilities import Training

        made, training = log(users=20, items=30, events=100), Training(checkpoint=Path("gru.checkpoint"))
        ra.models.GRU(dim=8, epochs=1).fit(made, training=training)
        ra.models.GRU(dim=16, epochs=1).fit(made, training=training)
        """,
    "U142": """
        from recassay.data.synthetic import log
        ra.models.SASRec(rate=1e30).fit(log(users=20, items=30, events=100))
        """,
    "U143": """
        from recassay.data.synthetic import log
        ra.models.GRU(dim=10**14).fit(log(users=20, items=30, events=100))
        """,
    "U191": """
        log = ra.read_interactions([("ann", "x"), ("bob", "y"), ("ann", "y")])
        ra.play(ra.models.ALS(), log, ra.protocols.prequential(order="row"))
        """,
    "U192": """
        log = ra.read_interactions([("ann", "x"), ("bob", "y"), ("ann", "y")])
        ra.play(ra.models.incremental.ISGD(), log, ra.protocols.prequential(order="row"), metrics="bpref")
        """,
    "U201": """
        ra.rerank({"ann": {"x": 0.5, "y": 0.4}}, "MMR(weight=0.3)")
        """,
    "U203": """
        run, genres = {"ann": {"x": 0.5, "y": 0.4}}, [{"item_id": "x", "genres": ["war"]}]
        ra.choose_weight(run, "MMR", {"ann": ["y"]}, "ild@2", keep="ndcg@2", grid=[0.1, 0.2], items=genres)
        """,
    "U204": """
        runs = {"a": {"ann": ["x"]}, "b": {"ann": ["x"]}, "c": {"ann": ["x"]}}
        three = ra.sudden_death(runs, {"ann": ["x"]})
        two = ra.sudden_death({name: runs[name] for name in "ab"}, {"ann": ["x"]})
        three.change(two)
        """,
    "U205": """
        ra.sudden_death({"a": {"ann": ["x"]}, "b": {"ann": ["y"]}})
        """,
    "U206": """
        import polars as pl

        points = pl.DataFrame({"system": ["mmr"], "weight": [0.5], "mrr": [0.2], "ild@10": [0.7]})
        ra.trade_off(points, "mrr", baseline="mf")
        """,
    "U196": """
        from recassay.results.outcomes import Outcomes
        import numpy as np

        mine = Outcomes("mine", np.array([0, 2]), {"recall@10": np.array([0.0, 1.0])}, events=3)
        ra.over_time(mine, "recall@10", window=0.5)
        """,
    "U211": """
        ra.overall.across(ra.read_scores({"user": [1, 1], "system": ["als", "pop"], "mrr": [0.5, 0.4]}))
        """,
    "U215": """
        scores = ra.score({"a": {"ann": ["x"]}, "b": {"ann": ["y", "x"]}}, {"ann": ["x"]}, "mrr", interval=None)
        ra.overall.consistency(scores, along="design")
        """,
    "U124": """
        ra.register(0.5)
        """,
    "U243": """
        @ra.metric
        def shown(items, truth):
            return float(len(items))

        ra.score({"mine": {"ann": ["x", "y"]}}, {"ann": ["x"]}, "shown@2")
        """,
    "U237": """
        import contextlib
        from recassay.live.state import StateFile
        with contextlib.closing(StateFile(Path("watched"))):
            ra.watch([{"request_id": "1", "user_id": "ann", "items": ["x"], "time": 60}], "hit@1", output="watched")
        """,
    "U253": """
        ra.watch("events.jsonl", "hit@1", journal="nowhere")
        """,
    "U254": """
        ra.watch("events.jsonl", "hit@1")
        """,
    "U255": """
        ra.watch("events.jsonl", "hit@1", until="new is better than old")
        """,
    "U236": """
        import pickle
        log = ra.read_interactions([("ann", "x"), ("bob", "y")])
        Path("mine.checkpoint").write_bytes(pickle.dumps("anything"))
        ra.play(ra.models.incremental.ISGD(), log, ra.protocols.prequential(), checkpoint="mine.checkpoint")
        """,
    "U223": """
        Path("run.json").write_text('{"ann": {"x": 0.5}}')
        ra.score("run.json", {"ann": ["x"]}, "mrr", execution=ra.options.Execution(memory="2GB"))
        """,
    "U231": """
        from recassay.data.generated import Generated
        from recassay.data.sequences import SequenceFold, Sequences
        import numpy as np, polars as pl

        rows = {"sequence_id": [1, 1, 2, 2], "item_id": ["x", "y", "y", "z"]}
        made = Sequences.from_frame(pl.DataFrame(rows))
        fold = SequenceFold(made.take(np.array([0])), made.take(np.array([1])))
        mine = Generated("mine", np.array([[2]]), np.array([[0.5]]), np.array([1.0]), seed=0)
        ra.sequences.score_sequences(fold, mine, "seq_serendipity@1", primitive=["item-1"])
        """,
    "U225": """
        import polars as pl
        ra.split.last()(pl.DataFrame({"user_id": [1, 1], "item_id": [7, 8], "timestamp": [3, 5]}))
        """,
}
