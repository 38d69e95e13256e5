"""``reference/errors.md``: what every error code means, with a message that is raised while the page is written."""

from __future__ import annotations

import os
import tempfile
import textwrap
from dataclasses import dataclass
from pathlib import Path

import recassay as ra
from recassay.errors import CODES, RecassayError

INTRODUCTION = """\
# Errors

An error says what is wrong, with counts and an example; where; and what to try. It carries a code that never gets
another meaning. On the command line it goes to standard error and the exit status is 2 (3 for `X` codes); no output file
is written. In Python it is an exception with `.code`, `.what`, `.where` and `.hint`.

```text
RecassayError
├── InputError      the data handed in cannot be used             I...
├── UsageError      what was asked for cannot be done             U...
└── InternalError   recassay itself is wrong: please report it    X...
```

`recassay explain CODE` names a code. The messages below are what the code above each of them raises.
"""

GROUPS = {
    "I1": "Files",
    "I2": "Columns",
    "I3": "Values",
    "I4": "Ids across tables",
    "U1": "What was asked for",
    "X1": "Mistakes of recassay",
}


@dataclass(frozen=True)
class Entry:
    """What happened, what to do, and code that raises the error in an empty folder (none if nothing can)."""

    happened: str
    do: str
    example: str = ""


ENTRIES: dict[str, Entry] = {
    "I101": Entry(
        "A path leads nowhere, or a pattern matches no file.",
        "Check the spelling and the folder you are in. The hint names files beside it with similar names.",
        """
        Path("truth.csv").write_text("user_id,item_id\\n1,7\\n")
        ra.read_truth("thruth.csv")
        """,
    ),
    "I102": Entry(
        "The file is there and holds nothing, as an interrupted program or a full disk leaves it.",
        "Write the file again.",
        """
        Path("run.csv").touch()
        ra.read_run("run.csv")
        """,
    ),
    "I103": Entry(
        "The table has columns and no rows.",
        "Look at what wrote it: a filter that keeps nothing is the usual cause.",
        """
        Path("run.csv").write_text("user_id,item_id,score\\n")
        ra.read_run("run.csv")
        """,
    ),
    "I104": Entry(
        "A Parquet or JSON file is cut off, or its suffix promises another format than its bytes hold.",
        "Copy or write it again; if it is not what its name says, rename it.",
        """
        Path("run.json").write_text('{"ann": {"x": 0.5')
        ra.read_run("run.json")
        """,
    ),
    "I105": Entry(
        "A line of a text file has another number of fields than the others, or a word where a number must stand, or a line "
        "of JSON lines is no record. "
        "Nothing is skipped silently.",
        "Correct the line that is named. A name that holds the separator needs quotes.",
        """
        Path("run.csv").write_text("user_id,item_id,score\\n1,7,0.5\\n1,8\\n2,7,0.1\\n")
        ra.read_run("run.csv")
        """,
    ),
    "I106": Entry(
        "The bytes of a text file are not UTF-8.",
        "Convert it; the message has the command. Latin-1 and UTF-16 are the usual ones.",
        """
        Path("run.csv").write_bytes("user_id,item_id\\nann,caf\\u00e9\\n".encode("latin-1"))
        ra.read_run("run.csv")
        """,
    ),
    "I107": Entry(
        "The file is neither Parquet nor JSON nor text.",
        "Write it in one of the formats the message lists; see [formats](formats.md).",
        """
        Path("run.bin").write_bytes(b"\\x89HDF\\r\\n\\x1a\\n\\0\\0\\0\\0")
        ra.read_run("run.bin")
        """,
    ),
    "I108": Entry(
        "A Python object was given that holds no table, or one whose order is lost, such as a set as a ranked list.",
        "Give one of the kinds that the message lists.",
        """
        ra.read_run({"ann": {"x", "y"}})
        """,
    ),
    "I109": Entry(
        "A folder was given and no file in it looks like a table.",
        "Give the folder that holds the run files, or name the files.",
        """
        Path("runs").mkdir()
        Path("runs/notes.md").write_text("to do")
        ra.read_runs("runs")
        """,
    ),
    "I110": Entry(
        "The system refuses to open the file: its permissions, most often.",
        "Make it readable for you, or copy it.",
    ),
    "I201": Entry(
        "A column that is needed was not recognised by its name.",
        "Name it: `--columns user=WHO,item=WHAT`, or `columns=` in Python. The names known without that are in "
        "[formats](formats.md#column-names).",
        """
        Path("run.csv").write_text("who,what,score\\n1,7,0.5\\n")
        ra.read_run("run.csv")
        """,
    ),
    "I202": Entry(
        "A column holds values of a type that cannot be right: text as scores, fractions as ids, numbers and text mixed.",
        "Correct the values, or choose another column with `--columns`.",
        """
        ra.read_run([{"user_id": 1, "item_id": 7.5, "score": 0.9}, {"user_id": 1, "item_id": 8.0, "score": 0.4}])
        """,
    ),
    "I203": Entry(
        "Two columns have names of the same meaning, and nobody said which one to take.",
        "Say it: `--columns user=uid`.",
        """
        Path("run.csv").write_text("uid,user,item_id\\n1,1,7\\n")
        ra.read_run("run.csv")
        """,
    ),
    "I301": Entry(
        "A score is NaN or infinite, so there is no telling where its item stands.",
        "Find out why the model produced it. `--nan last` puts NaN at the end of the list and says so (C008).",
        """
        ra.read_run({"ann": {"x": 0.5, "y": float("nan")}})
        """,
    ),
    "I302": Entry(
        "A rank is below 0 or missing. Ranks count from 0 or 1 upwards.",
        "If the column holds scores, say so: `--columns score=rank`.",
        """
        Path("run.csv").write_text("user_id,item_id,rank\\n1,7,1\\n1,8,-2\\n")
        ra.read_run("run.csv")
        """,
    ),
    "I303": Entry(
        "A gain in the truth is negative. A gain is 0 (judged, not relevant) or more.",
        "In TREC pools a negative number means «in the pool, unjudged»: say `--negative unjudged`.",
        """
        ra.read_truth({"ann": {"x": 1, "y": -1}})
        """,
    ),
    "I304": Entry(
        "A user or item id is missing or empty.",
        "Remove these rows, or give each its id.",
        """
        Path("truth.csv").write_text("user_id,item_id\\n1,7\\n,8\\n")
        ra.read_truth("truth.csv")
        """,
    ),
    "I305": Entry(
        "Lists repeat an item and `--duplicates error` was asked for. By default the first stays and C003 counts the rest.",
        "Remove the repeats where the lists are made, or leave the option out.",
        """
        ra.score({"mine": {"ann": ["x", "x"]}}, {"ann": ["x"]}, "hit@2", duplicates="error")
        """,
    ),
    "I306": Entry(
        "A gain in the truth is missing, NaN or infinite.",
        "Give every judged item a number, 0 if it is not relevant.",
        """
        ra.read_truth({"ann": {"x": 1.0, "y": float("nan")}})
        """,
    ),
    "I401": Entry(
        "Not one user of the truth has a list. The files are of different data, or their users are numbered differently; "
        "scoring them would print zeros.",
        "Compare the examples that the message shows from both sides.",
        """
        ra.score({"mine": {"u1": ["x"]}}, {"ann": ["x"]}, "hit@1")
        """,
    ),
    "I402": Entry(
        "Not one recommended item is in the truth: the items are numbered differently.",
        "Compare the examples that the message shows from both sides. Internal indexes instead of ids are the usual cause.",
        """
        ra.score({"mine": {"ann": [0, 1]}}, {"ann": [1193, 661]}, "hit@1")
        """,
    ),
    "I403": Entry(
        "One table has integer ids and the other has text, so nothing could ever match.",
        "Write both alike. In CSV a column of digits is read as integers; `007` stays text.",
        """
        ra.score({"mine": {"1": ["x"]}}, {1: ["x"]}, "hit@1")
        """,
    ),
    "I404": Entry(
        "The run lacks users of the truth, and `--missing error` was asked for.",
        "Make lists for all users, or let a user without a list count as an empty list (`--missing zero`, the default).",
        """
        ra.score({"mine": {"ann": ["x"]}}, {"ann": ["x"], "bob": ["y"]}, "hit@1", missing="error")
        """,
    ),
    "I406": Entry(
        "Not one recommended item is in the training log: the two use different ids.",
        "Compare the examples; name the columns with `--columns`.",
        """
        ra.score({"mine": {"ann": ["x"]}}, {"ann": ["x"]}, "epc@1", train={"ann": ["item-1"]})
        """,
    ),
    "I407": Entry(
        "Not one recommended item is in the table of items: the two use different ids.",
        "Compare the examples; name the columns with `--columns`.",
        """
        items = [{"item_id": "item-1", "genres": "drama|war"}, {"item_id": "item-2", "genres": "war"}]
        ra.score({"mine": {"ann": ["x", "y"]}}, {"ann": ["x"]}, "ild@2", items=items)
        """,
    ),
    "U101": Entry(
        "No metric has this name.",
        "The hint has the nearest name; `recassay list metrics` has them all.",
        """
        ra.parse_metric("ndgc@10")
        """,
    ),
    "U102": Entry(
        "A parameter does not exist, or has a value that makes no sense.",
        "`recassay explain ndcg` lists the parameters of a metric with their choices.",
        """
        ra.parse_metric("ndcg(gain='exp')@10")
        """,
    ),
    "U103": Entry(
        "A cut-off is not a whole number of at least 1, is missing where the metric needs one, or was given to a metric "
        "that has none.",
        "Write `precision@10`, `auc(targets=1000)`.",
        """
        ra.parse_metric("precision@0")
        """,
    ),
    "U104": Entry(
        "The name of a metric does not parse.",
        "Write `name(parameter=value)@k`, and quote it in a shell.",
        """
        ra.parse_metric("rbp(p=0.9")
        """,
    ),
    "U105": Entry(
        "The metric needs data that was not given: a training log, item features, scores, judged non-relevant items, or "
        "the size of the catalogue.",
        "Give it with the option that the message names.",
        """
        ra.score({"mine": {"ann": ["x"]}}, {"ann": ["x"]}, "coverage@10")
        """,
    ),
    "U106": Entry(
        "No profile has this name, or the library has no such metric.",
        "`recassay list profiles` has the names; `recassay explain PROFILE` has its metrics.",
        """
        ra.score({"mine": {"ann": ["x"]}}, {"ann": ["x"]}, "hit@1", profile="trec-eval")
        """,
    ),
    "U107": Entry(
        "An option or a parameter of a function was given a word it does not know.",
        "The hint has the nearest word or all of them.",
        """
        ra.score({"mine": {"ann": ["x"]}}, {"ann": ["x"]}, "hit@1", ties="optimist")
        """,
    ),
    "U108": Entry(
        "No run has the name that was given as a baseline, or asked for.",
        "A run is named by its file without the suffix.",
        """
        scores = ra.score({"als": {"ann": ["x"]}, "pop": {"ann": ["y"]}}, {"ann": ["x", "y"]}, "hit@1", interval=None)
        ra.compare(scores, baseline="popular")
        """,
    ),
    "U109": Entry(
        "Two run files would have the same name, and their results could not be told apart.",
        "Rename one of the files, or in Python give a dict of name to run.",
        """
        for folder in ("monday", "tuesday"):
            Path(folder).mkdir()
            Path(folder, "als.csv").write_text("user_id,item_id\\n1,7\\n")
        ra.read_runs(["monday/als.csv", "tuesday/als.csv"])
        """,
    ),
    "U110": Entry(
        "`--ties expected` asks for the mean over all orders of tied items, and this metric has no closed form for it.",
        "Leave the metric out, or judge it under `id`, `optimistic` or `pessimistic`.",
        """
        run = {"ann": {"x": 0.5, "y": 0.5}}
        ra.score({"mine": run}, {"ann": {"x": 2.0, "y": 0.0}}, "err@2", ties="expected")
        """,
    ),
    "U111": Entry(
        "The output folder cannot be made or written, or holds files of somebody else.",
        "Choose another with `-o`.",
        """
        Path("results").write_text("a file, not a folder")
        from recassay.report.folder import write_results

        scores = ra.score({"mine": {"ann": ["x"]}}, {"ann": ["x"]}, "hit@1", interval=None)
        write_results(scores, None, "results")
        """,
    ),
    "U113": Entry(
        "A comparison was asked for with too little to compare: one system, or no metric that has a value per user.",
        "Give another run, or a metric such as `ndcg@10`.",
        """
        scores = ra.score({"mine": {"ann": ["x"]}}, {"ann": ["x"]}, "hit@1", interval=None)
        ra.compare(scores)
        """,
    ),
    "U114": Entry(
        "McNemar's test was asked for on a metric whose values are not all 0 or 1.",
        "Take `hit@k`, or the permutation test.",
        """
        runs = {"als": {"ann": ["x", "y"]}, "pop": {"ann": ["y", "x"]}}
        scores = ra.score(runs, {"ann": ["x"]}, "mrr", interval=None)
        ra.compare(scores, test="mcnemar")
        """,
    ),
    "X101": Entry(
        "A metric computed a value outside its range. Such a number is never printed.",
        "Please report it, with the smallest files that show it.",
    ),
}


