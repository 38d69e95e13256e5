"""Writing of files completely or not at all: a crash never leaves a partial file under the final name.

Names of files are made from any text, and different texts get different names, valid on every file system. Plain names
stay unchanged. What some system forbids, hides, cuts off or confuses is written as %XX, byte by byte of UTF-8:
separators, control characters, letters beyond ASCII (which may be composed or not), a dot or a blank at either end, and
the first letter of a name that Windows reserves for a device.
"""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
import re
import secrets
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote_to_bytes

import numpy as np
import polars as pl

from recassay.data.io.parquet import exact
from recassay.errors import RecassayError, UsageError

FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS}
OS_ERROR = re.compile(r"\(os error (\d+)\)")
UNFLUSHED = "Invalid thrift: transport error"  # what Polars says if the disk is full while it writes a header

LONGEST = 120  # bytes; with a suffix and a temporary file's affixes below 143, the limit of some file systems
NOTHING = "%"  # the name of an empty text; a lone % occurs in no other name
MARK = "~"  # precedes a digest, and occurs nowhere else
PLAIN = "()=@+ "  # beside letters, digits, dots, dashes and underscores
DEVICE = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9]) *(\.|$)", re.IGNORECASE)

# Called with the temporary file and its target, before it takes the target's place.
before_replacing: list[Callable[[Path, Path], None]] = []


