"""``ra.play`` on a stream: plays each copy of a model in turn, with checkpoints, and collects the results."""

from __future__ import annotations

import math
import platform
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.data.fold import Fold
from recassay.data.interactions import Interactions
from recassay.data.read import read_items
from recassay.drift import Alarm
from recassay.engine.streams.checkpoint import Checkpoint, CheckpointOptions
from recassay.engine.streams.play import BLOCK, Player
from recassay.engine.streams.result import Stream, StreamError
from recassay.engine.streams.source import Batch, StreamSource, digest
from recassay.errors import InputError, UsageError
from recassay.metrics.registry import Metrics
from recassay.naming.system_names import system_name
from recassay.protocols.prequential import Prequential
from recassay.results.outcomes import CallTimes, Outcomes, Timing
from recassay.split.partitions import uniform, user_draws
from recassay.threads import Progress

Int64 = NDArray[np.int64]
NO_CHECKPOINT = CheckpointOptions()


class _CopyResult(NamedTuple):
    """The results of one copy of a model on a stream: outcomes, alarms and lists.

    ``known_items`` counts the items that had occurred before each scored event; like ``lists``, it is None if no lists
    were kept.
    """

    outcomes: Outcomes
    alarms: tuple[Alarm, ...]
    lists: pl.DataFrame | None
    known_items: Int64 | None


def play_stream(
    model: Any,
    source: Any,
    protocol: Prequential,
    *,
    name: str | None = None,
    metrics: Metrics | None = None,
    items: Any = None,
    lists: bool = False,
    checkpoint: CheckpointOptions = NO_CHECKPOINT,
    progress: Progress | None = None,
    block: int = BLOCK,
) -> Stream:
    """Play a model on a stream: a log, a fold, a path, or an iterator of tables that need not fit into memory.

    ``metrics`` are auc; metrics of the rank of one item, such as recall, mrr, ndcg, precision, f1 and map; and metrics
    of whole lists: diversity and aspects by features of ``items`` (ild, alpha_ndcg, ...), novelty and popularity (epc,
    efd, arp) and surprise (unexpectedness, serendipity) by the events before each event. ``lists`` keeps the lists.
    If the file of ``checkpoint`` exists, the run resumes from it and ends with the same bits as an uninterrupted run. A
    checkpoint of a model of another package may be a pickle, which can run any code when it is read: it is refused
    (U236) unless it is trusted. ``block`` is how many events are processed together.

    In the counts, ``first`` are events of users without an earlier event, ``unseen`` are queries whose item was not
    learned yet, and ``short`` are queries with fewer candidates than the list has places.

    >>> from recassay.models.incremental import StreamPopular
    >>> rows = [("u1", "a"), ("u1", "b"), ("u2", "a"), ("u2", "b"), ("u1", "c")]
    >>> log = Interactions.from_frame(pl.DataFrame(rows, ["user_id", "item_id"], orient="row"))
    >>> stream = play_stream(StreamPopular(), log, Prequential(at=2, order="row"), metrics="recall@2")
    >>> stream.outcomes.frame().rows()
    [(1, 'u1', 0.0), (3, 'u2', 1.0), (4, 'u1', 0.0)]
    >>> {why: n for why, n in stream.counts.items() if n}
    {'scored': 3, 'first': 2, 'unseen': 2, 'short': 3, 'learnt': 5, 'users': 2, 'items': 3}
    """
    given = StreamSource(source, protocol)
    _refuse_unfit(given, protocol)
    name = name or system_name(model)
    features = None if items is None else read_items(items)
    about = {"model": name, "protocol": str(protocol), "metrics": str(metrics), "lists": lists}
    file = Checkpoint(checkpoint, about)
    state = file.load() or {"finished": [], "player": None, "done": 0, "digest": 0}
    catalogue = given.catalogue() if protocol.candidates == "all" else None
    numbers = range(protocol.copies) if protocol.folds != "none" else range(1)
    finished: list[_CopyResult] = state["finished"]
    for number in numbers[len(finished) :]:
        copied = protocol if protocol.folds != "none" else None
        player: Player = state["player"] or Player(
            model, _count_training(given, protocol, number), metrics, name, keep=lists, catalogue=catalogue,
            items=features, block=block,
        )  # fmt: skip
        try:
            state = _walk(player, given, copied, number, state, file, progress)
        except InputError as error:
            partial = StreamError(error.code, error.what, where=error.where, hint=error.hint)
            played = [*finished, _copy_result(player, protocol, number, player.reached)]
            partial.stream = Stream(
                tuple(copy.outcomes for copy in played), alarms_by_copy=tuple(copy.alarms for copy in played)
            )
            raise partial from error.__cause__
        finished.append(_copy_result(player, protocol, number, state["done"]))
        state = {"finished": finished, "player": None, "done": 0, "digest": 0}
        file.save(state, now=True)
    kept = [copy.lists for copy in finished if copy.lists is not None]
    copies, alarms = (tuple(part) for part in list(zip(*finished, strict=True))[:2])
    known = finished[0].known_items if len(finished) == 1 else None
    return Stream(copies, pl.concat(kept) if kept else None, alarms, known)


