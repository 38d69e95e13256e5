"""Advice on errors of data that were read: logs, folds, models on them, sequences, streams."""

from __future__ import annotations

from recassay.advice.base import Advice

ADVICE: dict[str, Advice] = {
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
        "A user or item id is missing or empty; or a time that is needed is missing, NaN or infinite.",
        "Remove these rows, or give each its id, or its time.",
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
    "I313": Advice(
        "A table of scores has a row per system and user, and a column of numbers for each metric. This one does not "
        "say whose a row is, or has no such numbers.",
        "Name the column of systems (`--columns system=model`), and join tables of single systems into one.",
    ),
    "I314": Advice(
        "A system has two rows for one user of the same data set, split, design, seed and fold: one of them would be "
        "lost.",
        "Say what tells them apart in a column of one of these names, or leave repeated rows out.",
    ),
    "I315": Advice(
        "Systems are compared user by user, and two of them have no user in common: other users, or other ids.",
        "Score both on the same users. Ids must be written alike: 7 and '007' are two users.",
    ),
    "I316": Advice(
        "A comparison needs the value of every user, `scores.parquet`, and this folder has none: it is no folder of "
        "results, or all of its metrics are one number for everything.",
        "Score again with a metric such as ndcg@10; `recassay list metrics` says which have a value per user.",
    ),
    "I317": Advice(
        "A folder was given as results, and it has no `summary.json`: no study, scoring or demo wrote it, or one that "
        "was stopped before its end.",
        "Give the folder that followed `-o`; run a stopped study again, and it goes on.",
    ),
    "I318": Advice(
        "A file of a folder of results was changed or cut off: it is no JSON, or parts that recassay writes are "
        "missing.",
        "Make the folder again; a study takes what is still whole.",
    ),
    "I319": Advice(
        '`duplicates="last"`, which some profiles ask for, gives an item that stands several times in a list the score '
        "of its last row. Here these scores differ and the order of rows is not known: the rows of a Spark table have "
        "none, and a run that was read with `keep_rows=False` has let it go.",
        "Give the path of the files, or a Spark table with a column `row`; or drop the repeats; or say "
        '`duplicates="first"`.',
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
    "I356": Advice(
        "A log has a row per list of items, and lists beside it, of times or ratings, that are longer or shorter.",
        "Give every item its own time or rating, or leave that column out.",
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
    "I371": Advice(
        "A stream is in the order of time, and an event is earlier than the one before it. Rows of one table "
        "are sorted "
        "unless `order='error'` was asked for; tables that come one after the other cannot be.",
        "Sort the stream by time before it is cut into tables or files.",
    ),
    "I372": Advice(
        "A model that gives lists recommended what the user has had, and with `repeats='exclude'` lists "
        "leave that out.",
        "Leave out the codes that `recommend(user, n, consumed)` is handed, or ask `prequential(repeats='allow')`.",
    ),
    "I373": Advice(
        "A model that gives lists recommended an item that it has not learnt, or one item twice.",
        "Recommend codes that `learn` was handed: 0, 1, 2, ... by first appearance.",
    ),
    "I374": Advice(
        "A model raised an error of its own while it learnt or answered. The message has the event; what was scored "
        "until then is in the attribute `stream` of the error.",
        "Look at the model's own error, which is shown above this one.",
    ),
    "I375": Advice(
        "The scores of a model are NaN, or are not one for each item learnt so far. Factors that grow "
        "without bound are "
        "the usual cause of NaN.",
        "Learn by smaller steps, or with stronger penalties. Give minus infinity for what cannot be recommended.",
    ),
    "I377": Advice(
        "A model in `PartialFit` was asked to predict for rows of user and item, and gave another number of "
        "predictions.",
        "Let `predict(X)` return a one-dimensional array with one number per row of `X`.",
    ),
    "I381": Advice(
        "Outcomes of a stream have a row for every scored event, in the order of the stream. These have more rows in "
        "one column than in another, or events that stand twice, out of order or beyond the end of the stream.",
        "Count events from 0, sort by them, and say how many the stream has.",
    ),
    "I382": Advice(
        "Two systems are compared at the events that were scored for both. These were played on different streams, or "
        "share no event that has a value.",
        "Play both on the same log, in the same order, with the same protocol.",
    ),
    "I383": Advice(
        "A stream is played in the order of time, and the log has no times; or a window of time was asked for, and the "
        "outcomes have no times, or times that fall from one event to the next.",
        "Read the log with its times. If its rows stand in the order of events, say `prequential(order='row')`. Count "
        "a window in events, or sort the log by time before it is played.",
    ),
    "I384": Advice(
        "Bounds that hold at every event need to know how large a difference can be. One is larger, or undefined.",
        "Say how large it can be: 1 for metrics between 0 and 1, 4 for absolute errors of ratings from 1 to 5.",
    ),
    "I385": Advice(
        "Times can be instants of a clock, an order of all events, or an order within each user only, such as the "
        "positions 0, 1, 2, ... in a history. What was asked for needs more than the times of this log tell: sessions "
        "and windows need clock times, a split at one instant and a stream an order of all events.",
        "Take a split that needs no more than the log has: `last(n=1)` for an order within each user, a split by "
        "chance for any log. If the times are taken for less than they are, say `times='clock'` or `times='global'` "
        "where the log is read.",
    ),
    "I386": Advice(
        "Times are text that has two meanings: `03/04/2020` is the third of April or the fourth of March, `03/04/20` "
        "may be a year more, and beside times with a zone those without one may be local or not. Text is read that "
        "begins with the year, as `2020-04-03`, `2020-04-03 10:30:00` or `2020-04-03T10:30:00+02:00`, and day, month "
        "and year where a day above 12 shows which comes first.",
        "Write the year first, or give dates in Parquet; give all times a zone, or none.",
    ),
    "I387": Advice(
        "Some times of the log are a thousand times larger than the others: seconds beside milliseconds, say. The "
        "order of events would be that of units.",
        "Bring all times to one unit where the log is made.",
    ),
    "I388": Advice(
        "Some times are further from all others than these are from each other: 0, which is 1970, or a year such as "
        "9999. Such a time most likely stands for one that is missing, and would make its event the first or the last "
        "of its user.",
        "Drop these rows, or give them a time.",
    ),
    "I389": Advice(
        "A length of time such as `'1d'` was given, and the times are numbers that are not in seconds: a day would be "
        "some minutes of them.",
        "Give the times in seconds, or as dates.",
    ),
    "I391": Advice(
        "A list that was to be re-ranked has a score that is NaN or infinite. Every choice weighs scores, so there is "
        "no telling what such an item is worth.",
        "Leave such items out of the lists, or find out why the model scored them so.",
    ),
    "I392": Advice(
        "A run that was to be re-ranked has ranks and no scores. A re-ranker gives up score for diversity, "
        "and must know "
        "how much there is to give up.",
        "Let the system write its scores in a column `score`.",
    ),
    "I393": Advice(
        "Distances between items were given as a table that is none: of another shape than the items of the log, with "
        "numbers outside 0 to 1, or not symmetric.",
        "Give a row and a column for each item of the log, ascending by id.",
    ),
    "I394": Advice(
        "Lists have items that stand in no table of distances: the table, or what a model learnt, is of the items of "
        "the training log.",
        "Give the log that the lists were made from, or take distances of features.",
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
    "I421": Advice(
        "A log that is read user by user is read twice: its items are counted, then its rows are used. The second time "
        "there was an item that was not counted: something writes to the files.",
        "Judge again, with files that nobody writes to meanwhile.",
    ),
    "I423": Advice(
        "Factors are a table with a column of ids and one of vectors, all of the same length, an id in one row. This "
        "one has other columns, vectors of different lengths or with missing numbers, or several vectors of an id; or "
        "users and items have different numbers of factors.",
        "Select the two columns, and give both tables of one model.",
    ),
}
