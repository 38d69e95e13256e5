"""Explanations of errors in data: values, ids, logs, folds, sequences and streams."""

from __future__ import annotations

from recassay.errors.advice.base import Advice

ADVICE: dict[str, Advice] = {
    "I301": Advice(
        "A score is NaN or infinite, so the rank of its item is unknown.",
        "Find out why the model produced it. `--nan last` puts NaN at the end of the list and reports it (C008).",
    ),
    "I302": Advice(
        "A rank is below 0 or missing. Ranks count from 0 or 1 upwards.",
        "If the column holds scores, name it `score`.",
    ),
    "I303": Advice(
        "A gain in the truth is negative. A gain is 0 (judged, not relevant) or more.",
        "In TREC pools a negative number means «in the pool, unjudged»: pass `--negative unjudged`.",
    ),
    "I304": Advice(
        "A user id, an item id, or a required time is missing, empty, NaN or infinite.",
        "Remove these rows, or give each an id and a time.",
    ),
    "I305": Advice(
        "Lists repeat an item, and `--duplicates error` was requested. By default the first occurrence is kept and "
        "C003 counts the rest.",
        "Remove the repeats where the lists are made, or drop the option.",
    ),
    "I306": Advice(
        "A gain in the truth is missing, NaN or infinite.",
        "Give every judged item a number, 0 if it is not relevant.",
    ),
    "I307": Advice(
        "Relevance was defined by a rating threshold, or a model learns from ratings, but the log has no ratings.",
        "Leave the threshold out, so that every test row is relevant; choose a model that takes events as they are; or "
        "read the log with its ratings.",
    ),
    "I308": Advice(
        "A system must return its scores as one row per user and one column per item of the fold.",
        "Return an array of the shape that the message names.",
    ),
    "I309": Advice(
        "A system returned NaN for an item, which has no place in a ranking.",
        "Return minus infinity for items that cannot be scored: they tie at the bottom.",
    ),
    "I310": Advice(
        "A user and item of the test rows also occur in training, so the answer is already known.",
        "Keep one row per user and item before splitting.",
    ),
    "I311": Advice(
        "Systems that are evaluated together have different users or relevant items: they were played on different "
        "folds, or with different thresholds.",
        "Play them all on one fold with one protocol.",
    ),
    "I312": Advice(
        "A function that recommends or scores named items that the log does not have. It uses other ids (positions "
        "instead of ids, text instead of numbers), or another catalogue.",
        "Return the ids of the log that the function is played on.",
    ),
    "I313": Advice(
        "A table of scores needs one row per system and user, and a numeric column per metric. This table lacks the "
        "user column, or has no numeric column.",
        "Name the system column (`--columns system=model`), and join tables of single systems into one.",
    ),
    "I314": Advice(
        "A system has two rows for one user of the same data set, split, design, seed and fold; one of them would be "
        "lost.",
        "Distinguish them by one of these columns, or remove the repeated rows.",
    ),
    "I315": Advice(
        "Systems are compared user by user, but two of them have no user in common.",
        "Score both on the same users. Ids must be written in the same way: 7 and '007' are two users.",
    ),
    "I316": Advice(
        "A comparison needs the score of every user, `scores.parquet`. This folder has none: it is not a results "
        "folder, or all its metrics have one value for the whole run.",
        "Score again with a metric such as ndcg@10; `recassay list metrics` shows which have a value per user.",
    ),
    "I317": Advice(
        "The folder given as results has no `summary.json`: no study, scoring or demo wrote it, or the one that did "
        "was interrupted.",
        "Give the folder that was passed with `-o`. An interrupted study resumes when it is run again.",
    ),
    "I318": Advice(
        "A file in a results folder was changed, cut off, deleted or added: its checksum is not the one in "
        "`manifest.jsonl`, it is not listed there, or it is not valid JSON.",
        "Create the folder again; a study reuses what is intact.",
    ),
    "I319": Advice(
        '`duplicates="last"`, which some profiles use, gives a repeated item the score of its last row. Here these '
        "scores differ and the order of rows is unknown: rows of a Spark table have no order, and a run read with "
        "`keep_rows=False` has dropped it.",
        "Give the path of the files, or a Spark table with a column `row`; or remove the repeats; or set "
        '`duplicates="first"`.',
    ),
    "I321": Advice(
        "A sequential model needs users with at least two events in training, and there are none.",
        "Check the split: it may leave every user one event. For such a log use models that do not need histories.",
    ),
    "I322": Advice(
        "A fitted model identifies users and items by their codes in its log. It received another log with other "
        "codes, or a validation part that was not cut from the same log as training.",
        "Take both from one log: with a split, or with log.take(rows).",
    ),
    "I324": Advice(
        "`recassay compare A B` joins systems that were scored against one truth. These two scorings share no system, "
        "and their truths differ, so no user has a value for two systems on the same answers.",
        "Score all run files against one truth. Scores of several data sets need the same systems in each.",
    ),
    "I331": Advice(
        "The rank of a relevant item among itself and m sampled candidates is a whole number from 1 to m + 1. A "
        "fraction comes from averaging over ties, a 0 from counting from 0, a larger rank from a larger sample than "
        "stated.",
        "Break ties at random when computing ranks: a metric of an averaged rank differs from the average of the "
        "metric. Add 1 to ranks that count from 0.",
    ),
    "I332": Advice(
        "The meaning of a sampled rank depends on the number of candidates the sample was drawn from. Without "
        "replacement, no more can be drawn than there are.",
        "Give the number of items minus the relevant one and those that are never drawn, such as items the user has "
        "seen; or a column `pool` if users differ.",
    ),
    "I341": Advice(
        "`next_item` queries each user for the one event that came next. The fold has several such events of a user, "
        "or no validation part although validation was requested.",
        "Split with `last(n=1, validation=1)`; use `ranking()` if several items are relevant.",
    ),
    "I351": Advice(
        "Rows of one ready-made sequence belong to several users, or two of them have the same position.",
        "Give every sequence its own id, one user, and distinct positions.",
    ),
    "I352": Advice(
        "A sequence needs at least two rows: the first is given, the others are predicted. Every sequence of the "
        "table has one row.",
        "Check the column `sequence_id`: rows of one sequence have the same id. `split.sessions(gap=...)` makes "
        "sequences from a log.",
    ),
    "I353": Advice(
        "`sessions(ties='error')` was requested, and a user has several events at the same time, so their order is "
        "unknown.",
        "Drop the option to take them in row order, or keep one of them with `ties='drop'`.",
    ),
    "I354": Advice(
        "A model that predicts the next item must return, for each history, a non-negative number per item of the "
        "fold, and these must sum to 1 (within a millionth). The message names the model, the history and the problem.",
        "Divide each row by its sum, or turn scores into probabilities with a softmax. Include all items: those that "
        "the model does not know get 0.",
    ),
    "I355": Advice(
        "A custom generator must return one row per history, with an item of the fold for each step.",
        "Return integers, the codes of the fold's items, and -1 from where a list ends.",
    ),
    "I356": Advice(
        "A log has one row per list of items, with lists of times or ratings that are longer or shorter.",
        "Give every item its own time or rating, or leave that column out.",
    ),
    "I357": Advice(
        "Some of the given seeds are items that the training sequences do not have, or there are no seeds.",
        "Give items of the training sequences; a model knows no other item.",
    ),
    "I361": Advice(
        "Generated sequences have another number of rows, other items or other shapes than the fold they are "
        "evaluated on, or invalid probabilities.",
        "Give one row per test sequence, in the order of `fold.test`, with items as codes of the fold, and -1 from "
        "where a list ended. In a file, give a row per generated item: the sequence_id of `seeds.parquet`, a position, "
        "and an item of `items.parquet`.",
    ),
    "I362": Advice(
        "The matrix of similarities does not cover the items of the fold, is not symmetric, or has a number outside "
        "-1 to 1; or a table of pairs lacks a column, knows no item, or contradicts itself.",
        "Give a dense or sparse matrix with a row and a column for each item of the fold, ascending by id; or a table "
        "with columns item_id, other_id and similarity.",
    ),
    "I363": Advice(
        "None of the items of the given primitive list occurs in a sequence, so no recommendation would count as "
        "obvious.",
        "Check that the list uses the ids of the log.",
    ),
    "I364": Advice(
        "The primitive recommender, which says what is obvious, is neither a list of ids nor a recommender, or it "
        "generates too few items.",
        "Give a list of item ids, the most obvious first; a model of sequences, such as "
        "`ra.models.sequence.MostPopular()`; or what `ra.sequences.generate` returned for the same fold.",
    ),
    "I371": Advice(
        "An event of a stream is earlier than the one before it. Rows of one table are sorted unless `order='error'` "
        "was requested; consecutive tables cannot be sorted.",
        "Sort the stream by time before dividing it into tables or files.",
    ),
    "I372": Advice(
        "A model that returns lists recommended items that the user already has, and with `repeats='exclude'` lists "
        "must not contain them.",
        "Leave out the codes that `recommend(user, n, consumed)` receives, or use `prequential(repeats='allow')`.",
    ),
    "I373": Advice(
        "A model that returns lists recommended an item that it has not learned, or one item twice.",
        "Recommend codes that `learn` received: 0, 1, 2, ... by first appearance.",
    ),
    "I374": Advice(
        "A model raised an error while learning or answering. The message names the event; the scores up to that "
        "point are in the attribute `stream` of the error.",
        "Check the model's own error, which is shown above this one.",
    ),
    "I375": Advice(
        "The scores of a model are NaN, or there is not one for each item learned so far. The usual cause of NaN is "
        "factors that grow without bound.",
        "Reduce the learning rate, or increase the regularisation. Return minus infinity for items that cannot be "
        "recommended.",
    ),
    "I377": Advice(
        "A model in `PartialFit` received rows of user and item, and returned another number of predictions.",
        "Return from `predict(X)` a one-dimensional array with one number per row of `X`.",
    ),
    "I381": Advice(
        "The outcomes of a stream have one row per scored event, in stream order. These have columns of different "
        "lengths, or events that are repeated, out of order or beyond the end of the stream.",
        "Count events from 0, sort by them, and state how many events the stream has.",
    ),
    "I382": Advice(
        "Two systems are compared on the events that were scored for both. These systems were played on different "
        "streams, or share no event that has a value.",
        "Play both on the same log, in the same order, with the same protocol.",
    ),
    "I383": Advice(
        "A stream is played in order of time, and the log has no times; or a time window was requested, and the "
        "outcomes have no times, or decreasing ones.",
        "Read the log with its times. If its rows are in event order, use `prequential(order='row')`. Use a window of "
        "events, or sort the log by time before playing it.",
    ),
    "I384": Advice(
        "Bounds that hold at every event need the largest possible difference. One difference is larger, or undefined.",
        "Give the largest possible difference: 1 for metrics between 0 and 1, 4 for absolute errors of ratings from 1 "
        "to 5.",
    ),
    "I385": Advice(
        "Times can be instants of a clock, an order of all events, or an order within each user only, such as "
        "positions 0, 1, 2, ... in a history. The request needs a stronger kind than this log has: sessions and "
        "windows need clock times; a split at an instant and a stream need an order of all events.",
        "Use a split that the times allow: `last(n=1)` for an order within each user, a random split for any log. If "
        "the kind was inferred wrongly, pass `times='clock'` or `times='global'` when reading the log.",
    ),
    "I386": Advice(
        "Times are text with two readings: `03/04/2020` is 3 April or 4 March, `03/04/20` may also start with the "
        "year, and among times with a zone those without one may be local or not. Accepted text begins with the year, "
        "as `2020-04-03`, `2020-04-03 10:30:00` or `2020-04-03T10:30:00+02:00`. Day, month and year are accepted if a "
        "day above 12 shows which comes first.",
        "Write the year first, or give dates in Parquet; give all times a zone, or none.",
    ),
    "I387": Advice(
        "Some times of the log are a thousand times larger than the others, such as seconds among milliseconds. "
        "Events would be ordered by unit.",
        "Convert all times to one unit where the log is made.",
    ),
    "I388": Advice(
        "Some times are farther from all others than those are from each other, such as 0, which is 1970, or a year "
        "such as 9999. Such a time probably marks a missing one, and would make its event the first or last of its "
        "user.",
        "Drop these rows, or give them a time.",
    ),
    "I389": Advice(
        "A duration such as `'1d'` was given, but the times are numbers that are not in seconds, so a day would mean "
        "some minutes.",
        "Give the times in seconds, or as dates.",
    ),
    "I391": Advice(
        "A list to be re-ranked has a score that is NaN or infinite. Every choice weighs scores, so the item cannot "
        "be placed.",
        "Leave such items out of the lists, or find out why the model scored them so.",
    ),
    "I392": Advice(
        "A run to be re-ranked has ranks but no scores. A re-ranker trades score for diversity, so it needs scores.",
        "Let the system write its scores in a column `score`.",
    ),
    "I393": Advice(
        "The given table of item distances is invalid: its shape does not match the items of the log, it has numbers "
        "outside 0 to 1, or it is not symmetric.",
        "Give a row and a column for each item of the log, ascending by id.",
    ),
    "I394": Advice(
        "Lists have items that are not in the table of distances: the table, or what a model learned, covers the "
        "items of the training log.",
        "Give the log that the lists were made from, or use distances between features.",
    ),
    "I395": Advice(
        "The folder of a paper's results lacks its verdicts or its lock, or a file in it was changed or cut off.",
        "Make them again with `recassay reproduce`; the studies resume.",
    ),
    "I401": Advice(
        "No user of the truth has a list. The files are from different data, or number users differently; scoring "
        "them would print zeros.",
        "Compare the examples that the message shows from both sides.",
    ),
    "I402": Advice(
        "No recommended item is in the truth: the items are numbered differently.",
        "Compare the examples that the message shows from both sides. The usual cause is internal indexes instead of "
        "ids.",
    ),
    "I403": Advice(
        "One table has integer ids and the other has text, and no text is the digits of an integer. Chunks of users "
        "(`--memory`) and Spark need one type even where some are.",
        "Compare the examples, and write both with the same type. In CSV a column of digits is read as integers; `007` "
        "stays text, and a column with a word or a number of more than 64 bits is text. The integer 7 is the text `7`, "
        "not `007` or `7.0`.",
    ),
    "I404": Advice(
        "The run lacks users of the truth, and `--missing error` was requested.",
        "Make lists for all users, or count a user without a list as an empty list (`--missing zero`, the default).",
    ),
    "I406": Advice(
        "No recommended item is in the training log: the two use different ids.",
        "Compare the examples; name the columns with `--columns`.",
    ),
    "I407": Advice(
        "No recommended item is in the table of items: the two use different ids.",
        "Compare the examples; name the columns with `--columns`.",
    ),
    "I408": Advice(
        "Means by group were asked for, and no user (or no item) of the truth has a value in the column: the table of "
        "users or items uses other ids, or the column is empty.",
        "Compare the examples; name the column of ids with `--columns user=NAME` (or `item=NAME`).",
    ),
    "I409": Advice(
        "Only users with training events were to be scored (`users='known'`, `--users known`), and no user of the "
        "truth has one: the two files use different ids, or the split tests new users only.",
        "Compare the ids of both files, or score all users.",
    ),
    "I421": Advice(
        "A log that is read in parts is read twice: first its items are counted, then its rows are used. The second "
        "time there was an item that was not counted, so something writes to the files.",
        "Score again while nothing writes to the files.",
    ),
    "I423": Advice(
        "Factors need a table with a column of ids and a column of vectors, all of the same length, one row per id. "
        "This table has other columns, vectors of different lengths or with missing numbers, or several vectors for "
        "an id; or users and items have different numbers of factors.",
        "Select the two columns, and give both tables of one model.",
    ),
}
