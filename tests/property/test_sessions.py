"""Sequences of a log held to a readable twin: the state machine, event by event."""

import numpy as np
import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

import recassay as ra

EVENTS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4), st.integers(0, 30)), min_size=1, max_size=40)


def sessions(rows, gap, inclusive, ties):
    """Users and items of every sequence, one event after the other."""
    found = []
    rows = sorted(rows, key=lambda row: (row[0], row[2]))  # stable: row order breaks ties
    for user in sorted({row[0] for row in rows}):
        current, previous = [], None
        for _, item, time in (row for row in rows if row[0] == user):
            if previous is None:
                previous = (item, time)
                continue
            if ties == "drop" and time == previous[1]:
                continue
            if time < previous[1] + gap or (inclusive and time == previous[1] + gap):
                current = [*(current or [previous[0]]), item]
            else:
                if current:
                    found.append((user, current))
                current = []
            previous = (item, time)
        if current:
            found.append((user, current))
    return found


@settings(deadline=None)  # kernels are compiled
@given(
    EVENTS,
    st.integers(1, 12),
    st.booleans(),
    st.sampled_from(["join", "drop"]),
    st.sampled_from([pl.Int64, pl.Float64]),
)
def test_sessions_are_those_of_the_state_machine(rows, gap, inclusive, ties, kind):
    frame = pl.DataFrame(rows, ["user_id", "item_id", "timestamp"], orient="row").cast({"timestamp": kind})
    log = ra.Interactions.from_frame(frame)
    expected = sessions(rows, gap, inclusive, ties)
    if not expected:
        return
    made = ra.split.sessions(gap=gap, inclusive=inclusive, ties=ties)(log)
    users = made.user_vocabulary.decode(made.users).to_list()
    items = [made.item_vocabulary.decode(np.array(row)).to_list() for row in made.histories.rows()]
    assert list(zip(users, items, strict=True)) == expected
    assert made.items.size + sum(made.removed.values()) == len(rows)
