"""Checksums of the files of a results folder: they identify what recassay wrote there, so that a damaged file is never
read as a result.

Two files hold them. ``cache/manifest.jsonl`` grows by a line per file while a study runs; every process writes one of
its own, so nothing is lost if several write. ``manifest.json`` is written last, and holds the files whose bytes depend
on nothing but the study. A file is intact if its size and CRC-32 are those of any entry: entries of older contents do
no harm, because every stored result also names what it was computed from.
"""

from __future__ import annotations

import json
import os
import threading
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

from recassay.data.io.write import before_replacing, write_text
from recassay.errors import InputError, UsageError

NAME, LOG, LOGS = "manifest.json", "manifest", "manifest*.jsonl"
CACHE, SET_ASIDE = "cache", "cache/set-aside"
SCHEMA = 1  # of the manifest; another number is another layout of the folder
BLOCK = 1 << 20
NOT_LISTED = (NAME, "report.html", "times.json")  # in manifest.json: they hold times, or are never read back


class State(Enum):
    """The state of a file by its manifest: intact, changed, not listed, or absent."""

    INTACT = "intact"
    CHANGED = "changed"
    UNLISTED = "unlisted"
    ABSENT = "absent"


@dataclass(frozen=True)
class Checksum:
    """The size and the CRC-32 of a file."""

    size: int
    crc: int

    @classmethod
    def of(cls, path: Path) -> Checksum:
        """Return the checksum of a file.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = (Path(folder) / "a").write_bytes(b"123456789")
        ...     Checksum.of(Path(folder) / "a") == Checksum(9, 0xCBF43926)
        True
        """
        size = crc = 0
        with path.open("rb") as file:
            while block := file.read(BLOCK):
                size, crc = size + len(block), zlib.crc32(block, crc)
        return cls(size, crc)


