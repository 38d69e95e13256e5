"""Names of places; a place is the data set, split, protocol, design and seed that scores belong to."""

from __future__ import annotations

from collections.abc import Iterable

from recassay.errors import printable
from recassay.results.score_set import AXES, GIVEN, Place


def place_names(places: Iterable[Place]) -> dict[Place, str]:
    """Return a short name for each place: only the coordinates in which places differ, such as data set and seed.

    A single place is named by all its stated coordinates.

    >>> list(place_names([Place("ml-1m", design="P1R", seed=3)]).values())
    ['ml-1m, P1R, seed 3']
    >>> list(place_names([Place("ml-1m", seed=3), Place("steam", seed=3)]).values())
    ['ml-1m', 'steam']
    """
    places = list(places)
    constant = {axis for axis in AXES if len({getattr(place, axis) for place in places}) == 1}
    hidden = constant if len(places) > 1 else set[str]()
    return {
        place: ", ".join(
            f"seed {value}" if axis == "seed" else printable(str(value))
            for axis, value in place._asdict().items()
            if value not in (None, GIVEN) and axis not in hidden
        )
        for place in places
    }