def _walk(
    player: Player,
    given: StreamSource,
    copied: Prequential | None,
    number: int,
    state: dict[str, Any],
    file: Checkpoint,
    progress: Progress | None,
) -> dict[str, Any]:
    """Process the rest of the stream with ``player``, write checkpoints to ``file``, and return the final state.

    ``copied`` is the protocol if there are several copies of the model, else None; ``number`` is the number of this
    copy. ``state`` has what a checkpoint holds besides the player.
    """
    done, n_read, total = state["done"], 0, 0
    for batch in given.batches():
        row = min(max(done - n_read, 0), len(batch))  # the interrupted run walked the rows before
        if file.wanted and row:
            total += digest(batch.take(slice(0, row)))
            if n_read + row == done and total % 2**64 != state["digest"]:
                raise file.refused("the events it has read are not those of this stream")
        for walked in player.walk(*_events_of_copy(batch.take(slice(row, None)), copied, number)):
            end = int(walked.event_numbers[-1]) + 1 - n_read
            total += digest(batch.take(slice(row, end))) if file.wanted else 0
            row = end
            state = {**state, "player": player, "done": n_read + row, "digest": total % 2**64}
            file.save(state)
            if progress is not None:
                progress(len(walked))
        total += digest(batch.take(slice(row, None))) if file.wanted else 0
        n_read += len(batch)
    if n_read < done:
        raise file.refused(f"it has read {done:,} events, but this stream has only {n_read:,}")
    player.finish()
    return {**state, "done": n_read}


def _events_of_copy(batch: Batch, copied: Prequential | None, number: int) -> tuple[Batch, Int64 | None]:
    """Return the events that the copy with this ``number`` learns, and how many times it learns each (None: once each).

    ``copied`` is the protocol, None if there is a single copy.
    """
    if copied is None:
        return batch, None
    repeats = _learn_counts(batch.log, copied, number)
    return batch.take(repeats > 0), repeats[repeats > 0]


def _learn_counts(log: Interactions, protocol: Prequential, number: int) -> Int64:
    """Return how many times the copy of the model with this ``number`` learns each event of ``log``.

    The number is drawn for the event's user. For bootstrap copies it comes from a Poisson distribution of mean 1.
    Otherwise users are divided among the copies at random, and it is 0 or 1: an event is learned by the user's own copy
    only (``folds="split"``), or by all copies but that one.
    """
    if protocol.folds == "bootstrap":
        draws = uniform(user_draws(log, protocol.seed, f"bootstrap copy {number}"))
        poisson = np.cumsum(math.exp(-1.0) / np.cumprod(np.append(1.0, np.arange(1.0, 20))))  # cumulative, of mean 1
        of_user = np.searchsorted(poisson, draws, side="right")
    else:
        own_copy = np.floor(uniform(user_draws(log, protocol.seed, "copies")) * protocol.copies).astype(np.int64)
        of_user = (own_copy == number if protocol.folds == "split" else own_copy != number).astype(np.int64)
    repeats: Int64 = of_user[log.users].astype(np.int64)
    return repeats


