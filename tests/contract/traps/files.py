"""Traps in how files are written and cut off."""

from __future__ import annotations

import gzip

import recassay as ra
from traps.base import Trap, clean

TOPIC = "How files are written"
CLEAN = clean()
BY_ROWS = ra.options.ConventionOptions(order="row")
RUN = CLEAN.run.shuffled()
DATA = RUN.data
LINES = DATA.splitlines(keepends=True)
HEADER, ROWS = LINES[0], LINES[1:]
WIDE = tuple(f"feature_{number:05d}" for number in range(8_000))
GZIP = ("run.csv.gz", "truth.csv", "train.csv")


def run(data: bytes, **more: object):
    return CLEAN.but(run=data, **more)


SAME = "The meaning is the same."
TRAPS = (
    Trap(TOPIC, "A byte order mark", run(b"\xef\xbb\xbf" + DATA), why=SAME),
    Trap(TOPIC, "Windows line ends", run(DATA.replace(b"\n", b"\r\n")), why=SAME),
    Trap(TOPIC, "Line ends of old Macs, only `\\r`", run(DATA.replace(b"\n", b"\r")), ("I106",)),
    Trap(TOPIC, "Semicolons between the fields", run(DATA.replace(b",", b";")), why=SAME),
    Trap(TOPIC, "A separator after the last field, in header and rows", run(DATA.replace(b"\n", b",\n")), why=SAME),
    Trap(
        TOPIC,
        "A separator after the last field, in the rows only",
        run(HEADER + b"".join(ROWS).replace(b"\n", b",\n")),
        ("I105",),
    ),
    Trap(TOPIC, "Blank lines in the middle", run(b"".join([*LINES[:90], b"\n", b"  \n", *LINES[90:]])), why=SAME),
    Trap(
        TOPIC, "Comment lines in the middle", run(b"".join([*LINES[:90], b"# second half\n", *LINES[90:]])), ("I105",)
    ),
    Trap(TOPIC, "A comment line on top", run(b"# made by hand\n" + DATA), ("I201",)),
    Trap(
        TOPIC,
        "The header again in the middle, as in concatenated files",
        run(b"".join([*LINES[:90], HEADER, *LINES[90:]])),
        ("I105",),
    ),
    Trap(
        TOPIC,
        "The header again in the middle of users and items that are text",
        CLEAN.but(
            run=b"".join(
                f"u{u},i{i}\n".encode() if u[0] != "u" else b"user_id,item_id\n"
                for u, i, *_ in [("user_id", ""), *CLEAN.run.rows[:200], ("user_id", ""), *CLEAN.run.rows[200:]]
            ),
            truth=CLEAN.truth.mapped(lambda u, i: (f"u{u}", f"i{i}")),
        ).asking(conventions=BY_ROWS),
        ("C004", "R006"),
    ),
    Trap(TOPIC, "UTF-16", run(DATA.decode().encode("utf-16")), ("I106",)),
    Trap(TOPIC, "Latin-1", run(DATA.replace(b"2000", "é".encode("latin-1"))), ("I106",)),
    Trap(TOPIC, "A byte zero", run(DATA[:500] + b"\0" + DATA[500:]), ("I107",)),
    Trap(
        TOPIC,
        "A header of more than 64 kB",
        run(RUN.named(*RUN.header, *WIDE).mapped(lambda *row: (*row, *("0" * len(WIDE)))).data),
        why=SAME,
    ),
    Trap(
        TOPIC,
        "Cut off after a separator in its last line",
        run(DATA.rstrip(b"\n").rpartition(b",")[0] + b","),
        ("I301",),
    ),
    Trap(
        TOPIC,
        "Cut off in its last line, where a field is missing",
        run(DATA.rstrip(b"\n").rpartition(b",")[0]),
        ("I105",),
    ),
    Trap(TOPIC, "Cut off in its last line, in the first field", run(b"".join(LINES[:-1]) + LINES[-1][:2]), ("I105",)),
    Trap(
        TOPIC,
        "Cut off in its last line, in the last field",
        run(DATA[:-2]),
        ("R012",),
    ),
    Trap(TOPIC, "Cut off between two lines", run(b"".join(CLEAN.run.data.splitlines(keepends=True)[:-40])), ("C001",)),
    Trap(
        TOPIC,
        "A quotation mark that is never closed",
        run(b"".join([*LINES[:90], b'"' + LINES[90], *LINES[91:]])),
        ("I105",),
    ),
    Trap(TOPIC, "A gzip archive that is cut off", run(gzip.compress(DATA, mtime=0)[:-200], names=GZIP), ("I104",)),
    Trap(TOPIC, "A gzip archive under a name without `.gz`", run(gzip.compress(DATA, mtime=0)), why=SAME),
    Trap(
        TOPIC,
        "A JSON document that is cut off",
        run(b'{"100": {"2000": 0.5, "20', names=("run.json", "truth.csv", "train.csv")),
        ("I104",),
    ),
    Trap(TOPIC, "An empty file", run(b""), ("I102",)),
    Trap(TOPIC, "A header and nothing else", run(HEADER), ("I102",)),
    Trap(TOPIC, "No line end at the end", run(DATA[:-1]), why=SAME),
)
