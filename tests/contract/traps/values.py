"""Traps in numbers: scores and gains."""

from __future__ import annotations

from typing import Any

from traps.base import Case, Trap, clean

TOPIC = "Scores and gains"
CLEAN = clean()
GRADES = ("5", "3", "1")  # of the three relevant items of a user
GRADED = CLEAN.but(
    truth=CLEAN.truth.named("user_id", "item_id", "rating").with_rows(
        (*row, GRADES[place % 3]) for place, row in enumerate(CLEAN.truth.rows)
    )
)


def scores(change: Any) -> Case:
    """The clean run with some scores changed: each is given with the number of its row."""
    return CLEAN.but(
        run=CLEAN.run.with_rows((u, i, change(place, s)) for place, (u, i, s) in enumerate(CLEAN.run.rows))
    )


def gains(change: Any) -> Case:
    return GRADED.but(truth=GRADED.truth.mapped(lambda u, i, gain: (u, i, change(gain))))


TIMED = CLEAN.but(truth=CLEAN.truth.mapped(lambda u, i: (u, i, f"17410000{int(i[-1:] or 0):02d}")))
TRAPS = (
    Trap(
        TOPIC,
        "Times in the third column of a truth without a header, which is the place of gains",
        TIMED.but(truth=TIMED.truth.named()),
        ("I204",),
        read_as=TIMED.but(truth=TIMED.truth.named("user_id", "item_id", "gain")),
    ),
    Trap(
        TOPIC,
        "Scores that are NaN",
        scores(lambda n, s: "NaN" if n % 10 == 0 else s),
        ("I301",),
        read_as=scores(lambda n, s: "-9" if n % 10 == 0 else s),
    ),
    Trap(
        TOPIC,
        "Infinite scores",
        scores(lambda n, s: "inf" if n % 10 == 9 else s),
        ("I301",),
        read_as=scores(lambda n, s: "9" if n % 10 == 9 else s),
    ),
    Trap(
        TOPIC,
        "Missing scores",
        scores(lambda n, s: "" if n % 10 == 0 else s),
        ("I301",),
        read_as=scores(lambda n, s: "-9" if n % 10 == 0 else s),
    ),
    Trap(
        TOPIC,
        "A word among the scores",
        scores(lambda n, s: "n/a" if n == 70 else s),
        ("I105",),
        read_as=scores(lambda n, s: "0" if n == 70 else s),
    ),
    Trap(
        TOPIC,
        "Scores with decimal commas, separated by semicolons",
        CLEAN.but(
            run=scores(lambda n, s: s.replace(".", ",")).run.__class__(
                CLEAN.run.header, scores(lambda n, s: s.replace(".", ",")).run.rows, ";"
            )
        ),
        ("I105",),
        read_as=scores(lambda n, s: s[:1]),
    ),
    Trap(
        TOPIC,
        "Scores with thousands separators: `1,234.5`",
        scores(lambda n, s: f'"1,{round(1000 * float(s)):03d}.5"'),
        ("I105",),
        read_as=scores(lambda n, s: "1"),
    ),
    Trap(
        TOPIC,
        "Gains in a column with an unknown name: `Bewertung`",
        GRADED.but(truth=GRADED.truth.named("user_id", "item_id", "Bewertung")),
        ("R002",),
        twin=GRADED,
    ),
    Trap(
        TOPIC,
        "Gains of 0.5",
        gains(lambda gain: "0.5").but(metric="recall@10"),
        ("C005", "C009", "R009"),
        twin=CLEAN.but(metric="recall@10"),
    ),
    Trap(
        TOPIC,
        "Gains between 0 and 1: ratings divided by 5",
        gains(lambda gain: f"{int(gain) / 5:.1f}").but(metric="recall@10"),
        ("R009",),
        twin=GRADED.but(metric="recall@10"),
    ),
    Trap(TOPIC, "A truth with zeros only", gains(lambda gain: "0"), ("C005", "C009", "R009"), twin=CLEAN),
    Trap(
        TOPIC,
        "Zeros for some users",
        GRADED.but(truth=GRADED.truth.mapped(lambda u, i, g: (u, i, "0" if int(u) < 110 else g))),
        ("C005",),
        twin=GRADED,
    ),
    Trap(
        TOPIC,
        "Negative gains",
        gains(lambda gain: "-1" if gain == "1" else gain),
        ("I303",),
        twin=GRADED,
        read_as=gains(lambda gain: "0" if gain == "1" else gain),
    ),
    Trap(
        TOPIC,
        "Gains that are NaN",
        gains(lambda gain: "nan" if gain == "1" else gain),
        ("I303",),
        twin=GRADED,
        read_as=gains(lambda gain: "0" if gain == "1" else gain),
    ),
    Trap(
        TOPIC,
        "Ratings as gains, where 1 and 2 mean dislike",
        GRADED,
        why="Only the author of a scale knows from which rating an item is relevant: pass `--relevant-from 4`. "
        "Every result states the value.",
        twin=GRADED.asking(relevant_from=4),
    ),
    Trap(
        TOPIC,
        "Repeated rows of the truth with different gains",
        GRADED.but(
            truth=GRADED.truth.with_rows(
                [*GRADED.truth.rows, *((u, i, "5") for u, i, g in GRADED.truth.rows if g == "1")]
            )
        ),
        ("C006",),
        twin=GRADED,
    ),
)
