"""A YAML file as plain values that still know the line they were written in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import yaml

from recassay.errors import InputError, RecassayError, UsageError

Key = tuple[str | int, ...]
Thing = TypeVar("Thing")


@dataclass(frozen=True)
class Document:
    """The content of a file, and the line of every key in it."""

    path: Path
    content: dict[str, Any]
    lines: Mapping[Key, int]

    def where(self, key: Key) -> str:
        """File, line and key; the line of the nearest key around it where it has none of its own.

        >>> document = Document(Path("a.yaml"), {}, {("models",): 3, ("models", "als"): 5})
        >>> document.where(("models", "als")), document.where(("models", 1))
        ('a.yaml, line 5, models.als', 'a.yaml, line 3, models.1')
        """
        around = next((key[:size] for size in range(len(key), 0, -1) if key[:size] in self.lines), None)
        line = f", line {self.lines[around]}" if around else ""
        return f"{self.path}{line}, {'.'.join(map(str, key))}" if key else str(self.path)

    def at(self, key: Key, error: RecassayError) -> RecassayError:
        """The same error, and where in the file it was caused."""
        where = self.where(key) + (f" ({error.where})" if error.where else "")
        return type(error)(error.code, error.what, where=where, hint=error.hint)


@dataclass(frozen=True)
class Reader:
    """Parses the texts of a document: an error says where in the file. ``replaced`` are keys of the quick part."""

    document: Document
    replaced: frozenset[str]

    def key(self, *key: str | int) -> Key:
        """Where a key stands in the file."""
        return ("quick", *key) if key[0] in self.replaced else key

    def one(self, key: Key, text: str, parse: Callable[[str], Thing]) -> Thing:
        """What a text names."""
        try:
            return parse(text)
        except RecassayError as error:
            raise self.document.at(self.key(*key), error) from None

    def each(self, key: str, texts: list[str], parse: Callable[[str], Thing]) -> list[Thing]:
        """What each text of a list names."""
        return [self.one((key, number), text, parse) for number, text in enumerate(texts)]

    def wrong(self, key: Key, what: str, hint: str) -> UsageError:
        """The error for a value that makes no sense."""
        return UsageError("U133", what, where=self.document.where(self.key(*key)), hint=hint)


def read_document(path: str | Path) -> Document:
    """A YAML file whose top is a mapping; a key that stands twice is refused, since one of the two would be lost."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InputError("I101", f"there is no study {path.name}", where=str(path), hint="check the path") from None
    except OSError as error:
        raise InputError(
            "I110", f"the study cannot be opened: {error.strerror}", where=str(path), hint="give a file you may read"
        ) from None
    except UnicodeDecodeError:
        raise _broken(path, "its bytes are not UTF-8 text") from None
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        content = yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        line = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        raise _broken(path, f"{line}{error.problem}") from None
    except yaml.YAMLError as error:
        raise _broken(path, str(error)) from None
    if not isinstance(content, dict):
        raise _broken(path, "its top level is no mapping of keys to values")
    assert root is not None
    return Document(path, content, dict(_lines(root, (), path)))


def _lines(node: yaml.Node, key: Key, path: Path) -> Iterator[tuple[Key, int]]:
    if isinstance(node, yaml.MappingNode):
        seen = set()
        for name, value in node.value:
            inner, line = (*key, name.value), name.start_mark.line + 1
            if name.value in seen:
                raise _broken(path, f"line {line}: the key {name.value} stands twice")
            seen.add(name.value)
            yield inner, line
            yield from _lines(value, inner, path)
    elif isinstance(node, yaml.SequenceNode):
        for number, value in enumerate(node.value):
            yield (*key, number), value.start_mark.line + 1
            yield from _lines(value, (*key, number), path)


def _broken(path: Path, why: str) -> UsageError:
    return UsageError(
        "U131",
        f"the study does not parse: {why}",
        where=str(path),
        hint="a study is YAML, `key: value`, with more blanks before the keys inside; quote what holds a colon or a #",
    )
