"""The systems of a study: models under names of their own."""

from __future__ import annotations

import dataclasses
import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recassay.study.reading import Key, Reader

FILE_MODEL = re.compile(r"^\s*(?P<file>[^:()]+\.py):")


@dataclass(frozen=True, eq=False)
class System:
    """A named model of a study, the text it was made from, and a digest of the file that defines it, if one does."""

    name: str
    text: str
    model: Any
    key: Key = ()
    source: str = ""

    def seeded(self, seed: int) -> Any:
        """The model with ``seed`` added to its own, if it has one: seed 0 leaves it as it was written."""
        own = getattr(self.model, "seed", None)
        is_field = dataclasses.is_dataclass(self.model) and "seed" in {f.name for f in dataclasses.fields(self.model)}
        return dataclasses.replace(self.model, seed=own + seed) if is_field and own is not None else self.model


def systems_of(reader: Reader, models: list[str] | dict[str, str], parse: Callable[[str], Any]) -> tuple[System, ...]:
    """The systems of a study under names that files can have."""
    named = models if isinstance(models, dict) else dict.fromkeys(models, "")
    found: dict[str, System] = {}
    for number, (name, stated) in enumerate(named.items()):
        key: Key = ("models", name) if stated else ("models", number)
        text = stated or name
        found_at, source = _at_home(text, reader.document.path.parent)
        model = reader.one(key, found_at, parse)
        called = name if isinstance(models, dict) else str(model)
        if not called.strip() or called.startswith(".") or re.search(r"[/\\\x00-\x1f]", called) or len(called) > 100:
            raise reader.wrong(
                key, f"'{called}' cannot be a system's name: files are named by it", "a short name without / or \\"
            )
        if called.lower() in found:
            other = found[called.lower()].name
            raise reader.wrong(
                key, f"the names '{other}' and '{called}' are the same to some file systems", "rename one"
            )
        found[called.lower()] = System(called, text, model, reader.key(*key), source)
    return tuple(found.values())


def _at_home(text: str, folder: Path) -> tuple[str, str]:
    """``file.py:Class(...)`` with the file looked for beside the study, and a digest of that file."""
    match = FILE_MODEL.match(text)
    if not match:
        return text, ""
    file = folder / match["file"].strip()
    digest = hashlib.blake2b(file.read_bytes(), digest_size=16).hexdigest() if file.is_file() else ""
    return f"{file}{text[match.end('file') :]}", digest
