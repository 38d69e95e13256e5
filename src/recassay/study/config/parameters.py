"""Parameters of a study: ``{epochs}`` in its texts is replaced by the value under ``parameters`` or from ``--set``.

In the paths of run files ``{data}``, ``{split}``, ``{fold}`` and ``{seed}`` stay as they are, because each data set,
split, fold and seed of the study has a run file of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from recassay.data.io.yaml_text import YamlError, parse_yaml
from recassay.errors import UsageError
from recassay.naming.grammar import suggest
from recassay.study.config.reading import Document, Key

PARAMETERS = "parameters"
NAME = re.compile(r"\{([A-Za-z_]\w*)\}")
PLACE_NAMES = ("data", "split", "fold", "seed")  # of a place of the study, in the paths of run files
UNTOUCHED = {"study", "about", "quick", PARAMETERS}

Value = int | float | bool | str


def parse_values(texts: Iterable[str]) -> dict[str, Value]:
    """Return the values in texts such as ``epochs=20``, by name; raise U102 for a text of another form.

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
    hint = "quote text that is not a plain word: --set 'title=\"x [1]\"'"
    return UsageError("U102", f"'{text}' is not NAME=VALUE: {why}", where="--set", hint=hint)


def fill_parameters(
    document: Document, content: Mapping[str, Any], values: Mapping[str, Value], at: Key
) -> dict[str, Any]:
    """Return ``content`` with every ``{name}`` in its texts replaced by the parameter of that name.

    ``values`` override the parameters that the study states; ``at`` is the key in the file under which it states them.
    Raise U102 if ``values`` has a name that is not a parameter of the study, and U132 if a text has one.
    """
    known = dict(content.get(PARAMETERS) or {})
    for name in values:
        if name not in known:
            hint = suggest(name, known) if known else "it has no parameters: write `parameters: {epochs: 20}`"
            raise UsageError("U102", f"the study has no parameter '{name}'", where=document.where(at), hint=hint)
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
            hint = suggest(name, known) if known else f"write `parameters: {{{name}: ...}}`"
            raise UsageError("U132", f"there is no parameter '{name}'", where=document.where(key), hint=hint)
        return str(known[name])

    texts = {key: replaced(value, (key,)) for key, value in content.items() if key not in UNTOUCHED}
    return {**content, **texts, PARAMETERS: known}
