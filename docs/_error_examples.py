"""Code that raises each error, for ``reference/errors.md``."""

from __future__ import annotations

# Code that raises each error in an empty folder; none where nothing can, or where the message differs (U222: what the
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
    "I103": """
        Path("run.csv").write_text("user_id,item_id,score\\n")
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
    "I114": """
        ra.read_run({"ann": {"x": 0.5}, "bob": ["y"], "eve": ["x", "z"]})
        """,
    "I115": """
        Path("run.csv").write_bytes(b"user_id,item_id,score\\r1,7,0.5\\r")
        ra.read_run("run.csv")
        """,
    "I116": """
        Path("run.csv").write_bytes(b"user_id,item_id,score," + b"x," * 10_000_000)
        ra.read_run("run.csv")
        """,
    "I118": """
        ra.read_fold("folds")
        """,
    "I117": """
        Path("run.json").write_text("[" * 100_000)
        ra.read_run("run.json")
        """,
    "I119": """
        ra.read_run("/")
        """,
    "I120": """
        Path("runs").mkdir()
        Path("runs/0.csv").write_text("user,item,rank\\n1,2,1\\n")
        study = 'study: mine\\ndata: {generate: "log(users=20, items=30, events=100)"}\\nsplit: k_folds(k=2)\\nmodels: {mine: "runs/{fold}.csv"}\\nmetrics: mrr\\n'
        Path("study.yaml").write_text(study)
        ra.run_study("study.yaml", "out")
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
    "I205": """
        Path("log.tsv").write_text("1\\t7\\t1741000000\\n1\\t8\\t1742000000\\n")
        ra.read_interactions("log.tsv")
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
        ra.score({"mine": {"ann": ["x", "x"]}}, {"ann": ["x"]}, "hit@2", duplicates="error")
        """,
    "I306": """
        ra.read_truth({"ann": {"x": 1.0, "y": float("nan")}})
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
    "I309": """
        from types import SimpleNamespace
        from recassay.data.fold import Fold
        import numpy as np

        log = ra.read_interactions([("ann", "x"), ("ann", "y"), ("bob", "y")])
        fold = Fold(log.take(np.array([0, 2])), log.take(np.array([1])), "global", {})
        mine = SimpleNamespace(scores=lambda users: np.full((users.size, 2), np.nan))
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
        from recassay.data.synthetic.tastes import log
        one, other = ra.split.k_folds(k=2)(log(users=50, items=40, events=600))
        runs = [ra.play(ra.models.Random(seed), part, ra.protocols.ranking()) for seed, part in enumerate((one, other))]
        ra.judge(runs, "TI-AR-AN", "ndcg@10")
        """,
    "I312": """
        from recassay.data.synthetic.tastes import log
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
    "I315": """
        scores = {"user": [1, 2, 3, 4], "system": ["als", "als", "pop", "pop"], "mrr": [0.5, 0.4, 0.1, 0.2]}
        ra.decide(ra.read_scores(scores))
        """,
    "I316": """
        Path("results").mkdir()
        ra.read_scores("results")
        """,
    "I317": """
        from recassay.report.folder.read import read_results

        read_results("first")
        """,
    "I318": """
        from recassay.report.folder.read import read_results

        Path("first").mkdir()
        Path("first/summary.json").write_text('{"rows": [{"system": "popular"}]}')
        read_results("first")
        """,
    "I319": """
        rows = [("ann", "x", 0.5), ("ann", "y", 0.4), ("ann", "x", 0.1)]
        run = ra.read_run(rows, keep_rows=False)
        ra.score(run, {"ann": ["x"]}, "mrr", duplicates="last")
        """,
    "I321": """
        log = ra.read_interactions([("ann", "x"), ("bob", "x"), ("bob", "x")])
        ra.models.GRU().fit(log.take(log.users == 0))
        """,
    "I322": """
        from recassay.data.synthetic.tastes import log
        fitted = ra.models.GRU(epochs=1).fit(log(users=20, items=30, events=100))
        fitted.with_log(log(users=20, items=40, events=100))
        """,
    "I341": """
        from recassay.data.synthetic.tastes import log
        fold = ra.split.last(n=2)(log(users=50, items=40, events=600))[0]
        ra.play(ra.models.Popular(), fold, ra.protocols.next_item())
        """,
    "I351": """
        from recassay.data.sequences import Sequences
        import polars as pl

        rows = [(1, "ann", "x"), (1, "bob", "y"), (2, "bob", "x"), (2, "bob", "y")]
        Sequences.from_frame(pl.DataFrame(rows, ["sequence_id", "user_id", "item_id"], orient="row"))
        """,
    "I352": """
        from recassay.data.sequences import Sequences
        import polars as pl

        Sequences.from_frame(pl.DataFrame({"sequence_id": [1, 2, 3], "item_id": ["x", "y", "x"]}))
        """,
    "I353": """
        log = ra.read_interactions({"user_id": [1, 1, 1], "item_id": [7, 8, 9], "timestamp": [10, 10, 20]})
        ra.split.sessions(gap=30, ties="error")(log)
        """,
    "I354": """
        from types import SimpleNamespace
        from recassay.data.synthetic.tastes import log
        import numpy as np

        fold = ra.split.random_sequences()(ra.split.sessions(gap=1e6)(log(users=50, items=40, events=600)))[0]
        mine = SimpleNamespace(next_probabilities=lambda histories: np.full((len(histories), fold.n_items), 0.5))
        ra.sequences.generate(mine, fold, name="mine")
        """,
    "I355": """
        from recassay.data.synthetic.tastes import log
        fold = ra.split.random_sequences()(ra.split.sessions(gap=1e6)(log(users=50, items=40, events=600)))[0]
        ra.sequences.generate(ra.models.sequence.Unigram(), fold, generator=lambda fitted, histories, k, uniforms: uniforms)
        """,
    "I356": """
        import polars as pl

        pl.DataFrame({"user": [1, 2], "item": [["x", "y"], ["z"]], "timestamp": [[10, 20], []]}).write_parquet("lists.parquet")
        ra.read_interactions("lists.parquet")
        """,
    "I357": """
        from recassay.data.synthetic.tastes import log
        made = ra.split.sessions(gap=1e6)(log(users=50, items=40, events=600))
        ra.sequences.generate(ra.models.sequence.NGram(), made, seeds=["unheard of"])
        """,
    "I361": """
        from recassay.data.generated import Generated
        from recassay.data.sequences import SequenceFold, Sequences
        import numpy as np, polars as pl

        rows = {"sequence_id": [1, 1, 2, 2], "item_id": ["x", "y", "y", "z"]}
        made = Sequences.from_frame(pl.DataFrame(rows))
        fold = SequenceFold(made.take(np.array([0])), made.take(np.array([1])))
        mine = Generated("mine", np.array([[7]]), np.array([[0.5]]), np.array([1.0]), seed=0)
        ra.sequences.score_sequences(fold, mine)
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
    "I364": """
        from recassay.data.generated import Generated
        from recassay.data.sequences import SequenceFold, Sequences
        import numpy as np, polars as pl

        rows = {"sequence_id": [1, 1, 2, 2], "item_id": ["x", "y", "y", "z"]}
        made = Sequences.from_frame(pl.DataFrame(rows))
        fold = SequenceFold(made.take(np.array([0])), made.take(np.array([1])))
        mine = Generated("mine", np.array([[2]]), np.array([[0.5]]), np.array([1.0]), seed=0)
        ra.sequences.score_sequences(fold, mine, "seq_serendipity(primitive='given')@1", primitive=[])
        """,
    "I324": """
        from recassay.engine.lists.score_sets import read_all
        als = {"user": [1, 2], "system": ["als", "als"], "mrr": [0.5, 0.4]}
        pop = {"user": [2, 3], "system": ["pop", "pop"], "mrr": [0.3, 0.4]}
        read_all([als, pop])
        """,
    "I331": """
        ra.correct([1, 2.5, 9], pool=3415, sample=100)
        """,
    "I332": """
        ra.correct([1, 2, 9], pool=50, sample=100)
        """,
    "I371": """
        log = ra.read_interactions({"user_id": ["ann", "bob", "ann"], "item_id": [*"xxy"], "timestamp": [1, 3, 2]})
        ra.play(ra.models.incremental.ISGD(), log, ra.protocols.prequential(order="error"))
        """,
    "I372": """
        from types import SimpleNamespace

        log = ra.read_interactions([("ann", "x"), ("bob", "y"), ("ann", "y")])
        mine = SimpleNamespace(learn=lambda *events: None, recommend=lambda user, n, consumed: [0, 1])
        ra.play(mine, log, ra.protocols.prequential(order="row"), name="mine")
        """,
    "I373": """
        from types import SimpleNamespace

        log = ra.read_interactions([("ann", "x"), ("bob", "y"), ("ann", "y")])
        mine = SimpleNamespace(learn=lambda *events: None, recommend=lambda user, n, consumed: [7])
        ra.play(mine, log, ra.protocols.prequential(order="row"), name="mine")
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
    "I375": """
        from recassay.data.synthetic.tastes import log

        ra.play(ra.models.incremental.ISGD(rate=20.0), log(users=30, items=20, events=300), ra.protocols.prequential())
        """,
    "I377": """
        from types import SimpleNamespace

        log = ra.read_interactions([("ann", "x"), ("bob", "y"), ("ann", "y")])
        mine = SimpleNamespace(partial_fit=lambda X: None, predict=lambda X: X)
        ra.models.incremental.PartialFit(mine).fit(log).scores(log.users)
        """,
    "I381": """
        from recassay.results.outcomes import Outcomes
        import numpy as np

        Outcomes("mine", np.array([0, 2, 1]), {"recall@10": np.array([0.0, 1.0, 1.0])}, events=3)
        """,
    "I382": """
        from recassay.results.outcomes import Outcomes
        import numpy as np

        mine = Outcomes("mine", np.array([0, 2]), {"recall@10": np.array([0.0, 1.0])}, events=3)
        yours = Outcomes("yours", np.array([0, 2]), {"recall@10": np.array([1.0, 1.0])}, events=9)
        ra.compare_over_time(mine, yours, metric="recall@10")
        """,
    "I383": """
        from recassay.results.outcomes import Outcomes
        import numpy as np

        mine = Outcomes("mine", np.array([0, 2]), {"recall@10": np.array([0.0, 1.0])}, events=3)
        ra.over_time(mine, "recall@10", by="time", window=86400)
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
    "I388": """
        times = [978300760, 0, 978300900, 978300950]
        log = ra.read_interactions({"user_id": [1, 1, 2, 2], "item_id": [7, 8, 7, 9], "timestamp": times})
        ra.split.last(n=1)(log)
        """,
    "I389": """
        times = [978300760000, 978300800000, 978300900000]
        log = ra.read_interactions({"user_id": [1, 1, 2], "item_id": [7, 8, 7], "timestamp": times})
        ra.play(ra.models.incremental.ISGD(), log, ra.protocols.prequential(batch="1d"))
        """,
    "I391": """
        run = ra.read_run({"ann": {"x": 0.5, "y": float("nan")}}, nan="last")
        ra.rerank(run, "MMR", items=[{"item_id": "x", "genres": ["crime"]}, {"item_id": "y", "genres": ["war"]}])
        """,
    "I392": """
        ra.rerank({"ann": ["x", "y"]}, "SPAD", train=[("ann", "x"), ("bob", "y")])
        """,
    "I393": """
        near = ra.models.MMR(distance=[[0.0, 2.0], [2.0, 0.0]])
        ra.rerank({"ann": {"x": 0.5, "y": 0.4}}, near, train=[("ann", "x"), ("bob", "y")])
        """,
    "I394": """
        near = ra.models.MMR(distance=[[0.0, 0.5], [0.5, 0.0]])
        ra.rerank({"ann": {"x": 0.5, "z": 0.4}}, near, train=[("ann", "x"), ("bob", "y")])
        """,
    "I401": """
        ra.score({"mine": {"u1": ["x"]}}, {"ann": ["x"]}, "hit@1")
        """,
    "I402": """
        ra.score({"mine": {"ann": [0, 1]}}, {"ann": [1193, 661]}, "hit@1")
        """,
    "I403": """
        ra.score({"mine": {"user-1": ["x"]}}, {1: ["x"]}, "hit@1")
        """,
    "I404": """
        ra.score({"mine": {"ann": ["x"]}}, {"ann": ["x"], "bob": ["y"]}, "hit@1", missing="error")
        """,
    "I406": """
        ra.score({"mine": {"ann": ["x"]}}, {"ann": ["x"]}, "epc@1", train={"ann": ["item-1"]})
        """,
    "I407": """
        items = [{"item_id": "item-1", "genres": "drama|war"}, {"item_id": "item-2", "genres": "war"}]
        ra.score({"mine": {"ann": ["x", "y"]}}, {"ann": ["x"]}, "ild@2", items=items)
        """,
    "I408": """
        users = [{"user_id": "user-1", "country": "de"}, {"user_id": "user-2", "country": "fr"}]
        ra.score({"mine": {"ann": ["x", "y"]}}, {"ann": ["x"]}, "mrr", interval=None, users=users, by="country")
        """,
    "I409": """
        ra.score({"mine": {"ann": ["x", "y"]}}, {"ann": ["x"]}, "mrr", train={"bob": ["y"]}, users="known")
        """,
    "I421": """
        import polars as pl
        counts = ra.read_interactions({"ann": ["x"], "bob": ["y"]}).item_counts
        ra.Interactions.of_users(pl.DataFrame({"user_id": ["ann"], "item_id": ["z"]}), counts)
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
    "U106": """
        ra.score({"mine": {"ann": ["x"]}}, {"ann": ["x"]}, "hit@1", profile="trec-eval")
        """,
    "U107": """
        ra.score({"mine": {"ann": ["x"]}}, {"ann": ["x"]}, "hit@1", ties="optimist")
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
        ra.score({"mine": run}, {"ann": {"x": 2.0, "y": 0.0}}, "err@2", ties="expected")
        """,
    "U111": """
        Path("results").write_text("a file, not a folder")
        from recassay.report.folder.write import write_results

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
    "U115": """
        from recassay import models
        models.parse("Populer")
        """,
    "U116": """
        log = ra.read_interactions({"user_id": [1, 1], "item_id": [7, 8], "timestamp": [10, 20]})
        ra.split.global_time(at=99)(log)
        """,
    "U117": """
        log = ra.read_interactions({"user_id": [1, 2, 3, 1], "item_id": [7, 7, 7, 8]})
        ra.split.uniform_items(test=0.9)(log)
        """,
    "U151": """
        ra.correct([1, 2, 9], pool=3415, sample=100, by="popularity")
        """,
    "U152": """
        ra.correct([1, 2, 3], pool=3, sample=2, replace=True, prior=[0.7, 0.2, -0.1, 0.2])
        """,
    "U171": """
        from recassay.data.synthetic.tastes import log
        made = ra.split.sessions(gap=1e6)(log(users=50, items=40, events=600))
        ra.models.sequence.CRF(most_items=20).fit(made)
        """,
    "U172": """
        from recassay.data.synthetic.tastes import log
        fold = ra.split.random_sequences()(ra.split.sessions(gap=1e6)(log(users=50, items=40, events=600)))[0]
        ra.sequences.generate(ra.models.sequence.MostPopular(), fold, ra.protocols.sequence(k=100))
        """,
    "U173": """
        from recassay.data.synthetic.tastes import log
        fold = ra.split.random_sequences()(ra.split.sessions(gap=1e6)(log(users=50, items=40, events=600)))[0]
        ra.sequences.generate(ra.models.Popular(), fold)
        """,
    "U174": """
        import numpy as np
        mine = ra.sequences.Generated("mine", np.array([[2]]), np.array([[0.5]]), np.array([1.0]), seed=0)
        mine.frame()
        """,
    "U181": """
        ra.score({"mine": {"ann": ["x"]}}, {"ann": ["x"]}, "seq_precision@1")
        """,
    "U182": """
        from recassay.data.generated import Generated
        from recassay.data.sequences import SequenceFold, Sequences
        import numpy as np, polars as pl

        rows = {"sequence_id": [1, 1, 2, 2], "item_id": ["x", "y", "y", "z"]}
        made = Sequences.from_frame(pl.DataFrame(rows))
        fold = SequenceFold(made.take(np.array([0])), made.take(np.array([1])))
        mine = Generated("mine", np.array([[2]]), np.array([[0.5]]), np.array([1.0]), seed=0)
        ra.sequences.score_sequences(fold, mine, "seq_precision@5")
        """,
    "U118": """
        from recassay import designs
        designs.parse("TI-1R-NN")
        """,
    "U119": """
        from recassay.data.synthetic.tastes import log
        fold = ra.split.random(test=0.2)(log(users=50, items=40, events=600))[0]
        run = ra.play(ra.models.Popular(), fold, ra.protocols.ranking())
        ra.judge(run, "U1R", "precision@10")
        """,
    "U120": """
        from recassay.data.synthetic.tastes import log
        fold = ra.split.random(test=0.2)(log(users=50, items=40, events=600))[0]
        run = ra.play(ra.models.Popular(), fold, ra.protocols.ranking())
        ra.judge(run, "TI-1R-NN(99)", "precision@10")
        """,
    "U121": """
        from recassay.data.synthetic.tastes import log
        fold = ra.split.random(test=0.2)(log(users=50, items=40, events=600))[0]
        run = ra.play(ra.models.Popular(), fold, ra.protocols.ranking())
        ra.judge(run, "TI-1R-AN", "err(scale=1)")
        """,
    "U122": """
        ra.judge(ra.read_run({"ann": ["x", "y"]}, name="mine"), "TI-AR-AN", "ndcg@10")
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
    "U133": """
        study = 'study: mine\\ndata: {generate: "log(users=20, items=30, events=100)"}\\nsplit: random(test=0.2)\\nmodels: [Popular]\\nmetrics: mrr\\nseeds: [one]\\n'
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
        from recassay.data.synthetic.tastes import log
        from recassay.models.base.training import Training

        made, training = log(users=20, items=30, events=100), Training(checkpoint=Path("gru.checkpoint"))
        ra.models.GRU(dim=8, epochs=1).fit(made, training=training)
        ra.models.GRU(dim=16, epochs=1).fit(made, training=training)
        """,
    "U142": """
        from recassay.data.synthetic.tastes import log
        ra.models.SASRec(rate=1e30).fit(log(users=20, items=30, events=100))
        """,
    "U143": """
        from recassay.data.synthetic.tastes import log
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
    "U193": """
        ask = ra.protocols.prequential(order="row")
        log = ra.read_interactions([("ann", "x"), ("bob", "y"), ("ann", "y")])
        ra.play(ra.models.incremental.ISGD(), log, ask, checkpoint="mine.checkpoint")
        ra.play(ra.models.incremental.Recent(), log, ask, checkpoint="mine.checkpoint")
        """,
    "U201": """
        ra.rerank({"ann": {"x": 0.5, "y": 0.4}}, "MMR(weight=0.3)")
        """,
    "U202": """
        ra.rerank({"ann": {"x": 0.5, "y": 0.4}}, "MMR(of='Popular')")
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
    "U207": """
        truth = {"ann": ["x"]}
        some = ra.score({"mf": {"ann": ["x"]}, "mmr": {"ann": ["y", "x"]}}, truth, "mrr")
        others = ra.sudden_death({"mf": {"ann": ["x"]}, "spad": {"ann": ["x"]}}, truth).scores()
        ra.home_and_away(some, others)
        """,
    "U208": """
        from recassay.data.synthetic.tastes import log

        fold = ra.split.random(test=0.2)(log(users=20, items=20, events=100))[0]
        ra.experiments.trade_off()(ra.experiments.trial([ra.models.Popular()], fold))
        """,
    "U194": """
        ra.models.incremental.RiverLike(ra.models.Popular())
        """,
    "U195": """
        from types import SimpleNamespace

        log = ra.read_interactions([("ann", "x"), ("bob", "y"), ("ann", "y")])
        mine = SimpleNamespace(partial_fit=lambda X: None, recommend=lambda user, n: [0, 1][:n])
        ra.models.incremental.PartialFit(mine).fit(log)
        """,
    "U196": """
        from recassay.results.outcomes import Outcomes
        import numpy as np

        mine = Outcomes("mine", np.array([0, 2]), {"recall@10": np.array([0.0, 1.0])}, events=3)
        ra.over_time(mine, "recall@10", window=0.5)
        """,
    "U197": """
        state = ra.drift.PageHinkley(threshold=20).start().state()
        ra.drift.PageHinkley(threshold=5).start(state)
        """,
    "U211": """
        ra.overall.across(ra.read_scores({"user": [1, 1], "system": ["als", "pop"], "mrr": [0.5, 0.4]}))
        """,
    "U212": """
        scores = ra.read_scores({"user": [1, 1], "system": ["als", "pop"], "mrr": [0.5, 0.4]})
        scores.where(dataset="ml-1m")
        """,
    "U213": """
        scores = ra.read_scores({"user": [1, 1], "system": ["als", "pop"], "mrr": [0.5, 0.4]})
        ra.decide(scores, sudden_death=(10,))
        """,
    "U214": """
        scores = ra.score({"a": {"ann": ["x"]}, "b": {"ann": ["y", "x"]}}, {"ann": ["x"]}, "mrr", interval=None)
        ra.users_needed(scores, wanted=0)
        """,
    "U215": """
        scores = ra.score({"a": {"ann": ["x"]}, "b": {"ann": ["y", "x"]}}, {"ann": ["x"]}, "mrr", interval=None)
        ra.overall.consistency(scores, along="design")
        """,
    "U216": """
        scores = ra.read_scores({"user": [1, 1], "system": ["als", "pop"], "mrr": [0.5, 0.4]})
        ra.decide(scores, rope=-0.01)
        """,
    "U217": """
        users = [{"user_id": "ann", "country": "de"}, {"user_id": "bob", "country": "fr"}]
        truth = {"ann": ["x"], "bob": ["y"]}
        ra.score({"mine": {"ann": ["x", "y"]}}, truth, "mrr", interval=None, users=users, by="country")
        """,
    "U218": """
        from recassay.engine.lists.score_sets import read_all
        run, truth = {"ann": ["x", "y"], "bob": ["y"]}, {"ann": ["x"], "bob": ["y"]}
        plain = ra.score({"als": run}, truth, "ndcg@10", interval=None)
        other = ra.score({"pop": run}, truth, "ndcg@10", interval=None, no_relevant="zero")
        read_all([plain, other])
        """,
    "U240": """
        from recassay.naming.registry import Registry
        from recassay.profiles import Profile
        profiles = Registry("profile", "recassay.profiles", Profile, group="recassay.profiles", values=True)
        profiles.add(Profile("lenskit", "LensKit as we use it", "1", {}))
        profiles.kinds
        """,
    "U241": """
        ra.register(0.5)
        """,
    "U244": """
        @ra.metric
        def shown(items, truth):
            return float(len(items))

        ra.score({"mine": {"ann": ["x", "y"]}}, {"ann": ["x"]}, "shown@2")
        """,
    "U251": """
        shown = [{"request_id": "1", "user_id": "ann", "items": ["x"], "time": 60}]
        ra.watch(shown, "hit@1", output="watched")
        ra.watch(shown, "hit@1", output="watched", window="1h")
        """,
    "U252": """
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
    "U235": """
        ra.read_interactions([("ann", "x"), ("bob", "y")], times="global")
        """,
    "U236": """
        import pickle
        log = ra.read_interactions([("ann", "x"), ("bob", "y")])
        Path("mine.checkpoint").write_bytes(pickle.dumps("anything"))
        ra.play(ra.models.incremental.ISGD(), log, ra.protocols.prequential(), checkpoint="mine.checkpoint")
        """,
    "U237": """
        from recassay.data.io.folder_lock import locked
        with locked("."), locked("."):
            pass
        """,
    "U242": """
        Path("manifest.jsonl").write_text('b145906b {"manifest": 99}\\n')
        Path("scores.parquet").touch()
        ra.read_scores(".")
        """,
    "U221": """
        ra.score({"mine": {"ann": ["x"]}}, {"ann": ["x"]}, "coverage(catalogue='truth')@1", within=0.01)
        """,
    "U223": """
        Path("run.json").write_text('{"ann": {"x": 0.5}}')
        ra.score("run.json", {"ann": ["x"]}, "mrr", memory="2GB")
        """,
    "U224": """
        import polars as pl
        log = ra.read_interactions({"ann": ["x", "y"], "bob": ["y", "z"]})
        of_ann = ra.Interactions.of_users(pl.DataFrame({"user_id": ["ann"] * 2, "item_id": ["x", "y"]}), log.item_counts)
        ra.score({"mine": {"ann": ["y", "z"]}}, {"ann": ["z"]}, "ild(distance='training')@2", train=of_ann)
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
    "U124": """
        log = ra.read_interactions({"ann": ["x", "y"], "bob": ["y", "z"]})
        ra.play(ra.models.Popular(), log, ra.protocols.ranking())
        """,
    "U225": """
        import polars as pl
        ra.split.last()(pl.DataFrame({"user_id": [1, 1], "item_id": [7, 8], "timestamp": [3, 5]}))
        """,
}
