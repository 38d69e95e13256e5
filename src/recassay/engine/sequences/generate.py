"""``generate``: a system gets the first item of each test sequence and generates the items that follow.

The result equals that of this loop over test sequences, with which tests compare it:

    prefix = [seed]  # with its user and time
    for j in range(k):
        p = fitted.next_probabilities(prefix)
        prefix.append(first item whose cumulative probability in p exceeds the sequence's uniform number j)
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recassay.arrays import Bool, Float, Int32
from recassay.columnar.identity import Keys, mix
from recassay.data.generated import NOTHING, Generated, why_no_items
from recassay.data.read import TableSource
from recassay.data.sequences import Histories, SequenceFold, Sequences
from recassay.engine.driver import drive
from recassay.engine.sequences.predictors import (
    DirectPredictor,
    Predictor,
    Prefixes,
    RowPredictor,
    next_times,
    surprise,
)
from recassay.engine.sequences.seeds import Seeds, SetSeeds, read_seeds
from recassay.errors import InputError, UsageError
from recassay.models.base.capabilities import ModelSource, NextProbabilities, SamplesNext
from recassay.models.sequence.base import fitted_on_sequences
from recassay.naming.arguments import checks_types
from recassay.protocols.ranking import Sequence
from recassay.rng import derive_seed
from recassay.split.partitions import uniform
from recassay.threads import Progress

Generator = Callable[[Any, Histories, int, Float], NDArray[np.integer]]


@checks_types
def generate(
    system: ModelSource,
    fold: SequenceFold | Sequences,
    protocol: Sequence | None = None,
    *,
    seeds: TableSource = None,
    items: TableSource = None,
    name: str | None = None,
    generator: Generator | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> tuple[Generated, ...]:
    """Generate the items that follow the first item of each test sequence, once for each seed of the protocol.

    ``system`` is an unfitted model with ``fit``, or a model fitted on ``fold.train`` with
    ``next_probabilities(histories)``. Item codes are those of the fold, and a row of probabilities has a column for
    each item of ``fold.n_items``. An unfitted model that is not a sequence model is fitted on a log with a user per
    sequence.

    Every history carries the user and the time of its first item, and the times of generated items: those that the
    model gives (``next_times(histories, items)``), else one unit of time after the item before.

    With ``seeds``, these first items are continued instead of those of test sequences: an item id, a list of ids, of
    (item, user) or of (item, user, time), or a table. Then ``fold`` may be the training sequences alone, and
    ``frame()`` of a result has the generated items with ids.

    A seed in a table need not be an item. A column that is a column of ``items``, a table of item features, makes it
    stand for all items with that feature; a seed with neither item nor feature stands for all items. The next
    probabilities are then the means over these items, with equal weights.

    A ``generator(fitted, histories, k, uniforms)`` replaces the protocol's generation. It gets histories of one item,
    with users and times, and ``uniforms`` (n, k), random numbers between 0 and 1 that belong to the sequences. It
    returns items (n, k), with -1 after the end of a list. A system with a generator needs no probabilities; without
    them, ``chances`` (probabilities of generated items) and ``surprise`` are NaN.

    >>> from recassay.models.sequence import MostPopular
    >>> import polars as pl
    >>> made = Sequences.from_frame(pl.DataFrame({"sequence_id": [1, 1, 2, 2, 2], "item_id": [*"bbbac"]}))
    >>> fold = SequenceFold(made, made.take(np.array([1])))
    >>> (found,) = generate(MostPopular(), fold, Sequence(k=2))
    >>> found.name, found.items.tolist(), found.chances.tolist(), found.surprise.tolist()
    ('MostPopular', [[1, 0]], [[1.0, 1.0]], [inf])
    >>> generate(MostPopular(), made, Sequence(k=2), seeds="c")[0].frame()["item_id"].to_list()
    ['b', 'a']
    """
    protocol = protocol or Sequence()
    if isinstance(fold, Sequences):
        fold = SequenceFold(fold, fold.take(np.empty(0, np.int64)))
    if items is not None and seeds is None:
        raise UsageError(
            "U102",
            "features of items are for seeds, and none are given",
            where="items",
            hint="seeds={'genres': ['Jazz']}, or --seeds FILE",
        )
    read = None if seeds is None else read_seeds(seeds, fold.train, items)
    fold = fold if read is None else dataclasses.replace(fold, test=read.sequences)
    if not len(fold.test):
        raise InputError("I351", "the fold has no test sequence", hint="ra.split.random_sequences(test=0.2)(sequences)")
    most = fold.n_items - (not protocol.allow_short)  # the first item is given; a list that may end early can hold all
    if protocol.how == "sample_without_repeats" and protocol.k > most:
        raise UsageError(
            "U172",
            f"k={protocol.k:,} distinct items are impossible: the fold has {fold.n_items:,}, with the first item",
            where=str(protocol),
            hint=f"choose k of at most {fold.n_items - 1}",
        )
    fitted, name = fitted_on_sequences(system, fold.train), name or str(system)
    if read is not None and read.sets:
        fitted = _begun_with_sets(fitted, read, name, fold, generator)
    rows = protocol.how in ("beam", "sample_without_repeats") and generator is None
    predictor = make_predictor(fitted, fold, name, rows=rows, threads=threads)
    if predictor is None and generator is None:
        raise no_probabilities(name, str(protocol), ", or a generator=")
    direct = make_predictor(fitted, fold, name, threads=threads)
    bits = surprise(direct, fold.test) if direct and seeds is None else np.full(len(fold.test), np.nan)
    begun, results = Prefixes.first_items(fold.test), list[Generated]()
    for seed in range(protocol.seed, protocol.seed + protocol.seeds):
        uniforms = uniform_draws(fold.test, protocol, seed)
        ready_items: Int32 | None = None
        if generator is not None:
            returned = np.asarray(generator(fitted, begun.histories(), protocol.k, uniforms))
            if why := why_no_items(returned, uniforms.shape, fold.n_items):
                raise InputError(
                    "I354",
                    f"the generator of {name} cannot be used: {why}",
                    hint="return a row per history, a column per step, and -1 after the end of a list",
                )
            ready_items = returned.astype(np.int32)
        elif protocol.how == "beam":
            assert isinstance(predictor, RowPredictor), "beam search needs rows"
            ready_items = predictor.search(begun, protocol.k, protocol.beam)
        going = _Continuation(fitted, predictor, begun, protocol, uniforms, name, ready_items)
        for _ in drive(going, protocol.steps()):
            pass
        results.append(
            Generated(
                name, going.items, going.chances, bits, seed, going.times, fold.test, read.table if read else None
            )
        )
        if progress is not None:
            progress(len(fold.test))
    return tuple(results)


def _begun_with_sets(fitted: Any, seeds: Seeds, name: str, fold: SequenceFold, generator: Generator | None) -> SetSeeds:
    """Return a fitted model that can begin with a set of items in place of a first item.

    Raise U173 if the model gives no probabilities of all items, or if a ``generator`` replaces the generation.
    """
    if generator is not None:
        raise UsageError(
            "U173",
            "a generator= gets histories of items, and some seeds stand for several items",
            where=name,
            hint="give seeds that are items, or leave generator= out",
        )
    if not isinstance(fitted, NextProbabilities):
        raise no_probabilities(name)
    return SetSeeds(RowPredictor(fitted, name, fold.train.item_vocabulary), seeds.sets)


def uniform_draws(test: Sequences, protocol: Sequence, seed: int) -> Float:
    """Return uniform numbers (n, k) for n test sequences.

    They depend on ``seed`` and on what is in the sequence, not on its position among the others.
    """
    salt = np.uint64(derive_seed(seed, "generated sequences") % 2**64)
    keys = mix((_beginning_keys(test) if protocol.cache_by_seed else test.identities) ^ salt)
    steps = mix(np.arange(protocol.k, dtype=np.uint64))
    return uniform(mix(keys[:, None] + steps))


def _beginning_keys(test: Sequences) -> Keys:
    """Return a number for each sequence that is equal for sequences with the same first event (user, item and time)."""
    columns = [test.users, test.seeds, *(() if test.starts is None else (test.starts,))]
    _, first, number = np.unique(np.stack(columns, axis=1), axis=0, return_index=True, return_inverse=True)
    first_events = Sequences(
        np.arange(first.size + 1),
        test.seeds[first],
        test.users[first],
        None if test.starts is None else test.starts[first],
        test.item_vocabulary,
        test.user_vocabulary,
    )
    return first_events.identities[number]


def make_predictor(
    fitted: Any, fold: SequenceFold, name: str, *, rows: bool = False, threads: int | None = None
) -> Predictor | None:
    """Return the fastest interface to a fitted system's predictions; None if the system gives no probabilities.

    With ``rows``, the interface must also give the probabilities of all items after a history.
    """
    if isinstance(fitted, SamplesNext) and not rows:
        return DirectPredictor(fitted, threads)
    return RowPredictor(fitted, name, fold.train.item_vocabulary) if isinstance(fitted, NextProbabilities) else None


def no_probabilities(name: str, where: str = "", instead: str = "") -> UsageError:
    """Return the error for a system that gives no probabilities; ``instead`` is what else it could do."""
    return UsageError(
        "U173",
        f"{name} has no next_probabilities(histories) to draw from",
        where=where,
        hint=f"give it that method{instead}",
    )


class _Continuation:
    """Sequences that a system continues item by item: their items, probabilities and times so far.

    :func:`~recassay.engine.driver.drive` asks it for one position of all sequences after the other. ``begun`` are the
    first items, and ``which`` the indices of the sequences that have not ended. If a generator or a beam search has
    generated the items already (``made``, by sequence and position), only their probabilities and times are computed.
    """

    def __init__(
        self, fitted: Any, predictor: Predictor | None, begun: Prefixes, protocol: Sequence, uniforms: Float, name: str,
        made: Int32 | None,
    ) -> None:  # fmt: skip
        self.fitted, self.predictor, self.begun, self.protocol, self.name = fitted, predictor, begun, protocol, name
        self.uniforms, self.made, self.which = uniforms, made, np.arange(len(begun))
        self.items, self.chances = np.full(uniforms.shape, NOTHING, np.int32), np.full(uniforms.shape, np.nan)
        self.times: Any = None if begun.times is None else np.zeros(uniforms.shape, begun.times.dtype)

    def answer(self, place: int) -> None:
        """Add the next item, at position ``place``, to each sequence; raise U172 if the model has none to generate."""
        which = self.which
        if self.made is not None:
            which = which[self.made[which, place] != NOTHING]
        times = None if self.times is None else self.times[which, :place]
        prefixes = self.begun.take(which).followed_by(self.items[which, :place], times)
        if self.made is not None:
            items, chances = self.made[which, place], self.chances[which, place]
            if self.predictor is not None:
                chances = self.predictor.probability(prefixes, items)
        else:
            assert self.predictor is not None, "a predictor or a generator"
            items, chances = self.predictor.follow(prefixes, self.protocol.how, self.uniforms[which, place])
            self._refuse_ended(items == NOTHING, place)
        self.items[which, place], self.chances[which, place] = items, chances
        self.which, prefixes = which[items != NOTHING], prefixes.take(items != NOTHING)
        if self.times is not None:
            self.times[self.which, place] = next_times(self.fitted, prefixes, items[items != NOTHING])

    def learn(self, reveal: None) -> None:
        """Do nothing: the true items are not revealed."""

    def _refuse_ended(self, ended: Bool, place: int) -> None:
        if ended.any() and not self.protocol.allow_short:
            what = f"{self.name} gives all remaining items probability 0 for {int(ended.sum()):,} sequences"
            raise UsageError(
                "U172",
                f"{what} after {place} items",
                where=str(self.protocol),
                hint="smooth the model, lower k, or set allow_short=True",
            )
