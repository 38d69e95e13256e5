"""The list of the files that recassay wrote into a folder, each with its size and checksum.

Only a folder that is empty or has this list is written into. A file that the list lacks is somebody else's: it is
neither read as a result nor replaced nor removed. A file that is listed is read only with the bytes that were written.

The list is ``manifest.jsonl``, a line per file. A line is added before its file takes its place, so a process that is
killed leaves no file that is not listed. At the end of a run the list is written again, with a line per existing file.
Until then a file may have several lines, and is intact if its bytes match one of them: every stored result also names
what it was computed from.
"""

from __future__ import annotations

import json
import os
import threading
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from recassay.data.io.write import before_replacing, make_folder, write_text
from recassay.errors import InputError, UsageError

NAME = "manifest.jsonl"
CACHE, PAGE = "cache/", "report.html"  # files that may be deleted: no result is read from them
SCHEMA = 2  # of the list; another number is another layout of the folder
BLOCK = 1 << 20
State = Literal["intact", "changed", "unlisted", "absent"]  # of a file by the list


class Checksum(NamedTuple):
    """The size and the CRC-32 of a file."""

    size: int
    crc32: int

    @classmethod
    def of(cls, path: Path) -> Checksum:
        """Return the checksum of a file."""
        size = crc = 0
        with path.open("rb") as file:
            while block := file.read(BLOCK):
                size, crc = size + len(block), zlib.crc32(block, crc)
        return cls(size, crc)


@dataclass
class Manifest:
    """The list of the files that recassay wrote into one folder, stored there as ``manifest.jsonl``.

    ``entries`` maps the name of a file to its checksums, the newest last. ``exists`` says whether the folder has a
    list, and ``damaged`` why a part of it cannot be read; then recassay may have written files that are not listed.
    """

    folder: Path
    entries: dict[str, list[Checksum]] = field(default_factory=dict)
    exists: bool = False
    damaged: str = ""
    _seen: dict[str, tuple[tuple[int, int], State]] = field(default_factory=dict)
    _guard: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def read(cls, folder: str | Path) -> Manifest:
        """Read the list of a folder; raise U134 if another version of recassay wrote it."""
        manifest = cls(Path(folder))
        path = manifest.folder / NAME
        manifest.exists = path.is_file()
        for line in path.read_bytes().split(b"\n") if manifest.exists else ():
            try:
                manifest._take(line)
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
                manifest.damaged = manifest.damaged or f"a line of it cannot be read: {error}"
        return manifest

    def _take(self, line: bytes) -> None:
        """Add the content of one stored line to the list: a checksum, and the entry of a file as JSON."""
        checksum, _, content = line.partition(b" ")
        if not line:
            return
        if f"{zlib.crc32(content):08x}".encode() != checksum:
            raise ValueError("its checksum is wrong")
        row = json.loads(content)
        if "manifest" not in row:
            name = row["file"]
            if ".." in name.split("/") or Path(name).is_absolute():
                raise ValueError(f"{name} is outside the folder")
            self.entries.setdefault(name, []).append(Checksum(row["size"], row["crc32"]))
        elif row["manifest"] != SCHEMA:
            raise UsageError(
                "U134",
                f"the folder has layout {row['manifest']}, and this version of recassay uses layout {SCHEMA}",
                where=str(self.folder / NAME),
                hint="use the version of recassay that wrote it, or choose a new folder with -o",
            )

    def state(self, path: Path) -> State:
        """Return whether a file is as recassay wrote it (intact), changed, not listed, or absent.

        The content is read again only if the file's size or time has changed since the last call.
        """
        try:
            about = path.stat()
        except OSError:
            return "absent"
        name, stamp = self.name_of(path), (about.st_size, about.st_mtime_ns)
        if (listed := self._checksums(name)) and self._seen.get(name, ("", ""))[0] != stamp:
            is_intact = stamp[0] in {entry.size for entry in listed} and Checksum.of(path) in listed
            self._seen[name] = stamp, "intact" if is_intact else "changed"
        return self._seen[name][1] if listed else "unlisted"

    def _checksums(self, name: str) -> list[Checksum]:
        """Return the checksums of a file, also if a task in another process has written it meanwhile."""
        if name not in self.entries and self._is_recorded:
            self.reread()
        return self.entries.get(name, [])

    def is_intact(self, *paths: Path) -> bool:
        """Return whether all files have the bytes that recassay wrote."""
        return all(self.state(path) == "intact" for path in paths)

    def is_replaced(self, path: Path) -> bool:
        """Return whether somebody else wrote the file, in place of one from recassay or as an additional one.

        A changed file of a recorded size is taken as damaged, not as replaced: a file that somebody else wrote hardly
        ever has the same number of bytes.
        """
        state, sizes = self.state(path), {entry.size for entry in self.entries.get(self.name_of(path), ())}
        return (state == "unlisted" and not self.damaged) or (state == "changed" and path.stat().st_size not in sizes)

    def problems(self) -> Iterator[str]:
        """Yield a sentence for each listed file that is absent or changed, and for the list itself."""
        if not self.exists or self.damaged:
            yield f"{NAME} in the folder is damaged"
        for name in self.entries:
            state = self.state(self.folder / name)
            if state == "changed" or (state == "absent" and not name.startswith(CACHE)):
                yield f"{name} in the folder {'changed' if state == 'changed' else 'is missing'}"

    def require_intact(self, paths: Iterable[Path]) -> None:
        """Raise I318 if the folder has no list, lacks a listed file, or a file of ``paths`` is not as it was written.

        Files of ``paths`` that are neither listed nor there are accepted; the page and the cache may be deleted.
        """
        if not self.exists or (self.damaged and not self._is_recorded):
            raise _refused(self.folder / NAME, self.damaged or "it is missing")
        for name in self.entries:
            if not name.startswith((CACHE, PAGE)) and not os.path.exists(self.folder / name):
                raise _refused(self.folder / name, "it is missing")
        for path in paths:
            state = self.state(path)
            if state in ("changed", "unlisted"):
                raise _refused(path, "its checksum is another" if state == "changed" else f"{NAME} does not list it")

    def refuse_to_replace(self, path: Path) -> None:
        """Raise U111 if a file, or a folder in the place of a file, is there and not listed."""
        if path.exists() and not (self.damaged or any(self._checksums(self.name_of(one)) for one in files_of(path))):
            raise UsageError(
                "U111",
                f"{path.name} is already there, and recassay did not write it",
                where=str(path),
                hint="move it away, or choose another folder with -o",
            )

    def remove(self, path: Path) -> None:
        """Remove a file that recassay wrote; a file of somebody else stays."""
        if self.name_of(path) in self.entries and not self.is_replaced(path):
            path.unlink(missing_ok=True)

    def listed(self, below: str, suffix: str = "") -> list[Path]:
        """Return the listed files below a folder whose names end in ``suffix``, in ascending order."""
        names = sorted(name for name in self.entries if name.startswith(f"{below}/") and name.endswith(suffix))
        return [self.folder / name for name in names]

    def name_of(self, path: Path) -> str:
        """Return the path of a file relative to the folder, with slashes on every operating system."""
        return path.relative_to(self.folder).as_posix()

    def add(self, path: Path, checksum: Checksum) -> None:
        """Add a file to the list, with its checksum, right before it is written to ``path``."""
        name = self.name_of(path)
        with self._guard:
            self.entries[name] = [*(one for one in self.entries.get(name, ()) if one != checksum), checksum]
            self._seen.pop(name, None)
            if self._is_recorded:  # by a single write: other processes may append lines too
                with (self.folder / NAME).open("ab", buffering=0) as file:
                    file.write(("\n" + _line({"file": name, **checksum._asdict()})).encode())
                    os.fsync(file.fileno())

    def reread(self) -> None:
        """Read the list again, with the files that other processes wrote."""
        self.entries = Manifest.read(self.folder).entries
        self._seen.clear()

    def write(self) -> None:
        """Replace ``manifest.jsonl`` by a list with one line for each listed file that exists, its newest checksum."""
        there = {name: sums[-1:] for name, sums in sorted(self.entries.items()) if (self.folder / name).is_file()}
        rows = [{"manifest": SCHEMA}, *({"file": name, **newest._asdict()} for name, (newest,) in there.items())]
        write_text("".join(map(_line, rows)), self.folder / NAME)
        self.entries, self.exists, self.damaged = there, True, ""

    @property
    def _is_recorded(self) -> bool:
        return self.folder.absolute() in _recording


