"""``ra.play`` on a stream: plays each copy of a model in turn, with checkpoints, and collects the results."""

from __future__ import annotations

import math
import pickle
import platform
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from recassay.arrays import Int64
from recassay.data.fold import Fold
from recassay.data.interactions import Interactions
from recassay.data.io import archive
from recassay.data.read import read_items
from recassay.engine.streams.play import BLOCK, Player
from recassay.engine.streams.result import Stream, StreamError
from recassay.engine.streams.source import Batch, StreamSource, digest
from recassay.errors import InputError, RecassayError, UsageError
from recassay.metrics.registry import Metrics
from recassay.naming.system_names import system_name
from recassay.protocols.prequential import Prequential
from recassay.results.outcomes import CallTimes, Outcomes, Timing
from recassay.split.partitions import uniform, user_draws
from recassay.threads import Progress

FORMAT = 6
CHECKPOINT_SECONDS = 60.0
AT_START = {"player": None, "done": 0, "digest": 0}  # of a copy, in a checkpoint


@dataclass(eq=False)
class Checkpoint:
    """The file from which a stopped run resumes (None: no file), and the least number of seconds between two writes.

    It holds models, history, counters and results so far. Random numbers are not in it: each is drawn from a seed that
    says what it is for. It is an archive of arrays and JSON, and reading it runs no code. A model of another package
    may need a pickle, whose reading can run any code; ``trust`` allows reading one that another process wrote.
    ``about`` identifies the run (model, protocol, metrics, ...). The file is written completely or not at all.
    """

    path: Path | None = None
    seconds: float = CHECKPOINT_SECONDS
    trust: bool = False
    about: Mapping[str, Any] = field(default_factory=dict)
    written: float = field(default_factory=time.monotonic)

    def load(self) -> dict[str, Any] | None:
        """Return the state to resume from; None if there is no file.

        Raise U141 if the file belongs to another run, U236 if it is a pickle that is not trusted, I104 if it is
        damaged.
        """
        if self.path is None or not self.path.exists():
            return None
        try:
            content = archive.load(self.path, trust=self.trust)
            about, state = content["about"], dict(content["state"])
        except RecassayError:
            raise
        except Exception as error:  # a damaged file raises almost anything
            what = f"no stream can resume from {self.path.name}: {type(error).__name__}"
            raise InputError("I104", what, where=str(self.path), hint="delete it") from error
        differs = [
            f"{key} is {about.get(key)!r} in it and {value!r} here"
            for key, value in self.about.items()
            if about.get(key) != value
        ]
        if differs:
            raise self.refused("; ".join(differs))
        return state

    def refused(self, why: str) -> UsageError:
        """Return the error for a checkpoint that belongs to another run; ``why`` says how it differs."""
        assert self.path is not None, "it was read"
        hint = "give every run a path of its own, or delete the file to start again"
        return UsageError("U141", f"{self.path.name} is of another run: {why}", where=str(self.path), hint=hint)

    def save(self, state: Mapping[str, Any], *, now: bool = False) -> None:
        """Write the state if enough seconds have passed since the last time, or at once with ``now``.

        Raise U141 if the model can be neither archived nor pickled.
        """
        if self.path is None or (not now and time.monotonic() - self.written < self.seconds):
            return
        try:
            archive.save(self.path, {"about": {"format": FORMAT, **self.about}, "state": dict(state)})
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            what = f"the model cannot be written to {self.path.name}: {error}"
            raise UsageError(
                "U141", what, where=str(self.path), hint="leave out checkpoint=, or make the model picklable"
            ) from error
        self.written = time.monotonic()


