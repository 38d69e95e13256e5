"""What every error code means, at length: what happened and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Advice:
    """A page on one error code."""

    happened: str
    do: str


ADVICE: dict[str, Advice] = {
    "I101": Advice(
        "A path leads nowhere, or a pattern matches no file.",
        "Check the spelling and the folder you are in. The hint names files beside it with similar names.",
    ),
    "I102": Advice(
        "The file is there and holds nothing, as an interrupted program or a full disk leaves it.",
        "Write the file again.",
    ),
    "I103": Advice(
        "The table has columns and no rows.",
        "Look at what wrote it: a filter that keeps nothing is the usual cause.",
    ),
    "I104": Advice(
        "A Parquet or JSON file is cut off, or its suffix promises another format than its bytes hold.",
        "Copy or write it again; if it is not what its name says, rename it.",
    ),
    "I105": Advice(
        "A line of a text file has another number of fields than the others, or a word where a number "
        "must stand, or a line of JSON lines is no record. Nothing is skipped silently.",
        "Correct the line that is named. A name that holds the separator needs quotes.",
    ),
    "I106": Advice(
        "The bytes of a text file are not UTF-8.",
        "Convert it; the message has the command. Latin-1 and UTF-16 are the usual ones.",
    ),
    "I107": Advice(
        "The file is neither Parquet nor JSON nor text.",
        "Write it in one of the formats the message lists; see [formats](formats.md).",
    ),
    "I108": Advice(
        "A Python object was given that holds no table, or one whose order is lost, such as a set as a ranked list.",
        "Give one of the kinds that the message lists.",
    ),
    "I109": Advice(
        "A folder was given and no file in it looks like a table.",
        "Give the folder that holds the run files, or name the files.",
    ),
    "I110": Advice(
        "The system refuses to open the file: its permissions, most often.",
        "Make it readable for you, or copy it.",
    ),
    "I111": Advice(
        "A study names a data set, and no folder was given to look it up in, or the folder has no such data set.",
        "Say `--data DIR` or set `RECASSAY_DATA`. A data set NAME is `DIR/NAME/ratings.csv` or `DIR/NAME.csv`, or the "
        "same as Parquet or another format that is read.",
    ),
    "I201": Advice(
        "A column that is needed was not recognised by its name.",
        "Name it: `--columns user=WHO,item=WHAT`, or `columns=` in Python. The names known without "
        "that are in [formats](formats.md#column-names).",
    ),
    "I202": Advice(
        "A column holds values of a type that cannot be right: text as scores, fractions as ids, "
        "numbers and text mixed.",
        "Correct the values, or choose another column with `--columns`.",
    ),
    "I203": Advice(
        "Two columns have names of the same meaning, and nobody said which one to take.",
        "Say it: `--columns user=uid`.",
    ),
    "I301": Advice(
        "A score is NaN or infinite, so there is no telling where its item stands.",
        "Find out why the model produced it. `--nan last` puts NaN at the end of the list and says so (C008).",
    ),
    "I302": Advice(
        "A rank is below 0 or missing. Ranks count from 0 or 1 upwards.",
        "If the column holds scores, say so: `--columns score=rank`.",
    ),
    "I303": Advice(
        "A gain in the truth is negative. A gain is 0 (judged, not relevant) or more.",
        "In TREC pools a negative number means «in the pool, unjudged»: say `--negative unjudged`.",
    ),
    "I304": Advice(
        "A user or item id is missing or empty.",
        "Remove these rows, or give each its id.",
    ),
    "I305": Advice(
        "Lists repeat an item and `--duplicates error` was asked for. By default the first stays and "
        "C003 counts the rest.",
        "Remove the repeats where the lists are made, or leave the option out.",
    ),
    "I306": Advice(
        "A gain in the truth is missing, NaN or infinite.",
        "Give every judged item a number, 0 if it is not relevant.",
    ),
    "I307": Advice(
        "Test ratings were to be relevant from a value, and the log of the fold has no ratings.",
        "Leave the value out: then every test row is relevant; or read the log with its ratings.",
    ),
    "I308": Advice(
        "A system that is asked for scores must give a row per user and a column per item of the fold.",
        "Return an array of the shape that the message names.",
    ),
    "I309": Advice(
        "A system gave NaN for an item, which stands nowhere in an order.",
        "Give minus infinity for what cannot be scored: such items tie at the bottom.",
    ),
    "I310": Advice(
        "A user and item of the test rows are in training too: the answer would be known.",
        "Keep one row of each user and item before splitting.",
    ),
    "I311": Advice(
        "Systems that are judged together have other users or other relevant items: they were played on different "
        "folds, or with another threshold.",
        "Play them all on one fold with one protocol.",
    ),
    "I312": Advice(
        "A function that recommends or scores named items that the log does not have: it uses other ids (positions "
        "instead of ids, text instead of numbers), or knows another catalogue.",
        "Let it answer with the ids of the log it is played on.",
    ),
    "I321": Advice(
        "A model that learns what comes after what needs users with at least two events in the training part, and "
        "there are none.",
        "Look at the split: it may leave every user one event. Such a log suits models that read no histories.",
    ),
    "I322": Advice(
        "A fitted model knows users and items by their place in its log. It was given another log with other ones, or "
        "a validation part that was not cut from the training log's whole.",
        "Take both from one log: with a split, or with log.take(rows).",
    ),
    "I331": Advice(
        "The rank of a relevant item among itself and m sampled candidates is a whole number from 1 to m + 1. A half "
        "comes from averaging over ties, a 0 from counting from 0, a larger rank from a larger sample than was stated.",
        "Break ties at random where ranks are made: a metric of a rank averaged over ties is not the metric averaged "
        "over ties. Add 1 to ranks that count from 0.",
    ),
    "I332": Advice(
        "What a sampled rank means depends on how many candidates the sample was drawn from, and without replacement "
        "no more can be drawn than there are.",
        "Give the number of items less the relevant one and those that were never drawn, such as what the user has "
        "seen; or a column `pool` where users differ.",
    ),
    "I341": Advice(
        "`next_item` asks each user for the one event that came next. The fold has several events of a user there, or "
        "no validation part although that is to be asked about.",
        "Split with `last(n=1, validation=1)`; ask `ranking()` where several items are right.",
    ),
    "I351": Advice(
        "Rows of one ready-made sequence are of several users, or two of them stand at the same position.",
        "Give every sequence an id of its own, one user, and positions that differ.",
    ),
    "I352": Advice(
        "A sequence is two rows or more: the first is given, and the others are to be foretold. Every sequence of the "
        "table has one.",
        "Look at the column `sequence_id`: rows of one sequence have the same. `split.sessions(gap=...)` makes "
        "sequences of a log.",
    ),
    "I353": Advice(
        "`sessions(ties='error')` was asked for, and a user has several events at one time: which of them came first "
        "is not said.",
        "Leave the option out to take them in row order, or keep one of them with `ties='drop'`.",
    ),
    "I354": Advice(
        "A model that is asked what comes next must give, for each history, a number from 0 for every item of the "
        "fold, and these must sum to 1 (to a millionth). The message has the model, the history and the reason.",
        "Divide each row by its sum; make scores probabilities by a softmax. Leave out no item: those that the model "
        "does not know have 0.",
    ),
    "I355": Advice(
        "A generator of one's own must make a row for each history it is given, and an item of the fold for each step.",
        "Return whole numbers, the codes of the fold's items, and -1 from where a list ends.",
    ),
    "I361": Advice(
        "What a system generated has other sequences, items or shapes than the fold it is to be judged on, or chances "
        "that are none.",
        "Hand in one row for each test sequence, in the order of `fold.test`, items as codes of the fold, and -1 from "
        "where a list ended.",
    ),
    "I362": Advice(
        "The matrix of similarities is not over the items of the fold, not symmetric, or has a number that is not "
        "between -1 and 1.",
        "Give a dense or sparse matrix with a row and a column for each item of the fold, ascending by id.",
    ),
    "I363": Advice(
        "A primitive list was given, and none of its items is in any sequence, so nothing would be obvious.",
        "Check that the list has the ids of the log.",
    ),
    "I401": Advice(
        "Not one user of the truth has a list. The files are of different data, or their users are "
        "numbered differently; scoring them would print zeros.",
        "Compare the examples that the message shows from both sides.",
    ),
    "I402": Advice(
        "Not one recommended item is in the truth: the items are numbered differently.",
        "Compare the examples that the message shows from both sides. Internal indexes instead of ids "
        "are the usual cause.",
    ),
    "I403": Advice(
        "One table has integer ids and the other has text, so nothing could ever match.",
        "Write both alike. In CSV a column of digits is read as integers; `007` stays text.",
    ),
    "I404": Advice(
        "The run lacks users of the truth, and `--missing error` was asked for.",
        "Make lists for all users, or let a user without a list count as an empty list (`--missing "
        "zero`, the default).",
    ),
    "I406": Advice(
        "Not one recommended item is in the training log: the two use different ids.",
        "Compare the examples; name the columns with `--columns`.",
    ),
    "I407": Advice(
        "Not one recommended item is in the table of items: the two use different ids.",
        "Compare the examples; name the columns with `--columns`.",
    ),
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
