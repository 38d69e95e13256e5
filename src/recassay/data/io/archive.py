"""Objects on disk as NumPy arrays and JSON, and as a pickle only where nothing else can hold them.

Reading a pickle can run any code, so a checkpoint or a study folder received from somebody else could take over the
machine. An archive is an ``.npz`` file without pickled members: one member per array, and one with a JSON document that
says how plain values, containers and objects hold the arrays. Objects are stored only if their class belongs to
recassay, and reading sets their attributes without calling anything. Functions and classes of other packages have no
place in an archive. They go into a pickle, which is read only if this process wrote it or the user trusts it.
"""

from __future__ import annotations

import hashlib
import importlib
import io
import json
import pickle
import zipfile
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any

import numpy as np
import polars as pl

from recassay.data.io.archive_checks import check_arrays, check_sparse
from recassay.data.io.write import write_bytes
from recassay.errors import UsageError

STATE = "state"  # the member with the JSON document
OURS = "columnar data designs drift engine live metrics models protocols results split stats"  # of others: no objects
PACKAGES = tuple(f"recassay.{package}." for package in OURS.split())
NEVER = ("recassay.data.io.", "recassay.models.base.registry.")  # they open files, and one of them runs Python files
BUILT_ON = (tuple, list, dict, set, frozenset, str, bytes, int, float, np.ndarray, BaseException, type)
CONTAINERS = {kind.__name__: kind for kind in (list, tuple, set, frozenset)}
DICTS = {"dict": dict, "mappingproxy": MappingProxyType}
SPARSE = frozenset(f"{form}_{kind}" for form in ("csr", "csc") for kind in ("matrix", "array"))  # kinds of SciPy
ZIP = b"PK\x03\x04"  # how archives begin

_written_here: set[bytes] = set()  # digests of the pickles that this process wrote
Shared = Mapping[str, object]  # objects that a file leaves out, by the names that stand for them there


class NotStorableError(TypeError):
    """A value that no archive can hold, such as an object of another package."""


def save(path: Path, value: object, shared: Shared | None = None) -> None:
    """Write a value as an archive, or as a pickle if an archive cannot hold it.

    ``shared`` names objects that are left out of the file; :func:`load` puts the objects of these names in their
    place. Raise what ``pickle`` raises if the value cannot be pickled either.
    """
    try:
        save_archive(path, value, shared)
    except NotStorableError:
        save_pickle(path, value, shared)


def load(path: Path, shared: Shared | None = None, *, trust: bool = False) -> Any:
    """Return the value in an archive or in a pickle.

    ``shared`` has, by name, the objects that :func:`save` left out of the file, which are put in their places. Raise
    U236 for a pickle that another process wrote, unless ``trust``: reading a pickle can run any code. Raise ValueError
    or what NumPy, JSON or pickle raise if the file is damaged or of another version.
    """
    with path.open("rb") as file:
        start = file.read(len(ZIP))
    if start == ZIP:
        return load_archive(path, shared)
    if not start.startswith(pickle.PROTO):
        raise ValueError("the file is neither an archive nor a pickle")
    return load_pickle(path, shared, trust=trust)


def save_archive(path: Path, value: object, shared: Shared | None = None, *, compressed: bool = False) -> None:
    """Write a value as an archive, completely or not at all; raise :class:`NotStorableError` if none can hold it.

    ``shared`` names objects that are left out of the file. ``compressed`` makes it smaller, and writing slower.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_archive(Path(folder) / "state", {"weights": np.arange(3), (1, 2): "pair"})
    ...     load_archive(Path(folder) / "state")
    {'weights': array([0, 1, 2]), (1, 2): 'pair'}
    """
    buffer = io.BytesIO()
    write_archive(buffer, value, shared, compressed=compressed)
    write_bytes(buffer.getbuffer(), path)


def write_archive(file: IO[bytes], value: object, shared: Shared | None = None, *, compressed: bool = False) -> None:
    """Write a value as an archive to an open file; raise as :func:`save_archive` does."""
    encoder = _Encoder(shared or {})
    document = json.dumps({"root": encoder.encode(value), "objects": encoder.objects}).encode()
    members = {f"array{number}": array for number, array in enumerate(encoder.arrays)}
    members[STATE] = np.frombuffer(document, np.uint8)
    method = zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED
    with zipfile.ZipFile(file, "w", method, compresslevel=1) as npz:  # np.savez_compressed takes five times as long
        for name, array in members.items():
            with npz.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asanyarray(array), allow_pickle=False)


