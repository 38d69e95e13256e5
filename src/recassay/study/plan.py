"""A study whose every text has become the thing it names: all mistakes in a study are found here, before any work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recassay import models, protocols, split
from recassay.designs import Design
from recassay.designs import parse_list as parse_designs
from recassay.errors import RecassayError, UsageError
from recassay.metrics.base import Metric
from recassay.metrics.registry import parse_metrics
from recassay.models.files import is_file_model
from recassay.protocols.base import Asking, Survey
from recassay.protocols.sequence import Sequence
from recassay.spec import parse, suggest
from recassay.split import filters, sequences
from recassay.split.base import Cut, Split
from recassay.split.sequences import SequenceSplit
from recassay.split.sessions import Sequencer
from recassay.study.reading import Document, Key, Reader
from recassay.study.schema import Data, Study
from recassay.study.systems import System, systems_of

if TYPE_CHECKING:
    from recassay.bias.base import Experiment

LISTS = "lists"  # the design that takes ranked lists as they are
SEQUENCES = "sequences"  # what stands in its place where sequences are generated
OF_LISTS = ("designs", "experiments")  # keys that make no sense of generated sequences


@dataclass(frozen=True, eq=False)
class AnyPlan:
    """Everything that is to be done, whatever is asked of systems."""

    document: Document
    study: Study
    quick: bool
    data: Mapping[str, Data]
    filters: tuple[filters.Filter, ...]
    splits: tuple[Cut, ...]
    protocol: Asking
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


@dataclass(frozen=True, eq=False)
class Plan(AnyPlan):
    """A study of ranked lists."""

    splits: tuple[Split, ...]
    protocol: Survey


@dataclass(frozen=True, eq=False)
class SequencePlan(AnyPlan):
    """A study of generated sequences, and by data set how its log becomes sequences."""

    splits: tuple[SequenceSplit, ...]
    protocol: Sequence
    sequencers: Mapping[str, Sequencer]


def plan_of(document: Document, study: Study, *, quick: bool = False) -> Plan | SequencePlan:
    """Parse every text of a study; an error says where in the file."""
    instead = document.content.get("quick", {}) if quick else {}
    reader = Reader(document, frozenset(instead))
    protocol = reader.one(("protocol",), study.protocol, protocols.parse)
    generates = isinstance(protocol, Sequence)
    systems = systems_of(reader, study.models, _sequence_model if generates else models.parse)
    _baseline(reader, study, systems)
    common: dict[str, Any] = {
        "document": document,
        "study": study,
        "quick": quick,
        "data": _datasets(reader, study),
        "filters": tuple(reader.each("filters", study.filters, filters.parse)),
        "systems": systems,
        "metrics": {
            heading: metric
            for found in reader.each("metrics", study.metrics, parse_metrics)
            for heading, metric in found.items()
        },
    }
    if isinstance(protocol, Sequence):
        return _sequence_plan(reader, study, protocol, common)
    if not isinstance(protocol, Survey):
        raise reader.wrong(("protocol",), f"no study can be made of {protocol}", "ranking(...)")
    for number, data in enumerate(study.data):
        if data.sequences:
            what = f"{protocol} asks for ranked lists, and not for sequences"
            raise reader.wrong(("data", number), what, "leave `sequences:` out, or ask with `protocol: sequence(k=5)`")
    return Plan(
        **common,
        splits=tuple(reader.each("split", study.split, split.parse)),
        protocol=protocol,
        designs=_designs(reader, study),
        experiments=_experiments(reader, study),
    )


def _sequence_plan(reader: Reader, study: Study, protocol: Sequence, common: dict[str, Any]) -> SequencePlan:
    for key in OF_LISTS:
        if key in study.model_fields_set:
            what = f"{key} are of ranked lists, and {protocol} asks for sequences"
            raise reader.wrong((key,), what, f"leave `{key}:` out")
    for number, data in enumerate(study.data):
        if data.items:
            what = f"{protocol} asks for sequences, whose metrics and models look at no features"
            raise reader.wrong(("data", number), what, "leave `items:` out")
    return SequencePlan(
        **common,
        splits=tuple(reader.each("split", study.split, _sequence_split)),
        protocol=protocol,
        designs=(SEQUENCES,),
        experiments=(),
        sequencers={
            name: _sequencer(reader, number, data) for number, (name, data) in enumerate(common["data"].items())
        },
    )


def _sequencer(reader: Reader, number: int, data: Data) -> Sequencer:
    key: Key = ("data", number)
    hint = "sequences: sessions(gap=3600), or ready_made where a user is a sequence"
    if not data.sequences:
        raise reader.wrong(key, "nothing says how the log becomes sequences", hint)
    found = reader.one((*key, "sequences"), data.sequences, sequences.parse)
    if not isinstance(found, Sequencer):
        raise reader.wrong((*key, "sequences"), f"{found} cuts sequences and does not make them", hint)
    return found


def _sequence_split(text: str) -> SequenceSplit:
    found = sequences.parse(text)
    if not isinstance(found, SequenceSplit):
        hint = "write it beside the data, as `sequences:`, and here latest_sequences(test=0.2)"
        raise UsageError("U133", f"{found} makes sequences and does not cut them", where=text, hint=hint)
    return found


def _sequence_model(text: str) -> Any:
    """A model of sequences, or one of those that learn from a log and say what comes next."""
    if is_file_model(text) or parse(text).name in models.REGISTRY.kinds:
        return models.parse(text)
    return models.sequence.parse(text)


def _datasets(reader: Reader, study: Study) -> dict[str, Data]:
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


def _baseline(reader: Reader, study: Study, systems: tuple[System, ...]) -> None:
    names = [system.name for system in systems]
    baseline = study.compare.baseline
    if baseline is not None and baseline not in names:
        raise UsageError(
            "U108",
            f"the baseline '{baseline}' is none of the models",
            where=reader.document.where(reader.key("compare", "baseline")),
            hint=suggest(baseline, names),
        )


def _designs(reader: Reader, study: Study) -> tuple[str | Design, ...]:
    found = reader.each("designs", study.designs, _design)
    return tuple(dict.fromkeys(design for several in found for design in several))


def _experiments(reader: Reader, study: Study) -> tuple[Experiment, ...]:
    if not study.experiments:
        return ()
    from recassay.bias import parse  # few studies have experiments

    return tuple(dict.fromkeys(reader.each("experiments", study.experiments, parse)))


def _design(text: str) -> list[str | Design]:
    return [LISTS] if text == LISTS else [*parse_designs(text)]
