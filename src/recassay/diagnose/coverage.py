"""C0xx: who and what the files cover."""

from __future__ import annotations

from typing import cast

import numpy as np

from recassay.data.layout import stretch_of
from recassay.data.recoding import Recoding
from recassay.data.vocabulary import UNKNOWN, Vocabulary
from recassay.diagnose.base import Facts, check, example, several, share


@check("C001", "Users without a list", "warning")
def missing_lists(facts: Facts) -> str | None:
    """Some users of the truth have no list in the run; by default each counts as an empty list."""
    met = facts.meeting.met
    if not met.missing:
        return None
    return (
        f"{share(met.missing, met.queries)} users of the truth have no list, such as "
        f"{example(met.examples['missing'])}; accuracy metrics count them as empty lists unless missing='skip'"
    )


@check("C002", "Lists shorter than the cut-off", "info")
def short_lists(facts: Facts) -> str | None:
    """Some lists hold fewer items than the largest cut-off asked for; the empty places count as misses."""
    if facts.deepest is None:
        return None
    lengths = facts.meeting.judged_lengths
    short = int((lengths < facts.deepest).sum())
    if not short:
        return None
    return (
        f"{share(short, lengths.size)} lists hold fewer than {facts.deepest} items; the shortest holds {lengths.min()}"
    )


@check("C003", "Items repeated in a list", "warning")
def repeated_items(facts: Facts) -> str | None:
    """An item stands more than once in a list; by default only its first place counts and what follows moves up."""
    met = facts.meeting.met
    if not met.duplicate_rows:
        return None
    user, item = cast("tuple[object, object]", met.examples["duplicate"])
    done = "count again" if facts.meeting.conventions.duplicates == "keep" else "were dropped"
    where = f"{several(met.duplicate_rows, 'row')} of {several(met.duplicate_lists, 'list')}"
    return f"repeated items in {where}, such as item {example(item)} for user {example(user)}, {done}"


@check("C004", "Lists for users the truth does not have", "info")
def extra_queries(facts: Facts) -> str | None:
    """The run has lists for users the truth does not ask about; they are not judged."""
    met = facts.meeting.met
    if not met.extra_queries:
        return None
    return (
        f"{share(met.extra_queries, met.lists + met.extra_queries)} lists are for users without truth, "
        f"such as {example(met.examples['extra_query'])}; they are not judged"
    )


@check("C005", "Users with nothing to find", "info")
def nothing_to_find(facts: Facts) -> str | None:
    """Some users of the truth have no relevant item, so accuracy is undefined for them and they leave the mean."""
    undefined = {row.metric: row.undefined for row in facts.rows if row.undefined}
    if not undefined:
        return None
    worst = max(undefined, key=lambda metric: undefined[metric])
    units = facts.meeting.met.queries
    return f"{share(undefined[worst], units)} users have no value under {worst} and are left out of its mean"


@check("C006", "Truth rows repeated", "warning")
def truth_repeated(facts: Facts) -> str | None:
    """The truth holds a (user, item) pair more than once; the highest gain was kept."""
    truth = facts.truth
    if not truth.merged:
        return None
    disagree = f", {several(truth.conflicting, 'row')} of them with another gain" if truth.conflicting else ""
    return f"{several(truth.merged, 'row')} of the truth repeat a user and item{disagree}; the highest gain was kept"


@check("C007", "Items the training log does not know", "info", needs=("train",))
def unknown_items(facts: Facts) -> str | None:
    """Lists hold items that no training row mentions: cold items, or ids that were mapped differently."""
    assert facts.train is not None
    codes = facts.run.vocabulary.translate(facts.run.items, facts.train.item_vocabulary)
    unknown = codes == UNKNOWN
    if not unknown.any():
        return None
    first = facts.run.vocabulary.decode(facts.run.items[[int(np.argmax(unknown))]])[0]
    counted = share(int(unknown.sum()), unknown.size)
    return f"{counted} recommended rows are of items without training events, such as {example(first)}"


@check("C008", "NaN scores placed last", "warning")
def nan_scores(facts: Facts) -> str | None:
    """Scores were NaN, and --nan last was asked for: such items stand at the end of their lists."""
    count = facts.meeting.met.nan_scores
    return f"{several(count, 'item')} with NaN for a score: placed last in the list" if count else None


@check("C009", "Too few units for an interval", "warning")
def few_units(facts: Facts) -> str | None:
    """With fewer than ten units an interval or a test says little."""
    few = [row for row in facts.rows if row.n < 10]
    if not few:
        return None
    return f"{few[0].metric} rests on {several(few[0].n, 'unit')}; its interval and any test on it say little"


@check("L001", "Training items recommended", "warning", needs=("train",))
def seen_items(facts: Facts) -> str | None:
    """Lists hold items of the user's own training profile: places wasted, or a leak if the truth holds them too."""
    assert facts.train is not None
    train, run = facts.train, facts.run
    items = run.vocabulary.translate(run.items, train.item_vocabulary)
    assert train.user_vocabulary.ids is not None
    queries, codes = Vocabulary.encode(run.queries)
    users = Recoding.between(queries, train.user_vocabulary.ids, "user")(codes)[stretch_of(run.offsets)]
    known = (items != UNKNOWN) & (users >= 0)
    offsets, profile = train.by_user
    trained = stretch_of(offsets) * train.n_items + profile
    asked = users[known] * train.n_items + items[known]
    place = np.minimum(np.searchsorted(trained, asked), max(trained.size - 1, 0))
    seen = int((trained[place] == asked).sum()) if trained.size else 0
    return (
        f"{share(seen, run.items.size)} recommended rows are items of the user's own training profile" if seen else None
    )
