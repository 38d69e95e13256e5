"""The plan of a study: all texts parsed into objects, so that mistakes are found before any work begins."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from recassay import drift, models, protocols, split
from recassay.designs import Design
from recassay.designs import parse_list as parse_designs
from recassay.drift import Detector
from recassay.errors import RecassayError, UsageError
from recassay.metrics.base import CatalogueMetric, Metric
from recassay.metrics.registry import parse_metrics
from recassay.naming.files import load_file
from recassay.naming.grammar import suggest
from recassay.protocols.base import BaseProtocol, UserProtocol
from recassay.protocols.prequential import Prequential
from recassay.protocols.sequence import Sequence
from recassay.split import filters, sequences
from recassay.split.base import Cut, Split
from recassay.split.filters import Filter
from recassay.split.sequences import SequenceSplit
from recassay.split.sessions import Sequencer
from recassay.study.config.reading import Document, Key, Reader
from recassay.study.config.schema import Data, Study
from recassay.study.config.sources import names_table
from recassay.study.plan.curves import check_metrics, curves_of, of_catalogue, of_events, streams_of
from recassay.study.plan.own_classes import with_own_classes
from recassay.study.plan.rerank_tuning import check_reranker_grid, refuse_tuning_of_others
from recassay.study.plan.run_files import RunFiles
from recassay.study.plan.systems import System, parse_model_text, parse_systems
from recassay.study.plan.tuning import grid_settings
from recassay.study.store.stream_fold import WholeStream

if TYPE_CHECKING:
    from recassay.experiments.base import Experiment

LISTS = "lists"  # the design that scores ranked lists as they are
SEQUENCES = "sequences"  # the only design for generated sequences
STREAM = "stream"  # the only design for streams
LIST_KEYS = ("designs", "experiments", "users", "by", "by_item")  # keys that only studies of ranked lists have
STREAM_KEYS = ("over_time",)  # keys that only studies of streams have


@dataclass(frozen=True, eq=False)
class AnyPlan:
    """The parts of a plan that all kinds of studies have: the objects that the texts of a study file define.

    ``data`` is by name. ``designs`` choose the candidates that are ranked. ``metrics`` are by heading (``recall@10``).
    """

    document: Document
    study: Study
    quick: bool
    data: Mapping[str, Data]
    filters: tuple[Filter, ...]
    own_filters: Mapping[str, tuple[Filter, ...]]  # by data set
    splits: tuple[Cut, ...]  # of data sets that have none of their own
    own_splits: Mapping[str, tuple[Cut, ...]]  # by data set, of those that have some
    protocol: BaseProtocol
    systems: tuple[System, ...]
    designs: tuple[str | Design, ...]
    metrics: Mapping[str, Metric]
    experiments: tuple[Experiment, ...]

    @property
    def folder(self) -> Path:
        """Return the folder of the study file, to which paths in it are relative."""
        return self.document.path.parent

    def filters_of(self, name: str) -> tuple[Filter, ...]:
        """Return the filters of data set ``name``: its own, and then those of the study."""
        return (*self.own_filters[name], *self.filters)

    def splits_of(self, name: str) -> tuple[Any, ...]:
        """Return the splits of data set ``name``: its own, or else those of the study."""
        return self.own_splits.get(name, self.splits)

    @property
    def all_splits(self) -> tuple[Any, ...]:
        """Return the splits of all data sets, each once even if several data sets have it."""
        return tuple({str(split): split for name in self.data for split in self.splits_of(name)}.values())

    def locate_split(self, name: str, number: int, error: RecassayError) -> RecassayError:
        """Return an error about split ``number`` of data set ``name`` with the split's line in the study file."""
        own: Key = ("data", list(self.data).index(name), "split", number)
        return self.reader.locate(own if name in self.own_splits else ("split", number), error)

    def locate_data(self, name: str, error: RecassayError, *more: str | int) -> RecassayError:
        """Return an error about data set ``name``, or key ``more`` in its entry, with its line in the study file."""
        return self.reader.locate(("data", list(self.data).index(name), *more), error)

    def locate_metric(self, heading: str, error: RecassayError) -> RecassayError:
        """Return an error about the metric with this heading, with its line in the study file."""
        number = next((at for at, text in enumerate(self.study.metrics) if heading in parse_metrics(text)), 0)
        return self.reader.locate(("metrics", number), error)

    @property
    def reader(self) -> Reader:
        """Return the parser of the study file, which adds lines and keys to errors."""
        return Reader(self.document, frozenset(self.document.content.get("quick", {}) if self.quick else {}))

    def with_metrics(self, headings: Iterable[str]) -> Self:
        """Return the plan with only the metrics that have these headings."""
        return dataclasses.replace(self, metrics={heading: self.metrics[heading] for heading in headings})

    def for_data(self, name: str) -> Self:
        """Return the plan with only the metrics that a data set can have: without features of items some cannot be."""
        lacks = self.data[name].items is None
        return self.with_metrics(name for name, one in self.metrics.items() if not (lacks and "items" in one.needed))

    def replaced(self, key: str) -> bool:
        """Return whether the value of a key comes from the ``quick`` part of the study file."""
        return self.quick and key in self.document.content.get("quick", {})


