"""``ra.play`` on a stream: copies of a model one after the other, a file to go on from, and what came of it."""

from __future__ import annotations

import platform
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recassay.data.fold import Fold
from recassay.data.interactions import Interactions
from recassay.data.outcomes import Outcomes
from recassay.data.timing import Spent, Timing
from recassay.drift import Alarm
from recassay.engine.stream.checkpoint import Checkpoint
from recassay.engine.stream.play import BLOCK, Player
from recassay.engine.stream.result import Stream, StreamError
from recassay.engine.stream.source import Batch, Source, digest
from recassay.errors import InputError, UsageError
from recassay.metrics.registry import Metrics
from recassay.models.incremental._clock import TICKS
from recassay.models.incremental.base import Walks
from recassay.portable.elementary import exp
from recassay.protocols.prequential import Prequential
from recassay.split.lots import uniform, user_lots
from recassay.threads import Progress

Int64 = NDArray[np.int64]


class _Copy(NamedTuple):
    """What came of one copy of a model."""

    outcomes: Outcomes
    alarms: tuple[Alarm, ...]
    lists: pl.DataFrame | None


def play_stream(
    model: Any,
    source: Any,
    protocol: Prequential,
    *,
    name: str | None = None,
    metrics: Metrics | None = None,
    lists: bool = False,
    checkpoint: str | Path | None = None,
    checkpoint_seconds: float = 60.0,
    progress: Progress | None = None,
    block: int = BLOCK,
) -> Stream:
    """What a model does on a stream: a log, a fold, a path, or an iterator of tables that need not fit into memory.

    ``metrics`` are recall, precision, hit, mrr and ndcg at any cut-off, and auc. ``lists`` keeps what was recommended.
    Where ``checkpoint`` names a file, the run goes on from it if it is there, and ends with the same bits as one that
    was never stopped; it is written every so many seconds.

    >>> from recassay.models.incremental import StreamPopular
    >>> rows = [("u1", "a"), ("u1", "b"), ("u2", "a"), ("u2", "b"), ("u1", "c")]
    >>> log = Interactions.from_frame(pl.DataFrame(rows, ["user_id", "item_id"], orient="row"))
    >>> stream = play_stream(StreamPopular(), log, Prequential(at=2, order="row"), metrics="recall@2")
    >>> stream.outcomes.frame().rows()
    [(1, 'u1', 0.0), (3, 'u2', 1.0), (4, 'u1', 0.0)]
    >>> {why: n for why, n in stream.counts.items() if n}
    {'scored': 3, 'first': 2, 'unseen': 2, 'short': 3, 'learnt': 5, 'users': 2, 'items': 3}
    """
    given = Source(source, protocol)
    _refuse_unfit(given, protocol)
    name = name or str(model)
    about = {"model": name, "protocol": str(protocol), "metrics": str(metrics), "lists": lists}
    keeper = Checkpoint(None if checkpoint is None else Path(checkpoint), about, checkpoint_seconds)
    state = keeper.load() or {"finished": [], "player": None, "done": 0, "digest": 0}
    catalogue = given.catalogue() if protocol.candidates == "all" else None
    numbers = range(protocol.copies) if protocol.folds != "none" else range(1)
    finished: list[_Copy] = state["finished"]
    for number in numbers[len(finished) :]:
        copied = protocol if protocol.folds != "none" else None
        player: Player = state["player"] or Player(
            model, _counted_on(given, protocol, number), metrics, name, keep=lists, catalogue=catalogue, block=block
        )
        try:
            state = _walk(player, given, copied, number, state, keeper, progress)
        except InputError as error:
            partial = StreamError(error.code, error.what, where=error.where, hint=error.hint)
            played = [*finished, _copy(player, protocol, number, player.reached)]
            partial.stream = Stream(tuple(one.outcomes for one in played), raised=tuple(one.alarms for one in played))
            raise partial from error.__cause__
        finished.append(_copy(player, protocol, number, state["done"]))
        state = {"finished": finished, "player": None, "done": 0, "digest": 0}
        keeper.save(state, now=True)
    kept = [played.lists for played in finished if played.lists is not None]
    copies, alarms = (tuple(part) for part in list(zip(*finished, strict=True))[:2])
    return Stream(copies, pl.concat(kept) if kept else None, alarms)


