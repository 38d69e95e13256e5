"""The file that a training goes on from: all that the next epoch depends on, and of what it is the training.

Random numbers are not in it: each is drawn from a seed that says what it is for, and the epoch is part of that.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from recassay.data.histories import Histories
from recassay.data.interactions import Interactions
from recassay.data.io import atomic
from recassay.errors import InputError, UsageError
from recassay.models.neural.base import Neural
from recassay.models.neural.layers import library

FORMAT = 1


def about(model: Neural, log: Interactions, validation: Interactions | None) -> dict[str, Any]:
    """What a training is of: two that differ in any of this cannot go on from one another."""
    what = {name: value for name, value in model.parameters.items() if name != "device"}
    data = {"log": _digest(log), "validation": "none" if validation is None else _digest(validation)}
    return {"format": FORMAT, "model": model.name, **what, **data}


def save(path: Path, what: Mapping[str, Any], state: Mapping[str, Any]) -> None:
    """Write the state of a training whole, or leave what was there."""
    with atomic(path) as temporary:
        library().save({"about": dict(what), **state}, temporary)


def load(path: Path, what: Mapping[str, Any], device: str) -> dict[str, Any] | None:
    """The state of a training, if it has one; that of another training is refused."""
    if not path.exists():
        return None
    try:
        state: dict[str, Any] = library().load(path, map_location=device, weights_only=True)
        found = state.pop("about")
    except Exception as error:  # PyTorch raises many kinds for what it cannot read
        raise InputError(
            "I104", f"no training can go on from {path.name}: {type(error).__name__}", where=str(path), hint="delete it"
        ) from error
    differs = [name for name in what if found.get(name) != what[name]]
    if differs:
        told = ["model"] if "model" in differs else differs  # other models have other parameters: no news
        there_and_here = [f"{name} is {found.get(name)!r} in it and {what[name]!r} here" for name in told]
        raise UsageError(
            "U141",
            f"{path.name} is of another training: {'; '.join(there_and_here)}",
            where=str(path),
            hint="give every training a path of its own, or delete the file to begin anew",
        )
    return state


def _digest(log: Interactions) -> str:
    """A digest of the ids and of the histories, which depend on the order of rows where times tie."""
    histories = Histories.of(log)
    digest = hashlib.blake2b(log.fingerprint.encode(), digest_size=8)
    for array in (histories.offsets, histories.items):
        digest.update(np.ascontiguousarray(array).tobytes())
    return f"{len(log):,} events ({digest.hexdigest()})"
