"""Tables of Spark that several tests use."""

MADE = {}


def made_once(frame, how, make):
    """Return the table that ``make`` spreads over partitions; later jobs do not spread the rows of ``frame`` again."""
    key = id(frame), how
    if key not in MADE:
        MADE[key] = frame, make().localCheckpoint()  # the frame is kept, or another could have its id
    return MADE[key][1]
