"""Traps in ids."""

from __future__ import annotations

from typing import Any

import polars as pl

from traps.base import Case, Sheet, Trap, clean

TOPIC = "Ids"
CLEAN = clean()


def words(case: Case) -> Case:
    """The clean case with ids that are text: `u100`, `i2000`."""
    run, truth = case.run, case.truth
    return case.but(
        run=run.mapped(lambda u, i, *more: (f"u{u}", f"i{i}", *more)),
        truth=truth.mapped(lambda u, i, *more: (f"u{u}", f"i{i}", *more)),
    )


def padded(sheet: Sheet, width: int) -> Sheet:
    return sheet.mapped(lambda u, i, *more: (u, i.rjust(width, "0"), *more))


WORDS = words(CLEAN)
LARGE = CLEAN.but(
    run=CLEAN.run.mapped(lambda u, i, s: (u, f"922337203685477{i}", s)),
    truth=CLEAN.truth.mapped(lambda u, i: (u, f"922337203685477{i}")),
)
HUGE = CLEAN.but(
    run=CLEAN.run.mapped(lambda u, i, s: (u, f"9999999999999999{i}", s)),
    truth=CLEAN.truth.mapped(lambda u, i: (u, f"9999999999999999{i}")),
)
HUGE_UNSIGNED = CLEAN.but(
    run=CLEAN.run.mapped(lambda u, i, s: (u, f"1744674407370955{i}", s)),
    truth=CLEAN.truth.mapped(lambda u, i: (u, f"1744674407370955{i}")),
)
PADDED = CLEAN.but(run=padded(CLEAN.run, 6), truth=padded(CLEAN.truth, 6))


def items(change: Any, case: Case = WORDS) -> Case:
    """The case with the items of the run changed: each is given with the number of its row."""
    return case.but(run=case.run.with_rows((u, change(n, i), *s) for n, (u, i, *s) in enumerate(case.run.rows)))


def users(change: Any, case: Case = WORDS) -> Case:
    return case.but(run=case.run.mapped(lambda u, i, *s: (change(u), i, *s)))


def typed(case: Case, **types: Any) -> Case:
    """The run as a Polars table with columns of these types."""
    columns = list(zip(*case.run.rows, strict=True))
    frame = pl.DataFrame({name: list(column) for name, column in zip(case.run.header, columns, strict=True)})
    frame = frame.with_columns(pl.col("score").cast(pl.Float64))
    return case.but(run=frame.with_columns([pl.col(name).cast(kind) for name, kind in types.items()]))


def some(n: int) -> bool:
    return n % 3 == 0