def _walk(
    player: Player,
    given: Source,
    copied: Prequential | None,
    number: int,
    state: dict[str, Any],
    keeper: Checkpoint,
    progress: Progress | None,
) -> dict[str, Any]:
    """Meet what is left of the stream, and write down from time to time how far it went."""
    done, met, total = state["done"], 0, 0
    for whole in given.batches():
        row = min(max(done - met, 0), len(whole))  # up to here it was met before the run was stopped
        if keeper.wanted and row:
            total += digest(whole.take(slice(0, row)))
            if met + row == done and total % 2**64 != state["digest"]:
                raise keeper.refused("the events that it has met are not those of this stream")
        for walked in player.meet(*_met(whole.take(slice(row, None)), copied, number)):
            end = int(walked.places[-1]) + 1 - met
            total += digest(whole.take(slice(row, end))) if keeper.wanted else 0
            row = end
            state = {**state, "player": player, "done": met + row, "digest": total % 2**64}
            keeper.save(state)
            if progress is not None:
                progress(len(walked))
        total += digest(whole.take(slice(row, None))) if keeper.wanted else 0
        met += len(whole)
    if met < done:
        raise keeper.refused(f"it has met {done:,} events, and this stream has {met:,}")
    player.finish()
    return {**state, "done": met}


def _met(batch: Batch, copied: Prequential | None, number: int) -> tuple[Batch, Int64 | None]:
    """The events that a copy meets, and how often it learns each."""
    if copied is None:
        return batch, None
    often = _often(batch.log, copied, number)
    return batch.take(often > 0), often[often > 0]


def _often(log: Interactions, protocol: Prequential, number: int) -> Int64:
    """How often a copy learns each event: drawn for its user."""
    if protocol.folds == "bootstrap":
        lots = uniform(user_lots(log, protocol.seed, f"bootstrap copy {number}"))
        often = np.cumsum(exp(-1.0) / np.cumprod(np.append(1.0, np.arange(1.0, 20))))  # Poisson of mean 1
        found = np.searchsorted(often, lots, side="right")
    else:
        home = np.floor(uniform(user_lots(log, protocol.seed, "copies")) * protocol.copies).astype(np.int64)
        found = (home == number if protocol.folds == "split" else home != number).astype(np.int64)
    times: Int64 = found[log.users].astype(np.int64)
    return times


def _counted_on(given: Source, protocol: Prequential, number: int) -> Prequential:
    """The protocol with counts that begin with the stream: the training part of a fold is learnt first."""
    fold = given.given
    if not isinstance(fold, Fold):
        return protocol
    first = [part for part in (fold.train, fold.validation) if part is not None]
    if protocol.folds == "none":
        training = sum(len(part) for part in first)
    else:
        training = sum(int((_often(part, protocol, number) > 0).sum()) for part in first)
    until = None if protocol.learn_until is None else protocol.learn_until + training
    return replace(protocol, warmup=protocol.warmup + training, learn_until=until)


def _refuse_unfit(given: Source, protocol: Prequential) -> None:
    """Raise U192 where a protocol asks for what a stream cannot give."""
    unfit = {
        "match": protocol.match in ("future", "window") and not given.whole,
        "folds": protocol.folds != "none" and not given.again,
    }
    why = {
        "match": "what users take later is known of a log in memory only",
        "folds": "every copy reads the stream from its begin, and an iterator is read once",
    }
    for option, wrong in unfit.items():
        if wrong:
            hint = "give ra.read_interactions(path), a fold, or a list of tables" if option == "folds" else "give a log"
            raise UsageError(
                "U192", f"{option}={getattr(protocol, option)!r}: {why[option]}", where=str(protocol), hint=hint
            )


def _copy(player: Player, protocol: Prequential, number: int, events: int) -> _Copy:
    alarms = () if player.guard is None else tuple(player.guard.alarms)
    lists = pl.concat(player.pieces.lists) if player.pieces.lists else None
    return _Copy(_outcomes(player, protocol, number, events), alarms, lists)


def _outcomes(player: Player, protocol: Prequential, number: int, events: int) -> Outcomes:
    """The table of all that was scored."""
    pieces = player.pieces
    values = {
        heading: np.concatenate([np.zeros(0), *(piece[heading] for piece in pieces.values)])
        for heading in player.headings
    }
    settings: dict[str, Any] = {"protocol": str(protocol), "training": player.protocol.warmup - protocol.warmup}
    if player.guard is not None:
        settings["alarms"] = [alarm.event for alarm in player.guard.alarms]
    if protocol.folds != "none":
        settings["copy"] = number
    users, items = len(player.user_codes.code), len(player.item_codes.code)
    return Outcomes(
        player.name,
        np.concatenate([np.zeros(0, np.int64), *pieces.event]),
        values,
        pl.concat(pieces.users) if pieces.users else player.user_codes.ids.clear(),
        pl.concat(pieces.times) if pieces.times else None,
        events,
        {**player.counts, "users": users, "items": items},
        settings,
        _timing(player),
    )


def _timing(player: Player) -> Timing | None:
    """Seconds of every question and of every event learnt; nothing where compiled walks have no clock."""
    if isinstance(player.learner, Walks) and not TICKS:
        return None
    spent = [
        np.concatenate([np.zeros(0, np.int64), *one]) * 1e-9 for one in (player.pieces.asking, player.pieces.learning)
    ]
    return Timing(Spent.of(spent[0]), Spent.of(spent[1]), platform.processor() or platform.machine(), 1)
