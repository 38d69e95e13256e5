"""Classes in Python files of a user, such as ``mine.py:MyMetric(x=1)@10``, as metrics, splits and filters of a study.

Such a text becomes the registered name of its class, and the file one of the study's plugins, so that everything that
holds for plugins holds for it: its digest is in the lock, and tasks of a cluster load it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

from recassay.errors import UsageError
from recassay.models.base.files import FORM
from recassay.naming.files import load_file
from recassay.naming.grammar import suggest
from recassay.study.config.reading import Key, Reader
from recassay.study.config.schema import Data, Study

KEYS = ("filters", "split", "metrics")  # of a study; models are parsed from their texts
OF_DATA = ("filters", "split", "sequences")
CLASS = re.compile(r"^[A-Za-z_]\w*")


def with_own_classes(reader: Reader, study: Study) -> Study:
    """Return the study with each text such as ``mine.py:MySplit(n=2)`` replaced by the name that its class has.

    The Python files are added to the plugins of the study. Raise U123 if a file or class cannot be used; the error
    names the line of the text.
    """
    files: dict[str, None] = dict.fromkeys(study.plugins)
    folder = reader.document.path.parent
    changed: dict[str, Any] = {key: _named(reader, (key,), getattr(study, key), folder, files) for key in KEYS}
    data = [_of_data(reader, number, entry, folder, files) for number, entry in enumerate(study.data)]
    return study.model_copy(update={**changed, "data": data, "plugins": list(files)})


def _of_data(reader: Reader, number: int, data: Data, folder: Path, files: dict[str, None]) -> Data:
    changed: dict[str, Any] = {}
    for key in OF_DATA:
        given = getattr(data, key)
        place: Key = ("data", number, key)
        if isinstance(given, str):
            changed[key] = reader.parse(place, given, partial(_name, folder, files))
        elif given:
            changed[key] = _named(reader, place, given, folder, files)
    return data.model_copy(update=changed) if changed else data


def _named(reader: Reader, key: Key, texts: Iterable[str], folder: Path, files: dict[str, None]) -> list[str]:
    parse = partial(_name, folder, files)
    return [reader.parse((*key, number), text, parse) for number, text in enumerate(texts)]


def _name(folder: Path, files: dict[str, None], text: str) -> str:
    """Return a text such as ``mine.py:MySplit(n=2)`` with the name of its class in place of file and class.

    The file is added to ``files`` (the keys of a dict). Other texts are returned unchanged.
    """
    match = FORM.match(text)
    if match is None:
        return text
    file, call = match["file"].strip(), match["call"]
    module = load_file(folder / file, where=text)
    found = CLASS.match(call)
    assert found is not None, "the form begins with a name"
    kind = getattr(module, found[0], None)
    if not isinstance(kind, type):
        known = [name for name, value in vars(module).items() if isinstance(value, type)]
        hint = suggest(found[0], known) if known else "the file defines no class"
        raise UsageError("U123", f"{file} has no class '{found[0]}'", where=text, hint=hint)
    if not vars(kind).get("name"):
        what = f"{found[0]} in {file} has no name of its own, by which tables and files could call it"
        raise UsageError("U123", what, where=text, hint='give the class an attribute such as name = "my_metric"')
    files[file] = None
    return str(kind.name) + call[found.end() :]  # type: ignore[attr-defined]  # checked above