def _count_training(given: StreamSource, protocol: Prequential, number: int) -> Prequential:
    """Return the protocol with the fold's training events added to its warm-up, during which they are learned.

    ``number`` is the number of the copy of the model.
    """
    fold = given.given
    if not isinstance(fold, Fold):
        return protocol
    first = [part for part in (fold.train, fold.validation) if part is not None]
    if protocol.folds == "none":
        training = sum(len(part) for part in first)
    else:
        training = sum(int((_learn_counts(part, protocol, number) > 0).sum()) for part in first)
    until = None if protocol.learn_until is None else protocol.learn_until + training
    return replace(protocol, warmup=protocol.warmup + training, learn_until=until)


def _refuse_unfit(given: StreamSource, protocol: Prequential) -> None:
    """Raise U192 if the protocol needs something that the stream cannot give, such as reading it a second time."""
    unfit = {
        "match": protocol.match in ("future", "window") and not given.in_memory,
        "all_but": protocol.all_but is not None and not given.in_memory,
        "folds": protocol.folds != "none" and not given.rereadable,
    }
    why = {
        "match": "later events of users are known only for a log in memory",
        "all_but": "the last events of users are known only for a log in memory",
        "folds": "every copy reads the stream from its start, but an iterator can be read only once",
    }
    for option, wrong in unfit.items():
        if wrong:
            hint = "give ra.read_interactions(path), a fold, or a list of tables" if option == "folds" else "give a log"
            raise UsageError(
                "U192", f"{option}={getattr(protocol, option)!r}: {why[option]}", where=str(protocol), hint=hint
            )


def _copy_result(player: Player, protocol: Prequential, number: int, events: int) -> _CopyResult:
    alarms = () if player.drift_policy is None else tuple(player.drift_policy.alarms)
    lists = pl.concat(player.chunks.lists).sort("event", "rank") if player.chunks.lists else None
    order = np.argsort(np.concatenate([np.zeros(0, np.int64), *player.chunks.event]), kind="stable")
    known = np.concatenate(player.chunks.known)[order] if player.chunks.known else None
    return _CopyResult(_outcomes(player, protocol, number, events), alarms, lists, known)


def _outcomes(player: Player, protocol: Prequential, number: int, events: int) -> Outcomes:
    """Return the outcomes of all scored events of a copy.

    ``number`` is that of the copy, and ``events`` the number of events of the stream.
    """
    chunks = player.chunks
    numbers = np.concatenate([np.zeros(0, np.int64), *chunks.event])
    order = np.argsort(numbers, kind="stable")  # events of unlearned users are kept before the others of their block
    values = {
        heading: np.concatenate([np.zeros(0), *(chunk[heading] for chunk in chunks.values)])[order]
        for heading in player.headings
    }
    settings: dict[str, Any] = {"protocol": str(protocol), "training": player.protocol.warmup - protocol.warmup}
    if player.drift_policy is not None:
        settings["alarms"] = [alarm.event for alarm in player.drift_policy.alarms]
    if protocol.folds != "none":
        settings["copy"] = number
    users, items = len(player.user_codes.code_of), len(player.item_codes.code_of)
    return Outcomes(
        player.name,
        numbers[order],
        values,
        player.user_codes.ids.gather(np.concatenate([np.zeros(0, np.int32), *chunks.users])[order]),
        pl.concat(chunks.times).gather(order) if chunks.times else None,
        events,
        {**player.counts, "users": users, "items": items},
        settings,
        _timing(player),
    )


def _timing(player: Player) -> Timing:
    """Return the seconds per query and per learned event: in a compiled loop the mean of a block, for both."""
    spent = [
        np.concatenate([np.zeros(0, np.int64), *column]) * 1e-9
        for column in (player.chunks.asking, player.chunks.learning)
    ]
    return Timing(CallTimes.of(spent[0]), CallTimes.of(spent[1]), platform.processor() or platform.machine(), 1)