@dataclass
class Manifest:
    """The recorded checksums of the files of one folder, which tell whether a file is as recassay wrote it.

    ``entries`` has all checksums that were recorded for a file name. ``damaged`` says why the stored manifest or a log
    of it cannot be used; it is empty if all can. ``exists`` is False for a folder that had no manifest when it was
    read: an older version wrote it, and its files are accepted as they are.
    """

    folder: Path
    entries: dict[str, list[Checksum]] = field(default_factory=dict)
    exists: bool = False
    damaged: str = ""
    _seen: dict[str, tuple[tuple[int, int], State]] = field(default_factory=dict)
    _guard: threading.Lock = field(default_factory=threading.Lock)
    _log: Path | None = None

    @classmethod
    def read(cls, folder: str | Path) -> Manifest:
        """Read the manifest of a folder; raise U242 if another version of recassay wrote it."""
        manifest = cls(Path(folder))
        path = manifest.folder / NAME
        if path.is_file():
            manifest.exists = True
            manifest._read_final(path)
        for log in sorted((manifest.folder / CACHE).glob(LOGS)):
            manifest.exists = True
            manifest._read_log(log)
        return manifest

    def state(self, path: Path) -> State:
        """Return whether a file is as recassay wrote it (intact), changed, not listed in the manifest, or absent.

        The content is read again only if the file's size or time has changed since the last call.
        """
        try:
            about = path.stat()
        except OSError:
            return State.ABSENT
        name = self.name_of(path)
        stamp = about.st_size, about.st_mtime_ns
        known = self._seen.get(name)
        if known is None or known[0] != stamp:
            known = self._seen[name] = stamp, self._state(path, name, about.st_size)
        return known[1]

    def _state(self, path: Path, name: str, size: int) -> State:
        if not self.exists and name not in self.entries:  # of a version without manifests: listed from now on
            self.add(path, Checksum.of(path))
        listed = self.entries.get(name)
        if not listed:
            return State.UNLISTED
        if size not in {entry.size for entry in listed}:
            return State.CHANGED
        return State.INTACT if Checksum.of(path) in listed else State.CHANGED

    def is_intact(self, *paths: Path) -> bool:
        """Return whether all files have the bytes that recassay wrote."""
        return all(self.state(path) is State.INTACT for path in paths)

    def is_replaced(self, path: Path) -> bool:
        """Return whether somebody else wrote the file, in place of one from recassay or as an additional one.

        A changed file of a recorded size is taken as damaged, not as replaced: a file that somebody else wrote hardly
        ever has the same number of bytes.
        """
        state = self.state(path)
        if state is State.UNLISTED:
            return self.exists and not self.damaged
        sizes = {entry.size for entry in self.entries.get(self.name_of(path), ())}
        return state is State.CHANGED and path.stat().st_size not in sizes

    def require_intact(self, paths: Iterable[Path]) -> None:
        """Raise I318 for the first file that was changed since recassay wrote it; files that are absent are accepted.

        The files of a folder without a manifest are accepted, since an older version wrote them.
        """
        if not self.exists:
            return
        if self.damaged:
            raise _refused(self.folder / NAME, self.damaged)
        for path in paths:
            state = self.state(path)
            if state is State.CHANGED:
                raise _refused(path, "its checksum is not the one in the manifest")
            if state is State.UNLISTED and self.name_of(path) not in NOT_LISTED:
                raise _refused(path, "the manifest does not list it")

    def refuse_damaged(self, runs: Iterable[Path]) -> None:
        """Raise I318 for a run file that is damaged: its bytes changed, but not their number.

        A changed file with another number of bytes is one that somebody else put there, which is an input.
        """
        for run in runs:
            if self.state(run) is State.CHANGED and not self.is_replaced(run):
                raise _refused(run, "its checksum is not the one in the manifest")

    def name_of(self, path: Path) -> str:
        """Return the path of a file relative to the folder, with slashes on every operating system."""
        return path.relative_to(self.folder).as_posix()

    def add(self, path: Path, checksum: Checksum) -> None:
        """Record the checksum of a file that is about to be put at ``path``."""
        name = self.name_of(path)
        with self._guard:
            listed = self.entries.setdefault(name, [])
            if checksum in listed:
                listed.remove(checksum)
            listed.append(checksum)  # the newest is last
            self._seen.pop(name, None)
            if self._log is not None:
                _append(self._log, _line({"file": name, "size": checksum.size, "crc32": checksum.crc}))

    def reread(self) -> None:
        """Read the recorded checksums from the folder again, including those that other processes added."""
        self.entries = Manifest.read(self.folder).entries
        self._seen.clear()

    def set_aside(self, path: Path) -> Path:
        """Move a file that is about to be written again into ``cache/set-aside``, and return its new path."""
        target = self.folder / SET_ASIDE / path.relative_to(self.folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        os.replace(path, target)
        self._seen.pop(self.name_of(path), None)
        return target

    def write(self, only: Iterable[Path] | None = None) -> None:
        """Write ``manifest.json`` with the newest checksum of every existing file, and a new log that begins with them.

        A log is a file of checksums as they are recorded. ``only`` limits ``manifest.json`` to these files; files in
        ``cache`` are never listed in it. The logs of other processes are removed.
        """
        there = {name: listed[-1] for name, listed in self.entries.items() if (self.folder / name).is_file()}
        names = None if only is None else {self.name_of(path) for path in only}
        listed = {
            name: [one.size, one.crc]
            for name, one in sorted(there.items())
            if name not in NOT_LISTED and not name.startswith(f"{CACHE}/") and (names is None or name in names)
        }
        files = json.dumps(listed, indent=1, ensure_ascii=True)
        text = json.dumps({"manifest": SCHEMA, "crc32": zlib.crc32(files.encode())}) + "\n" + files + "\n"
        write_text(text, self.folder / NAME)
        self.exists, self.damaged = True, ""
        if self._log is None:
            return
        lines = [_line({"file": name, "size": one.size, "crc32": one.crc}) for name, one in sorted(there.items())]
        write_text("".join([_line({"manifest": SCHEMA}), *lines]), self._log)
        for other in (self.folder / CACHE).glob(LOGS):
            if other != self._log:
                other.unlink(missing_ok=True)

    def _read_final(self, path: Path) -> None:
        try:
            header, files = path.read_bytes().decode("ascii").split("\n", 1)
            about = json.loads(header)
            self._check_schema(about["manifest"], path)
            if zlib.crc32(files.removesuffix("\n").encode()) != about["crc32"]:
                raise ValueError("its own checksum is wrong")
            for name, (size, crc) in json.loads(files).items():
                self.entries.setdefault(name, []).append(Checksum(size, crc))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            self.damaged = str(error) or type(error).__name__

    def _read_log(self, path: Path) -> None:
        """Add the checksums in a log; a line that is cut off or damaged is left out, so its file is not listed."""
        for text in path.read_bytes().split(b"\n"):
            row = _parsed(text)
            if row is None:
                self.damaged = self.damaged or (f"a line of {path.name} is damaged" if text else "")
            elif "manifest" in row:
                self._check_schema(row["manifest"], path)
            else:
                self.entries.setdefault(row["file"], []).append(Checksum(row["size"], row["crc32"]))

    def _check_schema(self, schema: object, path: Path) -> None:
        if schema != SCHEMA and isinstance(schema, int):
            raise UsageError(
                "U242",
                f"the folder has layout {schema}, and this version of recassay reads and writes layout {SCHEMA}",
                where=str(path),
                hint="use the version of recassay that wrote it, or choose a new folder with -o",
            )


_recording: dict[Path, Manifest] = {}  # by absolute folder


@contextmanager
def recording(folder: str | Path, *, log: str | None = None) -> Iterator[Manifest]:
    """Record the checksum of every file that this process writes into a folder within the context; yield the manifest.

    Each checksum is appended to the log file named ``log`` in ``cache``. Without a log they are kept in memory until
    :meth:`Manifest.write`.
    """
    home = Path(folder).absolute()
    outer = _recording.get(home)
    if outer is not None:
        yield outer
        return
    manifest = Manifest.read(folder)
    manifest.folder = Path(folder)
    if log is not None:
        manifest._log = manifest.folder / CACHE / f"{log}.jsonl"
    _recording[home] = manifest
    if _record not in before_replacing:
        before_replacing.append(_record)
    try:
        yield manifest
    finally:
        del _recording[home]


def files_of(path: Path) -> list[Path]:
    """Return the file itself in a list, or for a folder (such as a table written by Spark) all files in it."""
    return sorted(one for one in path.rglob("*") if one.is_file()) if path.is_dir() else [path]


def manifest_of(folder: Path) -> Manifest:
    """Return the manifest that is being recorded for a folder, or else the one stored in the folder."""
    return _recording.get(folder.absolute()) or Manifest.read(folder)


def _record(temporary: Path, target: Path) -> None:
    """Record the checksum of a temporary file that is about to become ``target``, if its folder is being recorded."""
    place = target.absolute()
    for home, manifest in list(_recording.items()):
        if home in place.parents and not _is_own(place.relative_to(home)):
            manifest.add(manifest.folder / place.relative_to(home), Checksum.of(temporary))


def _is_own(name: Path) -> bool:
    return name.as_posix() == NAME or (name.parent.as_posix() == CACHE and name.match(LOGS))


def _line(row: dict[str, Any]) -> str:
    """Return one line of a log: the row as JSON, with the checksum of this text in front."""
    text = json.dumps(row, ensure_ascii=True)
    return f"{zlib.crc32(text.encode()):08x} {text}\n"


def _parsed(text: bytes) -> dict[str, Any] | None:
    """Return the row in one line of a log; None if the line does not match its checksum."""
    checksum, _, content = text.partition(b" ")
    if f"{zlib.crc32(content):08x}".encode() != checksum:
        return None
    row: dict[str, Any] = json.loads(content)
    return row


def _append(log: Path, line: str) -> None:
    """Append a line to a log of checksums in a single write, and flush it to the disk."""
    log.parent.mkdir(parents=True, exist_ok=True)
    is_new = not log.exists()
    handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
    try:
        os.write(handle, ((_line({"manifest": SCHEMA}) if is_new else "\n") + line).encode())
        os.fsync(handle)
    finally:
        os.close(handle)


def _refused(path: Path, why: str) -> InputError:
    return InputError(
        "I318",
        f"{path.name} is not as recassay wrote it: {why}",
        where=str(path),
        hint="run the study or the scoring into this folder again: what is damaged is computed again",
    )