@dataclass(frozen=True, eq=False)
class Plan(AnyPlan):
    """The plan of a study of ranked lists."""

    splits: tuple[Split, ...]
    protocol: UserProtocol


@dataclass(frozen=True, eq=False)
class SequencePlan(AnyPlan):
    """The plan of a study of generated sequences.

    By data set, ``sequencers`` make its sequences, and ``primitives`` recommend its obvious items, if given.
    """

    splits: tuple[SequenceSplit, ...]
    protocol: Sequence
    sequencers: Mapping[str, Sequencer]
    primitives: Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class StreamPlan(AnyPlan):
    """The plan of a study of streams, in which systems are tested and trained event by event.

    ``protocols`` are by data set, and ``settings`` are the models that tuning chooses from, by system. ``over_time`` is
    the metric of curves and alarms, and ``curves`` are all metrics with curves, that one first.
    """

    splits: tuple[WholeStream, ...]
    protocol: Prequential
    protocols: Mapping[str, tuple[Prequential, ...]]
    over_time: str
    curves: tuple[str, ...]
    detectors: tuple[Detector, ...]
    settings: Mapping[str, tuple[Any, ...]]

    def with_metrics(self, headings: Iterable[str]) -> Self:
        """Return the plan with only these metrics, also in its curves; a metric of events is kept, if none is left."""
        kept = list(headings)
        has_events = any(one in self.of_events for one in kept)
        found = super().with_metrics(kept if has_events else [self.over_time, *kept])
        curves = tuple(one for one in self.curves if one in found.metrics) or tuple(found.of_events)[:1]
        return dataclasses.replace(found, over_time=curves[0], curves=curves)

    def protocol_of(self, dataset: str, split: str) -> Prequential:
        """Return the protocol by which a split of data set ``dataset`` plays it."""
        return dict(zip(map(str, self.splits_of(dataset)), self.protocols[dataset], strict=True))[split]

    @property
    def of_events(self) -> Mapping[str, Metric]:
        """Return the metrics that have a value for each event."""
        return of_events(self.metrics)

    @property
    def of_catalogue(self) -> Mapping[str, CatalogueMetric]:
        """Return the metrics of the lists of many events together, such as coverage."""
        return of_catalogue(self.metrics)


