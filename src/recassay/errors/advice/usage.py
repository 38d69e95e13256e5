"""Explanations of errors in requests and options, and of internal errors of recassay."""

from __future__ import annotations

from recassay.errors.advice.base import Advice

ADVICE: dict[str, Advice] = {
    "U101": Advice(
        "No metric has this name.",
        "The hint has the nearest name; `recassay list metrics` has them all.",
    ),
    "U102": Advice(
        "A parameter does not exist, or has an invalid value.",
        "`recassay explain ndcg` lists the parameters of a metric with their choices.",
    ),
    "U103": Advice(
        "A cut-off is not a whole number of at least 1, is missing although the metric needs one, or was given to a "
        "metric without cut-off.",
        "Write `precision@10`, `auc(targets=1000)`.",
    ),
    "U104": Advice(
        "The name of a metric does not parse.",
        "Write `name(parameter=value)@k`, and quote it in a shell.",
    ),
    "U105": Advice(
        "The metric needs data that was not given: a training log, item features, scores, judged non-relevant items, "
        "or the size of the catalogue.",
        "Pass it with the option that the message names.",
    ),
    "U106": Advice(
        "No profile has this name, or the library has no such metric.",
        "`recassay list profiles` has the names; `recassay explain PROFILE` has its metrics.",
    ),
    "U107": Advice(
        "An option or a function parameter has an unknown value.",
        "The hint has the nearest valid value, or all of them.",
    ),
    "U108": Advice(
        "No run has the given name.",
        "A run is named by its file without the suffix.",
    ),
    "U109": Advice(
        "Two run files would have the same name, so their results could not be told apart.",
        "Rename one of the files, or in Python give a dict of name to run.",
    ),
    "U110": Advice(
        "`--ties expected` averages over all orders of tied items, and this metric has no closed form for that.",
        "Leave the metric out, or compute it with `id`, `optimistic` or `pessimistic`.",
    ),
    "U111": Advice(
        "The output folder cannot be created or written to, or has files that recassay did not write: it writes only "
        "into an empty folder, or into one with its `manifest.jsonl`, and replaces only files that are listed there.",
        "Choose another with `-o`, or move the files away.",
    ),
    "U112": Advice(
        "A model or a file format needs an optional library.",
        "Run the command at the end of the message.",
    ),
    "U113": Advice(
        "A comparison has too little to compare: one system, or no metric with a value per user.",
        "Give another run, or a metric such as `ndcg@10`.",
    ),
    "U114": Advice(
        "McNemar's test was requested for a metric whose values are not all 0 or 1.",
        "Use `hit@k`, or the permutation test.",
    ),
    "U115": Advice(
        "No model, split, filter, protocol or design has this name.",
        "The hint has the nearest name; recassay list models (or splits, designs, ...) has all of them.",
    ),
    "U116": Advice(
        "A split left no row for training, test or validation, or a filter left no row at all: the log is too small, "
        "or lies entirely on one side of an instant.",
        "Inspect the log (`recassay stats LOG`), then choose another share, count or instant.",
    ),
    "U117": Advice(
        "A test part with equally many ratings per item cannot hold the requested share of the ratings: the "
        "popularity of items differs too much.",
        "Use the share that the hint names, or lower epsilon, the share of its ratings that the least popular item of "
        "the test part keeps for training.",
    ),
    "U118": Advice(
        "A design is written BASE-RELEVANT-NONRELEVANT, as in TI-1R-NN(99), or has a name: P1R, PAR, U1R, UAR, "
        "rated_only. This text is neither, or has an invalid parameter.",
        "The hint has the nearest one; recassay list designs has all of them.",
    ),
    "U119": Advice(
        "The design needs counts that were not kept, or does not fit the split: items that could not be in the test "
        "part would always be misses.",
        "Play the system again, or split again, as the hint says.",
    ),
    "U120": Advice(
        "A user has fewer non-relevant candidates than the design draws. Smaller sets would be easier without notice.",
        "Draw fewer, or use all candidates with short='all': such users are counted next to the mean.",
    ),
    "U121": Advice(
        "Target sets are evaluated by the ranks of their relevant items. This metric needs something else.",
        "Score lists with it (ra.score), or use one of the metrics named in the hint.",
    ),
    "U122": Advice(
        "Designs need the rank of every relevant item among all candidates. A ranked list does not have it; a system "
        "that was played on a fold does.",
        "Play the system, or the run: ra.play(run, fold, ra.protocols.ranking()).",
    ),
    "U123": Advice(
        "A model was named as file.py:Class, and the file does not exist, fails to run, or does not define the class.",
        "Correct the path or the name. Running python file.py shows mistakes in the file.",
    ),
    "U124": Advice(
        "A function got another kind of value than it needs: a log for a fold, the tuple that a split returns for one "
        "of its folds, a model for its run, `Popular` for `Popular()`.",
        "Follow the hint of the message.",
    ),
    "U131": Advice(
        "A study file is not valid YAML, is not a mapping of keys to values, or repeats a key.",
        "Check the line that the message names. Text with a colon, a # or quotes in it needs quotes around it.",
    ),
    "U132": Advice(
        "A study has an unknown key, or lacks a required one.",
        "The hint has the nearest key. All keys are in [study files](study-files.md).",
    ),
    "U133": Advice(
        "A value in a study has the wrong type, such as text where a number is needed, or conflicts with other values.",
        "The hint says what is expected; [study files](study-files.md) has the types of all values.",
    ),
    "U134": Advice(
        "A results folder belongs to the study, the data, the filters and the splits it was made from, because all "
        "its numbers depend on them.",
        "Give another folder with `-o`. Models, designs, metrics and seeds may change within one folder.",
    ),
    "U135": Advice(
        "Before a study starts, everything is run on a small part of its data. There a model or a metric failed, or "
        "nothing in the test part was relevant. A study goes on without a model or metric that failed, and lists it "
        "among the failures; it ends if all models failed.",
        "The message shows the error. Test the model or metric alone: `recassay.testing` checks custom ones.",
    ),
    "U141": Advice(
        "The checkpoint to resume from belongs to another training: another model, other parameters, another log or "
        "another validation part. Resuming would mix the two.",
        "The message shows what differs. Use a separate path per training, or delete the file.",
    ),
    "U142": Advice(
        "The loss of a network, or its representation of histories, became infinite or NaN: the learning rate is too "
        "high.",
        "Lower the learning rate, delete the checkpoint and start again.",
    ),
    "U143": Advice(
        "The work does not fit into the memory of the machine, of its GPU, or into the limit that is set for the "
        "process. For tables this is known from the size of the file before it is read.",
        "For run files, give a budget: `--memory 2GB`. For a network, reduce batch, length or dim; `device='cpu'` uses "
        "the memory of the machine.",
    ),
    "U151": Advice(
        "Corrections invert the effect of a uniform sample on ranks. Among candidates drawn by popularity, a rank "
        "depends on which items are ranked higher, and no correction is known.",
        "Obtain full ranks from the systems. If they can be played again, use `ra.play`; `ra.sampling_curve` shows "
        "the effect of any sampling.",
    ),
    "U152": Advice(
        "A prior gives the probability (or a count) of every full rank 1, 2, ..: non-negative, finite, for more than "
        "one rank, not all 0, and not 0 for all ranks that could have led to a sampled one.",
        "Leave it out, which makes every rank equally likely, or give all ranks at least a small probability.",
    ),
    "U171": Advice(
        "A model whose weights grow with the square of the number of items received too many items.",
        "Remove rare items before making sessions, with `split.filters`; or raise the limit: `CRF(most_items=...)`.",
    ),
    "U172": Advice(
        "A list of distinct items would be longer than the number of available items: the most popular ones, a "
        "sample without repeats, or a model that gives probability 0 to all but a few.",
        "Generate shorter sequences, smooth the model, or allow short lists with `allow_short=True`.",
    ),
    "U173": Advice(
        "A system was asked to generate sequences, but it has no probabilities of the next item.",
        "Give it a method `next_probabilities(histories)`; or pass a function that generates as `generator=`.",
    ),
    "U174": Advice(
        "Ids of generated sequences were requested, but it is unknown which sequences they continue.",
        "Make them with `ra.sequences.generate`, or say it: `Generated(..., begun=fold.test)`.",
    ),
    "U181": Advice(
        "Metrics that begin with `seq_` evaluate generated sequences; all others evaluate ranked lists against a "
        "truth.",
        "Use `ra.sequences.score_sequences` for the first and `ra.score` for the others; `recassay list metrics` has "
        "the names.",
    ),
    "U182": Advice(
        "The cut-off of a metric is larger than the shortest generated sequence.",
        "Generate longer sequences, or use a smaller cut-off.",
    ),
    "U191": Advice(
        "A model on a stream can neither learn event by event nor answer the queries of the protocol.",
        "A model with only `fit(log)` takes part with `prequential(refit=1000)`: it is refitted every 1,000 events. A "
        "custom model needs `learn(users, items, values)`, and `scores(user)`, `recommend(user, n, consumed)` or, for "
        "ratings, `predict(user, item)`.",
    ),
    "U192": Advice(
        "The protocol needs what this stream, model or metric cannot provide: future items of users need the whole "
        "log, copies of a model need a stream that can be read again, time spans need times, and a metric needs a "
        "value per event.",
        "The hint says what to use instead.",
    ),
    "U193": Advice(
        "A checkpoint belongs to another model, protocol or stream, or the model cannot be stored in one.",
        "Use a separate path per run, or delete the file to start again.",
    ),
    "U194": Advice(
        "An object passed to `RiverLike` or `PartialFit` lacks the methods that these call.",
        "`RiverLike` needs `learn_one` and `predict_one`; `PartialFit` needs `partial_fit`, and `predict` or "
        "`recommend`. An object with `learn(users, items, values)` and `scores(user)` takes part in a stream without "
        "an adapter.",
    ),
    "U195": Advice(
        "A model in `PartialFit` that returns lists without predictions cannot be fitted on a log. Lists without "
        "scores work on streams only.",
        "Play it with `ra.protocols.prequential()`, give it `predict(X)`, or wrap a function in "
        "`ra.models.RecommendFunction`.",
    ),
    "U196": Advice(
        "A window over a stream has an invalid length: not a whole number of events, no length for a time window, or "
        "a fading factor outside 0 to 1.",
        "Give `window=5000`, `by='time'` with a number of seconds, or `how='fading'` with `fading=0.999`.",
    ),
    "U197": Advice(
        "A drift detector cannot resume from the state of another kind of detector or of other parameters.",
        "Resume with the detector that was saved, or start again.",
    ),
    "U201": Advice(
        "A re-ranker lacks the data it needs: item features (MMR, xQuAD), the training log (xQuAD, SPAD), or a model "
        "with item factors (`distance='factors'`).",
        "Pass them: `items=` or `--items`, `train=` or `--train`; in a study `items:` next to the data.",
    ),
    "U202": Advice(
        "A re-ranker used as a recommender has no model, or a re-ranker of a run file has one.",
        "`MMR(of='ALS(factors=64)')` is a recommender; `MMR(weight=0.3)` re-ranks the run it is given.",
    ),
    "U203": Advice(
        "No weight of the grid can be chosen by the criterion: the metric is undefined at all of them, or the grid is "
        "empty or lacks 0, from which losses are measured.",
        "Check the metric (a missing truth, no features), or give a grid such as 0, 0.1, .., 1.",
    ),
    "U204": Advice(
        "A Sudden Death score is the share of users won against a set of competitors. Another competitor takes some "
        "of them away, so scores from two sets, or decided by other rules, cannot be compared.",
        "Let the same systems compete in both contests; or compare pairs of systems, `hit@k` or `mrr`, which need no "
        "set of competitors.",
    ),
    "U205": Advice(
        "Sudden Death needs the position of each system's first hit: from runs and a truth, or from stream outcomes "
        "with a metric of the position of the event's item, or of a hit.",
        "Give the truth; for streams, use the metric `mrr@k` or `hit@k`, and `by='user'` only if the outcomes have "
        "users.",
    ),
    "U206": Advice(
        "A trade-off is measured from one baseline, over points that have a system, a weight, and a number per metric.",
        "Give a table with columns system, weight and one per metric, in which the baseline has one row.",
    ),
    "U207": Advice(
        "A table of home and away needs the same systems under all metrics, and objectives that belong to a re-ranker "
        "or to a diversity metric.",
        "Score the same runs by all metrics; name an objective as `MMR`, `xQuAD`, `SPAD`, or as a metric such as "
        "`ild(distance='cosine')`.",
    ),
    "U208": Advice(
        "An experiment varies the weights of re-rankers, and none of the systems is a re-ranker.",
        "Add one for another system, `MMR(of='mf', weight=0.3)`, or leave the experiment out.",
    ),
    "U244": Advice(
        "A metric that is no part of recassay has a value outside the range that its `bounds` declare. Such a number "
        "is never printed.",
        "Correct the metric, or declare the range it has; `inf` is allowed.",
    ),
    "X101": Advice(
        "A metric has a value outside its range. Such a number is never printed.",
        "Please report it, with the smallest files that show it.",
    ),
    "X102": Advice(
        "Precision with one relevant item lies between bounds set by precision with all relevant items, for every "
        "ranking. Here it does not, so candidates were counted wrongly.",
        "Please report it with the data and the command.",
    ),
}
