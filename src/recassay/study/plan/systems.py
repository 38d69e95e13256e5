"""The systems of a study (models and run files with names), parsed from its texts."""

from __future__ import annotations

import dataclasses
import hashlib
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recassay.errors import InputError, RecassayError, UsageError
from recassay.models.base.capabilities import WrapsModel
from recassay.naming.grammar import parse as parse_expression
from recassay.naming.grammar import suggest
from recassay.naming.named import Named
from recassay.naming.system_names import ADDRESS, system_name
from recassay.study.config.reading import Key, Reader
from recassay.study.plan.run_files import Columns, RunFiles, expand, names_run_files
from recassay.study.store.folder import StudyCell

FILE_MODEL = re.compile(r"^\s*(?P<file>[^:()]+\.py):")


@dataclass(frozen=True, eq=False)
class System:
    """A system of a study: a name, the text that defines it, and its model.

    The model of a system whose lists another program made is its run files. ``key`` is where the system is defined in
    the study file. ``source`` is a digest of the Python file of the model or of the run file, "" if there is neither.
    """

    name: str
    text: str
    model: Any
    key: Key = ()
    source: str = ""

    def seeded(self, seed: int) -> Any:
        """Return the model with ``seed``, the seed of a repetition, added to its own seed if it has one.

        Seed 0 changes nothing.
        """
        return _seeded(self.model, seed)

    def at(self, cell: StudyCell) -> System:
        """Return the system as it runs on a cell (data set, split, fold, seed): with its seed or run file."""
        if isinstance(self.model, RunFiles):
            file = self.model.at(cell)
            return dataclasses.replace(self, model=file, source=file.digest)
        return dataclasses.replace(self, model=self.seeded(cell.seed))


def _seeded(model: Any, seed: int) -> Any:
    """Return the model with ``seed`` added to its own seed, or to that of the model that it re-ranks."""
    if not dataclasses.is_dataclass(model) or isinstance(model, type):
        return model
    named: Any = model
    if isinstance(model, WrapsModel):
        return dataclasses.replace(named, of=_seeded(model.base_model(), seed))
    own = getattr(model, "seed", None)
    is_field = "seed" in {field.name for field in dataclasses.fields(model)}
    return dataclasses.replace(named, seed=own + seed) if is_field and own is not None else model


def parse_systems(
    reader: Reader,
    models: list[str] | dict[str, str],
    parse: Callable[[str], Any],
    columns: Mapping[str, Columns] | None = None,
) -> tuple[System, ...]:
    """Return the systems of a study, each parsed from its text; raise U132 for a name that cannot be a file name.

    ``models`` are the texts, by name or without names. ``columns`` are the column names of run files, by data set.
    """
    named = models if isinstance(models, dict) else dict.fromkeys(models, "")
    classes = Counter(text.partition("(")[0] for text in named)
    found: dict[str, System] = {}
    for number, (name, given) in enumerate(named.items()):
        key: Key = ("models", name) if given else ("models", number)
        several = classes[name.partition("(")[0]] > 1
        for system in _systems_of(
            reader, key, given or name, name if isinstance(models, dict) else None, parse, columns, several
        ):
            _add(found, system, reader, key)
    wrapped = _Wrapped(reader, {system.name: system for system in found.values()}, parse)
    return tuple(wrapped(system) for system in found.values())


def _systems_of(
    reader: Reader,
    key: Key,
    text: str,
    name: str | None,
    parse: Callable[[str], Any],
    columns: Mapping[str, Columns] | None,
    several: bool,
) -> list[System]:
    """Return the systems of one entry under ``models``: one, or those that a path with ``*`` matches.

    ``key`` is where the entry is in the study file, ``name`` its name (None: it has none), and ``columns`` are the
    column names of run files, by data set. ``several`` says whether other systems are of the same class.
    """
    folder = reader.document.path.parent
    if names_run_files(text):
        paths = reader.parse(key, text, lambda path: expand(path, folder, name))
        if not paths:
            error = InputError("I101", f"no file matches {text}", where=str(folder), hint="check the pattern")
            raise reader.document.locate(reader.key(*key), error)
        return [
            System(label, path, RunFiles(folder, path, columns or {}), reader.key(*key))
            for label, path in paths.items()
        ]
    found_at, source = _resolve_file(text, folder)
    model = reader.parse(key, found_at, parse)
    return [System(name or _label(model, text, several), text, model, reader.key(*key), source)]


