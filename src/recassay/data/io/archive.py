"""Objects on disk as NumPy arrays and JSON, and as a pickle only where nothing else can hold them.

Reading a pickle can run any code, so a checkpoint or a study folder received from somebody else could take over the
machine. An archive is an ``.npz`` file without pickled members: one member per array, and one with a JSON document that
says how plain values, containers and objects hold the arrays. Objects are stored only if their class belongs to
recassay, and reading sets their attributes without calling anything. An archive cannot hold functions and classes of
other packages. They go into a pickle, which is read only if this process wrote it or the user trusts it.

The document is a list of rows, one for each array, container and object. A row is the kind of the value and its parts:
plain values, or the numbers of rows. So what is used in several places is stored once and stays shared. An object may
hold itself, a container may not.
"""

from __future__ import annotations

import hashlib
import importlib
import io
import json
import pickle
import zipfile
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from recassay.data.io.archive_checks import check_arrays, check_sparse
from recassay.data.io.write import write_bytes
from recassay.errors import UsageError

STATE = "state"  # the member with the JSON document
OURS = "columnar data designs drift engine live metrics models protocols results split stats"  # of others: no objects
PACKAGES = tuple(f"recassay.{package}." for package in OURS.split())
NEVER = ("recassay.data.io.", "recassay.models.base.registry.")  # they open files, and one of them runs Python files
BUILT_ON = (list, dict, set, frozenset, str, bytes, int, float, np.ndarray, BaseException, type)
PLAIN = (type(None), bool, int, float, str)  # JSON holds them
SPARSE = frozenset(f"{form}_{kind}" for form in ("csr", "csc") for kind in ("matrix", "array"))  # kinds of SciPy
ZIP = b"PK\x03\x04"  # how archives begin

_written_here: set[bytes] = set()  # digests of the pickles that this process wrote
Shared = Mapping[str, object]  # objects that a file leaves out, by the names that stand for them there


class NotStorableError(TypeError):
    """A value that no archive can hold, such as an object of another package."""


def save(path: Path, value: object, shared: Shared | None = None) -> None:
    """Write a value as an archive, or as a pickle if an archive cannot hold it; completely or not at all.

    ``shared`` names objects that are left out of the file; :func:`load` puts the objects of these names back. Raise
    what ``pickle`` raises if the value cannot be pickled either.
    """
    try:
        content = archive_of(value, shared)
    except NotStorableError:
        buffer, names = io.BytesIO(), {id(thing): name for name, thing in (shared or {}).items()}
        pickler = pickle.Pickler(buffer, protocol=5)
        pickler.persistent_id = lambda thing: names.get(id(thing))  # type: ignore[method-assign]
        pickler.dump(value)
        content = buffer.getvalue()
        _written_here.add(_digest(content))
    write_bytes(content, path)


def load(path: Path, shared: Shared | None = None, *, trust: bool = False) -> Any:
    """Return the value in an archive or in a pickle.

    ``shared`` has, by name, the objects that :func:`save` left out of the file, which are put back. Raise U236 for a
    pickle that another process wrote, unless ``trust``: reading a pickle can run any code. Raise ValueError or what
    NumPy, JSON or pickle raise if the file is damaged or of another version.
    """
    with path.open("rb") as file:
        start = file.read(len(ZIP))
    if start == ZIP:
        return load_archive(path, shared)
    if not start.startswith(pickle.PROTO):
        raise ValueError("the file is neither an archive nor a pickle")
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


def save_archive(path: Path, value: object, shared: Shared | None = None, *, compressed: bool = False) -> None:
    """Write a value as an archive, completely or not at all; raise :class:`NotStorableError` if none can hold it.

    ``shared`` names objects that are left out of the file. ``compressed`` makes it smaller, and writing slower.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_archive(Path(folder) / "state", {"weights": np.arange(3), (1, 2): "pair"})
    ...     load_archive(Path(folder) / "state")
    {'weights': array([0, 1, 2]), (1, 2): 'pair'}
    """
    write_bytes(archive_of(value, shared, compressed=compressed), path)


