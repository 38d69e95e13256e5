"""Writes files whole or not at all: a crash never leaves half a file under the final name."""

from __future__ import annotations

import json
import math
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from recassay.errors import UsageError


@contextmanager
def atomic(path: str | Path) -> Iterator[Path]:
    """A temporary path beside the target, moved over it when the block ends and removed when the block raises.

    The bytes reach the disk before the move, so a crash leaves the old file or the new one. A folder that cannot be
    written to is U111.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic(Path(folder) / "a.txt") as temporary:
    ...         _ = temporary.write_text("whole")
    ...     (Path(folder) / "a.txt").read_text()
    'whole'
    """
    target = Path(path)
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(6)}.tmp")
    try:
        temporary.touch(exist_ok=False)
    except OSError as error:
        raise UsageError(
            "U111",
            f"cannot write {target.name}: {error.strerror or error}",
            where=str(target),
            hint="make the folder, or choose one that can be written to",
        ) from None
    try:
        yield temporary
        _sync(temporary)
        os.replace(temporary, target)
        _sync(target.parent)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def make_folder(path: str | Path) -> Path:
    """The folder of an output, made if need be; U111 where that cannot be."""
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            "U111", f"cannot make the folder: {error.strerror or error}", where=str(folder), hint="choose another -o"
        ) from None
    return folder


def write_text(text: str, path: str | Path) -> None:
    """Text as UTF-8 with the line ends it has."""
    write_bytes(text.encode(), path)


def write_bytes(content: bytes, path: str | Path) -> None:
    """Bytes as they are."""
    with atomic(path) as temporary:
        temporary.write_bytes(content)


def write_json(content: object, path: str | Path) -> None:
    """JSON in the order of the keys, NaN as null; an infinite number is no JSON and raises ValueError."""
    write_text(json_text(content, indent=2) + "\n", path)


def json_text(content: object, *, indent: int | None = None) -> str:
    """JSON as :func:`write_json` writes it."""
    return json.dumps(_plain(content), indent=indent, ensure_ascii=False, allow_nan=False)


def write_parquet(frame: pl.DataFrame, path: str | Path) -> None:
    """A frame as Parquet."""
    with atomic(path) as temporary:
        frame.write_parquet(temporary)


def _plain(content: Any) -> Any:
    """The content in the types JSON has."""
    if isinstance(content, Mapping):
        return {str(key): _plain(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_plain(value) for value in content]
    if isinstance(content, np.ndarray | np.generic):
        return _plain(content.tolist())
    if isinstance(content, float) and math.isnan(content):
        return None
    return str(content) if isinstance(content, Path) else content


def _sync(path: Path) -> None:
    """Flush a file, or a folder's entries where the system can, to the disk."""
    if path.is_dir() and os.name == "nt":
        return
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
