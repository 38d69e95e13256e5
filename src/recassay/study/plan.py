"""A study whose every text has become the thing it names: all mistakes in a study are found here, before any work."""

from __future__ import annotations

import dataclasses
import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from recassay import models, protocols, split
from recassay.designs import Design
from recassay.designs import parse_list as parse_designs
from recassay.errors import RecassayError, UsageError
from recassay.metrics.base import Metric
from recassay.metrics.registry import parse_metrics
from recassay.protocols.base import Survey
from recassay.spec import suggest
from recassay.split import filters
from recassay.split.base import Split
from recassay.study.reading import Document, Key
from recassay.study.schema import Data, Study

if TYPE_CHECKING:
    from recassay.bias.base import Experiment

LISTS = "lists"  # the design that takes ranked lists as they are
FILE_MODEL = re.compile(r"^\s*(?P<file>[^:()]+\.py):")

Thing = TypeVar("Thing")


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


@dataclass(frozen=True, eq=False)
class Plan:
    """Everything that is to be done."""

    document: Document
    study: Study
    quick: bool
    data: Mapping[str, Data]
    filters: tuple[filters.Filter, ...]
    splits: tuple[Split, ...]
    protocol: Survey
    systems: tuple[System, ...]
    designs: tuple[str | Design, ...]
    metrics: Mapping[str, Metric]
    experiments: tuple[Experiment, ...]

    @property
    def folder(self) -> Path:
        """The folder of the study file, where paths in it begin."""
        return self.document.path.parent

    def at_data(self, number: int, error: RecassayError) -> RecassayError:
        """The error of a data set, with its place in the file."""
        key: Key = ("data", number) if isinstance(self.document.content.get("data"), list) else ("data",)
        return self.document.at(("quick", *key) if self.replaced("data") else key, error)

    def replaced(self, key: str) -> bool:
        """Whether a key comes from the quick part of the file."""
        return self.quick and key in self.document.content.get("quick", {})


def plan_of(document: Document, study: Study, *, quick: bool = False) -> Plan:
    """Parse every text of a study; an error says where in the file."""
    instead = document.content.get("quick", {}) if quick else {}
    reader = _Reader(document, frozenset(instead))
    systems = _systems(reader, study)
    _baseline(reader, study, systems)
    return Plan(
        document=document,
        study=study,
        quick=quick,
        data=_datasets(reader, study),
        filters=tuple(reader.each("filters", study.filters, filters.parse)),
        splits=tuple(reader.each("split", study.split, split.parse)),
        protocol=_protocol(reader, study),
        systems=systems,
        designs=_designs(reader, study),
        metrics={
            heading: metric
            for found in reader.each("metrics", study.metrics, parse_metrics)
            for heading, metric in found.items()
        },
        experiments=_experiments(reader, study),
    )


@dataclass(frozen=True)
class _Reader:
    document: Document
    replaced: frozenset[str]

    def key(self, *key: str | int) -> Key:
        return ("quick", *key) if key[0] in self.replaced else key

    def one(self, key: Key, text: str, parse: Callable[[str], Thing]) -> Thing:
        try:
            return parse(text)
        except RecassayError as error:
            raise self.document.at(self.key(*key), error) from None

    def each(self, key: str, texts: list[str], parse: Callable[[str], Thing]) -> list[Thing]:
        return [self.one((key, number), text, parse) for number, text in enumerate(texts)]

    def wrong(self, key: Key, what: str, hint: str) -> UsageError:
        return UsageError("U133", what, where=self.document.where(self.key(*key)), hint=hint)


def _datasets(reader: _Reader, study: Study) -> dict[str, Data]:
    found: dict[str, Data] = {}
    for number, data in enumerate(study.data):
        if (data.path and data.generate) or not (data.path or data.generate or data.name):
            raise reader.wrong(
                ("data", number),
                "data is a name, a path or something to generate, and one of them",
                "path: ratings.csv",
            )
        name = data.name or (Path(data.path).name.partition(".")[0] if data.path else "generated")
        if name in found:
            raise reader.wrong(
                ("data", number), f"two data sets have the name '{name}'", "give one of them another `name:`"
            )
        found[name] = data
    return found


def _protocol(reader: _Reader, study: Study) -> Survey:
    protocol = reader.one(("protocol",), study.protocol, protocols.parse)
    if not isinstance(protocol, Survey):
        raise reader.wrong(("protocol",), f"no study can be made of {protocol}", "ranking(...)")
    return protocol


def _systems(reader: _Reader, study: Study) -> tuple[System, ...]:
    named = study.models if isinstance(study.models, dict) else dict.fromkeys(study.models, "")
    found: dict[str, System] = {}
    for number, (name, stated) in enumerate(named.items()):
        key: Key = ("models", name) if stated else ("models", number)
        text = stated or name
        found_at, source = _at_home(text, reader.document.path.parent)
        model = reader.one(key, found_at, models.parse)
        called = name if isinstance(study.models, dict) else str(model)
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


def _baseline(reader: _Reader, study: Study, systems: tuple[System, ...]) -> None:
    names = [system.name for system in systems]
    baseline = study.compare.baseline
    if baseline is not None and baseline not in names:
        raise UsageError(
            "U108",
            f"the baseline '{baseline}' is none of the models",
            where=reader.document.where(reader.key("compare", "baseline")),
            hint=suggest(baseline, names),
        )


def _designs(reader: _Reader, study: Study) -> tuple[str | Design, ...]:
    found = reader.each("designs", study.designs, _design)
    return tuple(dict.fromkeys(design for several in found for design in several))


def _experiments(reader: _Reader, study: Study) -> tuple[Experiment, ...]:
    if not study.experiments:
        return ()
    from recassay.bias import parse  # few studies have experiments

    return tuple(dict.fromkeys(reader.each("experiments", study.experiments, parse)))


def _design(text: str) -> list[str | Design]:
    return [LISTS] if text == LISTS else [*parse_designs(text)]
