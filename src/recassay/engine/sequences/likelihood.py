"""Likelihood of the true sequences under each system, by position."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from recassay.columnar.layout import row_groups
from recassay.data.sequences import SequenceFold
from recassay.engine.sequences.generate import make_predictor
from recassay.engine.sequences.predictors import surprisal
from recassay.models.base.capabilities import ModelSource
from recassay.models.sequence.base import fitted_on_sequences
from recassay.naming.arguments import checks_types
from recassay.results.exhibit import Exhibit


@checks_types
def perplexity_by_position(
    fold: SequenceFold, systems: Mapping[str, ModelSource], *, positions: int = 10, threads: int | None = None
) -> Exhibit:
    """Return the perplexity of the items at each position of the test sequences: does a longer history help?

    ``systems`` are unfitted models or models fitted on ``fold.train``, by name, as :func:`generate` takes them. At most
    ``positions`` positions are reported; position 1 is the first predicted item, the second of its sequence. The column
    ``transitions`` is the number of test sequences with an item at the position. Over all positions together the
    perplexity is ``seq_perplexity``.

    >>> from recassay.data.sequences import Sequences
    >>> from recassay.models.sequence import Uniform
    >>> made = Sequences.from_frame(pl.DataFrame({"sequence_id": [1, 1, 2, 2, 2], "item_id": [*"bbbac"]}))
    >>> perplexity_by_position(SequenceFold(made, made), {"chance": Uniform()}).table.rows()
    [(1, 3.0..., 2, 'chance'), (2, 3.0..., 1, 'chance')]
    """
    offsets = fold.test.references.offsets
    position = np.arange(offsets[-1]) - offsets[row_groups(offsets)]
    counts = np.bincount(position)[:positions]
    parts = []
    for name, system in systems.items():
        fitted = fitted_on_sequences(system, fold.train)
        bits = surprisal(make_predictor(fitted, fold, name, threads=threads).item_probabilities(fold.test))
        mean = np.bincount(position, bits)[:positions] / counts
        columns = {"position": np.arange(counts.size) + 1, "perplexity": np.exp2(mean), "transitions": counts}
        parts.append(pl.DataFrame(columns).with_columns(system=pl.lit(name)))
    return Exhibit(
        name="perplexity-by-position",
        title="Perplexity by position",
        caption="The number of equally likely items that the uncertainty of a system equals, at each position of the "
        "test sequences: less is better. Later positions exist only in long sequences.",
        table=pl.concat(parts),
        x="position",
        y="perplexity",
        series="system",
        log_y=True,
    )