def make_plan(document: Document, study: Study, *, quick: bool = False) -> Plan | SequencePlan | StreamPlan:
    """Return the plan of a study, read from ``document``; errors name the line and key of the mistake in the file."""
    quick_part = document.content.get("quick", {}) if quick else {}
    reader = Reader(document, frozenset(quick_part))
    for number, file in enumerate(study.plugins):
        reader.parse(("plugins", number), file, lambda name: load_file(document.path.parent / name))
    study = with_own_classes(reader, study)
    protocol, *more = reader.parse_list("protocol", study.protocol, protocols.parse)
    if more and not isinstance(protocol, Prequential):
        what = f"several protocols are for streams, and {protocol} is not one of streams"
        raise reader.error(("protocol",), what, "name one protocol, and run a study for each other one")
    generates = isinstance(protocol, Sequence)
    data = _datasets(reader, study)
    columns = {name: entry.columns for name, entry in data.items() if entry.columns}
    systems = parse_systems(reader, study.models, models.sequence.parse_any if generates else models.parse, columns)
    _baseline(reader, study, systems)
    common: dict[str, Any] = {
        "document": document,
        "study": study,
        "quick": quick,
        "data": data,
        "filters": tuple(reader.parse_list("filters", study.filters, filters.parse)),
        "own_filters": {},
        "own_splits": {},
        "systems": systems,
        "metrics": {
            heading: metric
            for found in reader.parse_list("metrics", study.metrics, parse_metrics)
            for heading, metric in found.items()
        },
    }
    for number, (name, entry) in enumerate(data.items()):
        own = reader.parse_list(("data", number, "filters"), entry.filters, filters.parse)
        common["own_filters"][name] = tuple(own)
        if entry.protocol and not isinstance(protocol, Prequential):
            what = "only studies of streams have a protocol per data set"
            raise reader.error(("data", number), what, "remove `protocol:` from the data")
    for system in systems:
        if isinstance(system.model, RunFiles) and not isinstance(protocol, UserProtocol):
            what = f"{system.name} is a run file, which holds ranked lists, and {protocol} needs a model"
            raise UsageError("U132", what, where=document.where(system.key), hint="protocol: ranking, or name a model")
    if isinstance(protocol, Prequential):
        return _stream_plan(reader, study, protocol, common)
    _no_streams(reader, study, protocol)
    refuse_tuning_of_others(reader, study.tune, protocol)
    if isinstance(protocol, Sequence):
        return _sequence_plan(reader, study, protocol, common)
    if not isinstance(protocol, UserProtocol):
        raise reader.error(("protocol",), f"studies do not support the protocol {protocol}", "ranking(...)")
    _no_sequences(reader, study, protocol, ("sequences", "similarities", "primitive"))
    check_reranker_grid(reader, study.tune, systems)
    return Plan(
        **common | _splits(reader, study, data, split.parse),
        protocol=protocol,
        designs=_designs(reader, study),
        experiments=_experiments(reader, study),
    )


def _splits(reader: Reader, study: Study, data: Mapping[str, Data], parse: Callable[[str], Cut]) -> dict[str, Any]:
    """Return the fields ``splits`` and ``own_splits`` (by data set) of a plan; ``parse`` makes a split of a text."""
    own = {
        name: tuple(reader.parse_list(("data", number, "split"), entry.split, parse))
        for number, (name, entry) in enumerate(data.items())
        if entry.split
    }
    return {"splits": tuple(reader.parse_list("split", study.split, parse)), "own_splits": own}


def _no_sequences(reader: Reader, study: Study, protocol: BaseProtocol, keys: tuple[str, ...]) -> None:
    """Raise U132 if an entry under ``data`` has one of ``keys``, which only studies of sequences have."""
    for number, data in enumerate(study.data):
        for key in keys:
            if getattr(data, key):
                what = f"{key} is for generated sequences, and {protocol} needs ranked lists or streams"
                raise reader.error(("data", number), what, f"remove `{key}:`, or use `protocol: sequence(k=5)`")


def _no_streams(reader: Reader, study: Study, protocol: BaseProtocol) -> None:
    """Raise an error if a study of ranked lists or sequences has no split, or has a key that only streams have."""
    if not study.split and not all(entry.split for entry in study.data):
        where = reader.document.where(())
        raise UsageError("U132", "the study lacks the key 'split'", where=where, hint="add `split:`")
    for key in STREAM_KEYS:
        if key in study.model_fields_set:
            what = f"{key} is for streams, and {protocol} is not a protocol of streams"
            raise reader.error((key,), what, f"remove `{key}:`, or use `protocol: prequential(at=10)`")


def _no_lists(reader: Reader, study: Study, protocol: BaseProtocol, purpose: str) -> None:
    """Raise U132 if a study of another kind has a key of ranked lists; ``purpose`` ends the error's sentence."""
    for key in LIST_KEYS:
        if key in study.model_fields_set:
            what = f"`{key}` is for ranked lists, and {protocol} {purpose}"
            raise reader.error((key,), what, f"remove `{key}:`")


