"""G0xx: what test sequences ask for that training sequences cannot teach."""

from __future__ import annotations

import numpy as np

from recassay.data.sequences import SequenceFold
from recassay.diagnose.base import check, example, share


@check("G001", "Items to foretell that training never has", "info", about=SequenceFold)
def never_trained(fold: SequenceFold) -> str | None:
    """Test sequences go on with items that are in no training sequence: nothing can have learnt when they come.

    They count as every item does. A model that holds them to be impossible is infinitely surprised; what they are worth
    in diversity and novelty is told by ``seq_diversity`` and ``seq_novelty``.
    """
    asked = fold.test.references.items
    unseen = fold.counts[asked] == 0
    if not unseen.any():
        return None
    first = fold.test.item_vocabulary.decode(asked[[int(np.argmax(unseen))]])[0]
    return (
        f"{share(int(np.count_nonzero(unseen)), unseen.size)} events after the first of a test sequence are of items "
        f"that are in no training sequence, such as {example(first)}"
    )