def pages() -> dict[str, str]:
    """The page."""
    untold, unknown = sorted(CODES.keys() - ENTRIES.keys()), sorted(ENTRIES.keys() - CODES.keys())
    if untold or unknown:
        raise KeyError(f"docs/_generators/errors.py: no entry for {untold}; entries for codes that are gone: {unknown}")
    parts = [INTRODUCTION, "| code | meaning |\n| --- | --- |"]
    parts += [f"| [{code}](#{code.lower()}) | {title} |" for code, title in CODES.items()]
    for group, heading in GROUPS.items():
        parts.append(f"\n## {heading}\n")
        parts += [_section(code, title) for code, title in CODES.items() if code.startswith(group)]
    return {"reference/errors.md": "\n".join(parts)}


def _section(code: str, title: str) -> str:
    entry = ENTRIES[code]
    lines = [f"### {code}", "", f"**{title[:1].upper()}{title[1:]}.** {entry.happened}", "", entry.do, ""]
    if entry.example:
        example = textwrap.dedent(entry.example).strip("\n")
        lines += ["```python raises", example, "```", "", "```text", raised(code, example), "```", ""]
    return "\n".join(lines)


def raised(code: str, example: str) -> str:
    """The message of the error that an example raises in an empty folder; any other end is a mistake of the page."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="recassay-errors-") as folder:
        os.chdir(folder)
        try:
            exec(compile(example, code, "exec"), {"ra": ra, "Path": Path})
        except RecassayError as error:
            if error.code != code:
                raise AssertionError(f"the example of {code} raises {error.code}: {error}") from error
            return (
                str(error).replace(str(Path(folder).resolve()) + os.sep, "").replace(str(Path(folder).resolve()), ".")
            )
        finally:
            os.chdir(before)
    raise AssertionError(f"the example of {code} raises nothing")
