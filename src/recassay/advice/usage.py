"""Advice on requests that make no sense, and on mistakes of recassay itself."""

from __future__ import annotations

from recassay.advice.base import Advice

ADVICE: dict[str, Advice] = {
    "U101": Advice(
        "No metric has this name.",
        "The hint has the nearest name; `recassay list metrics` has them all.",
    ),
    "U102": Advice(
        "A parameter does not exist, or has a value that makes no sense.",
        "`recassay explain ndcg` lists the parameters of a metric with their choices.",
    ),
    "U103": Advice(
        "A cut-off is not a whole number of at least 1, is missing where the metric needs one, or was "
        "given to a metric that has none.",
        "Write `precision@10`, `auc(targets=1000)`.",
    ),
    "U104": Advice(
        "The name of a metric does not parse.",
        "Write `name(parameter=value)@k`, and quote it in a shell.",
    ),
    "U105": Advice(
        "The metric needs data that was not given: a training log, item features, scores, judged "
        "non-relevant items, or the size of the catalogue.",
        "Give it with the option that the message names.",
    ),
    "U106": Advice(
        "No profile has this name, or the library has no such metric.",
        "`recassay list profiles` has the names; `recassay explain PROFILE` has its metrics.",
    ),
    "U107": Advice(
        "An option or a parameter of a function was given a word it does not know.",
        "The hint has the nearest word or all of them.",
    ),
    "U108": Advice(
        "No run has the name that was given as a baseline, or asked for.",
        "A run is named by its file without the suffix.",
    ),
    "U109": Advice(
        "Two run files would have the same name, and their results could not be told apart.",
        "Rename one of the files, or in Python give a dict of name to run.",
    ),
    "U110": Advice(
        "`--ties expected` asks for the mean over all orders of tied items, and this metric has no closed form for it.",
        "Leave the metric out, or judge it under `id`, `optimistic` or `pessimistic`.",
    ),
    "U111": Advice(
        "The output folder cannot be made or written, or holds files of somebody else.",
        "Choose another with `-o`.",
    ),
    "U112": Advice(
        "A model, or a kind of file, needs a library that recassay installs only for those who ask for it.",
        "Run the command that the message ends with.",
    ),
    "U113": Advice(
        "A comparison was asked for with too little to compare: one system, or no metric that has a value per user.",
        "Give another run, or a metric such as `ndcg@10`.",
    ),
    "U114": Advice(
        "McNemar's test was asked for on a metric whose values are not all 0 or 1.",
        "Take `hit@k`, or the permutation test.",
    ),
    "U115": Advice(
        "A model, split, filter, protocol or design was named that does not exist.",
        "The hint has the nearest name; recassay list models (or splits, designs, ...) has all of them.",
    ),
    "U116": Advice(
        "A split left no row for training, for test or for validation, or a filter none at all: the log is too small, "
        "or all of it lies on one side of an instant.",
        "Look at the log (`recassay stats LOG`), then choose another share, count or instant.",
    ),
    "U117": Advice(
        "A test part with equally many ratings of each of its items was to hold a larger share of the ratings than any "
        "number of items can give: the items are too unlike in popularity.",
        "Ask for the share that the hint names, or lower epsilon, the share of its ratings that the least popular "
        "item of the test part keeps for training.",
    ),
    "U118": Advice(
        "A design is written BASE-RELEVANT-NONRELEVANT, as in TI-1R-NN(99), or has a name of its own: P1R, PAR, U1R, "
        "UAR, rated_only. This text is neither, or has a parameter that makes no target set.",
        "The hint has the nearest one; recassay list designs has all of them.",
    ),
    "U119": Advice(
        "The design asks for counts that were not kept, or makes no sense for the way the log was split: items that "
        "could not have been in the test part would be sure misses.",
        "Play the system again, or split again, as the hint says.",
    ),
    "U120": Advice(
        "A user has fewer non-relevant candidates than the design draws. Quietly smaller sets would be easier ones.",
        "Draw fewer, or take what there is with short='all': such users are counted beside the mean.",
    ),
    "U121": Advice(
        "Target sets are judged by the ranks of their relevant items. This metric needs something else.",
        "Score lists with it (ra.score), or choose one of the metrics named in the hint.",
    ),
    "U122": Advice(
        "Designs need to know where every relevant item stands among all candidates. A ranked list does not say; a "
        "system that was played on a fold does.",
        "Play the system, or the run: ra.play(run, fold, ra.protocols.ranking()).",
    ),
    "U123": Advice(
        "A model was named as file.py:Class, and the file is not there, does not run, or does not define the class.",
        "Correct the path or the name. Python file.py on its own shows mistakes in the file.",
    ),
    "U131": Advice(
        "A study file is not YAML, or not a mapping of keys to values, or a key stands in it twice.",
        "Look at the line that is named. Text with a colon, a # or quotes in it needs quotes around it.",
    ),
    "U132": Advice(
        "A study has a key that means nothing, or lacks one that it needs.",
        "The hint has the nearest key. All keys are in [study files](study-files.md).",
    ),
    "U133": Advice(
        "A value in a study is of the wrong kind, such as a word where a number must stand, or makes no sense beside "
        "the others.",
        "The hint says what is expected; [study files](study-files.md) has the kinds of all values.",
    ),
    "U134": Advice(
        "A folder of results stays with the study, the data, the filters and the splits it was made from, since all "
        "of its numbers hang on them.",
        "Give another folder with `-o`. Models, designs, metrics and seeds may change in the same one.",
    ),
    "U135": Advice(
        "Before a study begins, everything is tried on a small part of its data, and a model failed there, or nothing "
        "in the test part was relevant.",
        "The message has what the model said. Try it alone: `recassay.testing` checks a model of your own.",
    ),
    "U141": Advice(
        "The file that a training was to go on from was left by another one: of another model, other parameters, "
        "another log or another validation part. Going on would mix the two.",
        "The message has what differs. Give every training a path of its own, or delete the file.",
    ),
    "U142": Advice(
        "The loss of a network, or what it makes of histories, became infinite or NaN: its steps are too large.",
        "Lower the rate, and begin anew: delete the checkpoint.",
    ),
    "U143": Advice(
        "A network, or a batch of its training, does not fit into the memory of the machine or of its GPU.",
        "Make batch, length or dim smaller. `device='cpu'` has the memory of the machine.",
    ),
    "U151": Advice(
        "Corrections turn around how a uniform sample hides the full rank. Among candidates drawn by popularity a rank "
        "depends on which items stand above, and no correction is known.",
        "Ask the systems for full ranks. Who can play them again gets those from `ra.play`, and `ra.sampling_curve` "
        "says what any sampling would make of them.",
    ),
    "U152": Advice(
        "A prior is the chance (or a count) of every full rank 1, 2, ..: not negative, finite, more than one rank, not "
        "all 0, and not 0 for all ranks that could have led to a sampled one.",
        "Leave it out, which makes every rank equally likely, or give all ranks at least a small chance.",
    ),
    "U171": Advice(
        "A model whose weights grow with the square of the number of items was given too many of them.",
        "Leave rare items out before sessions are made, with `split.filters`; or allow more: `CRF(most_items=...)`.",
    ),
    "U172": Advice(
        "A list of different items was to be longer than there are items to put on it: the most popular ones, a sample "
        "without repeats, or one from a model that gives all items but a few the chance 0.",
        "Generate shorter sequences, smooth the model, or take lists that end early with `allow_short=True`.",
    ),
    "U173": Advice(
        "A system was to generate, and it says of no item how likely it comes next.",
        "Give it a method `next_probabilities(histories)`; or hand a function that generates to `generator=`.",
    ),
    "U181": Advice(
        "Metrics that begin with `seq_` judge generated sequences; all others judge ranked lists against a truth.",
        "Ask `ra.score_sequences` for the first and `ra.score` for the others; `recassay list metrics` has the names.",
    ),
    "U182": Advice(
        "A metric was cut at more places than the shortest generated sequences have.",
        "Generate longer sequences, or cut the metric earlier.",
    ),
    "U191": Advice(
        "A model was asked to take part in a stream, and it can neither learn event by event nor answer what is asked.",
        "A model with `fit(log)` alone takes part by `prequential(refit=1000)`: it is made anew every 1,000 events. "
        "One of your own needs `learn(users, items, values)`, and `scores(user)`, `recommend(user, n, "
        "consumed)` or, for "
        "ratings, `predict(user, item)`.",
    ),
    "U192": Advice(
        "The protocol of a stream asks for what this stream, this model or this metric cannot give: what users take "
        "later needs the whole log, copies of a model need a stream that can be read again, spans of time need times, "
        "and a metric needs a value for one event.",
        "The hint says what to give instead.",
    ),
    "U193": Advice(
        "A checkpoint is of another model, protocol or stream, or the model cannot be written to one.",
        "Give every run a path of its own, or delete the file to begin anew.",
    ),
    "U204": Advice(
        "A Sudden Death score is a share of users won against a field of competitors. Another competitor takes some of "
        "them away, so numbers of two fields, or decided by other rules, say nothing side by side.",
        "Let the same systems compete in both contests; or compare duels, `hit@k` or `mrr`, which need no field.",
    ),
    "U205": Advice(
        "Sudden Death needs to know where each system had its first hit: from runs and a truth, or from outcomes of "
        "streams with a metric that says where the item of an event stood, or that it was hit.",
        "Give the truth; of streams, name `mrr@k` or `hit@k` as the metric, and ask `by='user'` only where "
        "the outcomes "
        "have users.",
    ),
    "U206": Advice(
        "A trade-off is seen from one baseline, over points that have a system, a weight, and a number for "
        "every metric.",
        "Give a table with columns system, weight and one per metric, in which the baseline has one row.",
    ),
    "U207": Advice(
        "A table of home and away sets the same systems under all metrics, and knows of objectives that are "
        "a re-ranker's "
        "or a metric of diversity.",
        "Score the same runs by all metrics; name an objective as `MMR`, `xQuAD`, `SPAD`, or as a metric such as "
        "`ild(distance='cosine')`.",
    ),
    "U208": Advice(
        "An experiment gives re-rankers other weights, and none of the systems is a re-ranker.",
        "Add one of another system, `MMR(of='mf', weight=0.3)`, or leave the experiment out.",
    ),
    "U194": Advice(
        "An object was handed to `RiverLike` or `PartialFit` and does not have the methods that these call.",
        "`RiverLike` needs `learn_one` and `predict_one`; `PartialFit` needs `partial_fit`, and `predict` or "
        "`recommend`. An object with `learn(users, items, values)` and `scores(user)` takes part in a stream "
        "without an "
        "adapter.",
    ),
    "U195": Advice(
        "A model in `PartialFit` that gives lists and no predictions was to be fitted on a log. Lists without scores "
        "are for streams alone.",
        "Play it with `ra.protocols.prequential()`, give it `predict(X)`, or wrap a function in "
        "`ra.models.Recommends`.",
    ),
    "U196": Advice(
        "A window over a stream has no length that makes sense: not a whole number of events, none at all for a window "
        "of time, or a past that fades by a factor that is not between 0 and 1.",
        "Give `window=5000`, `by='time'` with a number of seconds, or `how='fading'` with `fading=0.999`.",
    ),
    "U197": Advice(
        "A drift detector was to go on from a state that another kind of detector left, or other parameters.",
        "Begin with the detector that was saved, or begin anew.",
    ),
    "U201": Advice(
        "A re-ranker was not given what it looks at: features of items (MMR, xQuAD), the training log "
        "(xQuAD, SPAD), or "
        "a model with item factors (`distance='factors'`).",
        "Give them: `items=` or `--items`, `train=` or `--train`; in a study `items:` beside the data.",
    ),
    "U202": Advice(
        "A re-ranker of a model has no model, or one that was to re-rank a run file has one of its own.",
        "`MMR(of='ALS(factors=64)')` is a recommender; `MMR(weight=0.3)` re-ranks the run it is given.",
    ),
    "U203": Advice(
        "No weight of the grid can be chosen by the criterion: the metric is undefined at all of them, or the grid is "
        "empty or leaves out 0, which losses are counted from.",
        "Look at the metric (a missing truth, no features), or give a grid such as 0, 0.1, .., 1.",
    ),
    "U235": Advice(
        "It was said what the times of a log are, and the log has no column of times.",
        "Name the column: `--columns timestamp=NAME`.",
    ),
    "U221": Advice(
        "Random users bound the plain mean of values that lie between two bounds. This metric is of the "
        "whole catalogue, "
        "has no largest value, or weighs users.",
        "Judge everyone, without `until`; or leave the metric out.",
    ),
    "U222": Advice(
        "With `memory` files are read piece by piece. The program itself, the ids of all users, counts of all items "
        "and "
        "the values of all users by one metric are in memory whole, and so are the item features and what was not "
        "handed "
        "in as a path; these take more than the budget.",
        "Give as much as the message says; or judge some of the users with `until`.",
    ),
    "U223": Advice(
        "With `memory` a run is a file that can be read piece by piece: Parquet, or text with one character between "
        "its fields. This one is a gzip archive, JSON, text in columns of blanks, or no file at all.",
        "Write it as Parquet; or leave `memory` out.",
    ),
    "U224": Advice(
        "Where users are judged in parts, a part has the training rows of its own users, and counts of all items. This "
        "metric wants more: distances of items by all users who had them, or subprofiles, which are mined from the "
        "whole log.",
        "Judge this metric with a log that fits into memory, without Spark. Distances by features "
        "(`distance='jaccard'`) "
        "or given ones, and aspects that are features, need no whole log.",
    ),
    "U226": Advice(
        "A worker died in a task each time Spark tried it, most often for want of memory; or it would answer something "
        "else than the driver asked for, since its data, versions or files differ.",
        "Give workers more memory, or the system that is named less to hold; install the same versions on all nodes. "
        "Started again, a study goes on with what is there.",
    ),
    "U225": Advice(
        "A log on Spark is in parts, each with all rows of some users. What is asked for looks at all rows at once; or "
        "a table was handed in as it is, and nothing says what its columns mean.",
        "`ra.spark_log(table)` makes a log of a Spark table; `here()` brings a fold or sequences to this machine. A "
        "split of your own says with `facts` and `cuts` what it must know of all rows and what becomes of some.",
    ),
    "U227": Advice(
        "The Spark engine needs Java, a Spark that starts on it, and the packages that the extra `spark` brings.",
        "`apt-get install openjdk-17-jre-headless` on Debian and Ubuntu, and `pip install 'recassay[spark]'`. Where "
        "Java "
        "is, `JAVA_HOME` may have to say where.",
    ),
    "U228": Advice(
        "The Spark engine reads Spark tables and Parquet files. It was given something else, or a table in which "
        "nothing says the order of a list: rows of a Spark table have none of their own.",
        "Read it with Spark and hand in the table: `spark.read.csv(path, header=True)`. Give lists a rank or a score.",
    ),
    "U229": Advice(
        "Tasks on several machines write what they find to a folder, and the driver reads it there. The folder that "
        "was "
        "given, or the one of temporary files, is on one machine only.",
        "Name a folder of the lake: `work='s3a://bucket/scratch'`, `--work hdfs:///tmp/scratch`.",
    ),
    "U231": Advice(
        "Metrics of sequences take a primitive list or a matrix of similarities only where they say so; here none "
        "does, so what was given would change no number.",
        "Ask for the metric that takes it, such as `seq_serendipity(primitive='given')@5` or "
        "`seq_diversity(similarity='given')@5`, or leave it out.",
    ),
    "U232": Advice(
        "Spark starts Python on the machines of its workers. It is another version there than here, it is not found, "
        "or recassay is not installed in it.",
        "Set the environment variable `PYSPARK_PYTHON` before the session starts: to the Python that runs here "
        "(`sys.executable`) on one machine, on a cluster to one of the same version that has recassay.",
    ),
    "U211": Advice(
        "Systems are ranked within each data set and the ranks compared over data sets, so two of them are needed that "
        "have systems and a metric in common.",
        "Give scores of several data sets; within one, `recassay compare` tests user by user.",
    ),
    "U212": Advice(
        "Scores were asked for from a data set, split or design that the table or folder does not have.",
        "The hint has the nearest name; without the option all are taken.",
    ),
    "U213": Advice(
        "Sudden Death needs ranked lists and what was relevant. A study keeps both; a folder of `score -o` and a table "
        "of scores have neither.",
        "Give the folder of `recassay run`, or call `ra.sudden_death(runs, truth)`.",
    ),
    "U214": Advice(
        "The number of users needed follows from the difference that is worth finding, the level and the chance to "
        "find it. One of them makes no sense.",
        "A difference above 0; a level and a chance between 0 and 1.",
    ),
    "U215": Advice(
        "Orders of systems are compared along metrics, designs, splits, data sets or seeds, and this is none of them, "
        "or takes a single value here.",
        "Name another coordinate, or give scores that differ in it.",
    ),
    "U216": Advice(
        "The region of practical equivalence is the largest difference of means that does not matter to you, on either "
        "side of 0.",
        "A number from 0 on, in units of the metric: `--rope 0.005`.",
    ),
    "X101": Advice(
        "A metric computed a value outside its range. Such a number is never printed.",
        "Please report it, with the smallest files that show it.",
    ),
    "X102": Advice(
        "Precision with one relevant item lies between bounds that precision with all of them sets, for every ranking "
        "there is. It did not: candidates were counted wrongly somewhere.",
        "Please report it with the data and the command.",
    ),
}
