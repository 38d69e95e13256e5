"""How well systems foretell true sequences, place by place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from recassay.data.exhibit import Exhibit
from recassay.data.layout import stretch_of
from recassay.data.sequences import SequenceFold
from recassay.engine.ask import bits
from recassay.engine.generate import asked_of_system
from recassay.models.sequence.base import fit
from recassay.portable.elementary import exp2


def perplexity_by_position(
    fold: SequenceFold, systems: Mapping[str, Any], *, positions: int = 10, threads: int | None = None
) -> Exhibit:
    """Does a system foretell better the more it has been told? Perplexity of the items at each place of test sequences.

    ``systems`` are descriptions or what was fitted on ``fold.train``, by name, as :func:`generate` takes them. Position
    1 is the first item that is to be foretold; ``transitions`` counts the test sequences that are as long. Over all
    positions it is ``seq_perplexity``.

    >>> from recassay.data.sequences import Sequences
    >>> from recassay.models.sequence import Uniform
    >>> made = Sequences.from_frame(pl.DataFrame({"sequence_id": [1, 1, 2, 2, 2], "item_id": [*"bbbac"]}))
    >>> perplexity_by_position(SequenceFold(made, made), {"chance": Uniform()}).table.rows()
    [(1, 3.0..., 2, 'chance'), (2, 3.0..., 1, 'chance')]
    """
    offsets = fold.test.references.offsets
    place = np.arange(offsets[-1]) - offsets[stretch_of(offsets)]
    counts = np.bincount(place)[:positions]
    parts = []
    for name, system in systems.items():
        fitted = fit(system, fold.train) if hasattr(system, "fit") else system
        surprise = bits(asked_of_system(fitted, fold, name, threads=threads).foretold(fold.test))
        mean = np.bincount(place, surprise)[:positions] / counts
        columns = {"position": np.arange(counts.size) + 1, "perplexity": exp2(mean), "transitions": counts}
        parts.append(pl.DataFrame(columns).with_columns(system=pl.lit(name)))
    return Exhibit(
        name="perplexity-by-position",
        title="Perplexity by position",
        caption="Between how many equally likely items a system wavers at each place of the test sequences: less is "
        "better. Later places are those of long sequences alone.",
        table=pl.concat(parts),
        x="position",
        y="perplexity",
        series="system",
        log_y=True,
    )
