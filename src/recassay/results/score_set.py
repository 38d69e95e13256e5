"""Sets of scores: the scores for every data set, split, protocol, design and seed of a study."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from recassay.errors import UsageError, printable
from recassay.naming.grammar import require_known, suggest
from recassay.results.design_scores import DesignScores
from recassay.results.scores import Scores
from recassay.shown import Displayable

GIVEN = "given"  # the value of a coordinate that is not stated
AXES = ("dataset", "split", "protocol", "design", "seed")

Coordinate = str | int | None  # the value of a coordinate of scores


class Place(NamedTuple):
    """Where in a study scores are from: data set, split, protocol, design and seed, called coordinates or axes.

    A design says which items are ranked as candidates. A coordinate that is not stated is ``given``, or None for the
    seed.
    """

    dataset: str = GIVEN
    split: str = GIVEN
    protocol: str = GIVEN
    design: str = GIVEN
    seed: int | None = None

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Place:
        """Return the coordinates that a row of results states."""
        return cls(**{axis: row[axis] for axis in AXES if row.get(axis) is not None})

    def text(self, separator: str = ", ", hidden: Collection[str] = ()) -> str:
        """Return the stated coordinates as text, without those of the ``hidden`` axes.

        >>> Place("ml-1m", design="P1R", seed=3).text(hidden=["design"])
        'ml-1m, seed 3'
        """
        shown = {axis: value for axis, value in self._asdict().items() if axis not in hidden}
        stated = {axis: printable(str(value)) for axis, value in shown.items() if value not in (None, GIVEN)}
        return separator.join(f"seed {value}" if axis == "seed" else value for axis, value in stated.items())

    @property
    def on_events(self) -> bool:
        """Return whether the values at these coordinates are per event of a stream, not per user.

        >>> Place(protocol="prequential(at=5)").on_events, Place(protocol="ranking").on_events
        (True, False)
        """
        return self.protocol.partition("(")[0] == "prequential"

    def without(self, *axes: str) -> tuple[Coordinate, ...]:
        """Return the values of all coordinates except those named in ``axes``, as a key for grouping places.

        Places with equal keys differ at most in the coordinates named.

        >>> Place("a", design="P1R").without("design", "seed")
        ('a', 'given', 'given')
        """
        return tuple(value for axis, value in self._asdict().items() if axis not in axes)

    def stamped(self, table: pl.DataFrame) -> pl.DataFrame:
        """Return the table with these coordinates (data set, split, ...) as its first columns."""
        kinds = {axis: pl.Int64 if axis == "seed" else pl.String for axis in AXES}
        where = [pl.lit(value, kinds[axis]).alias(axis) for axis, value in self._asdict().items()]
        return table.select(*where, pl.all())


@dataclass(frozen=True, eq=False, repr=False)
class ScoreSet(Displayable):
    """Scores of a study: ``sheets`` maps each place (data set, split, protocol, design, seed) to its scores.

    ``folder`` is the folder they were read from, if there is one.
    """

    sheets: Mapping[Place, Scores]
    folder: Path | None = None

    def __iter__(self) -> Iterator[tuple[Place, Scores]]:
        return iter(self.sheets.items())

    def __len__(self) -> int:
        return len(self.sheets)

    @property
    def systems(self) -> tuple[str, ...]:
        """Return all systems, in order of first appearance."""
        return tuple(dict.fromkeys(system for _, scores in self for system in scores.systems))

    @property
    def metrics(self) -> tuple[str, ...]:
        """Return all metrics that have values per user on at least one data set, split, protocol, design and seed."""
        return tuple(dict.fromkeys(metric for _, scores in self for metric in scores.unit_metrics))

    def along(self, axis: str) -> tuple[Coordinate, ...]:
        """Return the distinct values of one coordinate, such as ``dataset``, in order of appearance."""
        require_known(axis, AXES, "U215", f"scores cannot be grouped by {axis!r}")
        return tuple(dict.fromkeys(getattr(place, axis) for place, _ in self))

    def where(self, **wanted: Sequence[Coordinate] | Coordinate) -> ScoreSet:
        """Return only the scores with the given coordinates, such as ``dataset="ml-1m"`` or a list of names.

        None allows all values of a coordinate. Raise U115 if no scores are left.

        >>> both = ScoreSet({Place(design="P1R"): None, Place(design="U1R"): None})
        >>> [place.design for place, _ in both.where(design="U1R")]
        ['U1R']
        """
        kept = dict(self.sheets)
        for axis, values in wanted.items():
            if values is None:
                continue
            chosen = [values] if isinstance(values, str | int) else list(values)
            known = self.along(axis)
            if absent := [str(value) for value in chosen if value not in known]:
                stated = [str(value) for value in known if value not in (GIVEN, None)]
                unstated = f"leave it out: these scores do not state their {axis}"
                hint = suggest(absent[0], stated) if stated else unstated
                raise UsageError("U115", f"there is no {axis} '{absent[0]}' in these scores", hint=hint)
            kept = {place: scores for place, scores in kept.items() if getattr(place, axis) in chosen}
        if not kept:
            all_of = ", ".join(f"{axis} {values}" for axis, values in wanted.items() if values is not None)
            raise UsageError("U115", f"no scores have all of {all_of}", hint="choose one of them at a time")
        return replace(self, sheets=kept)

    def only(self, metrics: Sequence[str] | None) -> ScoreSet:
        """Return the same scores with only the metrics named; None keeps all."""
        if not metrics:
            return self
        for metric in metrics:
            require_known(metric, self.metrics, "U101", f"'{metric}' has no value per user here")
        kept = {
            place: _with_metrics(scores, tuple(metric for metric in metrics if metric in scores.metrics))
            for place, scores in self
        }
        return replace(self, sheets=kept)

    def groups(self, *axes: str) -> dict[tuple[Coordinate, ...], dict[Place, Scores]]:
        """Return groups of scores; those of a group differ only in the coordinates ``axes``, such as dataset or seed.

        The key of a group holds the values of its other coordinates.
        """
        for axis in axes:
            require_known(axis, AXES, "U215", f"scores cannot be grouped by {axis!r}")
        found: dict[tuple[Coordinate, ...], dict[Place, Scores]] = {}
        for place, scores in self:
            found.setdefault(place.without(*axes), {})[place] = scores
        return found


def score_set(scores: ScoreSet | Scores | DesignScores | Mapping[str, Scores]) -> ScoreSet:
    """Return a set of scores, made of scores without coordinates, ``DesignScores``, or ``{data set: scores}``.

    >>> import polars as pl
    >>> one = Scores(pl.Series(["ann"]), ("a",), (), {})
    >>> [place.dataset for place, _ in score_set({"ml-1m": one, "steam": one})]
    ['ml-1m', 'steam']
    """
    if isinstance(scores, ScoreSet):
        return scores
    if isinstance(scores, DesignScores):
        return ScoreSet({Place(design=design): one for design, one in scores.by_design.items()})
    if isinstance(scores, Mapping):
        return ScoreSet({Place(dataset=name): one for name, one in scores.items()})
    return ScoreSet({Place(): scores})


def _with_metrics(scores: Scores, metrics: tuple[str, ...]) -> Scores:
    return replace(
        scores,
        metrics=metrics,
        per_unit={key: one for key, one in scores.per_unit.items() if key[1] in metrics},
        per_unit_weights={key: one for key, one in scores.per_unit_weights.items() if key[1] in metrics},
        rows=tuple(row for row in scores.rows if row.metric in metrics),
    )
