"""Reading of a YAML file as plain values, with the line of every key for error messages, and its parameters.

``{epochs}`` in the texts of a study is replaced by the value under ``parameters`` or from ``--set``. In the paths of
run files ``{data}``, ``{split}``, ``{fold}`` and ``{seed}`` stay as they are, because each data set, split, fold and
seed of the study has a run file of its own.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import yaml

from recassay.data.io.documents import LONGEST, YamlError, parse_yaml
from recassay.errors import InputError, RecassayError, UsageError
from recassay.naming.grammar import suggest

PARAMETERS, QUICK = "parameters", "quick"
NAME = re.compile(r"\{([A-Za-z_]\w*)\}")
PLACE_NAMES = ("data", "split", "fold", "seed")  # of a place of the study, in the paths of run files
OPTION = re.compile(r"--columns (?P<pairs>\S.*)$")
UNTOUCHED = {"study", "about", QUICK, PARAMETERS}

Value = int | float | bool | str
Key = tuple[str | int, ...]
Thing = TypeVar("Thing")


@dataclass(frozen=True)
class Document:
    """The content of a YAML file, and the line number of every key in it.

    With ``quick`` the keys under ``quick`` replace those at the top of the file, and errors name their lines.
    """

    path: Path
    content: dict[str, Any]
    lines: Mapping[Key, int]
    quick: bool = False

    @property
    def folder(self) -> Path:
        """Return the folder of the file, to which paths in it are relative."""
        return self.path.parent

    @property
    def replaced(self) -> Mapping[str, Any]:
        """Return the part of the content that replaces keys at the top: that under ``quick``, if it is wanted."""
        part = self.content.get(QUICK) if self.quick else None
        return part if isinstance(part, dict) else {}

    def place(self, key: Key) -> Key:
        """Return the path of a key in the file: below ``quick`` if it is replaced there.

        The index of a list entry is left out where the file has a single value in place of the list.
        """
        part = self.replaced if key[:1] and key[0] in self.replaced else self.content
        if any(isinstance(step, int) for step in key[1:2]) and not isinstance(part.get(str(key[0])), list):
            key = (key[0], *key[2:])
        return key if part is self.content else (QUICK, *key)

    def where(self, key: Key) -> str:
        """Return the place of a key for error messages: the file, the line, and the key with dots.

        A key without a line of its own gets the line of the nearest enclosing key.

        >>> document = Document(Path("a.yaml"), {"models": {}}, {("models",): 3, ("models", "als"): 5})
        >>> document.where(("models", "als")), document.where(("models", "pop"))
        ('a.yaml, line 5, models.als', 'a.yaml, line 3, models.pop')
        """
        key = self.place(key)
        around = next((key[:size] for size in range(len(key), 0, -1) if key[:size] in self.lines), None)
        line = f", line {self.lines[around]}" if around else ""
        return f"{self.path}{line}, {'.'.join(map(str, key))}" if key else str(self.path)

    def locate(self, key: Key, error: RecassayError) -> RecassayError:
        """Return a copy of ``error`` that also names the file, line and key where the mistake is.

        Its hint about columns has the syntax of study files in place of that of the command line.
        """

        def in_yaml(match: re.Match[str]) -> str:
            return f"columns: {{{match['pairs'].replace('=', ': ').replace(',', ', ')}}}"

        where = self.where(key) + (f" ({error.where})" if error.where else "")
        return type(error)(error.code, error.what, where=where, hint=OPTION.sub(in_yaml, error.hint))

    @contextmanager
    def locating(self, *key: str | int) -> Iterator[None]:
        """Add the file, line and key of a mistake to an error that is raised within the context."""
        try:
            yield
        except RecassayError as error:
            raise self.locate(key, error) from error

    def error(self, key: Key, what: str, hint: str) -> UsageError:
        """Return the error U132 for an invalid value at ``key``; ``what`` says what is wrong, ``hint`` what to do."""
        return UsageError("U132", what, where=self.where(key), hint=hint)

    def parse(self, key: Key, text: str, parse: Callable[[str], Thing]) -> Thing:
        """Return ``parse(text)``; if it raises, the error also names the file, line and key of the text."""
        with self.locating(*key):
            return parse(text)

    def parse_list(self, key: str | Key, texts: list[str], parse: Callable[[str], Thing]) -> list[Thing]:
        """Return ``parse(text)`` for each text in the list under ``key``.

        If it raises, the error also names the file, line and key of the text. Raise U132 if YAML has cut an unquoted
        text such as ``ALS(factors=8, alpha=1)`` in two at its comma.
        """
        whole = (key,) if isinstance(key, str) else key
        for number, text in enumerate(texts):
            if text.count("(") > text.count(")"):
                open_brackets = itertools.accumulate(one.count("(") - one.count(")") for one in texts[number:])
                end = number + next((more for more, left in enumerate(open_brackets) if left == 0), 0)
                joined = ", ".join(texts[number : end + 1]) if end > number else f"{text}...)"
                raise self.error(
                    (*whole, number),
                    f"'{text}' lacks its closing bracket, because YAML cuts a list at every comma",
                    f'quote what has a comma: {whole[-1]}: ["{joined}"]',
                )
        return [self.parse((*whole, number), text, parse) for number, text in enumerate(texts)]


def read_document(path: str | Path, *, quick: bool = False) -> Document:
    """Return the content of a YAML file with the line of every key; ``quick`` takes its small version.

    Raise U131 if it does not parse, has a repeated key, or is not a mapping at the top, and I101 if it does not exist.
    """
    path = Path(path)
    try:
        with path.open("rb") as file:
            content, root = parse_yaml(file.read(LONGEST + 1).decode("utf-8"))  # one byte more than a study may have
    except FileNotFoundError:
        raise InputError("I101", f"there is no study {path.name}", where=str(path), hint="check the path") from None
    except OSError as error:
        raise InputError(
            "I110",
            f"the study cannot be opened: {error.strerror}",
            where=str(path),
            hint="make the file readable, or give another",
        ) from None
    except UnicodeDecodeError:
        raise _unreadable_error(path, "its bytes are not UTF-8 text") from None
    except YamlError as error:
        raise _unreadable_error(path, str(error)) from None
    if not isinstance(content, dict) or root is None:
        raise _unreadable_error(path, "its top level must be a mapping of keys to values")
    if strange := next((key for key in content if not isinstance(key, str)), None):
        raise _unreadable_error(path, f"the key {strange!r} is not text")
    return Document(path, content, dict(_lines(root, (), path)), quick)


def _lines(node: yaml.Node, key: Key, path: Path) -> Iterator[tuple[Key, int]]:
    if isinstance(node, yaml.MappingNode):
        seen = set()
        for name, value in node.value:
            label, line = str(name.value), name.start_mark.line + 1
            inner = (*key, label)
            if label in seen:
                raise _unreadable_error(path, f"line {line}: the key {label} is repeated")
            seen.add(label)
            yield inner, line
            yield from _lines(value, inner, path)
    elif isinstance(node, yaml.SequenceNode):
        for number, value in enumerate(node.value):
            yield (*key, number), value.start_mark.line + 1
            yield from _lines(value, (*key, number), path)


def _unreadable_error(path: Path, why: str) -> UsageError:
    return UsageError(
        "U131",
        f"the study does not parse: {why}",
        where=str(path),
        hint="a study is YAML: `key: value`, nested keys are indented; quote text with a colon or a #",
    )


def parse_values(texts: Iterable[str]) -> dict[str, Value]:
    """Return ``{name: value}`` for texts such as ``epochs=20``; raise U102 for a text of another form.

    >>> parse_values(["epochs=20", "device=cpu"])
    {'epochs': 20, 'device': 'cpu'}
    """
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name.strip() and equals and value.strip()):
            raise UsageError("U102", f"expected NAME=VALUE, got '{text}'", where="--set", hint="--set epochs=20")
        try:
            parsed, _ = parse_yaml(value)
        except YamlError as error:
            raise _wrong_value(text, str(error)) from None
        if not isinstance(parsed, Value):
            raise _wrong_value(text, "the value must be a number, true, false or text")
        found[name.strip()] = parsed
    return found


def _wrong_value(text: str, why: str) -> UsageError:
    return UsageError(
        "U102",
        f"'{text}' is not NAME=VALUE: {why}",
        where="--set",
        hint="quote text that is not a plain word: --set 'title=\"x [1]\"'",
    )


def fill_parameters(document: Document, content: Mapping[str, Any], values: Mapping[str, Value]) -> dict[str, Any]:
    """Return ``content`` with every ``{name}`` in its texts replaced by the parameter of that name.

    ``values`` override the parameters that the study states.
    Raise U102 if ``values`` has a name that is not a parameter of the study, and U132 if a text has one.
    """
    known = dict(content.get(PARAMETERS) or {})
    if unknown := [name for name in values if name not in known]:
        raise UsageError(
            "U102",
            f"the study has no parameter '{unknown[0]}'",
            where=document.where((PARAMETERS,)),
            hint=suggest(unknown[0], known) if known else "it has no parameters: write `parameters: {epochs: 20}`",
        )
    known |= values

    def replaced(value: Any, key: Key) -> Any:
        if isinstance(value, Mapping):
            return {name: replaced(each, (*key, name)) for name, each in value.items()}
        if isinstance(value, list):
            return [replaced(each, (*key, number)) for number, each in enumerate(value)]
        return NAME.sub(lambda match: text_of(match[1], key), value) if isinstance(value, str) else value

    def text_of(name: str, key: Key) -> str:
        if key[0] == "models" and name in PLACE_NAMES and name not in known:
            return f"{{{name}}}"
        if name not in known:
            raise UsageError(
                "U132",
                f"there is no parameter '{name}'",
                where=document.where(key),
                hint=suggest(name, known) if known else f"write `parameters: {{{name}: ...}}`",
            )
        return str(known[name])

    texts = {key: replaced(value, (key,)) for key, value in content.items() if key not in UNTOUCHED}
    return {**content, **texts, PARAMETERS: known}
