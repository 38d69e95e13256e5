"""Attached models: recommenders that run inside the live evaluation, and are scored on interactions as they happen.

For each interaction, an attached model first recommends to the user, and then learns the interaction. This is the
prequential protocol, and :class:`recassay.engine.streams.play.Player` carries it out. Interactions are taken in the
order of release, which depends on their content alone, so the lists do not depend on batches, partitions or restarts.

The states of all models are stored as one archive. A model of another package, such as a class in a Python file, is
stored if it has ``state()``, which returns what an archive can hold, and ``load_state(state)``, which takes it back.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl

from recassay.data.interactions import Interactions
from recassay.data.io.archive import NotStorableError, archive_of, check_storable, load_archive
from recassay.data.read import read_interactions
from recassay.data.times import row_times
from recassay.engine.streams.play import Chunks, Player
from recassay.engine.streams.source import Batch, digest
from recassay.errors import InputError, UsageError
from recassay.live.models import KEY
from recassay.models.base.capabilities import StartsOnline, UpdatesOnline
from recassay.models.base.registry import SUFFIX, load_fitted, parse
from recassay.protocols.prequential import Prequential

LONG_LEARNING = 10.0  # seconds that models may take to learn interactions again after a restart
SNAPSHOT_SHARE = 0.1  # of the time of learning, at most, goes into snapshots
MOST_BYTES = 900_000_000  # SQLite refuses a value of 1,000,000,000 bytes
NAMED = re.compile(r"^\s*(?P<name>[\w .-]+?)\s*=\s*(?P<model>.+)$", re.DOTALL)


def text_log(log: Interactions) -> Interactions:
    """Return a log with its ids as text, since ids in live events are text."""
    if log.item_vocabulary.kind == "string" and log.user_vocabulary.kind == "string":
        return log
    return read_interactions(log.frame().with_columns(pl.col("user_id", "item_id").cast(pl.String)))


class AttachedModel:
    """A model that recommends before each interaction, and then learns it.

    ``model`` is a model, its name with parameters, or a file with a fitted model, which brings its own training log.
    The model first learns the training log ``log``, if there is one. A model that cannot learn single events is fitted
    on the log and does not change.
    """

    player: Player  # runs the model over events, from ``start`` on
    fitted: Any = None  # the model of a file that was fitted before and cannot learn single events

    def __init__(self, name: str, model: Any, log: Interactions | None) -> None:
        self.name = name
        if isinstance(model, str | Path) and str(model).endswith(SUFFIX):
            self.text, fitted = load_fitted(Path(model))
            self.model, log = parse(self.text), text_log(fitted.log)
            if not isinstance(self.model, StartsOnline):
                self.model, self.fitted = SimpleNamespace(fit=lambda _: fitted), fitted
        else:
            self.model = parse(model) if isinstance(model, str) else model
            self.text = str(self.model)
        self.online = isinstance(self.model, StartsOnline | UpdatesOnline)
        if log is not None and self.online and log.timestamps is not None:
            log = log.take(np.argsort(row_times(log), kind="stable"))
        self.log = log if log is not None and len(log) else None
        if not self.online and self.log is None:
            hint = "give it a training log: --train LOG; or attach a file that recassay fit wrote"
            raise UsageError("U191", f"{self.text} cannot learn event by event", where=f"--model {name}", hint=hint)

    def start(self, length: int) -> None:
        """Begin with a model that has learned nothing; lists have ``length`` items."""
        before = 0 if self.log is None else len(self.log)
        until = None if self.online else before
        protocol = Prequential(at=length, order="row", warmup=before, learn_until=until)
        self.player = Player(self.model, protocol, None, self.text, keep=True)

    def description(self) -> str:
        """Return the model with its parameters, and the size and a hash of its training log, as text.

        The text differs for other parameters and for another training log.
        """
        if self.log is None:
            return self.text
        return f"{self.text} after {len(self.log):,} events ({digest(_batch(self.log, 0)):016x})"

    def lists(self, events: pl.DataFrame) -> pl.DataFrame:
        """Recommend before each interaction, then learn it; return interactions with lists, in a column ``items``.

        As in the prequential protocol, a user's first interaction, and one with an item that the user had before, get
        no list and are not returned.
        """
        first = self.player.reached
        chunks = self.walk(Interactions.from_frame(events.select("user_id", "item_id")))
        numbers = np.concatenate([np.zeros(0, np.int64), *chunks.get("event", ())])
        empty = pl.DataFrame(schema={"event": pl.Int64, "item_id": pl.String})
        listed = pl.concat([empty, *(one.select(empty.columns).cast(empty.schema) for one in chunks.get("lists", ()))])
        listed = listed.group_by("event", maintain_order=True).agg(pl.col("item_id").alias("items"))
        due = pl.DataFrame({"event": numbers}).join(listed, on="event", how="left", maintain_order="left")
        items = due["items"].fill_null(pl.Series([[]], dtype=pl.List(pl.String)))
        return events[numbers - first].with_columns(items, pl.lit(self.name).alias("arm"))

    def walk(self, log: Interactions) -> Chunks:
        """Let the model recommend before each event of ``log``, and then learn the event; return the results."""
        for _ in self.player.walk(_batch(log, self.player.reached)):
            pass
        chunks, self.player.chunks = self.player.chunks, {}
        return chunks

    @property
    def stateful(self) -> Any:
        """Return the learner, or the model that an adapter wraps, if its method ``state`` can store it; else None."""
        learner = self.player.learner
        candidates = (learner, getattr(learner, "model", None))
        return next((one for one in candidates if hasattr(one, "state") and hasattr(one, "load_state")), None)


class AttachedModels:
    """The attached models of a live evaluation, by name; there may be none."""

    def __init__(self, models: Mapping[str, Any] | None = None, log: Interactions | None = None) -> None:
        self.models = [AttachedModel(name, model, log) for name, model in (models or {}).items()]
        self.names = tuple(one.name for one in self.models)
        self.unstored = ""  # why the models cannot be stored
        self.seconds = 0.0  # that models took for the interactions since the last snapshot
        self.snapshot_seconds = 0.0  # that the last snapshot took

    def descriptions(self) -> dict[str, str]:
        """Return each model with its parameters and training log as text, by name."""
        return {one.name: one.description() for one in self.models}

    def start(self, length: int, snapshot: bytes | None) -> None:
        """Continue from a snapshot, or without one begin with the training log; lists have ``length`` items."""
        for one in self.models:
            one.start(length)
        if snapshot is not None:
            self._restore(snapshot)
            return
        for one in self.models:
            if one.log is not None:
                one.walk(one.log)
        try:  # so that a finding says at once whether there will be snapshots
            check_storable(*self._content())
        except NotStorableError as error:
            self.unstored = str(error)

    def snapshot(self) -> bytes | None:
        """Return the states of all models as bytes; None if one cannot be stored, for the reason in ``unstored``."""
        began = time.monotonic()
        try:
            content = archive_of(*self._content())
            if len(content) > MOST_BYTES:
                raise NotStorableError(f"the models take {len(content):,} bytes, and a state holds {MOST_BYTES:,}")
        except NotStorableError as error:
            self.unstored = str(error)
            return None
        self.seconds, self.snapshot_seconds = 0.0, time.monotonic() - began
        return content

    def _content(self) -> tuple[list[Any], dict[str, object]]:
        """Return (objects that a snapshot stores, {name: object} of those that it leaves out)."""
        states = {}
        for one in self.models:
            if one.stateful is not None:
                try:
                    states[one.name] = one.stateful.state()
                except Exception as error:
                    what = f"state() of {one.name} raised {type(error).__name__}: {error}"
                    raise NotStorableError(what) from error
        return [{one.name: one.player for one in self.models}, states], self._left_out()

    def _left_out(self) -> dict[str, object]:
        """Return, by name, the objects that a snapshot leaves out: unfitted and fitted models, and stateful ones."""
        return {
            f"{what} {one.name}": thing
            for one in self.models
            for what, thing in (("model", one.model), ("fitted", one.fitted), ("learner", one.stateful))
            if thing is not None
        }

    def _restore(self, snapshot: bytes) -> None:
        """Continue from a snapshot; raise I374 if a model refuses its state."""
        known = {one.name: one.stateful for one in self.models}
        players, states = load_archive(snapshot, self._left_out())
        for name, state in states.items():
            try:
                known[name].load_state(state)
            except Exception as error:
                raise InputError(
                    "I374", f"{name} could not take back its state: {type(error).__name__}: {error}",
                    where=f"--model {name}", hint="load_state(state) gets what state() returned; begin a new folder "
                    "with -o if the class has changed since",
                ) from error  # fmt: skip
        for one in self.models:
            one.player = players[one.name]

    @property
    def snapshot_due(self) -> bool:
        """Return whether learning again what came since the last snapshot would take the models long."""
        return self.seconds > max(LONG_LEARNING, self.snapshot_seconds / SNAPSHOT_SHARE)

    def lists(self, events: pl.DataFrame) -> list[pl.DataFrame]:
        """Let all models recommend before each interaction, then learn it; return their lists."""
        began = time.monotonic()
        lists = [one.lists(events) for one in self.models]
        self.seconds += time.monotonic() - began
        return lists

    def with_lists(self, interactions: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Let all models recommend before each interaction, then learn it.

        Return (interactions with lists, learned interactions). The first table has a row for each interaction that came
        with a list, and one for each list that a model makes; the column ``arm`` names the model. Interactions must
        come in order of time, all events of one time together. Interactions with equal user, item and time are learned
        once.
        """
        logged = interactions.filter(pl.col("items").is_not_null())
        taken = interactions.unique(KEY, keep="first", maintain_order=True)
        if not self.models or not taken.height:
            return logged, taken[:0].select(KEY)
        lists = [one.select(logged.columns) for one in self.lists(taken)]
        return pl.concat([logged, *lists]).sort("time", maintain_order=True), taken.select(KEY)


def read_models(texts: Sequence[str]) -> dict[str, str]:
    """Return models by name from texts such as ``new=ISGD(factors=20)``; a text without a name is its own name.

    Raise U254 for a name that is given twice.

    >>> read_models(["new=ISGD(factors=20)", "StreamPopular"])
    {'new': 'ISGD(factors=20)', 'StreamPopular': 'StreamPopular'}
    """
    found: dict[str, str] = {}
    for text in texts:
        match = NAMED.match(text)
        name, model = (match["name"], match["model"]) if match else (text.strip(), text.strip())
        if name in found:
            raise UsageError("U254", f"two models have the name '{name}'", where="--model", hint="write NAME=MODEL")
        found[name] = model
    return found


def _batch(log: Interactions, begin: int) -> Batch:
    return Batch(log, np.arange(begin, begin + len(log)), None, np.zeros(len(log), np.bool_))
