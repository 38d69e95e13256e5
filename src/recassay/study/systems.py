"""The systems of a study: models under names of their own."""

from __future__ import annotations

import dataclasses
import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recassay.errors import RecassayError, UsageError
from recassay.models.training import Wrapper
from recassay.spec import suggest
from recassay.study.reading import Key, Reader
from recassay.study.shelf import ADDRESS

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
        return _seeded(self.model, seed)


def _seeded(model: Any, seed: int) -> Any:
    """The model with ``seed`` added to its own, or to that of the model it is made of."""
    if not dataclasses.is_dataclass(model) or isinstance(model, type):
        return model
    named: Any = model
    if isinstance(model, Wrapper):
        return dataclasses.replace(named, of=_seeded(model.base, seed))
    own = getattr(model, "seed", None)
    is_field = "seed" in {field.name for field in dataclasses.fields(model)}
    return dataclasses.replace(named, seed=own + seed) if is_field and own is not None else model


def systems_of(reader: Reader, models: list[str] | dict[str, str], parse: Callable[[str], Any]) -> tuple[System, ...]:
    """The systems of a study under names that files can have."""
    named = models if isinstance(models, dict) else dict.fromkeys(models, "")
    found: dict[str, System] = {}
    for number, (name, stated) in enumerate(named.items()):
        key: Key = ("models", name) if stated else ("models", number)
        text = stated or name
        found_at, source = _at_home(text, reader.document.path.parent)
        model = reader.one(key, found_at, parse)
        called = name if isinstance(models, dict) else _called(model, text)
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
    wrapped = _Wrapped(reader, {system.name: system for system in found.values()}, parse)
    return tuple(wrapped(system) for system in found.values())


@dataclass(frozen=True, eq=False)
class _Wrapped:
    """Puts models in the place of their names: ``MMR(of='mf')`` re-ranks what the study calls mf."""

    reader: Reader
    systems: Mapping[str, System]
    parse: Callable[[str], Any]

    def __call__(self, system: System, above: tuple[str, ...] = ()) -> System:
        of = getattr(system.model, "of", None)
        if not isinstance(of, str) or not hasattr(system.model, "around"):
            return system
        if system.name in above:
            chain = " of ".join((*above, system.name))
            raise self._wrong(system, f"the models go round in a circle: {chain}", "name a model that is no re-ranker")
        named = self.systems.get(of)
        base = self._unnamed(system, of) if named is None else self(named, (*above, system.name))
        model = dataclasses.replace(system.model, of=base.model)
        return dataclasses.replace(system, model=model, source=system.source + base.source)

    def _unnamed(self, system: System, of: str) -> System:
        """A model that stands in the brackets as a text of its own."""
        found_at, source = _at_home(of, self.reader.document.path.parent)
        try:
            return System(of, of, self.parse(found_at), source=source)
        except RecassayError:
            what = f"{system.name} is made of '{of}', which is no model of the study and no text of a model"
            others = [name for name in self.systems if name != system.name]
            raise self._wrong(system, what, suggest(of, others) if others else "of='ALS(factors=64)'") from None

    def _wrong(self, system: System, what: str, hint: str) -> UsageError:
        return UsageError("U133", what, where=self.reader.document.where(system.key), hint=hint)


def _called(model: Any, text: str) -> str:
    """What a model says it is; one that does not describe itself is called what stands behind its file."""
    said = str(model)
    return text.rpartition(".py:")[2].strip() if ADDRESS.search(said) else said


def _at_home(text: str, folder: Path) -> tuple[str, str]:
    """``file.py:Class(...)`` with the file looked for beside the study, and a digest of that file."""
    match = FILE_MODEL.match(text)
    if not match:
        return text, ""
    file = folder / match["file"].strip()
    digest = hashlib.blake2b(file.read_bytes(), digest_size=16).hexdigest() if file.is_file() else ""
    return f"{file}{text[match.end('file') :]}", digest
