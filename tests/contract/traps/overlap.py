"""Traps in who and what the files have in common."""

from __future__ import annotations

from traps.base import LENGTH, USERS, Trap, clean, item, user

TOPIC = "Users and items in common"
CLEAN = clean()
LOG = tuple((user(number), item((7 * number + 5 * place + 3) % 60)) for number in range(USERS) for place in range(6))
OTHERS = tuple((user(900), item(number)) for number in range(60))
OWN = {(u, i) for u, i, _ in CLEAN.run.rows} | set(CLEAN.truth.rows)
TRAIN = CLEAN.truth.with_rows(row for row in (*LOG, *OTHERS) if row not in OWN)
TRAINED = CLEAN.but(train=TRAIN)
KNOWN = [row for row in CLEAN.run.rows if (row[0], row[1]) in set(CLEAN.truth.rows)]
LONG = CLEAN.but(
    run=CLEAN.run.with_rows(
        (u, str(50_000 + 40 * int(u) + place), f"{1 - place / 40:.3f}")
        for u in map(user, range(USERS))
        for place in range(30)
    )
)

TRAPS = (
    Trap(TOPIC, "Users without a list", CLEAN.but(run=CLEAN.run.with_rows(CLEAN.run.rows[LENGTH * 4 :])), ("C001",)),
    Trap(
        TOPIC,
        "Users without a list because theirs is empty",
        CLEAN.but(
            run={
                int(u): [int(i) for w, i, _ in CLEAN.run.rows if w == u and int(u) > 103]
                for u in map(user, range(USERS))
            }
        ),
        ("C001",),
    ),
    Trap(
        TOPIC,
        "A third of the rows lost at the end of a file in any order",
        CLEAN.but(run=CLEAN.run.with_rows(CLEAN.run.shuffled().rows[: len(CLEAN.run.rows) * 2 // 3])),
        ("C002",),
    ),
    Trap(
        TOPIC, "Lists for users without truth", CLEAN.but(truth=CLEAN.truth.with_rows(CLEAN.truth.rows[12:])), ("C004",)
    ),
    Trap(
        TOPIC,
        "Lists cut shorter than the cut-off",
        CLEAN.but(run=CLEAN.run.with_rows(row for row in CLEAN.run.rows if float(row[2]) > 0.55)),
        ("C002",),
    ),
    Trap(
        TOPIC,
        "An item twice in each list",
        CLEAN.but(run=CLEAN.run.mapped(lambda u, i, s: (u, item((7 * (int(u) - 100)) % 60) if s == "0.90" else i, s))),
        ("C002", "C003"),
    ),
    Trap(
        TOPIC,
        "1,199 of 1,200 recommended items are unknown to the truth",
        LONG.but(run=LONG.run.with_rows([*LONG.run.rows[:-1], (LONG.run.rows[-1][0], CLEAN.truth.rows[0][1], "0")])),
        ("R008",),
    ),
    Trap(TOPIC, "No item in common", LONG, ("I401",)),
    Trap(
        TOPIC,
        "No user in common",
        CLEAN.but(run=CLEAN.run.mapped(lambda u, i, s: (f"{int(u) + 5000}", i, s))),
        ("I401",),
    ),
    Trap(
        TOPIC,
        "Most recommended items are unknown to the training log",
        TRAINED.but(run=CLEAN.run.mapped(lambda u, i, s: (u, i if float(s) > 0.75 else f"{int(i) + 70_000}", s))),
        ("C007",),
        twin=TRAINED,
    ),
    Trap(
        TOPIC,
        "Training items in the truth",
        TRAINED.but(train=TRAIN.with_rows([*TRAIN.rows, *CLEAN.truth.rows])),
        ("L001", "L003"),
        twin=TRAINED,
    ),
    Trap(
        TOPIC,
        "Training items in the run, with the log",
        TRAINED.but(
            train=TRAIN.with_rows(
                [
                    *TRAIN.rows,
                    *((u, i) for u, i, s in CLEAN.run.rows if s == "0.90" and (u, i) not in set(CLEAN.truth.rows)),
                ]
            )
        ),
        ("L001",),
        twin=TRAINED,
    ),
    Trap(
        TOPIC,
        "Training items in the run, without the log",
        CLEAN.but(
            run=CLEAN.run.mapped(lambda u, i, s: (u, item((7 * (int(u) - 100) + 3) % 60) if s == "1.00" else i, s))
        ),
        why="Only the training log shows what a user had: give it with `--train`, and L001 reports them.",
    ),
    Trap(
        TOPIC,
        "The run was made for another split of the same log",
        CLEAN.but(
            run=CLEAN.run.with_rows(
                (u, item((7 * int(u) + 11 * n) % 60), s) for n, (u, _, s) in enumerate(CLEAN.run.rows)
            )
        ),
        why="All ids are known. A baseline scored on the same truth shows which means are usual.",
    ),
    Trap(
        TOPIC,
        "A user of the truth is new to the training log",
        TRAINED.but(train=TRAIN.with_rows(row for row in TRAIN.rows if row[0] != user(0))),
        ("C010",),
        twin=TRAINED,
    ),
    Trap(
        TOPIC,
        "Fewer than ten users",
        CLEAN.but(
            run=CLEAN.run.with_rows(CLEAN.run.rows[: 5 * LENGTH]), truth=CLEAN.truth.with_rows(CLEAN.truth.rows[:15])
        ),
        ("C009",),
    ),
    Trap(
        TOPIC,
        "The same run under two names",
        CLEAN.but(
            run={
                name: {
                    int(u): {int(i): float(s) for w, i, s in CLEAN.run.rows if w == u} for u in map(user, range(USERS))
                }
                for name in ("old", "new")
            }
        ),
        ("C012",),
    ),
)
