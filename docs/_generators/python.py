"""``reference/python.md``: every public name, from its signature and docstring."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import recassay as ra
from recassay.naming import choices
from recassay.naming.choices import words

INTRODUCTION = """\
# Python

```python
import recassay as ra
```

Nothing heavy is imported before it is used. Arguments after `*` are given by name. The examples are run by the tests.
"""

KINDS = {
    "Verbs": "What is done: from nouns, or anything that can be read as one, to other nouns.",
    "Nouns": "What is worked on. They are frozen: a method gives another one.",
    "Errors": "Each has a code, what is wrong, where, and what to try: see [errors](errors.md).",
    "Modules": "Families of things that are named in texts too (`recassay explain NAME` tells each one's parameters), and"
    " what is needed less often.",
}

ROLE = re.compile(r":[a-z]+:`~?([^`]*)`")
WIDTH = 100


def pages() -> dict[str, str]:
    """Return the text of the page by its path."""
    public = {name: getattr(ra, name) for name in ra.__all__ if not name.startswith("__")}
    parts = [INTRODUCTION]
    for kind, about in KINDS.items():
        own = {name: one for name, one in public.items() if _kind(one) == kind}
        parts += [f"## {kind}", about, " · ".join(f"[{name}](#{_anchor(name)})" for name in own)]
        parts += [_entry(name, one) for name, one in own.items()]
    return {"reference/python.md": "\n\n".join(parts)}


def _kind(one: object) -> str:
    if isinstance(one, ModuleType):
        return "Modules"
    if inspect.isclass(one):
        return "Errors" if issubclass(one, ra.RecassayError) else "Nouns"
    return "Verbs"


def _anchor(name: str) -> str:
    return f"ra{name.lower()}"


def _entry(name: str, one: Any) -> str:
    title = f"### ra.{name}"
    if isinstance(one, ModuleType):
        members = {key: getattr(one, key) for key in one.__all__}
        family = hasattr(one, "parse") or "." in name  # its members have texts, and pages of their own
        inner = [
            _entry(f"{name}.{key}", member)
            for key, member in members.items()
            if (hasattr(member, "__all__") if isinstance(member, ModuleType) else not family)
        ]
        return "\n\n".join([title, _prose(one.__doc__), _members(one), *inner])
    if inspect.isclass(one):
        return "\n\n".join([title, _prose(one.__doc__), *_methods(one)])
    return "\n\n".join([title, f"```python\n{_signature(name, one)}\n```", _prose(one.__doc__)])


def _methods(kind: type) -> Iterator[str]:
    """Return a line for each public attribute, property and method that the class itself has."""
    rows = []
    for name, one in vars(kind).items():
        plain = one.__func__ if isinstance(one, classmethod | staticmethod) else one
        if name.startswith("_") or not (inspect.isfunction(plain) or isinstance(plain, property)):
            continue
        text = f".{name}" if isinstance(plain, property) else f".{name}{_short(plain)}"
        rows.append(f"| `{text}` | {_first_line(plain)} |")
    if rows:
        yield "\n".join(["| | |", "| --- | --- |", *rows])


def _members(module: ModuleType) -> str:
    rows = []
    for name in module.__all__:
        one = getattr(module, name)
        if isinstance(one, ModuleType):
            rows.append(f"| `{name}` | {_first_line(one)} |")
        elif callable(one):
            rows.append(f"| `{name}{_short(one)}` | {_first_line(one)} |")
    return "\n".join(["| | |", "| --- | --- |", *rows])


def _short(one: Any) -> str:
    """Names of the parameters, with plain defaults, on one line."""
    try:
        signature = inspect.signature(one)
    except ValueError:  # a protocol, or a class of another language
        return ""
    shown = [_parameter(each) for each in signature.parameters.values() if each.name not in ("self", "cls")]
    return f"({', '.join(shown)})".replace("|", "\\|")


def _parameter(one: inspect.Parameter) -> str:
    star = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}.get(one.kind, "")
    if one.default is inspect.Parameter.empty:
        return star + one.name
    plain = one.default is None or isinstance(one.default, bool | int | float | str | tuple)
    return f"{one.name}={one.default!r}" if plain else f"{one.name}=..."


def _signature(name: str, one: Any) -> str:
    """With kinds; over several lines where one is too short."""
    signature = inspect.signature(one)
    parts, named = [], False
    for each in signature.parameters.values():
        if each.kind is inspect.Parameter.KEYWORD_ONLY and not named:
            parts.append("*")
            named = True
        shown = _parameter(each).split("=", 1)
        parts.append(f"{shown[0]}: {_kind_of(each.annotation)}" + (f" = {shown[1]}" if len(shown) > 1 else ""))
    end = f" -> {_kind_of(signature.return_annotation)}"
    whole = f"ra.{name}({', '.join(parts)}){end}"
    return whole if len(whole) <= WIDTH else "\n".join([f"ra.{name}(", *(f"    {part}," for part in parts), f"){end}"])


def _kind_of(annotation: Any) -> str:
    """Return an annotation as text, with the words that an option accepts in place of the name of their type."""
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
    return re.sub(r"\bchoices\.(\w+)", lambda found: " | ".join(map(repr, words(getattr(choices, found[1])))), text)


def _first_line(one: Any) -> str:
    text = inspect.getdoc(one) or ""
    return _plain(" ".join(text.split("\n\n")[0].split())).replace("|", "\\|")


def _prose(text: str | None) -> str:
    """Return a docstring as Markdown, with its examples in separate blocks."""
    parts: list[str] = []
    for paragraph in inspect.cleandoc(text or "").split("\n\n"):
        if paragraph.startswith(">>>"):
            if parts and parts[-1].endswith("```"):
                parts[-1] = f"{parts[-1][:-3]}\n{paragraph}\n```"
            else:
                parts.append(f"```pycon\n{paragraph}\n```")
        elif paragraph.startswith("    "):
            parts.append(f"```text\n{inspect.cleandoc(paragraph)}\n```")
        else:
            parts.append(_plain(paragraph))
    return "\n\n".join(parts)


def _plain(text: str) -> str:
    """Roles and double ticks of docstrings as the ticks of Markdown."""
    text = ROLE.sub(lambda found: f"`{found[1].replace('recassay.', 'ra.')}`", text)
    return text.replace("``", "`")
