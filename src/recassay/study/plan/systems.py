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

    def at(self, cell: StudyCell) -> System:
        """Return the system as it runs on a cell (data set, split, fold, seed): with its seed or run file.

        The seed of the cell is added to that of the model, if it has one.
        """
        if isinstance(self.model, RunFiles):
            file = self.model.at(cell)
            return dataclasses.replace(self, model=file, source=file.digest)
        return dataclasses.replace(self, model=_seeded(self.model, cell.seed))


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
    found: dict[str, System] = {}  # by name in lower case
    for number, (name, given) in enumerate(named.items()):
        key: Key = ("models", name) if given else ("models", number)
        several = classes[name.partition("(")[0]] > 1
        with reader.locating(*key):
            systems = _systems_of(
                reader.document.path.parent, given or name, name if given else None, parse, columns or {}, several
            )
        for system in systems:
            if other := _name_problem(system.name, found):
                raise reader.error(key, *other)
            found[system.name.lower()] = dataclasses.replace(system, key=reader.key(*key))
    by_name = {system.name: system for system in found.values()}
    return tuple(_wrapped(reader, system, by_name, parse) for system in found.values())


def _systems_of(
    folder: Path,
    text: str,
    name: str | None,
    parse: Callable[[str], Any],
    columns: Mapping[str, Columns],
    several: bool,
) -> list[System]:
    """Return the systems of one entry under ``models``: one, or those that a path with ``*`` matches.

    ``folder`` is that of the study, ``name`` the name of the entry (None: it has none), and ``columns`` are the column
    names of run files, by data set. ``several`` says whether other systems are of the same class.
    """
    if not names_run_files(text):
        model, source = _parsed(text, folder, parse)
        return [System(name or _label(model, text, several), text, model, source=source)]
    paths = expand(text, folder, name)
    if not paths:
        raise InputError("I101", f"no file matches {text}", where=str(folder), hint="check the pattern")
    return [System(label, path, RunFiles(folder, path, columns)) for label, path in paths.items()]


def _name_problem(name: str, known: Mapping[str, System]) -> tuple[str, str] | None:
    """Return why a system cannot have this name, and what to do; ``known`` has other systems by name in lower case."""
    if not name.strip() or name.startswith(".") or re.search(r"[/\\\x00-\x1f]", name) or len(name) > 100:
        what = f"'{name}' cannot be a system's name, because files are named after it"
        return what, "a short name without / or \\"
    if (other := known.get(name.lower())) is not None:
        return f"the names '{other.name}' and '{name}' are the same to some file systems", "rename one"
    return None


def parse_model_text(reader: Reader, key: Key, text: str, parse: Callable[[str], Any]) -> Any:
    """Return the model that a text under ``key`` names, for models that are not systems of the study.

    A Python file in the text is relative to the study file.
    """
    with reader.locating(*key):
        return _parsed(text, reader.document.path.parent, parse)[0]


def _wrapped(
    reader: Reader, system: System, systems: Mapping[str, System], parse: Callable[[str], Any], *above: str
) -> System:
    """Return a system with the model that it re-ranks: in ``MMR(of='mf')``, the model of the system ``mf``.

    A text that names no system is parsed as a model. ``above`` are the re-rankers of this system.
    """

    def wrong(what: str, hint: str) -> UsageError:
        return UsageError("U132", what, where=reader.document.where(system.key), hint=hint)

    outer: Any = system.model
    of = getattr(outer, "of", None)
    if not isinstance(of, str) or not isinstance(system.model, WrapsModel):
        return system
    if system.name in above:
        chain = " of ".join((*above, system.name))
        raise wrong(f"the models wrap each other in a circle: {chain}", "wrap a model that is not a re-ranker")
    if of in systems:
        base = _wrapped(reader, systems[of], systems, parse, *above, system.name)
    else:
        try:
            model, source = _parsed(of, reader.document.path.parent, parse)
        except RecassayError:
            what = f"{system.name} wraps '{of}', which is neither a system of the study nor the text of a model"
            others = [name for name in systems if name != system.name]
            raise wrong(what, suggest(of, others) if others else "of='ALS(factors=64)'") from None
        base = System(of, of, model, source=source)
    if isinstance(base.model, RunFiles):
        hint = "re-rank the file itself: recassay rerank"
        raise wrong(f"{system.name} wraps '{of}', which is a run file and not a model", hint)
    return dataclasses.replace(
        system, model=dataclasses.replace(outer, of=base.model), source=system.source + base.source
    )


def _label(model: Any, text: str, several: bool) -> str:
    """Return the name of a model: its ``str``, or the text that defines it if ``str`` contains a memory address.

    With ``several`` systems of its class, it has all parameters of the text, defaults too.
    """
    written = text.rpartition(".py:")[2].strip()
    if ADDRESS.search(str(model)):
        return written
    return system_name(model, parse_expression(written).parameters if several and isinstance(model, Named) else ())


def _parsed(text: str, folder: Path, parse: Callable[[str], Any]) -> tuple[Any, str]:
    """Return the model that a text names, and a digest of its Python file in ``folder`` ("" without a file)."""
    match = FILE_MODEL.match(text)
    if not match:
        return parse(text), ""
    file = folder / match["file"].strip()
    digest = hashlib.blake2b(file.read_bytes(), digest_size=16).hexdigest() if file.is_file() else ""
    return parse(f"{file}{text[match.end('file') :]}"), digest
