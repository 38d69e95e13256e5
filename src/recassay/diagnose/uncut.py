"""S006: a metric without a cut-off that looks at lists of several lengths."""

from __future__ import annotations

from recassay.diagnose.base import Uncut, check

APART = 1.1  # times as long: lists that differ by less end where a few users run out of items


@check("S006", "A metric without a cut-off looks at different lengths", "info", about=Uncut)
def uncut(facts: Uncut) -> str | None:
    """A ranking metric without a cut-off is compared on lists of different lengths, or of lists and of target sets.

    ``mrr`` without a cut-off looks at every place there is. A run that was cut at 10 then has less to gain than one of
    100 places, and neither is what `judge` says of the whole target set.
    """
    told = []
    for metric, systems in facts.places.items():
        lists = {name: max(of for of in places if of is not None) for name, places in systems.items() if any(places)}
        if any(None in places for places in systems.values()) and lists:
            told.append(
                f"{metric} is over the first {max(lists.values()):,} places of lists, and over whole target sets"
            )
        elif lists and max(lists.values()) > APART * min(lists.values()):
            short, long = min(lists, key=lambda name: lists[name]), max(lists, key=lambda name: lists[name])
            told.append(
                f"{metric} is over the first {lists[long]:,} places of {long} and {lists[short]:,} of {short}: "
                f"ask for {metric}@{lists[short]}"
            )
    return "; ".join(told) or None