def check_storable(value: object, shared: Shared | None = None) -> None:
    """Raise :class:`NotStorableError` if an archive cannot hold a value; arrays are not copied."""
    _Encoder(shared or {}).encode(value)


def load_archive(path: Path, shared: Shared | None = None) -> Any:
    """Return the value in an archive; no code in the file runs, whatever it holds."""
    with path.open("rb") as file:  # np.load leaves a path open if the archive is damaged
        return read_archive(file, shared)


def read_archive(file: IO[bytes], shared: Shared | None = None) -> Any:
    """Return the value in an open archive; no code in the file runs, whatever it holds.

    Raise ValueError if its arrays do not belong together, such as a sparse matrix with a column beyond its width.
    ``shared`` has, by name, the objects that were left out of the file.
    """
    with np.load(file, allow_pickle=False) as members:
        document = json.loads(bytes(members[STATE]))
        decoder = _Decoder(document["objects"], members, shared or {})
        value = decoder.decode(document["root"])
    for made in decoder.made.values():
        check_arrays(made)
    return value


def save_pickle(path: Path, value: object, shared: Shared | None = None) -> None:
    """Write a value as a pickle, completely or not at all, and remember that this process wrote it."""
    buffer, names = io.BytesIO(), {id(one): name for name, one in (shared or {}).items()}
    pickler = pickle.Pickler(buffer, protocol=5)
    pickler.persistent_id = lambda one: names.get(id(one))  # type: ignore[method-assign]
    pickler.dump(value)
    write_bytes(buffer.getbuffer(), path)
    _written_here.add(_digest(buffer.getvalue()))


def load_pickle(path: Path, shared: Shared | None = None, *, trust: bool = False) -> Any:
    """Return the value in a pickle; raise U236 if another process wrote it, unless ``trust``."""
    content = path.read_bytes()
    if not trust and _digest(content) not in _written_here:
        raise UsageError(
            "U236",
            f"{path.name} is a pickle, and reading a pickle can run any code",
            where=str(path),
            hint="if you trust its author: recassay run --trust, or trust=True in Python; otherwise delete it",
        )
    unpickler = pickle.Unpickler(io.BytesIO(content))
    unpickler.persistent_load = (shared or {}).__getitem__  # type: ignore[method-assign]
    return unpickler.load()


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=16).digest()


def _is_storable(kind: type) -> bool:
    """Return whether archives may hold objects of a class."""
    module = f"{kind.__module__}."
    return module.startswith(PACKAGES) and not module.startswith(NEVER) and "." not in kind.__qualname__


def _class_of(name: str) -> type:
    """Return the class with the name ``module:class``; raise ValueError if archives may not hold its objects."""
    module, _, kind = name.partition(":")
    found = getattr(importlib.import_module(module), kind, None) if f"{module}.".startswith(PACKAGES) else None
    if not isinstance(found, type) or found.__module__ != module or not _is_storable(found):
        raise ValueError(f"an archive holds no objects of {name}")
    return found


