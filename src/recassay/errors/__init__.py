"""Every error recassay raises on purpose, and the code each one carries.

    RecassayError
    ├── InputError      exit 2   the given data cannot be used
    ├── UsageError      exit 2   the request cannot be carried out
    └── InternalError   exit 3   a bug in recassay: please report it

An error says *what* is wrong (with counts and an example), *where*, and *what to do next*:

>>> print(UsageError("U101", "there is no metric 'ndgc'", where="-m ndgc@10", hint="did you mean 'ndcg'?"))
[U101] there is no metric 'ndgc'.
  Where: -m ndgc@10
  Try:   did you mean 'ndcg'?

Codes are permanent: a code never changes its meaning. ``codes.toml`` explains each.
"""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

ADDRESS = re.compile(r"(?<=://)\S+")
OPTION = re.compile(  # of the command line, unless it is in a whole command
    r"recassay [a-z][^;,)\n]*|--([a-z][a-z-]*)(?: (?!(?:or|and|for|with)\b)('[^']*'|(?:[^\s;,:)]|[,:](?=\S))+))?"
)
OBJECTS = {  # keywords of ``score`` that take an object of options, and the options in it
    "columns=ReadOptions": ("truth-columns", "train-columns", "users-columns"),
    "conventions=ConventionOptions": ("missing", "no-relevant", "ties", "precision", "duplicates"),
    "execution=Execution": ("memory", "engine"),
    "groups=GroupOptions": ("smallest-group",),
}
SETTING = re.compile(r"^(?!(?:stream|group|consumer)=)([\w.]+=)?.+")  # in an address, if it may be a secret


class Advice(NamedTuple):
    """What an error code means: a title, the cause of the error, and a remedy."""

    title: str
    cause: str
    remedy: str


@functools.cache
def explanations() -> Mapping[str, Advice]:
    """Return the explanation of every error code."""
    table = tomllib.loads((Path(__file__).parent / "codes.toml").read_text(encoding="utf-8"))
    return {code: Advice(**{name: " ".join(text.split()) for name, text in row.items()}) for code, row in table.items()}


class RecassayError(Exception):
    """Base of every error that recassay raises on purpose.

    It has a permanent code, and says what is wrong, where, and what to do next.
    """

    exit_code = 3

    def __init__(self, code: str, what: str, where: str = "", hint: str = "") -> None:
        what, where = masked(what), masked(where)
        super().__init__(code, what, where, hint)
        self.code = code
        self.what = what.rstrip(".")
        self.where = where
        self.hint = hint

    def __str__(self) -> str:
        return OPTION.sub(_as_keyword, self.for_shell())

    def for_shell(self) -> str:
        """Return the message in the words of the command line; ``str`` has keywords in place of its options."""
        lines = [f"[{self.code}] {self.what}."]
        if self.where:
            lines.append(f"  Where: {self.where}")
        if self.hint:
            lines.append(f"  Try:   {self.hint}")
        return printable("\n".join(lines), keep="\n")


def _as_keyword(option: re.Match[str]) -> str:
    """Return an option of the command line, ``--nan last``, as a keyword of Python, ``nan='last'``.

    Where Python has an object of options for it, the keyword that takes the object comes first.
    """
    name, value = option[1], (option[2] or "...").strip("'")
    if name is None:
        return option[0]
    plain = value == "..." or value.isdecimal() or (value.isalpha() and value.isupper())
    keyword = f"{name.replace('-', '_')}={value if plain else repr(value)}"
    return next((f"{of}({keyword})" for of, names in OBJECTS.items() if name in names), keyword)


def masked(text: str) -> str:
    """Return a text without the secrets in addresses: users, passwords, and settings after a question mark.

    Names of streams and of consumer groups are no secrets.

    >>> masked("amqp://user:secret@host/queue and kafka://host/topic?sasl.password=secret")
    'amqp://host/queue and kafka://host/topic?sasl.password=***'
    """
    return ADDRESS.sub(_masked_address, text)


def _masked_address(address: re.Match[str]) -> str:
    place, mark, settings = address[0].partition("?")
    shown = "&".join(SETTING.sub(r"\1***", pair) for pair in settings.split("&"))
    # an @ behind a question mark may end a password that has a question mark in it
    place = "***" if "@" in settings and "@" not in place else place.rpartition("@")[2]
    return f"{place}{mark}{shown}"


def printable(text: str, keep: str = "") -> str:
    r"""Return a text with control characters, and what cannot be encoded, written as escapes.

    Characters in ``keep`` stay as they are. A name from a file can then neither move the cursor of a terminal nor
    change its title.

    >>> printable("als\x1b]0;owned\x07"), printable("café, two\nlines", keep="\n")
    ('als\\x1b]0;owned\\x07', 'café, two\nlines')
    """
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() or one in keep else one.encode("unicode_escape").decode() for one in text)


def out_of_memory(error: BaseException | str, *, where: str = "", hint: str = "") -> UsageError:
    """Return the error U143 for work that needs more memory than is available, with the message of ``error``."""
    detail = str(error).splitlines()[0] if str(error) else "the system gave no more"
    hint = hint or "score run files with a budget: --memory 2GB; or use a machine, or a limit, with more memory"
    return UsageError("U143", f"not enough memory: {detail}", where=where, hint=hint)


def names_no_file(error: OSError) -> bool:
    """Return whether something without a name was not found, which only the working folder is."""
    return error.filename is None and isinstance(error, FileNotFoundError)


def unusable_file(error: OSError) -> InputError:
    """Return the error I110 for a file or folder that the system refuses, or for a working folder that is gone."""
    if names_no_file(error):
        return InputError("I110", "the working folder no longer exists", hint="change to a folder that exists")
    return InputError("I110", f"cannot use {error.filename!r:.200}: {error.strerror}")


class InputError(RecassayError):
    """Error about input data that cannot be used."""

    exit_code = 2


class UsageError(RecassayError):
    """Error about a request that cannot be carried out."""

    exit_code = 2


class InternalError(RecassayError):
    """Error about a bug in recassay."""

    exit_code = 3
