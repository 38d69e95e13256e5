"""G0xx: items that no system can have learned, pairs without a given similarity, and sequences that are not there."""

from __future__ import annotations

import numpy as np

from recassay.checks.base import check, format_id, format_share
from recassay.data.generated import Generated
from recassay.data.sequences import SequenceFold
from recassay.results.finding import Severity


@check("G001", "Test items that never occur in training", "info", about="sequence fold")
def never_trained(fold: SequenceFold) -> str | None:
    """Report if test sequences contain, after the first event, items that occur in no training sequence.

    They are scored like all items. A model that gives them probability 0 has infinite perplexity. ``seq_diversity`` and
    ``seq_novelty`` measure what they contribute to diversity and novelty.
    """
    expected = fold.test.references.items
    unseen = fold.counts[expected] == 0
    if not unseen.any():
        return None
    first = fold.test.item_vocabulary.decode(expected[[int(np.argmax(unseen))]])[0]
    return (
        f"{format_share(int(np.count_nonzero(unseen)), unseen.size)} events after the first of a test sequence are of "
        f"items that are in no training sequence, such as {format_id(first)}"
    )


@check("G002", "Pairs of items without a given similarity", "info", about="similarities")
def unlisted_pairs(given: int, pairs: int) -> str | tuple[Severity, str] | None:
    """Report if recommended sequences hold pairs of items whose similarity was not given, so that it counts as 0.

    Two such items count as entirely different. With few given similarities ``seq_diversity`` mostly shows how few were
    given. The severity is warning if less than half of the pairs have one, else info.
    """
    if given == pairs:
        return None
    text = (
        f"{format_share(given, pairs)} pairs of items that occur together in a recommended sequence have a "
        "given similarity; all other pairs count as entirely different"
    )
    return ("warning", text) if 2 * given < pairs else text


@check("G003", "Test sequences without a generated item", "warning", about="generated sequences")
def empty_sequences(generated: Generated) -> str | None:
    """Report if a system generated nothing for some test sequences: a file that is cut off, or seeds that it skipped.

    Such a sequence hits nothing, so it lowers precision. Metrics that are undefined without items leave it out.
    """
    empty = generated.lengths == 0
    if not empty.any():
        return None
    share = format_share(int(np.count_nonzero(empty)), empty.size)
    return f"'{generated.name}' has no item for {share} test sequences, such as number {int(np.argmax(empty))} (from 0)"
