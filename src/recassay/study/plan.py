"""A study whose every text has become the thing it names: all mistakes in a study are found here, before any work."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recassay import drift, models, protocols, split
from recassay.comparison.over_time import ERRORS
from recassay.designs import Design
from recassay.designs import parse_list as parse_designs
from recassay.drift import Detector
from recassay.engine.stream.values import Measures
from recassay.errors import RecassayError, UsageError
from recassay.metrics.base import Metric
from recassay.metrics.registry import parse_metrics
from recassay.models.files import is_file_model
from recassay.protocols.base import Asking, Survey
from recassay.protocols.prequential import Prequential
from recassay.protocols.sequence import Sequence
from recassay.spec import parse, suggest
from recassay.split import filters, sequences
from recassay.split.base import Cut, Split
from recassay.split.filters import Filter
from recassay.split.sequences import SequenceSplit
from recassay.split.sessions import Sequencer
from recassay.study.reading import Document, Key, Reader
from recassay.study.schema import Data, Study
from recassay.study.stream_fold import Whole
from recassay.study.systems import System, systems_of
from recassay.study.tuning import settings_of

if TYPE_CHECKING:
    from recassay.bias.base import Experiment

LISTS = "lists"  # the design that takes ranked lists as they are
SEQUENCES = "sequences"  # what stands in its place where sequences are generated
STREAM = "stream"  # and where streams are played
OF_LISTS = ("designs", "experiments")  # keys that make no sense of generated sequences, nor of streams
OF_STREAMS = ("over_time", "tune")  # keys that make sense of streams alone


@dataclass(frozen=True, eq=False)
class AnyPlan:
    """Everything that is to be done, whatever is asked of systems."""

    document: Document
    study: Study
    quick: bool
    data: Mapping[str, Data]
    filters: tuple[Filter, ...]
    own_filters: Mapping[str, tuple[Filter, ...]]  # by data set
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


@dataclass(frozen=True, eq=False)
class StreamPlan(AnyPlan):
    """A study of streams: what is asked of each, what watches for drift, and the models to choose among by system."""

    splits: tuple[Whole, ...]
    protocol: Prequential
    protocols: Mapping[str, Prequential]
    over_time: str  # the metric of curves and alarms
    detectors: tuple[Detector, ...]
    settings: Mapping[str, tuple[Any, ...]]


def plan_of(document: Document, study: Study, *, quick: bool = False) -> Plan | SequencePlan | StreamPlan:
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
        "own_filters": {},
        "systems": systems,
        "metrics": {
            heading: metric
            for found in reader.each("metrics", study.metrics, parse_metrics)
            for heading, metric in found.items()
        },
    }
    for number, (name, data) in enumerate(common["data"].items()):
        own = [reader.one(("data", number, "filters"), text, filters.parse) for text in data.filters]
        common["own_filters"][name] = tuple(own)
        if data.protocol and not isinstance(protocol, Prequential):
            what = "what is asked is said once for all data, unless streams are played"
            raise reader.wrong(("data", number), what, "leave `protocol:` of the data out")
    if isinstance(protocol, Prequential):
        return _stream_plan(reader, study, protocol, common)
    _no_streams(reader, study, protocol)
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


def _no_streams(reader: Reader, study: Study, protocol: Asking) -> None:
    """Refuse what only streams can do without, and what only they have."""
    if not study.split:
        where = reader.document.where(())
        raise UsageError("U132", "the study lacks the key 'split'", where=where, hint="add `split:`")
    for key in OF_STREAMS:
        if key in study.model_fields_set:
            what = f"{key} is of streams, and {protocol} plays none"
            raise reader.wrong((key,), what, f"leave `{key}:` out, or ask with `protocol: prequential(at=10)`")


def _no_lists(reader: Reader, study: Study, protocol: Asking, instead: str) -> None:
    """Refuse what is of ranked lists."""
    for key in OF_LISTS:
        if key in study.model_fields_set:
            what = f"{key} are of ranked lists, and {protocol} {instead}"
            raise reader.wrong((key,), what, f"leave `{key}:` out")


def _stream_plan(reader: Reader, study: Study, protocol: Prequential, common: dict[str, Any]) -> StreamPlan:
    _no_lists(reader, study, protocol, "plays streams")
    if study.split:
        what = f"{protocol} splits nothing: every event is test first, and training then"
        hint = "leave `split:` out; prequential(warmup=10000) does not score the first events"
        raise reader.wrong(("split",), what, hint)
    each = {}
    for number, (name, data) in enumerate(common["data"].items()):
        for key in ("items", "sequences"):
            if getattr(data, key):
                what = f"{protocol} plays streams, and has no use for {key}"
                raise reader.wrong(("data", number), what, f"leave `{key}:` out")
        asked = reader.one(("data", number, "protocol"), data.protocol, protocols.parse) if data.protocol else protocol
        each[name] = _playable(reader, ("data", number) if data.protocol else ("protocol",), asked)
        reader.one(("metrics",), str(asked), functools.partial(_measured, study, each[name]))
    metrics = list(common["metrics"])
    shown = study.over_time.metric or metrics[0]
    for key, metric in (("over_time", shown), ("tune", study.tune.metric if study.tune else None)):
        if metric not in (None, *metrics):
            raise reader.wrong((key, "metric"), f"'{metric}' is none of the metrics", suggest(str(metric), metrics))
    return StreamPlan(
        **common,
        splits=(Whole(),),
        protocol=protocol,
        designs=(STREAM,),
        experiments=(),
        protocols=each,
        over_time=shown,
        detectors=tuple(
            reader.one(("over_time", "detectors", number), text, drift.parse)
            for number, text in enumerate(study.over_time.detectors)
        ),
        settings=settings_of(reader, study.tune, common["systems"]),
    )


def _playable(reader: Reader, key: Key, asked: Asking) -> Prequential:
    if not isinstance(asked, Prequential):
        raise reader.wrong(key, f"{asked} plays no stream, as the protocol of the study does", "prequential(at=10)")
    if asked.folds != "none":
        what = f"a study plays every system once, and {asked} plays copies"
        raise reader.wrong(key, what, "leave folds out; ra.play has copies, and ra.over_folds their curves")
    return asked


def _measured(study: Study, asked: Prequential, _text: str) -> None:
    """Refuse metrics that no event of such a stream has."""
    if asked.predict == "items":
        Measures.of(study.metrics, asked, lists_only=False)
    elif other := [heading for heading in parse_metrics(study.metrics) if heading not in ERRORS]:
        raise UsageError("U192", f"{other[0]} is not of ratings", where=str(asked), hint=" or ".join(ERRORS))


def _sequence_plan(reader: Reader, study: Study, protocol: Sequence, common: dict[str, Any]) -> SequencePlan:
    _no_lists(reader, study, protocol, "asks for sequences")
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
        if sum(map(bool, (data.path, data.generate, data.table))) > 1 or not (
            data.path or data.generate or data.table or data.name
        ):
            raise reader.wrong(
                ("data", number),
                "data is a name (or a table), a path or something to generate, and one of them",
                "path: ratings.csv",
            )
        place = data.path or data.table
        name = data.name or (Path(place).name.partition(".")[0] if place else "generated")
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
