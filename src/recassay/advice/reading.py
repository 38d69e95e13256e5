"""Advice on errors of files and tables, and of what stands in them."""

from __future__ import annotations

from recassay.advice.base import Advice

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
    "I113": Advice(
        "An object in a JSON file has the same key twice: a user whose items stand in two places, or an item with two "
        "numbers for one user. JSON readers keep one of them and say nothing.",
        "Join the items of the user, or keep one number for each item, in what writes the file. A list of records may "
        "name a user or an item many times.",
    ),
    "I114": Advice(
        "In one dict, or JSON object, some users have `{item: number}`, others `[items]` or `[(item, number)]`. Their "
        "lists would be ordered by different things.",
        "Give all users the same shape.",
    ),
    "I115": Advice(
        "A text file has carriage returns where its lines should end, as programs for old Macs wrote them.",
        "Convert it; the message has the command.",
    ),
    "I116": Advice(
        "The first line of a text file goes on for many megabytes: its line ends are lost, or it is something else.",
        "Write a line for each row, or Parquet.",
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
    "I204": Advice(
        "A run has no rank and no score under a name that is known, and a column of numbers that nobody reads. Its "
        "lists would be taken in the order of the rows, which in a shuffled file is no order at all.",
        "Say what the column is, `--columns score=NAME` or `rank=NAME`; or that the rows stand best first, "
        '`--order row` (`order="row"` in Python).',
    ),
}
