"""Numbers that a study leaves to whoever runs it: ``{epochs}`` in its texts stands for what ``parameters`` say."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import yaml

from recassay.errors import UsageError
from recassay.spec import suggest
from recassay.study.reading import Document, Key

PARAMETERS = "parameters"
NAME = re.compile(r"\{([A-Za-z_]\w*)\}")
UNTOUCHED = {"study", "about", "quick", PARAMETERS}

Value = int | float | bool | str


def given(texts: Iterable[str]) -> dict[str, Value]:
    """Values from texts such as ``epochs=20``.

    >>> given(["epochs=20", "device=cpu"])
    {'epochs': 20, 'device': 'cpu'}
    """
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name.strip() and equals and value.strip()):
            raise UsageError("U102", f"'{text}' sets no parameter", where="--set", hint="--set epochs=20")
        found[name.strip()] = yaml.safe_load(value)
    return found


def filled(document: Document, content: Mapping[str, Any], values: Mapping[str, Value], at: Key) -> dict[str, Any]:
    """The content with every ``{name}`` in its texts replaced; ``values`` take the place of those in the study.

    ``at`` is where the study keeps its parameters.
    """
    known = dict(content.get(PARAMETERS) or {})
    for name in values:
        if name not in known:
            hint = suggest(name, known) if known else "it has none: write `parameters: {epochs: 20}`"
            raise UsageError("U102", f"the study has no parameter '{name}'", where=document.where(at), hint=hint)
    known |= values

    def inside(value: Any, key: Key) -> Any:
        if isinstance(value, Mapping):
            return {name: inside(one, (*key, name)) for name, one in value.items()}
        if isinstance(value, list):
            return [inside(one, (*key, number)) for number, one in enumerate(value)]
        return NAME.sub(lambda match: text_of(match[1], key), value) if isinstance(value, str) else value

    def text_of(name: str, key: Key) -> str:
        if name not in known:
            hint = suggest(name, known) if known else f"write `parameters: {{{name}: ...}}`"
            raise UsageError("U133", f"there is no parameter '{name}'", where=document.where(key), hint=hint)
        return str(known[name])

    texts = {key: inside(value, (key,)) for key, value in content.items() if key not in UNTOUCHED}
    return {**content, **texts, PARAMETERS: known}
