"""Names of files made of any text: another name for another text, on every file system.

Plain names stay as they are. What some system forbids, hides, cuts off or takes for the same is written as %XX, byte by
byte of UTF-8: separators, control characters, letters beyond ASCII (which may be composed or not), a dot or a blank at
either end, and the first letter of a name that Windows keeps for a device.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from urllib.parse import unquote_to_bytes

LONGEST = 120  # bytes; with a suffix and the name of a temporary file below the 143 that some systems take
NOTHING = "%"  # of an empty text; a lone % stands nowhere else
MARK = "~"  # before a digest; nowhere else
PLAIN = re.compile(r"[A-Za-z0-9._()=@+ -]")
DEVICE = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9]) *(\.|$)", re.IGNORECASE)


def file_name(text: str, among: Iterable[str] = ()) -> str:
    """Return a name for a file that reads like the text, and is another one for another text.

    A name is cut, and ends in a digest of the text, where it is longer than 120 bytes; so it does where a text in
    ``among`` has a name that differs in case alone. :func:`text_of` finds the text again, except behind a digest.

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


def text_of(name: str) -> str:
    """Return the text that a name was made of by :func:`file_name`; a name that was not, or has a digest, as it is.

    >>> text_of("k_folds(k=5,by=%27user%27)"), text_of("100%"), text_of("plain")
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
    """The text with %XX for what is not plain; a comma stands for a comma and a blank, as in texts of models."""
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
