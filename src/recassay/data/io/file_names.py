"""File names made from any text: different texts get different names, valid on every file system.

Plain names stay unchanged. What some system forbids, hides, cuts off or confuses is written as %XX, byte by byte of
UTF-8: separators, control characters, letters beyond ASCII (which may be composed or not), a dot or a blank at either
end, and the first letter of a name that Windows reserves for a device.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from urllib.parse import unquote_to_bytes

LONGEST = 120  # bytes; with a suffix and a temporary file's affixes below 143, the limit of some file systems
NOTHING = "%"  # the name of an empty text; a lone % occurs in no other name
MARK = "~"  # precedes a digest, and occurs nowhere else
PLAIN = re.compile(r"[A-Za-z0-9._()=@+ -]")
DEVICE = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9]) *(\.|$)", re.IGNORECASE)


def file_name(text: str, among: Iterable[str] = ()) -> str:
    """Return a readable file name for a text; different texts get different names.

    A name longer than 120 bytes is cut and ends in a digest of the text. So does a name that differs only in case from
    that of another text in ``among``. :func:`text_of_file_name` restores the text, unless the name has a digest.

    >>> file_name("ALS(factors=64)"), file_name("k_folds(k=5, by='user')"), file_name("a/b"), file_name("..")
    ('ALS(factors=64)', 'k_folds(k=5,by=%27user%27)', 'a%2Fb', '%2E%2E')
    >>> file_name("nul"), file_name("als", among=["ALS", "als"])
    ('%6Eul', 'als~c7099327b1de27609376029c05c07bd5')
    """
    name = _written(text)
    alike = any(other != text and _written(other).lower() == name.lower() for other in among)
    if len(name) <= LONGEST and not alike:
        return name
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
    return f"{name[: LONGEST - len(MARK) - len(digest)]}{MARK}{digest}"


def text_of_file_name(name: str) -> str:
    """Return the text from which :func:`file_name` made a name; any other name, or one with a digest, is unchanged.

    >>> text_of_file_name("k_folds(k=5,by=%27user%27)"), text_of_file_name("100%"), text_of_file_name("plain")
    ("k_folds(k=5, by='user')", '100%', 'plain')
    """
    if name == NOTHING:
        return ""
    try:
        text = unquote_to_bytes(name.replace(",", ", ")).decode("utf-8", "surrogatepass")
    except UnicodeError:
        return name
    return text if _written(text) == name else name


def _written(text: str) -> str:
    """Return the text with every character that is not plain as %XX; ", " becomes "," as in the names of models."""
    name = ",".join("".join(map(_letter, part)) for part in text.split(", ")) or NOTHING
    if name[-1] in ". ":
        name = name[:-1] + _code(name[-1])
    if name[0] in ". " or DEVICE.match(name):
        name = _code(name[0]) + name[1:]
    return name


def _letter(letter: str) -> str:
    return letter if PLAIN.fullmatch(letter) else _code(letter)


def _code(letter: str) -> str:
    return "".join(f"%{byte:02X}" for byte in letter.encode("utf-8", "surrogatepass"))