def _stream_plan(reader: Reader, study: Study, protocol: Prequential, common: dict[str, Any]) -> StreamPlan:
    _no_lists(reader, study, protocol, "is for streams")
    if study.split:
        what = f"{protocol} needs no split: every event is first test, then training"
        hint = "remove `split:`; prequential(warmup=10000) does not score the first events"
        raise reader.error(("split",), what, hint)
    _no_sequences(reader, study, protocol, ("similarities", "primitive"))
    each = {}
    has_items = any(data.items for data in common["data"].values())
    for number, (name, data) in enumerate(common["data"].items()):
        if data.sequences:
            what = f"{protocol} is for streams, which do not use sequences"
            raise reader.error(("data", number), what, "remove `sequences:`")
        if data.split:
            what = f"{protocol} needs no split: every event is first test, then training"
            raise reader.error(("data", number, "split"), what, "remove `split:`")
        own: Key = ("data", number, "protocol") if data.protocol else ("protocol",)
        each[name] = streams_of(reader, own, data.protocol or study.protocol)
        for one in each[name]:
            reader.parse(("metrics",), str(one), functools.partial(check_metrics, study, one, has_items))
    several = {name: tuple(WholeStream(str(one)) for one in own) for name, own in each.items() if len(own) > 1}
    curves = curves_of(reader, study, common["metrics"], each)
    return StreamPlan(
        **common | {"own_splits": several},
        splits=(WholeStream(),),
        protocol=protocol,
        designs=(STREAM,),
        experiments=(),
        protocols=each,
        over_time=curves[0],
        curves=curves,
        detectors=tuple(
            reader.parse(("over_time", "detectors", number), text, drift.parse)
            for number, text in enumerate(study.over_time.detectors)
        ),
        settings=grid_settings(reader, study.tune, common["systems"]),
    )


def _sequence_plan(reader: Reader, study: Study, protocol: Sequence, common: dict[str, Any]) -> SequencePlan:
    _no_lists(reader, study, protocol, "is for sequences")
    return SequencePlan(
        **common | _splits(reader, study, common["data"], _sequence_split),
        protocol=protocol,
        designs=(SEQUENCES,),
        experiments=(),
        sequencers={
            name: _sequencer(reader, number, data) for number, (name, data) in enumerate(common["data"].items())
        },
        primitives={
            name: parse_model_text(reader, ("data", number, "primitive"), data.primitive, models.sequence.parse_any)
            for number, (name, data) in enumerate(common["data"].items())
            if data.primitive and not names_table(data.primitive)
        },
    )


def _sequencer(reader: Reader, number: int, data: Data) -> Sequencer:
    key: Key = ("data", number)
    if not data.sequences:
        hint = "sequences: sessions(gap=3600), or ready_made where a user is a sequence"
        raise reader.error(key, "the rule that makes sequences of the log is missing", hint)
    return reader.parse((*key, "sequences"), data.sequences, sequences.parse_rule)


def _sequence_split(text: str) -> SequenceSplit:
    found = sequences.parse(text)
    if not isinstance(found, SequenceSplit):
        hint = "move it to the data as `sequences:`, and write latest_sequences(test=0.2) here"
        raise UsageError("U132", f"{found} makes sequences and does not split them", where=text, hint=hint)
    return found


def _datasets(reader: Reader, study: Study) -> dict[str, Data]:
    found: dict[str, Data] = {}
    for number, data in enumerate(study.data):
        if sum(map(bool, (data.path, data.generate, data.table))) > 1 or not (
            data.path or data.generate or data.table or data.name
        ):
            raise reader.error(
                ("data", number),
                "a data set needs exactly one of name (or table), path and generate",
                "path: ratings.csv",
            )
        place = data.path or data.table
        name = data.name or (Path(place).name.partition(".")[0] if place else "generated")
        if name in found:
            raise reader.error(
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
            f"the baseline '{baseline}' is not one of the models",
            where=reader.document.where(reader.key("compare", "baseline")),
            hint=suggest(baseline, names),
        )


def _designs(reader: Reader, study: Study) -> tuple[str | Design, ...]:
    found = reader.parse_list("designs", study.designs, _design)
    return tuple(dict.fromkeys(design for designs in found for design in designs))


def _experiments(reader: Reader, study: Study) -> tuple[Experiment, ...]:
    if not study.experiments:
        return ()
    from recassay.experiments import parse  # few studies have experiments

    return tuple(dict.fromkeys(reader.parse_list("experiments", study.experiments, parse)))


def _design(text: str) -> list[str | Design]:
    return [LISTS] if text == LISTS else [*parse_designs(text)]
