"""``reference/formats.md``: the formats and column names that are recognised, from the tables that recognise them."""

from __future__ import annotations

from recassay.data.io.columns import ALIASES, LAST_TIER, ROLES, SHORT_NAMES
from recassay.data.io.formats import formats
from recassay.data.io.sources import TABLE_SUFFIXES

PAGE = """\
# Formats and columns

Seven kinds of table are read: runs, truths, logs, item features, sampled ranks, scores per user and generated sequences. Each can be a file or a Python object, in any of the
formats below. Files may be packed with gzip (`.gz`).

## Tables

{tables}

A **run** is ordered by `rank` if it has one, else by `score` descending, else it is taken as it stands; ties go by
ascending id unless [`--ties`](cli.md#recassay-score) says otherwise. Ranks count from 0 or 1.

In a **truth** a gain of 0 is a judgement too: looked at, and not relevant. Without a gain every row counts 1. What
counts as relevant is said by `--relevant-from`.

In a **log** the timestamp may be a number, a date or a date with time, or text: `2020-05-31`, `2020-05-31 10:30:00`,
`2020-05-31T10:30:00+02:00`, with a slash for the dash, or day, month and year where a day above 12 (or a dot between
them) shows the order. Text that can be read in two ways is refused ([I386](errors.md#i386)). Positions in histories and row
numbers are read too, and are no times: [what times a log has](../explanation/conventions.md#what-times-a-log-has) says how
they are told apart, and what each can be used for.

A run, a truth or a log may have **a row per user** with all items of the user: a column of lists of ids (`items`,
`recommendations`, `prediction`, `ranking`, ...), with a second list of scores or without; a list of structs, as Spark's
ALS and LensKit write it; or a text such as `17 42 8`, `17, 42, 8` or `[17, 42, 8]`. Without scores the place in the list
is the rank. Lines of a user and the user's items (`user_lines`) are recognised in a run or a truth if lines differ in
length, or have more values than a row has; else name the format.

The features of **items** may be a column of lists (Parquet), names joined by `|` as in MovieLens, or one name a row.
Texts such as "Action, Comedy" are split at `,` or `;` if they are plainly lists: most parts are in several different
texts, in several places. If no column holds lists, text columns whose values recur are taken; numbers and titles are
not features. The output names the columns that became features, and where their texts were split.

**Ranks** say where a relevant item stood among sampled candidates, and from how many they were drawn: a row per case.
They are for [correcting sampled results](../howto/correct-sampled-results.md).

**Scores** have a row per system and user and a column of numbers for each metric, and may say `dataset`, `split`,
`protocol`, `design`, `seed`, `fold` and `weight`. They are for [deciding between systems](../howto/compare-everywhere.md).

**Sequences** are those that a system generated, and those of a fold in files; **seeds** are what it begins with: a row for
each, with an item, a feature of items, or a user and a time alone. They are for [evaluating generated
sequences](../howto/evaluate-sequences.md#a-program-in-any-language).

## Files

{formats}

The format is recognised by the first bytes and by the suffix, in this order; `--format NAME` overrides for run files.
Text must be UTF-8. Separator and header are found out; a file without a header has its columns by position, as in the
table above. In a folder, files with these suffixes are read: {suffixes}; names that begin with `_` or `.` are passed
over. A folder that holds only `part-*` files, as Spark writes them, is one table.

A run is named by its file without the suffixes: `runs/als.parquet` is `als`.

## Python objects

- a table of Polars, pandas, pyarrow, DuckDB, or anything else that exports Arrow
- `{{user: {{item: number}}}}`: the number is the score of a run, the gain of a truth, the rating of a log
- `{{user: [item, ...]}}`: best first in a run; oldest first in a log, which then has an order within each user
- `[(user, item, number), ...]`, or a list of dicts with column names
- a dict of columns: `{{"user_id": [...], "item_id": [...]}}`
- `{{item: [features]}}` or `{{item: {{column: value}}}}`: features of items

## Ids

Ids are whole numbers or text. A number is the same id as the text of its digits, so a column with one word among its
numbers still meets numbers elsewhere; if none matches, that is an error ([I403](errors.md#i403)). Whole
floats (`7.0`) are read as whole numbers. Categories (`category` of pandas, dictionaries of Arrow) are their texts, and
are read faster than texts. In text files a column is numbers if all of it is plain whole numbers; `007`
stays text. An id is never missing ([I304](errors.md#i304)).

Whole numbers are numbers if all of a column fit 64 bits: -2^63 to 2^63 - 1, or 0 to 2^64 - 1. If one does not fit, the
whole column is text. The rule is the same in every format: for digits in CSV and JSON, for decimals and integers of 128
bits in Parquet, and for integers of Python.

## Column names

Case, blanks, dashes and underscores do not matter: `userId`, `User ID` and `user_id` are one name. The exact name on the
left wins; then the first line with a match, which must be the only match in its line ([I203](errors.md#i203)). Anything
else is named with `--columns`, for example `--columns user=who,item=what`; its keys are {keys}. The names of the truth
are given apart with `--truth-columns` where they differ.

{names}

In a table of items `{last}` also names the item, in a table of users the user.
"""

MEANINGS = {
    "user_id": "who was asked: a user, query or session",
    "item_id": "what was recommended, judged or met",
    "timestamp": "when (logs)",
    "rating": "how much it was liked (logs)",
    "score": "what the system gave it (runs)",
    "rank": "its place (runs, sampled ranks)",
    "pool": "how many candidates there were to draw from (sampled ranks)",
    "system": "what answered (scores)",
    "gain": "how relevant it is (truths)",
    "sequence_id": "which test sequence it continues (generated sequences)",
    "position": "its place in the sequence (generated sequences)",
    "probability": "the probability that the system gave it (generated sequences)",
    "surprise": "the bits of the whole true sequence (generated sequences)",
}


def pages() -> dict[str, str]:
    """Return the text of the page by its path."""
    tables = ["| table | required | optional | without a header |", "| --- | --- | --- | --- |"]
    for role in ROLES.values():
        optional = _names(role.optional) or ("any columns of features" if role.name == "items" else "")
        optional += ", a column for each metric" if role.name == "scores" else ""
        optional += ", `item_id` or columns of features" if role.name == "seeds" else ""
        tables.append(f"| {role.name} | {_names(role.required)} | {optional} | {', '.join(role.positions)} |")
    table = ["| name | what it is |", "| --- | --- |"]
    table += [f"| `{one.name}` | {one.description.replace('|', chr(92) + '|')} |" for one in formats()]
    names = ["| column | meaning | also recognised, in this order |", "| --- | --- | --- |"]
    for column, tiers in ALIASES.items():
        known = [", ".join(word for word in tier.split() if word != column) for tier in tiers]
        names.append(f"| `{column}` | {MEANINGS[column]} | {'; '.join(one for one in known if one)} |")
    return {
        "reference/formats.md": PAGE.format(
            tables="\n".join(tables),
            formats="\n".join(table),
            suffixes=" ".join(f"`{suffix}`" for suffix in sorted(TABLE_SUFFIXES)),
            keys=", ".join(f"`{key}`" for key in SHORT_NAMES),
            names="\n".join(names),
            last="".join(LAST_TIER["items"]),
        )
    }


def _names(columns: tuple[str, ...]) -> str:
    return ", ".join(f"`{column}`" for column in columns)