def _add(found: dict[str, System], system: System, reader: Reader, key: Key) -> None:
    """Add a system to ``found``, by its name in lower case; raise U132 if the name is taken or not a file name."""
    label = system.name
    if not label.strip() or label.startswith(".") or re.search(r"[/\\\x00-\x1f]", label) or len(label) > 100:
        raise reader.error(
            key,
            f"'{label}' cannot be a system's name, because files are named after it",
            "a short name without / or \\",
        )
    if label.lower() in found:
        other = found[label.lower()].name
        raise reader.error(key, f"the names '{other}' and '{label}' are the same to some file systems", "rename one")
    found[label.lower()] = system


def parse_model_text(reader: Reader, key: Key, text: str, parse: Callable[[str], Any]) -> Any:
    """Return the model that a text under ``key`` names, for models that are not systems of the study.

    A Python file in the text is relative to the study file.
    """
    return reader.parse(key, _resolve_file(text, reader.document.path.parent)[0], parse)


@dataclass(frozen=True, eq=False)
class _Wrapped:
    """A function that gives re-rankers the model they re-rank: in ``MMR(of='mf')``, the model of the system ``mf``.

    Called with a system, it returns the system with the model in place of the name.
    """

    reader: Reader
    systems: Mapping[str, System]
    parse: Callable[[str], Any]

    def __call__(self, system: System, above: tuple[str, ...] = ()) -> System:
        outer: Any = system.model
        of = getattr(outer, "of", None)
        if not isinstance(of, str) or not isinstance(system.model, WrapsModel):
            return system
        if system.name in above:
            chain = " of ".join((*above, system.name))
            raise self._wrong(
                system, f"the models wrap each other in a circle: {chain}", "wrap a model that is not a re-ranker"
            )
        named = self.systems.get(of)
        base = self._unnamed(system, of) if named is None else self(named, (*above, system.name))
        if isinstance(base.model, RunFiles):
            hint = "re-rank the file itself: recassay rerank"
            raise self._wrong(system, f"{system.name} wraps '{of}', which is a run file and not a model", hint)
        model = dataclasses.replace(outer, of=base.model)
        return dataclasses.replace(system, model=model, source=system.source + base.source)

    def _unnamed(self, system: System, of: str) -> System:
        """Return a system whose model is parsed from ``of``, the text of a model that is not a system of the study.

        ``system`` is the re-ranker that names it, for the error U132 if the text is not a model either.
        """
        found_at, source = _resolve_file(of, self.reader.document.path.parent)
        try:
            return System(of, of, self.parse(found_at), source=source)
        except RecassayError:
            what = f"{system.name} wraps '{of}', which is neither a system of the study nor the text of a model"
            others = [name for name in self.systems if name != system.name]
            raise self._wrong(system, what, suggest(of, others) if others else "of='ALS(factors=64)'") from None

    def _wrong(self, system: System, what: str, hint: str) -> UsageError:
        return UsageError("U132", what, where=self.reader.document.where(system.key), hint=hint)


def _label(model: Any, text: str, several: bool) -> str:
    """Return the name of a model: its ``str``, or the text that defines it if ``str`` contains a memory address.

    With ``several`` systems of its class, it has all parameters of the text, defaults too.
    """
    written = text.rpartition(".py:")[2].strip()
    if ADDRESS.search(str(model)):
        return written
    return system_name(model, parse_expression(written).parameters if several and isinstance(model, Named) else ())


def _resolve_file(text: str, folder: Path) -> tuple[str, str]:
    """Return the text with the path of its Python file made absolute, and a digest of that file ("" without a file)."""
    match = FILE_MODEL.match(text)
    if not match:
        return text, ""
    file = folder / match["file"].strip()
    digest = hashlib.blake2b(file.read_bytes(), digest_size=16).hexdigest() if file.is_file() else ""
    return f"{file}{text[match.end('file') :]}", digest
