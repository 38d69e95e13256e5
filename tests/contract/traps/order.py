"""Traps in what orders a list."""

from __future__ import annotations

import io
from typing import Any

import polars as pl

from traps.base import Case, Trap, clean

TOPIC = "What comes first in a list"
CLEAN = clean()
SHUFFLED = CLEAN.but(run=CLEAN.run.shuffled())
GERMAN = SHUFFLED.but(run=SHUFFLED.run.named("Kunde", "Artikel", "Punkte")).asking(columns="user=Kunde,item=Artikel")
PAIRS = SHUFFLED.but(run=SHUFFLED.run.named("user_id", "item_id").mapped(lambda user, item, _: (user, item)))
IN_ORDER = CLEAN.but(run=CLEAN.run.named("user_id", "item_id").mapped(lambda user, item, _: (user, item)))


def frame(case: Case) -> pl.DataFrame:
    return pl.read_csv(io.BytesIO(case.run.data))


def pandas(case: Case) -> Any:
    import pandas

    return pandas.read_csv(io.BytesIO(case.run.data))


TRAPS = (
    Trap(
        TOPIC,
        "Scores in a column of unknown name, rows in any order: `Kunde,Artikel,Punkte`, named as "
        "`--columns user=Kunde,item=Artikel`",
        GERMAN,
        ("I204",),
        read_as=GERMAN.asking(order="row"),
    ),
    Trap(
        TOPIC,
        "The same as a Polars table",
        GERMAN.but(run=frame(GERMAN)),
        ("I204",),
        read_as=GERMAN.asking(order="row"),
    ),
    Trap(
        TOPIC,
        "The same as a pandas table",
        GERMAN.but(run=pandas(GERMAN)),
        ("I204",),
        read_as=GERMAN.asking(order="row"),
    ),
    Trap(
        TOPIC,
        "A shuffled file of users and items, without rank and score",
        PAIRS,
        ("R001",),
        twin=IN_ORDER.asking(order="row"),
    ),
)
