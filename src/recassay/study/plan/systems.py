"""The systems of a study (models and run files with names), parsed from its texts."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recassay.data.io.lake import is_address
from recassay.errors import InputError, RecassayError, UsageError, masked
from recassay.models.base.capabilities import WrapsModel
from recassay.models.base.registry import FORM, class_in_file
from recassay.naming.grammar import parse as parse_expression
from recassay.naming.grammar import suggest
from recassay.naming.named import Named
from recassay.naming.system_names import ADDRESS, system_name
from recassay.study.config.reading import Document, Key
from recassay.study.config.schema import Data, Study
from recassay.study.plan.run_files import Columns, RunFiles, digest_of_files, expand, names_run_files
from recassay.study.store.folder import StudyCell

OWN_KEYS = ("filters", "split", "metrics")  # whose texts may name a class in a Python file; models parse theirs
OWN_DATA_KEYS = ("filters", "split", "sequences")


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
    document: Document,
    models: list[str] | dict[str, str],
    parse: Callable[[str], Any],
    columns: Mapping[str, Columns] | None = None,
) -> tuple[System, ...]:
    """Return the systems of a study, each parsed from its text; raise U132 for a name that cannot be a file name.

    ``models`` are the texts, by name or without names. ``columns`` are the column names of run files, by data set.
    """
    folder, named = document.folder, models if isinstance(models, dict) else dict.fromkeys(models, "")
    classes = Counter(text.partition("(")[0] for text in named)
    found: dict[str, System] = {}  # by name in lower case
    for number, (label, given) in enumerate(named.items()):
        key: Key = ("models", label) if given else ("models", number)
        text, name = given or label, label if given else None
        with document.locating(*key):
            if is_address(text):
                what, hint = "a study reads lists of a system from files", "write them to a Parquet file for each fold"
                raise UsageError("U132", f"{what}, not from an address", where=masked(text), hint=hint)
            if names_run_files(text):
                paths = expand(text, folder, name)
                if not paths:
                    raise InputError("I101", f"no file matches {text}", where=str(folder), hint="check the pattern")
                systems = [System(one, path, RunFiles(folder, path, columns or {}), key) for one, path in paths.items()]
            else:
                model, source = parse_model(folder, text, parse)
                several = classes[label.partition("(")[0]] > 1
                systems = [System(name or _label(model, text, several), text, model, key, source)]
        for system in systems:
            if other := _name_problem(system.name, found):
                raise document.error(key, *other)
            found[system.name.lower()] = system
    by_name = {system.name: system for system in found.values()}
    return tuple(_wrapped(document, system, by_name, parse) for system in found.values())


def _name_problem(name: str, known: Mapping[str, System]) -> tuple[str, str] | None:
    """Return why a system cannot have this name, and what to do; ``known`` has other systems by name in lower case."""
    if not name.strip() or name.startswith(".") or re.search(r"[/\\\x00-\x1f]", name) or len(name) > 100:
        what = f"'{name}' cannot be a system's name, because files are named after it"
        return what, "a short name without / or \\"
    if (other := known.get(name.lower())) is not None:
        return f"the names '{other.name}' and '{name}' are the same to some file systems", "rename one"
    return None


def _wrapped(
    document: Document, system: System, systems: Mapping[str, System], parse: Callable[[str], Any], *above: str
) -> System:
    """Return a system with the model that it re-ranks: in ``MMR(of='mf')``, the model of the system ``mf``.

    A text that names no system is parsed as a model. ``above`` are the re-rankers of this system.
    """
    outer: Any = system.model
    of = getattr(outer, "of", None)
    if not isinstance(of, str) or not isinstance(system.model, WrapsModel):
        return system
    if system.name in above:
        what = f"the models wrap each other in a circle: {' of '.join((*above, system.name))}"
        raise document.error(system.key, what, "wrap a model that is not a re-ranker")
    if of in systems:
        base = _wrapped(document, systems[of], systems, parse, *above, system.name)
    else:
        try:
            model, source = parse_model(document.folder, of, parse)
        except RecassayError:
            what = f"{system.name} wraps '{of}', which is neither a system of the study nor the text of a model"
            others = [name for name in systems if name != system.name]
            hint = suggest(of, others) if others else "of='ALS(factors=64)'"
            raise document.error(system.key, what, hint) from None
        base = System(of, of, model, source=source)
    if isinstance(base.model, RunFiles):
        what = f"{system.name} wraps '{of}', which is a run file and not a model"
        raise document.error(system.key, what, "re-rank the file itself: recassay rerank")
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


def parse_model(folder: Path, text: str, parse: Callable[[str], Any]) -> tuple[Any, str]:
    """Return the model that a text names, and a digest of its Python file in ``folder`` ("" without a file)."""
    match = FORM.match(text)
    if not match:
        return parse(text), ""
    file = folder / match["file"].strip()
    digest = digest_of_files([file]) if file.is_file() else ""
    return parse(f"{file}:{match['call']}"), digest


def with_own_classes(document: Document, study: Study) -> Study:
    """Return the study with each text such as ``mine.py:MySplit(n=2)`` replaced by the name that its class has.

    The Python files are added to the plugins of the study, so everything that holds for plugins holds for them. Raise
    U123 if a file or class cannot be used; the error names the line of the text.
    """
    files: dict[str, None] = dict.fromkeys(study.plugins)

    def registered(text: str) -> str:
        match = FORM.match(text)
        if match is None:
            return text
        _, kind = class_in_file(text, document.folder)
        if not vars(kind).get("name"):
            what = (
                f"{match['class']} in {match['file']} has no name of its own, by which tables and files could call it"
            )
            raise UsageError("U123", what, where=text, hint='give the class an attribute such as name = "my_metric"')
        files[match["file"].strip()] = None
        return str(kind.name) + match["call"].removeprefix(match["class"])

    def changed(section: Study | Data, keys: Iterable[str], *place: str | int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key in keys:
            texts = getattr(section, key)
            if isinstance(texts, str):
                found[key] = document.parse((*place, key), texts, registered)
            elif texts:
                found[key] = [
                    document.parse((*place, key, number), text, registered) for number, text in enumerate(texts)
                ]
        return found

    data = [
        entry.model_copy(update=changed(entry, OWN_DATA_KEYS, "data", number))
        for number, entry in enumerate(study.data)
    ]
    return study.model_copy(update={**changed(study, OWN_KEYS), "data": data, "plugins": list(files)})
