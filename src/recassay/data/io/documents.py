"""JSON without repeated keys, and YAML within limits: its size with anchors expanded is computed before any value."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import yaml

from recassay.errors import InputError

Pairs = list[tuple[str, Any]]


def parse_json(text: str, where: str) -> Any:
    """Return what ``json.loads`` makes of a text.

    Raise I113 for an object with a repeated key, and I117 for extreme nesting or numbers of extreme length. ``where``
    names the file.

    >>> parse_json('{"ann": {"x": 0.5}}', "run.json")
    {'ann': {'x': 0.5}}
    """
    repeating: list[Pairs] = []

    def checked(pairs: Pairs) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) < len(pairs):
            repeating.append(pairs)
        return made

    try:
        content = json.loads(text, object_pairs_hook=checked)
        if repeating:
            key, parents = next(_find_repeats(json.loads(text, object_pairs_hook=list), ()))
            inside = f" inside {' inside '.join(repr(parent) for parent in reversed(parents))}" if parents else ""
            repeats = sum(len(pairs) - len(dict(pairs)) for pairs in repeating)
            raise InputError(
                "I113",
                f"{repeats:,} keys are repeated in the same JSON object, the first is {key!r}{inside}",
                where=where,
                hint="write each key of an object once: all items of a user together, one number per item",
            )
    except RecursionError:
        raise _beyond_limit("it nests hundreds of levels", where) from None
    except json.JSONDecodeError:
        raise
    except ValueError as error:  # Python reads no whole number of more than 4,300 digits
        raise _beyond_limit(str(error).partition(";")[0], where) from None
    return content


def _beyond_limit(why: str, where: str) -> InputError:
    return InputError(
        "I117",
        f"the JSON document exceeds a limit: {why}",
        where=where,
        hint="write the table as Parquet or CSV, with a row per item",
    )


def _find_repeats(value: Any, parents: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each repeated key with the keys that lead to it, outer objects first.

    Objects in ``value`` are lists of pairs, and ``parents`` are the keys that lead to ``value``.
    """
    if not isinstance(value, list):
        return
    pairs = [entry for entry in value if isinstance(entry, tuple)]
    seen = set()
    for key, _ in pairs:
        if key in seen:
            yield key, parents
        seen.add(key)
    for entry in value:
        key = (entry[0],) if isinstance(entry, tuple) else ()
        yield from _find_repeats(entry[1] if key else entry, (*parents, *key))


LONGEST = 1 << 22  # characters; the lock of a study with hundreds of models has a tenth of that
DEEPEST = 60  # nested mappings and lists
LONGEST_NUMBER = 40  # characters of a whole number; one of thousands of digits cannot be printed
MOST = 200_000  # values, each counted as often as its anchor is used


class YamlError(ValueError):
    """A text that is not YAML, or exceeds a limit; the message says why, and in which line if that is known."""


def parse_yaml(text: str) -> tuple[Any, yaml.Node | None]:
    """Return the plain values in a YAML text, and its nodes with their line numbers; raise YamlError if it is invalid.

    >>> parse_yaml("a: [1, 2]")[0]
    {'a': [1, 2]}
    >>> parse_yaml("&a [*a]")
    Traceback (most recent call last):
    recassay.data.io.documents.YamlError: line 1: the anchor contains itself
    """
    if len(text) > LONGEST:
        raise YamlError(f"it has {len(text):,} characters, and at most {LONGEST:,} are read")
    try:
        loader = _Loader(text)
        root = loader.get_single_node()
        if root is None:
            return None, None
        _expanded_size(root, {}, set())
        return loader.construct_document(root), root
    except YamlError:
        raise
    except yaml.MarkedYAMLError as error:
        line = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        raise YamlError(f"{line}{error.problem}") from None
    except yaml.YAMLError as error:
        raise YamlError(str(error).splitlines()[0]) from None
    except Exception as error:  # a value that does not fit its tag, such as `!!int x` or the date 2001-99-99
        raise YamlError(f"a value has the wrong form: {error}") from None


class _Loader(yaml.SafeLoader):  # type: ignore[misc]  # no types come with yaml
    """A safe YAML loader that refuses too deep nesting."""

    depth = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """Return the next node; raise YamlError if it is nested too deeply."""
        self.depth += 1
        if self.depth > DEEPEST:
            raise YamlError(f"line {self.peek_event().start_mark.line + 1}: more than {DEEPEST} nested levels")
        node: yaml.Node | None = super().compose_node(parent, index)
        self.depth -= 1
        return node


def _expanded_size(node: yaml.Node, known: dict[int, int], above: set[int]) -> int:
    """Return the number of values in a node, with anchors expanded; raise YamlError at the limit.

    ``known`` has the sizes found so far, and ``above`` the nodes that contain this one, by ``id``.
    """
    if id(node) in above:
        raise YamlError(f"line {node.start_mark.line + 1}: the anchor contains itself")
    if id(node) not in known:
        within = above | {id(node)}
        inner: list[yaml.Node] = []
        if node.tag == "tag:yaml.org,2002:int" and len(node.value) > LONGEST_NUMBER:
            raise YamlError(f"line {node.start_mark.line + 1}: a whole number has {len(node.value):,} characters")
        if isinstance(node, yaml.MappingNode):
            inner = [part for pair in node.value for part in pair]
        elif isinstance(node, yaml.SequenceNode):
            inner = node.value
        known[id(node)] = 1 + sum(_expanded_size(part, known, within) for part in inner)
        if known[id(node)] > MOST:
            raise YamlError(f"line {node.start_mark.line + 1}: it expands to more than {MOST:,} values")
    return known[id(node)]
