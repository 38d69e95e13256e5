"""Objects on disk as NumPy arrays and JSON, and as a pickle only where nothing else can hold them.

Reading a pickle can run any code, so a checkpoint or a study folder received from somebody else could take over the
machine. An archive is an ``.npz`` file without pickled members: one member per array, and one with a JSON document that
says how plain values, containers and objects hold the arrays. Objects are stored only if their class belongs to
recassay, and reading sets their attributes without calling anything. Functions and classes of other packages have no
place in an archive. They go into a pickle, which is read only if this process wrote it or the user trusts it.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import io
import json
import pickle
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any

import numpy as np
import polars as pl

from recassay.data.io.archive_checks import check_arrays, check_sparse
from recassay.data.io.write import atomic
from recassay.errors import UsageError

STATE = "state"  # the member with the JSON document
OURS = ["columnar", "data", "designs", "drift", "engine", "metrics", "models", "protocols", "results", "split", "stats"]
PACKAGES = tuple(f"recassay.{root}" for root in OURS)  # classes outside these packages are not stored
NEVER = ("recassay.data.io", "recassay.models.base.files")  # they open files, and one of them runs Python files
BUILT_ON = (tuple, list, dict, set, frozenset, str, bytes, int, float, np.ndarray, BaseException, type)
SPARSE = frozenset(f"{form}_{kind}" for form in ("csr", "csc") for kind in ("matrix", "array"))  # kinds of SciPy
ZIP, PICKLE = b"PK\x03\x04", b"\x80"  # how archives, and pickles of protocol 2 and later, begin

_written_here: set[bytes] = set()  # digests of the pickles that this process wrote


def _is_sparse(value: object) -> bool:
    from scipy import sparse  # late: its import takes a tenth of scoring a small file, which needs none of it

    return bool(sparse.issparse(value))


class NotStorableError(TypeError):
    """A value that no archive can hold, such as an object of another package."""


def save(path: Path, value: object, shared: Mapping[str, object] | None = None) -> None:
    """Write a value as an archive, or as a pickle if an archive cannot hold it.

    ``shared`` names objects that are left out of the file; :func:`load` puts the objects of these names in their
    place. Raise what ``pickle`` raises if the value cannot be pickled either.
    """
    try:
        save_archive(path, value, shared)
    except NotStorableError:
        save_pickle(path, value, shared)


def load(path: Path, shared: Mapping[str, object] | None = None, *, trust: bool = False) -> Any:
    """Return the value in an archive or in a pickle.

    ``shared`` has, by name, the objects that :func:`save` left out of the file, which are put in their places. Raise
    U236 for a pickle that another process wrote, unless ``trust``: reading a pickle can run any code. Raise ValueError
    or what NumPy, JSON or pickle raise if the file is damaged or of another version.
    """
    with path.open("rb") as file:
        begin = file.read(len(ZIP))
    if begin == ZIP:
        return load_archive(path, shared)
    if begin[:1] == PICKLE:
        return load_pickle(path, shared, trust=trust)
    raise ValueError("it is neither an archive nor a pickle")


def save_archive(path: Path, value: object, shared: Mapping[str, object] | None = None) -> None:
    """Write a value as an archive; raise :class:`NotStorableError` if an archive cannot hold it.

    The file is written completely or not at all. ``shared`` names objects that are left out of the file.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_archive(Path(folder) / "state", {"weights": np.arange(3), (1, 2): "pair"})
    ...     load_archive(Path(folder) / "state")
    {'weights': array([0, 1, 2]), (1, 2): 'pair'}
    """
    with atomic(path) as temporary, temporary.open("wb") as file:
        write_archive(file, value, shared)


def write_archive(file: IO[bytes], value: object, shared: Mapping[str, object] | None = None) -> None:
    """Write a value as an archive to an open file; raise as :func:`save_archive` does.

    ``shared`` names objects that are left out of the file.
    """
    encoder = _Encoder(shared or {})
    root = encoder.encode(value)
    document = json.dumps({"root": root, "objects": encoder.objects}).encode()
    members = {f"array{number}": array for number, array in enumerate(encoder.arrays)}
    np.savez(file, allow_pickle=False, **{STATE: np.frombuffer(document, np.uint8)}, **members)


def check_storable(value: object, shared: Mapping[str, object] | None = None) -> None:
    """Raise :class:`NotStorableError` if an archive cannot hold a value; arrays are not copied."""
    _Encoder(shared or {}).encode(value)


def load_archive(path: Path, shared: Mapping[str, object] | None = None) -> Any:
    """Return the value in an archive; no code in the file runs, whatever it holds.

    ``shared`` has, by name, the objects that were left out of the file.
    """
    # np.load leaves a path open if the archive is damaged; an open file is closed here in any case.
    with path.open("rb") as file:
        return read_archive(file, shared)


def read_archive(file: IO[bytes], shared: Mapping[str, object] | None = None) -> Any:
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


def save_pickle(path: Path, value: object, shared: Mapping[str, object] | None = None) -> None:
    """Write a value as a pickle, and remember that this process wrote it.

    The file is written completely or not at all. ``shared`` names objects that are left out of the file.
    """
    buffer = io.BytesIO()
    _Pickler(buffer, shared or {}).dump(value)
    content = buffer.getvalue()
    with atomic(path) as temporary:
        temporary.write_bytes(content)
    _written_here.add(_digest(content))


def load_pickle(path: Path, shared: Mapping[str, object] | None = None, *, trust: bool = False) -> Any:
    """Return the value in a pickle; raise U236 if another process wrote it, unless ``trust``.

    ``shared`` has, by name, the objects that were left out of the file.
    """
    content = path.read_bytes()
    if not trust and _digest(content) not in _written_here:
        raise UsageError(
            "U236",
            f"{path.name} is a pickle, and reading a pickle can run any code",
            where=str(path),
            hint="if you trust its author: recassay run --trust, or trust=True in Python; otherwise delete it",
        )
    return _Unpickler(io.BytesIO(content), shared or {}).load()


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=16).digest()


def _is_storable(kind: type) -> bool:
    """Return whether archives may hold objects of a class."""
    module = kind.__module__
    within = any(module == package or module.startswith(f"{package}.") for package in PACKAGES)
    return within and not module.startswith(NEVER) and "." not in kind.__qualname__


def _class_of(name: str) -> type:
    """Return the class with the name ``module:class``; raise ValueError if archives may not hold its objects."""
    module, _, kind = name.partition(":")
    if not module.startswith(PACKAGES):
        raise ValueError(f"an archive holds no objects of {name}")
    found = getattr(importlib.import_module(module), kind, None)
    if not isinstance(found, type) or found.__module__ != module or not _is_storable(found):
        raise ValueError(f"an archive holds no objects of {name}")
    return found


def _slots(kind: type) -> list[str]:
    """Return the names of the slots of a class and of its bases."""
    found: list[str] = []
    for base in kind.__mro__:
        slots = vars(base).get("__slots__", ())
        found += [slots] if isinstance(slots, str) else list(slots)
    return [name for name in found if name not in ("__dict__", "__weakref__")]


class _Encoder:
    """A converter of a value into JSON, a table of objects and a list of arrays.

    Each container and object is one row of the table, and is referred to by its number. So objects that are used in
    several places stay shared, and cycles end. ``kept`` holds the objects alive: they are found by ``id``, which Python
    reuses once they die.
    """

    def __init__(self, shared: Mapping[str, object]) -> None:
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
            self.objects[number] = self._row(value)
        return ["object", self.number[id(value)]]

    def _row(self, value: Any) -> list[Any]:  # noqa: PLR0911 (a kind of value each)
        """Return the row of an object in the table: its kind, and what :class:`_Decoder` needs to restore it."""
        kind = type(value)
        if isinstance(value, np.ndarray):
            return ["array", self._array(value)]
        if isinstance(value, np.generic):
            return ["scalar", self._array(np.asarray(value))]
        if kind in (list, tuple, set, frozenset):
            return [kind.__name__, self._all(value)]
        if kind in (dict, MappingProxyType):
            return [kind.__name__, self._all(value), self._all(value.values())]
        if kind is bytes:
            return ["bytes", value.hex()]
        if kind is pl.Series:
            return ["series", self._frame(value.to_frame())]
        if kind is pl.DataFrame:
            return ["frame", self._frame(value)]
        if kind.__name__ in SPARSE and _is_sparse(value):
            return [kind.__name__, list(value.shape), self._all((value.data, value.indices, value.indptr))]
        if not _is_storable(kind):
            raise NotStorableError(f"an archive cannot hold an object of {kind.__module__}.{kind.__qualname__}")
        name = f"{kind.__module__}:{kind.__qualname__}"
        if isinstance(value, tuple) and hasattr(kind, "_fields"):
            return ["named", name, self._all(value)]
        if issubclass(kind, BUILT_ON):
            raise NotStorableError(f"an archive cannot hold an object of {name}")
        state = {slot: getattr(value, slot) for slot in _slots(kind) if hasattr(value, slot)} | _attributes(value)
        return ["instance", name, {attribute: self.encode(held) for attribute, held in state.items()}]

    def _all(self, values: Iterable[Any]) -> list[Any]:
        return [self.encode(value) for value in values]

    def _array(self, array: np.ndarray[Any, Any]) -> int:
        if array.dtype.hasobject:
            raise NotStorableError("an archive cannot hold an array of Python objects")
        self.arrays.append(np.asarray(array))
        return len(self.arrays) - 1

    def _frame(self, frame: pl.DataFrame) -> int:
        buffer = io.BytesIO()
        try:
            frame.write_ipc(buffer)
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:  # such as a column of Python objects
            raise NotStorableError(str(error)) from error
        return self._array(np.frombuffer(buffer.getvalue(), np.uint8))


def _attributes(value: object) -> dict[str, Any]:
    """Return the attributes of an object, without cached properties: they are computed again when they are used."""
    held = getattr(value, "__dict__", {})
    return {
        name: found
        for name, found in held.items()
        if not isinstance(getattr(type(value), name, None), functools.cached_property)
    }


class _Decoder:
    """A converter of the rows of an archive back into objects; each row is converted once."""

    def __init__(self, rows: list[list[Any]], members: Mapping[str, Any], shared: Mapping[str, object]) -> None:
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
            self._make(which)
        return self.made[which]

    def _make(self, number: int) -> None:
        tag, *about = self.rows[number]
        if tag == "instance":
            self._instance(number, about[0], about[1])
        elif tag in ("list", "dict"):
            self._container(number, tag, about)
        else:
            self.made[number] = self._immutable(tag, about)

    def _instance(self, number: int, name: str, state: Mapping[str, Any]) -> None:
        kind = _class_of(name)
        if issubclass(kind, BUILT_ON):
            raise ValueError(f"an archive holds no objects of {name}")
        self.made[number] = made = object.__new__(kind)  # before its attributes, which may refer to it
        slots = _slots(kind)
        for attribute, held in state.items():
            if attribute in slots:
                object.__setattr__(made, attribute, self.decode(held))
            else:
                made.__dict__[attribute] = self.decode(held)  # never a setter, and never ``__class__``

    def _container(self, number: int, tag: str, about: list[Any]) -> None:
        """Create the list or dict of row ``number``, which may contain itself; ``about`` has its encoded contents."""
        if tag == "list":
            found: list[Any] = []
            self.made[number] = found
            found += self._all(about[0])
        else:
            pairs: dict[Any, Any] = {}
            self.made[number] = pairs
            pairs.update(zip(self._all(about[0]), self._all(about[1]), strict=True))

    def _immutable(self, tag: str, about: list[Any]) -> Any:
        """Return an array, a table, or a container that cannot contain itself.

        ``tag`` is its kind, and ``about`` has its encoded contents.
        """
        first = about[0]
        if tag == "named":
            kind = _class_of(first)
            if not issubclass(kind, tuple):
                raise ValueError(f"{first} is not a named tuple")
            return tuple.__new__(kind, self._all(about[1]))
        if tag in SPARSE:
            from scipy import sparse

            arrays, (height, width) = tuple(self._all(about[1])), first
            check_sparse((height, width) if tag.startswith("csr") else (width, height), *arrays)
            return getattr(sparse, tag)(arrays, shape=(height, width))
        if tag == "mappingproxy":
            return MappingProxyType(dict(zip(self._all(first), self._all(about[1]), strict=True)))
        makers: dict[str, Callable[[Any], Any]] = {
            "array": self._array,
            "scalar": lambda place: self._array(place)[()],
            "tuple": lambda values: tuple(self._all(values)),
            "set": lambda values: set(self._all(values)),
            "frozenset": lambda values: frozenset(self._all(values)),
            "bytes": bytes.fromhex,
            "frame": self._frame,
            "series": lambda place: self._frame(place).to_series(),
        }
        return makers[tag](first)

    def _all(self, values: Iterable[Any]) -> list[Any]:
        return [self.decode(value) for value in values]

    def _array(self, place: int) -> np.ndarray[Any, Any]:
        found: np.ndarray[Any, Any] = self.members[f"array{place}"]
        return found

    def _frame(self, place: int) -> pl.DataFrame:
        return pl.read_ipc(io.BytesIO(self._array(place).tobytes()))


class _Pickler(pickle.Pickler):
    """A pickler that writes the name of a shared object in place of the object."""

    def __init__(self, file: io.BytesIO, shared: Mapping[str, object]) -> None:
        super().__init__(file, protocol=5)
        self.shared = {id(value): name for name, value in shared.items()}

    def persistent_id(self, obj: object) -> str | None:
        """Return the name of a shared object, None for any other."""
        return self.shared.get(id(obj))


class _Unpickler(pickle.Unpickler):
    """An unpickler that puts shared objects in place of their names."""

    def __init__(self, file: io.BytesIO, shared: Mapping[str, object]) -> None:
        super().__init__(file)
        self.shared = shared

    def persistent_load(self, pid: str) -> object:
        """Return the shared object with the name ``pid``."""
        return self.shared[pid]