def archive_of(value: object, shared: Shared | None = None, *, compressed: bool = False) -> bytes:
    """Return a value as the bytes of an archive, with the options of :func:`save_archive`."""
    rows, buffer = _Rows(shared or {}), io.BytesIO()
    document = {"root": rows.add(value), "rows": rows.rows, "shared": [*(shared or {})]}
    members = {f"array{number}": array for number, array in enumerate(rows.arrays)}
    members[STATE] = np.frombuffer(json.dumps(document).encode(), np.uint8)
    method = zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED
    with zipfile.ZipFile(buffer, "w", method, compresslevel=1) as npz:  # np.savez_compressed takes five times as long
        for name, array in members.items():
            with npz.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)
    return buffer.getvalue()


def check_storable(value: object, shared: Shared | None = None) -> None:
    """Raise :class:`NotStorableError` if an archive cannot hold a value; arrays are not copied."""
    _Rows(shared or {}).add(value)


def load_archive(source: Path | bytes, shared: Shared | None = None) -> Any:
    """Return the value in an archive, a file or its bytes; no code in it runs, whatever it holds.

    Raise ValueError if its arrays do not belong together, such as a sparse matrix with a column beyond its width.
    ``shared`` has, by name, the objects that were left out of the archive.
    """
    opened = io.BytesIO(source) if isinstance(source, bytes) else source.open("rb")
    with opened as file, np.load(file, allow_pickle=False) as members:  # np.load leaves a path open if it is damaged
        document = json.loads(bytes(members[STATE]))
        built = {number: (shared or {})[name] for number, name in enumerate(document["shared"])}

        def value_of(part: Any) -> Any:
            if not isinstance(part, list):
                return part
            (number,) = part
            if number not in built:
                make(number, *document["rows"][number - len(document["shared"])])
            return built[number]

        def make(number: int, kind: str, *parts: Any) -> None:
            if kind == "array":
                built[number] = members[f"array{parts[0]}"]
            elif ":" not in kind:
                built[number] = _join(kind, [*map(value_of, parts)])
            elif issubclass(class_ := _class_of(kind), tuple):
                built[number] = tuple.__new__(class_, map(value_of, parts))
            else:
                built[number] = thing = object.__new__(class_)  # before its attributes, which may hold it
                values = map(value_of, parts[1::2])
                vars(thing).update(zip(parts[::2], values, strict=True))  # never a setter, and never ``__class__``

        value = value_of(document["root"])
    for thing in built.values():
        check_arrays(thing)
    return value


class _Rows:
    """The rows of an archive's JSON document, and its arrays, while a value is written; ``add`` appends to both.

    Objects are identified by ``id()``, so each must stay alive until the archive is written; ``arrays`` therefore also
    keeps the temporary arrays.
    """

    def __init__(self, shared: Shared) -> None:
        self.rows: list[list[Any]] = []
        self.arrays: list[np.ndarray[Any, Any]] = []
        self.number = {id(thing): number for number, thing in enumerate(shared.values())}
        self.n_shared = len(shared)

    def add(self, value: Any) -> Any:
        """Append the rows of a value; return ``[number of its row]``, or the value itself if JSON can hold it."""
        if type(value) in PLAIN:
            return value
        if id(value) not in self.number:
            row: list[Any] = []
            self.number[id(value)] = self.n_shared + len(self.rows)  # before its parts, which may hold it
            self.rows.append(row)
            row += self._array(value) if isinstance(value, np.ndarray) else self._object(value)
        return [self.number[id(value)]]

    def _array(self, array: np.ndarray[Any, Any]) -> list[Any]:
        if array.dtype.hasobject:
            raise NotStorableError("an archive cannot hold an array of Python objects")
        self.arrays.append(array)
        return ["array", len(self.arrays) - 1]

    def _object(self, value: Any) -> list[Any]:
        kind, parts = _split(value)
        return [kind, *map(self.add, parts)]


class Kind(NamedTuple):
    """A type, and two functions: one splits a value into parts that archives can hold, the other joins them again."""

    type: type
    split: Callable[[Any], Iterable[Any]]
    join: Callable[[list[Any]], Any]


