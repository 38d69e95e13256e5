"""The systems of a study (models and run files with names), parsed from its texts."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recassay.data.io.lake import is_address
from recassay.errors import InputError, RecassayError, UsageError, masked
from recassay.models.base.capabilities import WrapsModel
from recassay.models.base.registry import FORM, class_in_file
from recassay.naming import grammar
from recassay.naming.named import Named
from recassay.naming.system_names import ADDRESS, system_name
from recassay.study.config.reading import Document, Key, Value
from recassay.study.config.schema import Data, Study, Tune
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
        return dataclasses.replace(self, model=_with_seed(self.model, cell.seed))


def _with_seed(model: Any, seed: int) -> Any:
    """Return the model with ``seed`` added to its own seed, or to that of the model that it re-ranks."""
    if not dataclasses.is_dataclass(model) or isinstance(model, type):
        return model
    named: Any = model
    if isinstance(model, WrapsModel):
        return dataclasses.replace(named, of=_with_seed(model.base_model(), seed))
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

    ``models`` are the texts, or ``{name: text}``. ``columns`` maps a data set to the column names of its run files.
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
                systems = [
                    System(name or _label(model, text, classes[label.partition("(")[0]] > 1), text, model, key, source)
                ]
        for system in systems:
            _require_own_file_name(document, system, found)
            found[system.name.lower()] = system
    by_name = {system.name: system for system in found.values()}
    return tuple(_with_reranked_model(document, system, by_name, parse) for system in found.values())


def _require_own_file_name(document: Document, system: System, known: Mapping[str, System]) -> None:
    """Raise U132 unless files can be named after a system; ``known`` has other systems by name in lower case."""
    name = system.name
    if not name.strip() or name.startswith(".") or re.search(r"[/\\\x00-\x1f]", name) or len(name) > 100:
        what = f"'{name}' cannot be a system's name, because files are named after it"
        raise document.error(system.key, what, "a short name without / or \\")
    if (other := known.get(name.lower())) is not None:
        what = f"the names '{other.name}' and '{name}' are the same to some file systems"
        raise document.error(system.key, what, "rename one")


def _with_reranked_model(
    document: Document, system: System, systems: Mapping[str, System], parse: Callable[[str], Any], *above: str
) -> System:
    """Return a system with the model that it re-ranks: in ``MMR(of='mf')``, the model of the system ``mf``.

    A text that names no system is parsed as a model. ``above`` are the names of systems that re-rank this one.
    """
    outer: Any = system.model
    of = getattr(outer, "of", None)
    if not isinstance(of, str) or not isinstance(system.model, WrapsModel):
        return system
    if system.name in above:
        raise document.error(
            system.key,
            f"the models wrap each other in a circle: {' of '.join((*above, system.name))}",
            "wrap a model that is not a re-ranker",
        )
    if of in systems:
        base = _with_reranked_model(document, systems[of], systems, parse, *above, system.name)
    else:
        try:
            model, source = parse_model(document.folder, of, parse)
        except RecassayError:
            what = f"{system.name} wraps '{of}', which is neither a system of the study nor the text of a model"
            others = [name for name in systems if name != system.name]
            raise document.error(
                system.key, what, grammar.suggest(of, others) if others else "of='ALS(factors=64)'"
            ) from None
        base = System(of, of, model, source=source)
    if isinstance(base.model, RunFiles):
        raise document.error(
            system.key,
            f"{system.name} wraps '{of}', which is a run file and not a model",
            "re-rank the file itself: recassay rerank",
        )
    return dataclasses.replace(
        system, model=dataclasses.replace(outer, of=base.model), source=system.source + base.source
    )


def _label(model: Any, text: str, several: bool) -> str:
    """Return the name of a model: its ``str``, or the text that defines it if ``str`` contains a memory address.

    If the study has ``several`` systems of its class, the name has all parameters of the text, defaults too.
    """
    written = text.rpartition(".py:")[2].strip()
    if ADDRESS.search(str(model)):
        return written
    return system_name(model, grammar.parse(written).parameters if several and isinstance(model, Named) else ())


def parse_model(folder: Path, text: str, parse: Callable[[str], Any]) -> tuple[Any, str]:
    """Return the model that a text names, and a digest of its Python file in ``folder`` ("" without a file)."""
    match = FORM.match(text)
    if not match:
        return parse(text), ""
    file = folder / match["file"].strip()
    return parse(f"{file}:{match['call']}"), (digest_of_files([file]) if file.is_file() else "")


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
            raise UsageError(
                "U123",
                f"{match['class']} in {match['file']} has no name of its own, by which tables and files could call it",
                where=text,
                hint='give the class an attribute such as name = "my_metric"',
            )
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


def grid_settings(document: Document, tune: Tune | None, systems: tuple[System, ...]) -> dict[str, tuple[Any, ...]]:
    """Return ``{system: models to choose from}``: the model as the study states it, then one per point of the grid.

    Raise U132 for a system or a parameter in the grid that does not exist.
    """
    named = {system.name: system for system in systems}
    found = {}
    for name, grid in (tune.grid if tune else {}).items():
        if name not in named:
            raise document.error(("tune", "grid", name), f"there is no system '{name}'", f"one of {', '.join(named)}")
        model = named[name].model
        fields = {field.name for field in dataclasses.fields(model)} if dataclasses.is_dataclass(model) else set()
        if unknown := [parameter for parameter in grid if parameter not in fields]:
            raise document.error(
                ("tune", "grid", name, unknown[0]),
                f"{name} has no parameter '{unknown[0]}'",
                f"one of {', '.join(sorted(fields))}"
                if fields
                else "remove it from the grid: its parameters are unknown",
            )
        with document.locating("tune", "grid", name):
            every = [model, *(dataclasses.replace(model, **point) for point in grid_points(grid))]
        found[name] = tuple({str(candidate): candidate for candidate in every}.values())
    return found


def grid_points(grid: Mapping[str, list[Value]]) -> Iterator[dict[str, Value]]:
    """Yield every combination of the values of a grid, as values by parameter.

    >>> list(grid_points({"factors": [5, 10], "rate": [0.1]}))
    [{'factors': 5, 'rate': 0.1}, {'factors': 10, 'rate': 0.1}]
    """
    for values in itertools.product(*grid.values()):
        yield dict(zip(grid, values, strict=True))
