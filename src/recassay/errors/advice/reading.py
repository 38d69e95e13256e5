"""Explanations of errors of reading: files, tables and columns."""

from __future__ import annotations

from recassay.errors.advice.base import Advice

ADVICE: dict[str, Advice] = {
    "I101": Advice(
        "A path does not exist, or a pattern matches no file.",
        "Check the spelling and the current folder. The hint lists files with similar names.",
    ),
    "I102": Advice(
        "The file exists but has no bytes, as an interrupted program or a full disk leaves it.",
        "Write the file again.",
    ),
    "I103": Advice(
        "The table has columns but no rows.",
        "Check the program that wrote it: a filter that keeps nothing is the usual cause.",
    ),
    "I104": Advice(
        "A Parquet or JSON file is cut off, or its suffix names another format than its bytes hold.",
        "Copy or write it again; if it has another format, rename it.",
    ),
    "I105": Advice(
        "A line of a text file has another number of fields than the others, or text where a number is needed, or a "
        "line of a JSON lines file is not a record. No line is skipped silently.",
        "Correct the line that the message shows. A value that contains the separator needs quotes.",
    ),
    "I106": Advice(
        "The bytes of a text file are not UTF-8.",
        "Convert the file; the message shows the command. The usual encodings are Latin-1 and UTF-16.",
    ),
    "I107": Advice(
        "The file is neither Parquet nor JSON nor text.",
        "Write it in one of the formats that the message lists; see [formats](formats.md).",
    ),
    "I108": Advice(
        "A Python object is not a table, or has lost its order, such as a set given as a ranked list.",
        "Give one of the types that the message lists.",
    ),
    "I109": Advice(
        "No file in the given folder looks like a table.",
        "Give the folder that contains the run files, or name the files.",
    ),
    "I110": Advice(
        "The operating system refuses to open the file, usually because of its permissions.",
        "Make the file readable, or copy it.",
    ),
    "I111": Advice(
        "A study names a data set, but no data folder was given, or the folder has no such data set.",
        "Pass `--data DIR` or set `RECASSAY_DATA`. A data set NAME is `DIR/NAME/ratings.csv` or `DIR/NAME.csv`, or "
        "the same in Parquet or another supported format.",
    ),
    "I113": Advice(
        "An object in a JSON file has the same key twice: a user whose items are in two places, or an item with two "
        "numbers for one user. JSON readers silently keep one of them.",
        "In the program that writes the file, join the items of a user, or keep one number per item. A list of "
        "records may name a user or an item many times.",
    ),
    "I114": Advice(
        "In one dict or JSON object, some users have `{item: number}`, others `[items]` or `[(item, number)]`. Their "
        "lists would be ordered by different things.",
        "Give all users the same shape.",
    ),
    "I115": Advice(
        "A text file has carriage returns as line ends, as programs for old Macs wrote them.",
        "Convert the file; the message shows the command.",
    ),
    "I116": Advice(
        "The first line of a text file is many megabytes long: its line ends are lost, or it is not a text table.",
        "Write one line per row, or Parquet.",
    ),
    "I118": Advice(
        "The folder of a fold needs the files `train.parquet` and `truth.parquet`.",
        "`recassay split LOG -o DIR` writes one such folder per fold: `DIR/0`, `DIR/1`, ...",
    ),
    "I117": Advice(
        "A JSON or YAML file nests hundreds of levels, or has a number of thousands of digits. No table or study needs "
        "that, and reading it could exhaust the memory.",
        "Look at the part of the file that the message names; write the table as Parquet or CSV.",
    ),
    "I119": Advice(
        "The path is a device, a socket, the root of the file system, or a folder with too many files to be one table.",
        "Name the file, or the folder that directly holds the part files. A pipe is read to its end first.",
    ),
    "I120": Advice(
        "A study has a run file as a system, and one of its folds, data sets, splits or seeds has no such file.",
        "Write the lists for every fold, split, data set and seed. `recassay split LOG -o DIR --split SPLIT` writes "
        "the training log of every fold into a folder with the number that `{fold}` stands for.",
    ),
    "I201": Advice(
        "A required column was not recognised by its name.",
        "Name it: `--columns user=WHO,item=WHAT`, or `columns=` in Python. The names that are recognised by default "
        "are in [formats](formats.md#column-names).",
    ),
    "I202": Advice(
        "A column holds values of an unsuitable type: text as scores, fractions as ids, or numbers mixed with text.",
        "Correct the values, or choose another column with `--columns`.",
    ),
    "I203": Advice(
        "The names of two columns have the same meaning, and none was chosen.",
        "Choose one: `--columns user=uid`.",
    ),
    "I204": Advice(
        "A run has no rank or score under a known name, but has an unread column of numbers. Its lists would be taken "
        "in row order, which in a shuffled file means nothing.",
        "Name the column, `--columns score=NAME` or `rank=NAME`; or state that the rows are in best-first order, "
        '`--order row` (`order="row"` in Python).',
    ),
    "I205": Advice(
        "The columns of a file without a header are user, item, rating and timestamp, or user, item and gain. The "
        "third column of this file holds numbers as large as seconds since 1970, which are not ratings or gains.",
        "Name the column of a log: `--columns timestamp=column_3`. A truth has no times: write a header that names its "
        "columns, such as `user_id,item_id,timestamp`; the times are then not read.",
    ),
}