class _Encoder:
    """A converter of a value into JSON, a table of objects and a list of arrays.

    Each container and object is one row of the table: its kind, what is said about it, and the values that it holds.
    It is referred to by its number. So objects that are used in several places stay shared, and cycles end. ``kept``
    holds the objects alive: they are found by ``id``, which Python reuses once they die.
    """

    def __init__(self, shared: Shared) -> None:
        self.objects: list[Any] = []
        self.arrays: list[np.ndarray[Any, Any]] = []
        self.kept: list[object] = []
        self.number: dict[int, int] = {}
        self.shared = {id(value): name for name, value in shared.items()}

    def encode(self, value: Any) -> Any:
        """Return the JSON of a value: the value itself if JSON has it, else a list that begins with a tag."""
        if value is None or type(value) in (bool, int, float, str):
            return value
        if id(value) in self.shared:
            return ["shared", self.shared[id(value)]]
        if id(value) not in self.number:
            number = self.number[id(value)] = len(self.objects)
            self.kept.append(value)
            self.objects.append(None)
            kind, about, held = self._row(value)
            self.objects[number] = [kind, about, [self.encode(one) for one in held]]
        return ["object", self.number[id(value)]]

    def _row(self, value: Any) -> tuple[str, Any, Iterable[Any]]:  # noqa: PLR0911 (a kind of value each)
        """Return the kind of an object, what :class:`_Decoder` needs to know about it, and the values that it holds."""
        kind = type(value)
        name = kind.__name__
        if isinstance(value, np.ndarray | np.generic):
            return "array" if isinstance(value, np.ndarray) else "scalar", self._array(np.asarray(value)), ()
        if kind in (pl.Series, pl.DataFrame):
            buffer = io.BytesIO()
            try:
                (value.to_frame() if kind is pl.Series else value).write_ipc(buffer)
            except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:  # a column of Python objects
                raise NotStorableError(str(error)) from error
            return name, self._array(np.frombuffer(buffer.getvalue(), np.uint8)), ()
        if kind in CONTAINERS.values() or kind in DICTS.values():
            return name, None, value if kind in CONTAINERS.values() else [*value, *value.values()]
        if kind is bytes:
            return name, value.hex(), ()
        if name in SPARSE and kind.__module__.startswith("scipy.sparse."):
            return name, list(value.shape), (value.data, value.indices, value.indptr)
        full = f"{kind.__module__}:{kind.__qualname__}"
        if _is_storable(kind) and issubclass(kind, tuple) and hasattr(kind, "_fields"):
            return "named", full, value
        if not _is_storable(kind) or issubclass(kind, BUILT_ON):
            raise NotStorableError(f"an archive cannot hold an object of {kind.__module__}.{kind.__qualname__}")
        state = {  # what is cached is computed again when it is used
            name: held
            for name, held in vars(value).items()
            if not isinstance(getattr(kind, name, None), cached_property)
        }
        return "instance", [full, *state], state.values()

    def _array(self, array: np.ndarray[Any, Any]) -> int:
        if array.dtype.hasobject:
            raise NotStorableError("an archive cannot hold an array of Python objects")
        self.arrays.append(array)
        return len(self.arrays) - 1


class _Decoder:
    """A converter of the rows of an archive back into objects; each row is converted once."""

    def __init__(self, rows: list[list[Any]], members: Mapping[str, Any], shared: Shared) -> None:
        self.rows, self.members, self.shared = rows, members, shared
        self.made: dict[int, Any] = {}

    def decode(self, value: Any) -> Any:
        """Return the value that :meth:`_Encoder.encode` turned into this JSON."""
        if not isinstance(value, list):
            return value
        tag, which = value
        if tag == "shared":
            return self.shared[which]
        if which not in self.made:
            self._make(*self.rows[which], number=which)
        return self.made[which]

    def _make(self, kind: str, about: Any, held: list[Any], *, number: int) -> None:
        """Make the object of a row; one that can contain itself is there before the values that it holds."""
        if kind == "instance":
            if issubclass(own := _class_of(about[0]), BUILT_ON):
                raise ValueError(f"an archive holds no objects of {about[0]}")
            self.made[number] = made = object.__new__(own)
            for name, value in zip(about[1:], held, strict=True):
                vars(made)[name] = self.decode(value)  # never a setter, and never ``__class__``
        elif kind == "list":
            items: list[Any] = []
            self.made[number] = items
            items += map(self.decode, held)
        elif kind == "dict":
            pairs: dict[Any, Any] = {}
            self.made[number] = pairs
            pairs.update(_pairs([self.decode(one) for one in held]))
        else:
            self.made[number] = self._immutable(kind, about, [self.decode(one) for one in held])

    def _immutable(self, kind: str, about: Any, held: list[Any]) -> Any:  # noqa: PLR0911 (a kind of value each)
        """Return an array, a table, or a container that cannot contain itself."""
        if kind in CONTAINERS:
            return CONTAINERS[kind](held)
        if kind == "mappingproxy":
            return MappingProxyType(_pairs(held))
        if kind == "bytes":
            return bytes.fromhex(about)
        if kind == "named":
            made = _class_of(about)
            if not issubclass(made, tuple):
                raise ValueError(f"{about} is not a named tuple")
            return tuple.__new__(made, held)
        if kind in SPARSE:
            from scipy import sparse  # late: its import takes a tenth of scoring a small file, which needs none of it

            height, width = about
            check_sparse((height, width) if kind.startswith("csr") else (width, height), *held)
            return getattr(sparse, kind)(tuple(held), shape=(height, width))
        array = self.members[f"array{about}"]
        if kind in ("array", "scalar"):
            return array if kind == "array" else array[()]
        frame = pl.read_ipc(io.BytesIO(array.tobytes()))
        return frame.to_series() if kind == "Series" else frame


def _pairs(held: list[Any]) -> dict[Any, Any]:
    """Return the dict whose keys are the first half of a list, and whose values are the second."""
    return dict(zip(held[: len(held) // 2], held[len(held) // 2 :], strict=True))
