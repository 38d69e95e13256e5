"""``generate``: a system is told how each test sequence begins, and says how it goes on.

Equivalent to, and held by the tests to, this loop over test sequences:

    said = [seed]
    for j in range(k):
        p = fitted.next_probabilities(said)
        said.append(first item whose cumulative probability in p is above lot j of the sequence)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recassay.data.generated import NOTHING, Generated
from recassay.data.histories import Histories
from recassay.data.identity import Keys, mix
from recassay.data.sequences import SequenceFold, Sequences
from recassay.engine.ask import Ask, AskRows, AskTeller, Float, Int32, flat
from recassay.engine.beam import beam_search
from recassay.errors import InputError, UsageError
from recassay.models.sequence.base import Foretells, Teller, fit
from recassay.protocols.sequence import Sequence
from recassay.rng import derive_seed
from recassay.split.lots import uniform
from recassay.threads import Progress

Generator = Callable[[Any, Histories, int, Float], NDArray[np.integer]]


def generate(
    system: Any,
    fold: SequenceFold,
    protocol: Sequence | None = None,
    *,
    name: str | None = None,
    generator: Generator | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> tuple[Generated, ...]:
    """What a system generates to follow the first item of each test sequence: once for each seed of the protocol.

    ``system`` is a description with ``fit``, or something fitted on ``fold.train`` that has
    ``next_probabilities(histories)``: item codes are those of the fold, and a row of probabilities has a column for
    each item of ``fold.n_items``. A description that is no model of sequences is given a log, in which every sequence
    is a user.

    A ``generator(fitted, histories, k, lots)`` takes the place of the protocol's way to generate: from histories of one
    item and lots (n, k), numbers between 0 and 1 that belong to the sequences, it makes items (n, k), -1 from where a
    list ends. With one a system needs no probabilities, and where it gives none chances and surprise are NaN.

    >>> from recassay.models.sequence import MostPopular
    >>> import polars as pl
    >>> made = Sequences.from_frame(pl.DataFrame({"sequence_id": [1, 1, 2, 2, 2], "item_id": [*"bbbac"]}))
    >>> fold = SequenceFold(made, made.take(np.array([1])))
    >>> (found,) = generate(MostPopular(), fold, Sequence(k=2))
    >>> found.name, found.items.tolist(), found.chances.tolist(), found.surprise.tolist()
    ('MostPopular', [[1, 0]], [[1.0, 1.0]], [inf])
    """
    protocol = protocol or Sequence()
    if not len(fold.test):
        raise InputError("I352", "the fold has no test sequence", hint="ra.split.random_sequences(test=0.2)(sequences)")
    most = fold.n_items - (not protocol.allow_short)  # the first item is told; a list that may end early tries all
    if protocol.how == "sample_without_repeats" and protocol.k > most:
        what = (
            f"{protocol.k:,} items that differ were asked for, and there are {fold.n_items:,}, the first one included"
        )
        raise UsageError("U172", what, where=str(protocol), hint=f"at most k={fold.n_items - 1}")
    fitted, name = fit(system, fold.train) if hasattr(system, "fit") else system, name or str(system)
    rows = protocol.how in ("beam", "sample_without_repeats") and generator is None
    ask = _asked(fitted, fold, name, rows=rows, threads=threads)
    if ask is None and generator is None:
        raise _nothing_to_draw_from(name, str(protocol), ", or a generator=")
    surprise = np.full(len(fold.test), np.nan) if ask is None else ask.surprise(fold.test)
    found = []
    for seed in range(protocol.seed, protocol.seed + protocol.seeds):
        lots = lots_of(fold.test, protocol, seed)
        if generator is not None:
            items = _given(generator(fitted, flat(fold.test.seeds[:, None]), protocol.k, lots), lots.shape, name, fold)
            chances = np.full(items.shape, np.nan) if ask is None else _chances(ask, fold.test.seeds, items)
        else:
            assert ask is not None, "there is something to draw from"
            items, chances = _generated(ask, fold, protocol, lots, name)
        found.append(Generated(name, items, chances, surprise, seed))
        if progress is not None:
            progress(len(fold.test))
    return tuple(found)


def lots_of(test: Sequences, protocol: Sequence, seed: int) -> Float:
    """The numbers between 0 and 1 that each test sequence draws with: of the seed and of what it is, not where."""
    salt = np.uint64(derive_seed(seed, "generated sequences") % 2**64)
    keys = mix((_beginnings(test) if protocol.cache_by_seed else test.identities) ^ salt)
    steps = mix(np.arange(protocol.k, dtype=np.uint64))
    return uniform(mix(keys[:, None] + steps))


def _beginnings(test: Sequences) -> Keys:
    """The identities of sequences as far as their first event: the same for those that begin alike."""
    columns = [test.users, test.seeds, *(() if test.starts is None else (test.starts,))]
    _, first, number = np.unique(np.stack(columns, axis=1), axis=0, return_index=True, return_inverse=True)
    alone = Sequences(
        np.arange(first.size + 1),
        test.seeds[first],
        test.users[first],
        None if test.starts is None else test.starts[first],
        test.item_vocabulary,
        test.user_vocabulary,
    )
    return alone.identities[number]


def asked_of_system(fitted: Any, fold: SequenceFold, name: str, *, threads: int | None = None) -> Ask:
    """The shortest way to ask a fitted system; refused if it gives no probabilities."""
    ask = _asked(fitted, fold, name, rows=False, threads=threads)
    if ask is None:
        raise _nothing_to_draw_from(name)
    return ask


def _nothing_to_draw_from(name: str, where: str = "", instead: str = "") -> UsageError:
    what = f"{name} has no next_probabilities(histories), so there is nothing to draw from"
    return UsageError("U173", what, where=where, hint=f"give it that method{instead}")


def _asked(fitted: Any, fold: SequenceFold, name: str, *, rows: bool, threads: int | None) -> Ask | None:
    """A way to ask a fitted system, the shortest unless rows are needed; none if it gives no probabilities."""
    if isinstance(fitted, Teller) and not rows:
        return AskTeller(fitted, threads)
    return AskRows(fitted, name, fold.train.item_vocabulary) if isinstance(fitted, Foretells) else None


def _generated(ask: Ask, fold: SequenceFold, protocol: Sequence, lots: Float, name: str) -> tuple[Int32, Float]:
    """Items and chances, the way the protocol says."""
    seeds = fold.test.seeds
    if protocol.how == "beam":
        assert isinstance(ask, AskRows), "a search looks at rows"
        items = beam_search(ask, seeds, protocol.k, protocol.beam)
        return items, _chances(ask, seeds, items)
    items, chances = np.full(lots.shape, NOTHING, np.int32), np.full(lots.shape, np.nan)
    going = np.arange(seeds.size)
    for j in range(protocol.k):
        said = np.concatenate([seeds[going, None], items[going, :j]], axis=1)
        if protocol.how == "argmax":
            items[going, j], chances[going, j] = ask.likeliest(said)
        elif protocol.how == "sample":
            items[going, j], chances[going, j] = ask.draw(said, lots[going, j])
        else:
            assert isinstance(ask, AskRows), "which items are left is said by rows"
            items[going, j], chances[going, j] = ask.draw_new(said, lots[going, j])
            ended = items[going, j] == NOTHING
            if ended.any() and not protocol.allow_short:
                what = f"{name} holds none of the items that are left possible for {int(ended.sum()):,} sequences"
                hint = "smooth the model, generate less, or say allow_short=True"
                raise UsageError("U172", f"{what} after {j} items", where=str(protocol), hint=hint)
            going = going[~ended]
    return items, chances


def _chances(ask: Ask, seeds: Int32, items: Int32) -> Float:
    """The probability of every item after those before it."""
    found = np.full(items.shape, np.nan)
    for j in range(items.shape[1]):
        there = np.flatnonzero(items[:, j] != NOTHING)
        said = np.concatenate([seeds[there, None], items[there, :j]], axis=1)
        found[there, j] = ask.chance(said, items[there, j])
    return found


def _given(items: NDArray[np.integer], shape: tuple[int, ...], name: str, fold: SequenceFold) -> Int32:
    """What a generator made; refused if it is no table of items."""
    found = np.asarray(items)
    why = ""
    if found.shape != shape or found.dtype.kind not in "iu":
        why = f"an array of shape {found.shape} and type {found.dtype}, and not one of whole numbers of shape {shape}"
    elif found.min() < NOTHING or found.max() >= fold.n_items:
        why = f"items from {found.min()} to {found.max()}, and the codes of the fold are 0 to {fold.n_items - 1}"
    elif ((found[:, :-1] == NOTHING) & (found[:, 1:] != NOTHING)).any():
        why = "items after the end of a list"
    if why:
        hint = "a row for each history, a column for each step, and -1 from where a list ends"
        raise InputError("I355", f"the generator of {name} made {why}", hint=hint)
    return found.astype(np.int32)
