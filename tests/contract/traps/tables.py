"""Traps in columns and in what stands together in one file."""

from __future__ import annotations

from traps.base import Trap, clean, user

TOPIC = "Columns, and several tables in one file"
CLEAN = clean()
SHUFFLED = CLEAN.run.shuffled()
# The same users, another item in front and nine of the same.
OTHER = CLEAN.run.mapped(lambda u, i, s: (u, str(2000 + (int(i) - 2000 + 5) % 60), f"{float(s) + 0.001:.3f}"))
APART = CLEAN.run.mapped(lambda u, i, s: (u, str(2000 + (int(i) - 2000 + 1) % 60), f"{float(s) + 0.001:.3f}"))


def together(header: str, first: str, second: str) -> object:
    """Two runs in one file, told apart by a column."""
    rows = [*((*row, first) for row in CLEAN.run.rows), *((*row, second) for row in OTHER.rows)]
    return CLEAN.run.named(*CLEAN.run.header, header).with_rows(rows)


TRAPS = (
    Trap(
        TOPIC,
        "Two models in one file, distinguished by a column `model`",
        CLEAN.but(run=together("model", "als", "bpr")),
        ("C003", "R003"),
    ),
    Trap(TOPIC, "Two seeds in one file", CLEAN.but(run=together("seed", "1", "2")), ("C003", "R003")),
    Trap(
        TOPIC,
        "Two data sets with the same users in one file",
        CLEAN.but(
            run=together("dataset", "books", "films").mapped(
                lambda u, i, s, d: (u, str(int(i) + 9000) if d == "films" else i, s, d)
            )
        ),
        ("R003",),
    ),
    Trap(
        TOPIC,
        "Concatenated TREC runs, distinguished by the tag",
        CLEAN.but(
            run=b"".join(
                f"{u} Q0 {i} {n % 10 + 1} {s} {tag}\n".encode()
                for rows, tag in ((CLEAN.run.rows, "als"), (OTHER.rows, "bpr"))
                for n, (u, i, s) in enumerate(rows)
            ),
            names=("run.trec", "truth.csv", "train.csv"),
        ),
        ("C003", "R003", "R005", "T001"),
    ),
    Trap(
        TOPIC,
        "Folds in one file, each user in one of them",
        CLEAN.but(run=CLEAN.run.named(*CLEAN.run.header, "fold").mapped(lambda *row: (*row, str(int(row[0]) % 5)))),
        why="Nothing is mixed.",
    ),
    Trap(
        TOPIC,
        "Training and test rows in one truth, distinguished by a column `split`",
        CLEAN.but(
            truth=CLEAN.truth.named("user_id", "item_id", "split").with_rows(
                [
                    *((*row, "test") for row in CLEAN.truth.rows),
                    *((user(n), str(2000 + (7 * n + 5 * p + 3) % 60), "train") for n in range(40) for p in range(6)),
                ]
            )
        ),
        ("R003",),
    ),
    Trap(
        TOPIC,
        "Two systems in one file, without a column that names them",
        CLEAN.but(run=CLEAN.run.with_rows([*CLEAN.run.rows, *OTHER.rows])),
        ("C003",),
    ),
    Trap(
        TOPIC,
        "Two systems in one file that share no item, without a column that names them",
        CLEAN.but(run=CLEAN.run.with_rows([*CLEAN.run.rows, *APART.rows])),
        why="Lists of twice the length with distinct items could come from one system.",
    ),
    Trap(
        TOPIC,
        "The index of pandas in front, `Unnamed: 0`",
        CLEAN.but(
            run=SHUFFLED.named("Unnamed: 0", *CLEAN.run.header).with_rows(
                (str(n), *row) for n, row in enumerate(SHUFFLED.rows)
            )
        ),
        why="It is not read.",
    ),
    Trap(
        TOPIC,
        "Names in mixed case: `User ID`, `ItemID`, `SCORE`",
        CLEAN.but(run=SHUFFLED.named("User ID", "ItemID", "SCORE")),
        why="The meaning is the same.",
    ),
    Trap(
        TOPIC,
        "Columns in another order",
        CLEAN.but(run=SHUFFLED.named("score", "item_id", "user_id").mapped(lambda u, i, s: (s, i, u))),
        why="The meaning is the same.",
    ),
    Trap(
        TOPIC,
        "Two columns that could be the user",
        CLEAN.but(run=CLEAN.run.named("uid", "user", "item_id", "score").mapped(lambda u, i, s: ("7", u, i, s))),
        ("I203",),
    ),
    Trap(
        TOPIC,
        "No column that could be the item",
        CLEAN.but(run=CLEAN.run.named("user_id", "Artikel", "score")),
        ("I201",),
    ),
    Trap(
        TOPIC,
        "Item before user, without a header",
        CLEAN.but(run=CLEAN.run.named().mapped(lambda u, i, s: (i, u, s))),
        ("I401",),
    ),
)
