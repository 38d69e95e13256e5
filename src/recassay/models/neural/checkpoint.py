"""The file from which a stopped training resumes.

It has all that the next epoch depends on, and identifies the model and the log. It is an archive of NumPy arrays and
JSON, so reading it runs no code; before PyTorch 2.6 ``torch.load`` can, even with ``weights_only=True``
(CVE-2025-32434). Random numbers are not in it: each is drawn from a seed that says what it is for, and the epoch is
part of that.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from recassay.data.histories import Histories
from recassay.data.interactions import Interactions
from recassay.data.io import archive
from recassay.errors import InputError, UsageError
from recassay.models.neural.base import Neural
from recassay.models.neural.layers import torch_module

FORMAT = 1


def fingerprint_of(model: Neural, log: Interactions, validation: Interactions | None) -> dict[str, Any]:
    """Return a dict that identifies a training: the model's parameters, and digests of the log and the validation.

    A training resumes only from a checkpoint with the same values.
    """
    what = {name: value for name, value in model.parameters.items() if name != "device"}
    data = {"log": _digest(log), "validation": "none" if validation is None else _digest(validation)}
    return {"format": FORMAT, "model": model.name, **what, **data}


def save(path: Path, what: Mapping[str, Any], state: Mapping[str, Any]) -> None:
    """Write the state of a training to a checkpoint file, completely or not at all.

    ``what`` is the training's fingerprint (see :func:`fingerprint_of`), which is stored with it.
    """
    archive.save_archive(path, {"about": dict(what), **_arrays(state)})


def load(path: Path, what: Mapping[str, Any], device: str) -> dict[str, Any] | None:
    """Return the state of a training with its tensors on ``device``; None if there is no file.

    ``what`` is the training's fingerprint (see :func:`fingerprint_of`). Raise U141 if the file has a different one, and
    I104 if it is not a checkpoint.
    """
    if not path.exists():
        return None
    try:
        state: dict[str, Any] = archive.load_archive(path)
        found = state.pop("about")
        state = _tensors(state, device)
    except Exception as error:  # a damaged file raises almost anything
        raise InputError(
            "I104",
            f"no training can resume from {path.name}: {type(error).__name__}",
            where=str(path),
            hint="delete it",
        ) from error
    differs = [name for name in what if found.get(name) != what[name]]
    if differs:
        shown = ["model"] if "model" in differs else differs  # parameters of another model differ anyway
        there_and_here = [f"{name} is {found.get(name)!r} in it and {what[name]!r} here" for name in shown]
        raise UsageError(
            "U141",
            f"{path.name} is of another training: {'; '.join(there_and_here)}",
            where=str(path),
            hint="give every training a path of its own, or delete the file to start again",
        )
    return state


def _arrays(state: Any) -> Any:
    """Return a state with every tensor replaced by a NumPy array, in dicts and lists at any depth."""
    if isinstance(state, Mapping):
        return {key: _arrays(value) for key, value in state.items()}
    if isinstance(state, list | tuple):
        return type(state)(_arrays(value) for value in state)
    return state.detach().cpu().numpy() if isinstance(state, torch_module().Tensor) else state


def _tensors(state: Any, device: str) -> Any:
    """Return a state with every NumPy array replaced by a tensor on ``device``, in dicts and lists at any depth."""
    if isinstance(state, Mapping):
        return {key: _tensors(value, device) for key, value in state.items()}
    if isinstance(state, list | tuple):
        return type(state)(_tensors(value, device) for value in state)
    return torch_module().from_numpy(state).to(device) if isinstance(state, np.ndarray) else state


def _digest(log: Interactions) -> str:
    """Return a text that identifies the events of a log: their number, and a hash of its ids and histories.

    The order of rows matters only where times tie.
    """
    histories = Histories.of(log)
    digest = hashlib.blake2b(log.fingerprint.encode(), digest_size=8)
    for array in (histories.offsets, histories.items):
        digest.update(np.ascontiguousarray(array).tobytes())
    return f"{len(log):,} events ({digest.hexdigest()})"