_recording: dict[Path, Manifest] = {}  # by absolute folder


@contextmanager
def recording(folder: str | Path) -> Iterator[Manifest]:
    """List every file that this process writes into a folder within the context; yield the list.

    Raise U111 if the folder has files and no list, and within the context for a file that would replace one of somebody
    else. Hidden files do not count.
    """
    home = make_folder(folder).absolute()
    outer = _recording.get(home)
    if outer is not None:
        yield outer
        return
    require_own_folder(folder)
    manifest = Manifest.read(folder)
    _recording[home] = manifest
    try:
        if not manifest.exists:
            manifest.write()
        yield manifest
    finally:
        del _recording[home]


def require_own_folder(folder: str | Path) -> None:
    """Raise U111 if a folder has files and no list of those that recassay wrote; hidden files do not count."""
    home = Path(folder)
    others = [] if (home / NAME).is_file() or not home.is_dir() else [path.name for path in home.iterdir()]
    shown = sorted(name for name in others if not name.startswith("."))
    if shown:
        raise UsageError(
            "U111",
            f"the folder has files that recassay did not write, such as {shown[0]}",
            where=str(folder),
            hint="choose a new folder with -o",
        )


def files_of(path: Path) -> list[Path]:
    """Return the file itself in a list, or for a folder (such as a table written by Spark) all files in it."""
    return sorted(one for one in path.rglob("*") if one.is_file()) if path.is_dir() else [path]


def manifest_of(folder: Path) -> Manifest:
    """Return the list that is being recorded for a folder, or else the one stored in the folder."""
    return _recording.get(folder.absolute()) or Manifest.read(folder)


def _record(temporary: Path, target: Path) -> None:
    """List a temporary file that is about to become ``target``, if its folder is being recorded."""
    place = target.absolute()
    for home, manifest in list(_recording.items()):
        if home in place.parents and place != home / NAME:
            path = manifest.folder / place.relative_to(home)
            manifest.refuse_to_replace(path)
            manifest.add(path, Checksum.of(temporary))


before_replacing.append(_record)


def _line(row: dict[str, Any]) -> str:
    """Return one line of the list: the row as JSON, with the checksum of this text in front."""
    text = json.dumps(row, ensure_ascii=True)
    return f"{zlib.crc32(text.encode()):08x} {text}\n"


def _refused(path: Path, why: str) -> InputError:
    return InputError(
        "I318",
        f"{path.name} is not as recassay wrote it: {why}",
        where=str(path),
        hint="run the study or the scoring into this folder again: what is damaged is computed again",
    )
