"""Traps in what orders a list."""

from __future__ import annotations

import io
import json
from typing import Any

import polars as pl

import recassay as ra
from traps.base import Case, Trap, clean

TOPIC = "What comes first in a list"
CLEAN = clean()
BY_ROWS = ra.options.ConventionOptions(order="row")
SHUFFLED = CLEAN.but(run=CLEAN.run.shuffled())
GERMAN = SHUFFLED.but(run=SHUFFLED.run.named("Kunde", "Artikel", "Punkte")).asking(columns="user=Kunde,item=Artikel")
PAIRS = SHUFFLED.but(run=SHUFFLED.run.named("user_id", "item_id").mapped(lambda user, item, _: (user, item)))
IN_ORDER = CLEAN.but(run=CLEAN.run.named("user_id", "item_id").mapped(lambda user, item, _: (user, item)))
RANKED = CLEAN.run.mapped(lambda user, item, score: (user, item, f"{11 - 10 * float(score):.0f}"))
RANKS = CLEAN.but(run=RANKED.named("user_id", "item_id", "rank"))
BOTH = ("user_id", "item_id", "rank", "score")


def frame(case: Case) -> pl.DataFrame:
    return pl.read_csv(io.BytesIO(case.run.data))


def pandas(case: Case) -> Any:
    import pandas

    return pandas.read_csv(io.BytesIO(case.run.data))


def records(case: Case) -> bytes:
    return json.dumps(frame(case).to_dicts()).encode()


def ranked(change: Any) -> Case:
    """The clean run with ranks and scores, both changed: each row is given as user, item, rank, score."""
    rows = [(user, item, 11 - round(10 * float(score)), float(score)) for user, item, score in CLEAN.run.rows]
    changed = [change(*row) for row in rows]
    return CLEAN.but(run=CLEAN.run.named(*BOTH).with_rows([tuple(map(str, row)) for row in changed]))


def ranks(change: Any) -> Case:
    """The clean run with ranks instead of scores, each changed."""
    return CLEAN.but(
        run=RANKED.named("user_id", "item_id", "rank").mapped(lambda u, i, rank: (u, i, str(change(int(rank)))))
    )


TRAPS = (
    Trap(
        TOPIC,
        "Scores in a column with an unknown name, rows in any order: `Kunde,Artikel,Punkte`, named as "
        "`--columns user=Kunde,item=Artikel`",
        GERMAN,
        ("I204",),
        read_as=GERMAN.asking(conventions=BY_ROWS),
    ),
    Trap(
        TOPIC,
        "The same as a Polars table",
        GERMAN.but(run=frame(GERMAN)),
        ("I204",),
        read_as=GERMAN.asking(conventions=BY_ROWS),
    ),
    Trap(
        TOPIC,
        "The same as a pandas table",
        GERMAN.but(run=pandas(GERMAN)),
        ("I204",),
        read_as=GERMAN.asking(conventions=BY_ROWS),
    ),
    Trap(
        TOPIC,
        "The same as JSON records",
        GERMAN.but(run=records(GERMAN), names=("run.json", "truth.csv", "train.csv")),
        ("I204",),
        read_as=GERMAN.asking(conventions=BY_ROWS),
    ),
    Trap(
        TOPIC,
        "The same with decimal commas: `0,93`",
        GERMAN.but(run=GERMAN.run.mapped(lambda u, i, s: (u, i, f'"{s.replace(".", ",")}"'))),
        ("I204",),
        read_as=GERMAN.asking(conventions=BY_ROWS),
    ),
    Trap(
        TOPIC,
        "Two columns called `score`, rows in any order",
        SHUFFLED.but(
            run=SHUFFLED.run.named("user_id", "item_id", "score", "score").mapped(lambda *row: (*row, row[2]))
        ),
        ("I204",),
        read_as=PAIRS.asking(conventions=BY_ROWS),
    ),
    Trap(
        TOPIC,
        "A shuffled file of users and items, without rank and score",
        PAIRS,
        ("R001",),
        twin=IN_ORDER.asking(conventions=BY_ROWS),
    ),
    Trap(
        TOPIC,
        "A file of users and items, best first, with the index of pandas in front (`Unnamed: 0`)",
        IN_ORDER.but(
            run=IN_ORDER.run.named("", "user_id", "item_id").with_rows(
                (str(number), *row) for number, row in enumerate(IN_ORDER.run.rows)
            )
        ),
        ("R001",),
        twin=IN_ORDER.asking(conventions=BY_ROWS),
    ),
    Trap(TOPIC, "Ranks in a column called `score`", CLEAN.but(run=RANKED), ("R004",)),
    Trap(
        TOPIC,
        "Ranks from 0 in a column called `score`",
        CLEAN.but(run=RANKED.mapped(lambda u, i, r: (u, i, str(int(r) - 1)))),
        ("R004",),
    ),
    Trap(TOPIC, "Ranks in a column called `score`, rows in any order", CLEAN.but(run=RANKED.shuffled()), ("R004",)),
    Trap(
        TOPIC,
        "`user,item,rank` without a header: the third column is read as a score",
        CLEAN.but(run=RANKED.named()),
        ("R004",),
    ),
    Trap(
        TOPIC,
        "Scores where less is better, such as distances",
        CLEAN.but(run=CLEAN.run.mapped(lambda u, i, s: (u, i, f"{-float(s):.2f}"))),
        why="Scores are any numbers, and the highest comes first: lists with relevant items last look like those of a "
        "bad system. The mean is far below that of a random system; score one for comparison.",
    ),
    Trap(
        TOPIC,
        "Ranks that count up from the worst item, next to scores",
        ranked(lambda u, i, rank, score: (u, i, 11 - rank, score)),
        ("R005",),
    ),
    Trap(
        TOPIC,
        "Ranks that contradict the scores in some lists",
        ranked(lambda u, i, rank, score: (u, i, rank if int(u) % 4 else 11 - rank, score)),
        ("R005",),
    ),
    Trap(TOPIC, "Ranks from 0", ranks(lambda rank: rank - 1), why="The meaning is the same."),
    Trap(TOPIC, "Ranks with gaps", ranks(lambda rank: 3 * rank), why="The meaning is the same."),
    Trap(TOPIC, "Whole ranks written as decimals: `1.0`", ranks(float), why="The meaning is the same."),
    Trap(TOPIC, "Ranks that are not whole numbers", ranks(lambda rank: rank + 0.5), ("I202",), read_as=RANKS),
    Trap(TOPIC, "Negative ranks", ranks(lambda rank: rank - 5), ("I302",), read_as=RANKS),
    Trap(TOPIC, "Every rank twice in its list", ranks(lambda rank: (rank + 1) // 2), ("T001",)),
    Trap(TOPIC, "Every score the same", CLEAN.but(run=CLEAN.run.mapped(lambda u, i, s: (u, i, "1"))), ("T001",)),
    Trap(
        TOPIC,
        "Scores rounded to one digit",
        CLEAN.but(run=CLEAN.run.mapped(lambda u, i, s: (u, i, f"{float(s) / 3:.1f}"))),
        ("T001",),
    ),
)
