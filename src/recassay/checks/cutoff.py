"""S006: a metric without a cut-off on lists of different lengths."""

from __future__ import annotations

from recassay.checks.base import CutoffFacts, check

APART = 1.1  # ratio of lengths; smaller differences come from users with few candidates


@check("S006", "A metric without a cut-off compares lists of different lengths", "info", about=CutoffFacts)
def different_lengths(facts: CutoffFacts) -> str | None:
    """Report if a ranking metric without a cut-off compares lists of different lengths, or lists with target sets.

    ``mrr`` without a cut-off uses all positions. A run cut at 10 then has a lower maximum than one with 100 positions,
    and neither equals the value of `judge` on the whole target set.
    """
    texts = []
    for metric, systems in facts.places.items():
        lists = {name: max(of for of in places if of is not None) for name, places in systems.items() if any(places)}
        if any(None in places for places in systems.values()) and lists:
            texts.append(
                f"{metric} is computed on the first {max(lists.values()):,} positions of lists, and on whole target "
                "sets"
            )
        elif lists and max(lists.values()) > APART * min(lists.values()):
            short, long = min(lists, key=lambda name: lists[name]), max(lists, key=lambda name: lists[name])
            texts.append(
                f"{metric} is computed on the first {lists[long]:,} positions of {long} and {lists[short]:,} of "
                f"{short}: "
                f"use {metric}@{lists[short]}"
            )
    return "; ".join(texts) or None