@contextmanager
def atomic(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path next to the target; it replaces the target at the end, or is deleted on an exception.

    The bytes reach the disk before the replacement, so a crash leaves the old file or the new one. Raise U111 if the
    folder cannot be written to.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic(Path(folder) / "a.txt") as temporary:
    ...         _ = temporary.write_text("whole")
    ...     (Path(folder) / "a.txt").read_text()
    'whole'
    """
    target = _final(Path(path))
    short = target.name.encode("utf-8", "surrogateescape")[:180].decode("utf-8", "ignore")  # file systems have limits
    temporary = target.with_name(f".{short}.{secrets.token_hex(6)}.tmp")
    try:
        temporary.touch(exist_ok=False)
    except (OSError, ValueError) as error:
        if getattr(error, "errno", None) in FULL:
            raise unwritten(error, target) from None
        raise UsageError(
            "U111",
            f"cannot write {target.name}: {getattr(error, 'strerror', None) or error}",
            where=str(target),
            hint="create the folder, or choose one that can be written to",
        ) from None
    try:
        with writing(target):
            yield temporary
            _sync(temporary)
            for call in before_replacing:
                call(temporary, target)
            os.replace(temporary, target)
            _sync(target.parent)
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Raise U238 in place of an error that says that a temporary file at ``path`` could not be written completely."""
    try:
        yield
    except BaseException as error:
        if is_full(error) or UNFLUSHED in str(error):
            raise unwritten(error, path) from None
        raise


def is_full(error: BaseException) -> bool:
    """Return whether an error says that a disk is full, a quota is reached, or a device fails.

    Polars reports such an error as text.
    """
    if isinstance(error, RecassayError):
        return False
    said = OS_ERROR.search(str(error)) if isinstance(error, pl.exceptions.PolarsError | OSError) else None
    return getattr(error, "errno", None) in FULL or (said is not None and int(said[1]) in FULL)


def unwritten(error: BaseException, where: str | Path) -> UsageError:
    """Return the error for an output that could not be written completely; ``where`` names it."""
    said = OS_ERROR.search(str(error))
    number = getattr(error, "errno", None) or (int(said[1]) if said else 0)
    return UsageError(
        "U238",
        f"the output cannot be written: {os.strerror(number) if number else error}",
        where=str(where),
        hint="make room, or choose another place with -o (or TMPDIR for temporary files); then run the command again",
    )


def _require_utf8(path: Path) -> None:
    """Raise U111 for an output whose name has bytes that are not UTF-8: libraries of tables cannot write there."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        raise UsageError(
            "U111",
            "its name is not UTF-8",
            where=os.fsencode(path).decode("utf-8", "backslashreplace"),
            hint="choose another name",
        ) from None


def _final(path: Path) -> Path:
    """Return the file to write for a path, with links resolved; raise U111 if something other than a file is there."""
    _require_utf8(path)
    try:
        if path.is_symlink():
            path = path.resolve()
        kind = path.lstat().st_mode
    except (OSError, ValueError, RuntimeError):
        return path
    if not stat.S_ISREG(kind):
        what = "a folder" if stat.S_ISDIR(kind) else "a device, a pipe or a socket"
        raise UsageError(
            "U111",
            f"cannot write {path.name}: it is {what}, not a file",
            where=str(path),
            hint="choose the name of a file",
        )
    return path


def require_possible_folder(path: str | Path) -> None:
    """Raise U111 if a folder for results clearly cannot be made, before the work is done."""
    folder = Path(path).absolute()
    _require_utf8(folder)
    why = ""
    try:
        if not folder.is_dir():
            folder.lstat()
            why = "it is a file"
    except FileNotFoundError:
        above = next(one for one in folder.parents if one.exists())
        why = "" if os.access(above, os.W_OK) else f"{above} cannot be written to"
    except (OSError, ValueError) as error:  # below a file, or a name that the system refuses
        why = getattr(error, "strerror", None) or str(error)
    if why:
        raise UsageError("U111", f"cannot create the folder: {why}", where=str(folder)[:300], hint="choose another -o")


def make_folder(path: str | Path) -> Path:
    """Create the folder of an output if needed, and return it; raise U111 if that fails."""
    folder = Path(path)
    _require_utf8(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            "U111", f"cannot create the folder: {error.strerror or error}", where=str(folder), hint="choose another -o"
        ) from None
    return folder


def write_text(text: str, path: str | Path) -> None:
    """Write text as UTF-8, with its line ends unchanged."""
    write_bytes(text.encode(), path)


def write_bytes(content: bytes | memoryview, path: str | Path) -> None:
    """Write bytes unchanged."""
    with atomic(path) as temporary:
        temporary.write_bytes(content)


def write_json(content: object, path: str | Path) -> None:
    """Write JSON with keys in the order of the dict and NaN as null; an infinite number raises ValueError."""
    write_text(json_text(content, indent=2) + "\n", path)


def json_text(content: object, *, indent: int | None = None, ascii_only: bool = False) -> str:
    """Return content as JSON text, with keys in the order of the dict and NaN as null.

    An infinite number raises ValueError; ``indent`` is the number of blanks per level. With ``ascii_only`` other
    characters are escapes.
    """
    return json.dumps(_plain(content), ensure_ascii=ascii_only, allow_nan=False, indent=indent)


def finite(value: Any) -> Any:
    """Return a nested value in which infinite and NaN numbers are None, because JSON lacks them.

    >>> finite({"mean": [0.5, math.nan], "metric": "mrr"})
    {'mean': [0.5, None], 'metric': 'mrr'}
    """
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): finite(each) for key, each in value.items()}
    return [finite(each) for each in value] if isinstance(value, list | tuple) else value


def write_parquet(frame: pl.DataFrame, path: str | Path, metadata: Mapping[str, str] | None = None) -> None:
    """Write a frame as Parquet; ``metadata`` has texts that are stored beside it."""
    with atomic(path) as temporary:
        frame.write_parquet(exact(temporary), metadata=dict(metadata) if metadata else None)


def _plain(content: Any) -> Any:
    """Return nested content in which every value has a type that JSON has."""
    if content is None or type(content) in (str, int, bool):  # most are: before the slow check of a mapping
        return content
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
    """Flush a file to disk, or a folder's entries where the system supports it."""
    if path.is_dir() and os.name == "nt":
        return
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def file_name(text: str, among: Iterable[str] = ()) -> str:
    """Return a readable file name for a text; different texts get different names.

    A name longer than 120 bytes is cut and ends in a digest of the text. So does a name that differs only in case from
    that of another text in ``among``. :func:`text_of_file_name` restores the text, unless the name has a digest.

    >>> file_name("ALS(factors=64)"), file_name("k_folds(k=5, by='user')"), file_name("a/b"), file_name("..")
    ('ALS(factors=64)', 'k_folds(k=5,by=%27user%27)', 'a%2Fb', '%2E%2E')
    >>> file_name("nul"), file_name("als", among=["ALS", "als"])
    ('%6Eul', 'als~c7099327b1de27609376029c05c07bd5')
    """
    name = _percent_encoded(text)
    alike = any(other != text and _percent_encoded(other).lower() == name.lower() for other in among)
    if len(name) <= LONGEST and not alike:
        return name
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
    return f"{name[: LONGEST - len(MARK) - len(digest)]}{MARK}{digest}"


def text_of_file_name(name: str) -> str:
    """Return the text from which :func:`file_name` made a name; any other name, or one with a digest, is unchanged.

    >>> text_of_file_name("k_folds(k=5,by=%27user%27)"), text_of_file_name("100%"), text_of_file_name("plain")
    ("k_folds(k=5, by='user')", '100%', 'plain')
    """
    with suppress(UnicodeError):
        text = "" if name == NOTHING else unquote_to_bytes(name.replace(",", ", ")).decode("utf-8", "surrogatepass")
        name = text if _percent_encoded(text) == name else name
    return name


def _percent_encoded(text: str) -> str:
    """Return a text as a file name that is valid everywhere: other characters than those in PLAIN become %XX.

    A comma and a blank between parameters, as in names of models, become a comma alone. A dot or blank at either end,
    and the first letter of a name that Windows reserves, become %XX too.
    """
    parts = [quote(part, safe=PLAIN, errors="surrogatepass").replace(MARK, "%7E") for part in text.split(", ")]
    name = ",".join(parts) or NOTHING
    if name[-1] in ". ":
        name = f"{name[:-1]}%{ord(name[-1]):02X}"
    if name[0] in ". " or DEVICE.match(name):
        name = f"%{ord(name[0]):02X}{name[1:]}"
    return name
