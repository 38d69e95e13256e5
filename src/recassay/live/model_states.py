"""The states of attached models as one archive, from which they continue after a restart.

Models of recassay are stored as they are. A model of another package, such as a class in a Python file, is stored if it
has ``state()``, which returns what an archive can hold, and ``load_state(state)``, which takes it back.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

from recassay.data.io.archive import NotStorableError, check_storable, read_archive, write_archive
from recassay.engine.streams.play import Player
from recassay.errors import InputError

MOST_BYTES = 900_000_000  # SQLite refuses a value of 1,000,000,000 bytes
HINT = "load_state(state) gets what state() returned; begin a new folder with -o if the class has changed since"


@runtime_checkable
class GivesState(Protocol):
    """A learner that returns its state as arrays, tables and plain values, and takes it back."""

    def state(self) -> Any:
        """Return everything that was learned: arrays, tables, numbers, texts, and lists, dicts or sets of these."""

    def load_state(self, state: Any) -> None:
        """Continue from what :meth:`state` returned; called on a new learner."""


def check_states(players: Mapping[str, Player], shared: Mapping[str, object]) -> None:
    """Raise :class:`NotStorableError` if a model cannot be stored."""
    check_storable(*_content(players, shared))


def write_states(players: Mapping[str, Player], shared: Mapping[str, object]) -> bytes:
    """Return the states of models as an archive; raise :class:`NotStorableError` if a model cannot be stored.

    ``shared`` names objects that are left out of the archive.
    """
    buffer = io.BytesIO()
    write_archive(buffer, *_content(players, shared))
    if buffer.tell() > MOST_BYTES:
        raise NotStorableError(f"the models take {buffer.tell():,} bytes, and a state holds {MOST_BYTES:,}")
    return buffer.getvalue()


def _content(players: Mapping[str, Player], shared: Mapping[str, object]) -> tuple[list[Any], dict[str, object]]:
    """Return what an archive of models holds, and the objects that are left out of it, by name."""
    own = {name: found for name, one in players.items() if (found := _own(one)) is not None}
    states = {}
    for name, model in own.items():
        try:
            states[name] = model.state()
        except Exception as error:
            raise NotStorableError(f"state() of {name} raised {type(error).__name__}: {error}") from error
    return [dict(players), states], {**shared, **_named(own)}


def read_states(data: bytes, new: Mapping[str, Player], shared: Mapping[str, object]) -> dict[str, Player]:
    """Return the players whose states :func:`write_states` stored; raise I374 if a model does not take its state.

    ``new`` has a player by name that has learned nothing; models with ``load_state`` are taken from it.
    """
    own = {name: found for name, one in new.items() if (found := _own(one)) is not None}
    players, states = read_archive(io.BytesIO(data), {**shared, **_named(own)})
    for name, state in states.items():
        try:
            own[name].load_state(state)
        except Exception as error:
            what = f"{name} could not take back its state: {type(error).__name__}: {error}"
            raise InputError("I374", what, where=f"--model {name}", hint=HINT) from error
    return dict(players)


def _own(player: Player) -> GivesState | None:
    """Return the learner, or the model that an adapter wraps, if it gives its state; else None."""
    candidates = (player.learner, getattr(player.learner, "model", None))
    return next((one for one in candidates if isinstance(one, GivesState)), None)


def _named(own: Mapping[str, object]) -> dict[str, object]:
    return {f"learner {name}": model for name, model in own.items()}