def play_stream(
    model: Any,
    source: Any,
    protocol: Prequential,
    *,
    name: str | None = None,
    metrics: Metrics | None = None,
    items: Any = None,
    lists: bool = False,
    checkpoint: Checkpoint | None = None,
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
    file = replace(checkpoint or Checkpoint(), about=about)
    state = file.load() or {"finished": [], **AT_START}
    catalogue = given.catalogue() if protocol.candidates == "all" else None
    numbers = range(protocol.copies) if protocol.folds != "none" else range(1)
    finished: list[Stream] = state["finished"]
    for number in numbers[len(finished) :]:
        player: Player = state["player"] or Player(
            model, _count_training(given, protocol, number), metrics, name, keep=lists, catalogue=catalogue,
            items=features, block=block,
        )  # fmt: skip
        try:
            state = _walk(player, given, protocol, number, state, file, progress)
        except InputError as error:
            partial = StreamError(error.code, error.what, where=error.where, hint=error.hint)
            partial.stream = _all_copies([*finished, _copy_result(player, protocol, number, player.reached)])
            raise partial from error.__cause__
        finished.append(_copy_result(player, protocol, number, state["done"]))
        state = {"finished": finished, **AT_START}
        file.save(state, now=True)
    return _all_copies(finished)


def _all_copies(copies: list[Stream]) -> Stream:
    """Return the results of all copies of a model as one result."""
    lists = [copy.lists for copy in copies if copy.lists is not None]
    return Stream(
        tuple(copy.outcomes for copy in copies),
        pl.concat(lists) if lists else None,
        tuple(copy.alarms for copy in copies),
        copies[0].known_items if len(copies) == 1 else None,
    )


def _walk(
    player: Player,
    given: StreamSource,
    protocol: Prequential,
    number: int,
    state: dict[str, Any],
    file: Checkpoint,
    progress: Progress | None,
) -> dict[str, Any]:
    """Process the rest of the stream with ``player``, write checkpoints to ``file``, and return the final state.

    ``number`` is the number of this copy of the model. ``state`` is the content of a checkpoint: among others, how many
    events of the stream are ``done`` and their ``digest``.
    """
    done, n_read, total, wanted = state["done"], 0, 0, file.path is not None
    for batch in given.batches():
        row = min(max(done - n_read, 0), len(batch))  # the interrupted run walked the rows before
        if wanted and row:
            total += digest(batch.take(slice(0, row)))
            if n_read + row == done and total % 2**64 != state["digest"]:
                raise file.refused("the events it has read are not those of this stream")
        for walked in player.walk(*_events_of_copy(batch.take(slice(row, None)), protocol, number)):
            end = int(walked.event_numbers[-1]) + 1 - n_read
            total += digest(batch.take(slice(row, end))) if wanted else 0
            row = end
            state = {**state, "player": player, "done": n_read + row, "digest": total % 2**64}
            file.save(state)
            if progress is not None:
                progress(len(walked))
        total += digest(batch.take(slice(row, None))) if wanted else 0
        n_read += len(batch)
    if n_read < done:
        raise file.refused(f"it has read {done:,} events, but this stream has only {n_read:,}")
    player.finish()
    return {**state, "done": n_read}


def _events_of_copy(batch: Batch, protocol: Prequential, number: int) -> tuple[Batch, Int64 | None]:
    """Return the events that the copy with this ``number`` learns, and how many times it learns each (None: once).

    ``batch`` has events of the stream; ``protocol`` says how events are divided among copies of a model.
    """
    if protocol.folds == "none":
        return batch, None
    repeats = _learn_counts(batch.log, protocol, number)
    return batch.take(repeats > 0), repeats[repeats > 0]


def _learn_counts(log: Interactions, protocol: Prequential, number: int) -> Int64:
    """Return how many times the copy of the model with this ``number`` learns each event of ``log``.

    The number is drawn for the event's user. For bootstrap copies it comes from a Poisson distribution of mean 1. With
    other ``folds`` users are divided among the copies at random, and it is 0 or 1: an event is learned by the user's
    own copy only (``split``), or by all copies but that one. A single copy learns every event once.
    """
    if protocol.folds == "none":
        return np.ones(len(log), np.int64)
    if protocol.folds == "bootstrap":
        draws = uniform(user_draws(log, protocol.seed, f"bootstrap copy {number}"))
        poisson = np.cumsum(math.exp(-1.0) / np.cumprod(np.append(1.0, np.arange(1.0, 20))))  # cumulative, of mean 1
        of_user = np.searchsorted(poisson, draws, side="right")
    else:
        own_copy = np.floor(uniform(user_draws(log, protocol.seed, "copies")) * protocol.copies).astype(np.int64)
        of_user = (own_copy == number) == (protocol.folds == "split")
    return np.asarray(of_user[log.users], np.int64)


def _count_training(given: StreamSource, protocol: Prequential, number: int) -> Prequential:
    """Return the protocol with the fold's training events added to its warm-up, during which they are learned.

    ``number`` is the number of the copy of the model.
    """
    if not isinstance(given.given, Fold):
        return protocol
    first = [part for part in (given.given.train, given.given.validation) if part is not None]
    training = sum(int(np.count_nonzero(_learn_counts(part, protocol, number))) for part in first)
    until = None if protocol.learn_until is None else protocol.learn_until + training
    return replace(protocol, warmup=protocol.warmup + training, learn_until=until)


def _refuse_unfit(given: StreamSource, protocol: Prequential) -> None:
    """Raise U192 if the protocol needs something that the stream cannot give, such as reading it a second time."""
    in_memory = "events of users are known only for a log in memory"
    for option, unfit, why, hint in (
        ("match", protocol.match in ("future", "window") and not given.in_memory, f"later {in_memory}", "give a log"),
        ("all_but", protocol.all_but is not None and not given.in_memory, f"the last {in_memory}", "give a log"),
        (
            "folds",
            protocol.folds != "none" and not given.rereadable,
            "every copy reads the stream from its start, but an iterator can be read only once",
            "give ra.read_interactions(path), a fold, or a list of tables",
        ),
    ):
        if unfit:
            what = f"{option}={getattr(protocol, option)!r}: {why}"
            raise UsageError("U192", what, where=str(protocol), hint=hint)


def _copy_result(player: Player, protocol: Prequential, number: int, events: int) -> Stream:
    """Return the results that ``player`` has of a copy of a model: outcomes of scored events, alarms and lists.

    ``number`` is that of the copy, and ``events`` the number of events of the stream.
    """
    chunks, alarms = player.chunks, () if player.drift_policy is None else tuple(player.drift_policy.alarms)

    def joined(name: str, kind: Any) -> Any:
        return np.concatenate([np.zeros(0, kind), *chunks.get(name, ())])

    numbers = joined("event", np.int64)
    order = np.argsort(numbers, kind="stable")  # events of unlearned users are kept before the others of their block
    settings: dict[str, Any] = {"protocol": str(protocol), "training": player.protocol.warmup - protocol.warmup}
    if player.drift_policy is not None:
        settings["alarms"] = [alarm.event for alarm in alarms]
    if protocol.folds != "none":
        settings["copy"] = number
    outcomes = Outcomes(
        player.name,
        numbers[order],
        {heading: joined(heading, np.float64)[order] for heading in player.headings},
        player.user_codes.ids.gather(joined("user", np.int32)[order]),
        pl.concat(chunks["times"]).gather(order) if "times" in chunks else None,
        events,
        {**player.counts, "users": len(player.user_codes.code_of), "items": len(player.item_codes.code_of)},
        settings,
        Timing(  # in a compiled loop the mean of a block, for queries and events
            CallTimes.of(joined("answer_ns", np.int64) * 1e-9), CallTimes.of(joined("learn_ns", np.int64) * 1e-9),
            platform.processor() or platform.machine(), 1,
        ),
    )  # fmt: skip
    lists = pl.concat(chunks["lists"]).sort("event", "rank") if "lists" in chunks else None
    return Stream((outcomes,), lists, (alarms,), np.concatenate(chunks["known"])[order] if "known" in chunks else None)