TRAPS = (
    Trap(
        TOPIC,
        "A blank after some items of the run",
        items(lambda n, i: f"{i} " if some(n) else i),
        ("R007",),
        twin=WORDS,
    ),
    Trap(TOPIC, "A blank before every item of the run", items(lambda n, i: f" {i}"), ("I401",), twin=WORDS),
    Trap(
        TOPIC,
        "A blank after some users of the run",
        users(lambda u: f"{u} " if int(u[1:]) % 3 == 0 else u),
        ("C001", "C004", "R007"),
        twin=WORDS,
    ),
    Trap(
        TOPIC,
        "Items in quotes that were removed from one file only",
        WORDS.but(truth=WORDS.truth.mapped(lambda u, i: (u, f"'{i}'" if int(i[1:]) % 3 == 0 else i))),
        ("R007",),
        twin=WORDS,
    ),
    Trap(
        TOPIC,
        "Quotes around ids in one of two CSV files",
        items(lambda n, i: f'"{i}"'),
        twin=WORDS,
        why="The meaning is the same.",
    ),
    Trap(
        TOPIC,
        "Some items of the run in upper case",
        items(lambda n, i: i.upper() if some(n) else i),
        ("R007",),
        twin=WORDS,
    ),
    Trap(
        TOPIC,
        "Items as floats in the run: `2000.0`, as pandas makes them of a column with gaps",
        items(lambda n, i: f"{i}.0", CLEAN),
        why="The meaning is the same.",
    ),
    Trap(
        TOPIC,
        "Items that are text in one table and numbers in the other",
        typed(CLEAN, user_id=pl.Int64),
        why="The meaning is the same.",
    ),
    Trap(
        TOPIC,
        "Items that are floats in a table",
        typed(typed(CLEAN).but(run=CLEAN.run), user_id=pl.Int64, item_id=pl.Float64),
        why="The meaning is the same.",
    ),
    Trap(
        TOPIC,
        "Some items as `2000.0` among text ids",
        CLEAN.but(
            run=items(lambda n, i: f"{i}.0" if some(n) else i, PADDED).run,
            truth=PADDED.truth.mapped(lambda u, i: (u, i)),
        ),
        ("R007",),
        twin=PADDED,
    ),
    Trap(TOPIC, "Leading zeros in the truth, lost in the run", CLEAN.but(truth=PADDED.truth), ("I401",), twin=PADDED),
    Trap(
        TOPIC,
        "Leading zeros lost in some rows of the run",
        items(lambda n, i: i.lstrip("0") if some(n) else i, PADDED),
        ("R007",),
        twin=PADDED,
    ),
    Trap(
        TOPIC,
        "Ids of 19 digits, in CSV and as 64-bit integers",
        typed(LARGE, user_id=pl.Int64, item_id=pl.Int64),
        twin=LARGE,
        why="The meaning is the same.",
    ),
    Trap(
        TOPIC,
        "Ids of 20 digits, in CSV and as text",
        typed(HUGE, user_id=pl.Int64),
        twin=HUGE,
        why="The meaning is the same.",
    ),
    Trap(
        TOPIC,
        "Ids of 20 digits, in CSV and as unsigned 64-bit integers",
        typed(HUGE_UNSIGNED, user_id=pl.Int64, item_id=pl.UInt64),
        twin=HUGE_UNSIGNED,
        why="They mean the same.",
    ),
    Trap(
        TOPIC,
        "Ids of 20 digits, in CSV and as decimals",
        typed(HUGE, user_id=pl.Int64, item_id=pl.Decimal(38, 0)),
        twin=HUGE,
        why="They mean the same.",
    ),
    Trap(
        TOPIC,
        "Ids of 20 digits in the truth, of which the run keeps the last 18",
        HUGE.but(run=HUGE.run.mapped(lambda u, i, s: (u, i[2:], s))),
        ("I401",),
        twin=HUGE,
    ),
    Trap(
        TOPIC,
        "Ids of 19 digits that were converted to floats: `9.22337203685478e+18`",
        items(lambda n, i: f"{float(i):.14e}", LARGE),
        ("I401",),
        twin=LARGE,
    ),
    Trap(
        TOPIC,
        "The item `nan` in the run, where a join found nothing",
        items(lambda n, i: "nan" if n % 10 == 1 else i),
        ("R006",),
        twin=WORDS,
    ),
    Trap(
        TOPIC,
        "The user `None` in run and truth",
        WORDS.but(
            run=WORDS.run.mapped(lambda u, i, s: ("None" if u == "u100" else u, i, s)),
            truth=WORDS.truth.mapped(lambda u, i: ("None" if u == "u100" else u, i)),
        ),
        ("R006",),
        twin=WORDS,
    ),
    Trap(
        TOPIC,
        "Empty ids",
        items(lambda n, i: "" if n == 70 else i),
        ("I304",),
        twin=WORDS,
        read_as=items(lambda n, i: "x" if n == 70 else i),
    ),
    Trap(
        TOPIC,
        "Whole numbers and text mixed in one column of ids",
        items(lambda n, i: "x7" if n == 9 else i, CLEAN),
        why="An integer is the text of its digits, so only `x7` is another item.",
    ),
    Trap(
        TOPIC,
        "Items off by one: codes from 0 in one file and from 1 in the other",
        items(lambda n, i: str(int(i) + 1), CLEAN),
        why="Every id also occurs in the other file, so nothing shows that another item was meant. "
        "With `--items` and titles, look at what some lists recommend.",
    ),
    Trap(TOPIC, "Users off by one", users(lambda u: str(int(u) + 1), CLEAN), ("C001", "C004")),
    Trap(
        TOPIC,
        "Users and items in the wrong columns",
        CLEAN.but(run=CLEAN.run.named("item_id", "user_id", "score")),
        ("I401",),
    ),
)
