"""Explanations of errors in comparisons, back ends, folders of results and extensions."""

from __future__ import annotations

from recassay.errors.advice.base import Advice

ADVICE: dict[str, Advice] = {
    "U211": Advice(
        "Systems are ranked within each data set, and the ranks are compared across data sets. At least two data sets "
        "with common systems and a common metric are needed.",
        "Give scores of several data sets; within one, `recassay compare` tests user by user.",
    ),
    "U212": Advice(
        "The table or folder has no scores for the requested data set, split or design.",
        "The hint has the nearest name; without the option all are used.",
    ),
    "U213": Advice(
        "Sudden Death needs the rank of each user's first relevant item. A study has it in its runs and `score -o` "
        "keeps it; a table of scores lacks it, and so does a folder of `score --within`, of `score --ties expected` or "
        "of an earlier version.",
        "Score again with `-o`, give the folder of `recassay run`, or call `ra.sudden_death(runs, truth)`.",
    ),
    "U214": Advice(
        "The number of users needed depends on the difference to detect, the significance level and the power. One of "
        "them is invalid.",
        "Use a difference above 0; a level and a power between 0 and 1.",
    ),
    "U215": Advice(
        "Orders of systems are compared along metrics, designs, splits, data sets or seeds. The given name is none of "
        "these, or has a single value here.",
        "Name another coordinate, or give scores that differ in it.",
    ),
    "U216": Advice(
        "The region of practical equivalence is the largest difference of means that does not matter to you, on "
        "either side of 0.",
        "Use a number from 0 on, in units of the metric: `--rope 0.005`.",
    ),
    "U217": Advice(
        "Means by group need a column that makes between 2 and 100 groups of enough users, a metric that has a value "
        "for each group, and scores of all users in memory. By group of items only metrics are computed whose best "
        "value does not depend on the number of relevant items, such as recall and nDCG.",
        "Use a coarser column (a country and not a postal code), another `--smallest-group`, or another metric.",
    ),
    "U218": Advice(
        "Two scorings are joined to be compared, and a metric of the same name, or a convention such as the order of "
        "ties, differs between them, or they share no metric. Their numbers cannot be compared.",
        "Score the run files again with the same `-m` and the same options; the message names what differs.",
    ),
    "U221": Advice(
        "A random sample of users bounds the plain mean of values that lie between two bounds. This metric is a "
        "property of the whole catalogue, has no upper bound, or weighs users.",
        "Score all users, without `within`; or leave the metric out.",
    ),
    "U222": Advice(
        "With `memory`, files are read in chunks. The program itself, the ids of all users, the counts of all items "
        "and the values of all users for one metric stay in memory, as do item features and tables that were not "
        "given as paths. These exceed the budget.",
        "Give the amount that the message names; or score a sample of the users with `within`.",
    ),
    "U223": Advice(
        "With `memory`, a run must be a file that can be read in chunks: Parquet, or text with a single character "
        "between its fields. This one is a gzip archive, JSON, text in columns of blanks, or not a file.",
        "Write it as Parquet; or leave `memory` out.",
    ),
    "U224": Advice(
        "When users are scored in parts, each part has the training rows of its own users and the counts of all "
        "items. This metric needs more: item distances from all users, or subprofiles, which are mined from the whole "
        "log.",
        "Score this metric with a log that fits into memory, without Spark. Distances by features "
        "(`distance='jaccard'`) or given ones, and aspects that are features, do not need the whole log.",
    ),
    "U225": Advice(
        "A log on Spark is partitioned, each part with all rows of some users. The request needs all rows at once; or "
        "the given table has columns of unknown meaning.",
        "`ra.spark_log(table)` makes a log of a Spark table; `here()` brings a fold or sequences to this machine. A "
        "custom split declares with `facts` and `cuts` what it must know of all rows and how it divides some.",
    ),
    "U227": Advice(
        "The Spark engine needs Java, a Spark that runs on it, and the packages of the extra `spark`.",
        "`apt-get install openjdk-17-jre-headless` on Debian and Ubuntu, and `pip install 'recassay[spark]'`. If Java "
        "is installed, `JAVA_HOME` may have to name its folder.",
    ),
    "U228": Advice(
        "The Spark engine reads Spark tables and Parquet files. It received something else, or a table without list "
        "order: rows of a Spark table have none.",
        "Read it with Spark and pass the table: `spark.read.csv(path, header=True)`. Give lists a rank or a score.",
    ),
    "U229": Advice(
        "Tasks on several machines write their results to a folder from which the driver reads them. The given "
        "folder, or the one of temporary files, is on one machine only.",
        "Name a folder of shared storage: `work='s3a://bucket/scratch'`, `--work hdfs:///tmp/scratch`.",
    ),
    "U231": Advice(
        "Only some metrics of sequences use item features, a matrix of similarities or a primitive list. None of the "
        "requested metrics does, so the given data would change no number.",
        "Request a metric that uses it, such as `seq_serendipity(primitive='given')@5` or "
        "`seq_diversity(similarity='given')@5`, or leave the data out.",
    ),
    "U232": Advice(
        "Spark starts Python on the machines of its workers. There it has another version, is not found, or lacks "
        "recassay.",
        "Set the environment variable `PYSPARK_PYTHON` before the session starts: to this Python (`sys.executable`) "
        "on one machine, on a cluster to one of the same version that has recassay.",
    ),
    "U235": Advice(
        "A kind of times was given for a log that has no column of times.",
        "Name the column: `--columns timestamp=NAME`.",
    ),
    "U236": Advice(
        "A fitted model or a checkpoint on disk is a pickle that this process did not write. Reading a pickle can run "
        "any code that somebody put into it. Models of recassay are stored as arrays and JSON; pickles hold models of "
        "other packages.",
        "If you trust the author of the folder, add `--trust` to `recassay run`, or `trust=True` to `ra.run_study` or "
        "`ra.play`. Otherwise delete the file: the model is fitted again.",
    ),
    "U237": Advice(
        "Another process runs a study in the folder, or is writing results there. Two at once would remove "
        "each other's files. The lock ends with its process, however that ends, so a lock is never left behind.",
        "Wait, with `recassay run --wait` if you like, or choose another folder.",
    ),
    "U238": Advice(
        "The disk is full, a quota is reached, the device reports an error, or the reader of a pipe is gone. Files "
        "that were complete are kept; nothing is half written.",
        "Make room and start the same command again: a study resumes. Temporary files go to `TMPDIR`.",
    ),
    "U240": Advice(
        "Two metrics (or models, splits, ...) of different modules have the same name, so the name is ambiguous.",
        "Rename your own, or uninstall the package that brings the other: `recassay list KIND` shows where each is "
        "from.",
    ),
    "U241": Advice(
        "`ra.register` received something that is neither a model class, a profile nor a file format.",
        "Register a class with `fit(log)`, a `Profile` or a `Format`. Subclasses of a metric, split or other built-in "
        "kind are known once they are defined, and a check is registered by its decorator.",
    ),
    "U242": Advice(
        "Another version of recassay wrote the folder, in a layout that this one does not know.",
        "Read it with that version, or choose a new folder.",
    ),
    "U243": Advice(
        "A function behind `@ra.metric` raised an error for a list, or its first two parameters are not `items` and "
        "`truth`.",
        "Correct the function: it gets the ids of a list in order, and a dict from relevant item to gain.",
    ),
    "U261": Advice(
        "No file of that name is in the folder `reproductions` of the working directory or of the sources.",
        "`recassay reproduce --list` has the names; the path of a YAML file is taken too.",
    ),
    "U262": Advice(
        "The file of a paper has an unknown key or a value of the wrong kind, lacks a key, or keeps a table that is "
        "not a summary.",
        "[Reproduce a paper](../howto/reproduce-a-paper.md) has the keys.",
    ),
    "U263": Advice(
        "A query of a source, claim or figure is not SQL that Polars knows, names a table or column that does not "
        "exist, or returns no row with a `value`.",
        "The tables of a query are the sources above it; the hint lists them.",
    ),
    "U264": Advice(
        "A study of a paper ended with a model that failed, so claims about it cannot be checked.",
        "Mend what the traceback shows and start the same command again: the study resumes.",
    ),
}