def _table_parts(frame: pl.DataFrame) -> list[Any]:
    """Return the bytes of a table, as Arrow IPC, as the only array of a list."""
    buffer = io.BytesIO()
    try:
        frame.write_ipc(buffer)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:  # such as a column of Python objects
        raise NotStorableError(str(error)) from error
    return [np.frombuffer(buffer.getvalue(), np.uint8)]


def _dict_from(parts: list[Any]) -> dict[Any, Any]:
    """Return the dict whose keys are the first half of a list, and whose values are the second."""
    return dict(zip(parts[: len(parts) // 2], parts[len(parts) // 2 :], strict=True))


KINDS = {
    **{kind.__name__: Kind(kind, iter, kind) for kind in (list, tuple, set, frozenset)},
    "dict": Kind(dict, lambda pairs: [*pairs, *pairs.values()], _dict_from),
    "mappingproxy": Kind(
        MappingProxyType, lambda pairs: [*pairs, *pairs.values()], lambda parts: MappingProxyType(_dict_from(parts))
    ),
    "bytes": Kind(bytes, lambda content: [content.hex()], lambda parts: bytes.fromhex(parts[0])),
    "DataFrame": Kind(pl.DataFrame, _table_parts, lambda parts: pl.read_ipc(io.BytesIO(parts[0].tobytes()))),
    "Series": Kind(
        pl.Series,
        lambda values: _table_parts(values.to_frame()),
        lambda parts: pl.read_ipc(io.BytesIO(parts[0].tobytes())).to_series(),
    ),
}


def _split(value: Any) -> tuple[str, Iterable[Any]]:
    """Return (name of the kind, parts) of a container or object; :func:`_join` makes the value from its parts again."""
    kind = type(value)
    name, full = kind.__name__, f"{kind.__module__}:{kind.__qualname__}"
    if name in KINDS and kind is KINDS[name].type:
        return name, KINDS[name].split(value)
    if isinstance(value, np.generic):
        return "scalar", [np.asarray(value)]
    if name in SPARSE and kind.__module__.startswith("scipy.sparse."):
        return name, [*value.shape, value.data, value.indices, value.indptr]
    if not _is_storable(kind):
        raise NotStorableError(f"an archive cannot hold an object of {full.replace(':', '.')}")
    if isinstance(value, tuple):
        return full, value
    state = vars(value).items()  # what is cached is computed again when it is used
    kept = [pair for pair in state if not isinstance(getattr(kind, pair[0], None), cached_property)]
    return full, [part for pair in kept for part in pair]


def _join(kind: str, parts: list[Any]) -> Any:
    """Return the value that :func:`_split` split into ``parts``; arrays and objects of recassay are built elsewhere."""
    if kind in KINDS:
        return KINDS[kind].join(parts)
    if kind == "scalar":
        return parts[0][()]
    if kind not in SPARSE:
        raise ValueError(f"an archive holds no {kind}")
    from scipy import sparse  # late: its import takes a tenth of scoring a small file, which needs none of it

    height, width, *arrays = parts
    check_sparse((height, width) if kind.startswith("csr") else (width, height), *arrays)
    return getattr(sparse, kind)(tuple(arrays), shape=(height, width))


def _class_of(name: str) -> type:
    """Return the class with the name ``module:class``; raise ValueError if archives may not hold its objects."""
    module, _, kind = name.partition(":")
    candidate = getattr(importlib.import_module(module), kind, None) if f"{module}.".startswith(PACKAGES) else None
    if not isinstance(candidate, type) or candidate.__module__ != module or not _is_storable(candidate):
        raise ValueError(f"an archive holds no objects of {name}")
    return candidate


def _is_storable(kind: type) -> bool:
    """Return whether archives may hold objects of a class."""
    ours = f"{kind.__module__}.".startswith(PACKAGES) and not f"{kind.__module__}.".startswith(NEVER)
    plain = not issubclass(kind, BUILT_ON) and (not issubclass(kind, tuple) or hasattr(kind, "_fields"))
    return ours and plain and "." not in kind.__qualname__
