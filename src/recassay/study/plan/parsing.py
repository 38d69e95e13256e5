"""A study parsed into its plan, so that mistakes are found before any work begins."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recassay import drift, models, protocols, split
from recassay.comparison.over_time.curves import ERRORS
from recassay.designs import Design
from recassay.designs import parse_list as parse_designs
from recassay.engine.streams.values import StreamMetrics
from recassay.errors import UsageError
from recassay.metrics.base import CatalogueMetric, Metric
from recassay.metrics.registry import parse_metrics
from recassay.models.base.registry import FORM
from recassay.naming.grammar import suggest
from recassay.naming.registry import load_file
from recassay.protocols.base import BaseProtocol, UserProtocol
from recassay.protocols.prequential import Prequential
from recassay.protocols.sequence import Sequence
from recassay.split import filters, sequences
from recassay.split.base import Cut
from recassay.split.sequences import SequenceSplit
from recassay.split.sessions import Sequencer
from recassay.study.config.reading import Document, Key, Reader
from recassay.study.config.schema import Data, Study
from recassay.study.config.sources import names_table
from recassay.study.plan.plan import LISTS, SEQUENCES, STREAM, Plan, SequencePlan, StreamPlan, WholeStream
from recassay.study.plan.run_files import RunFiles
from recassay.study.plan.systems import parse_model_text, parse_systems
from recassay.study.plan.tuning import grid_settings

if TYPE_CHECKING:
    from recassay.experiments.base import Experiment

LIST_KEYS = ("designs", "experiments", "users", "by", "by_item")  # keys that only studies of ranked lists have
SEQUENCE_KEYS = ("sequences", "similarities", "primitive")  # of data, for studies of sequences
OWN_KEYS = ("filters", "split", "metrics")  # whose texts may name a class in a Python file; models parse theirs
OWN_DATA_KEYS = ("filters", "split", "sequences")
CLASS = re.compile(r"^[A-Za-z_]\w*")


def make_plan(document: Document, study: Study, *, quick: bool = False) -> Plan | SequencePlan | StreamPlan:
    """Return the plan of a study, read from ``document``; errors name the line and key of the mistake in the file."""
    reader = Reader(document, frozenset(document.content.get("quick", {}) if quick else {}))
    for number, file in enumerate(study.plugins):
        reader.parse(("plugins", number), file, lambda name: load_file(document.path.parent / name))
    study = with_own_classes(reader, study)
    protocol, *more = reader.parse_list("protocol", study.protocol, protocols.parse)
    is_stream, generates = isinstance(protocol, Prequential), isinstance(protocol, Sequence)
    if more and not is_stream:
        what = f"several protocols are for streams, and {protocol} is not one of streams"
        raise reader.error(("protocol",), what, "name one protocol, and run a study for each other one")
    data = _datasets(reader, study)
    columns = {name: entry.columns for name, entry in data.items() if entry.columns}
    systems = parse_systems(reader, study.models, models.sequence.parse_any if generates else models.parse, columns)
    names, baseline = [system.name for system in systems], study.compare.baseline
    if baseline is not None and baseline not in names:
        where = document.where(reader.key("compare", "baseline"))
        what = f"the baseline '{baseline}' is not one of the models"
        raise UsageError("U108", what, where=where, hint=suggest(baseline, names))
    parsed = reader.parse_list("metrics", study.metrics, parse_metrics)
    common: dict[str, Any] = {
        "document": document,
        "study": study,
        "quick": quick,
        "data": data,
        "filters": tuple(reader.parse_list("filters", study.filters, filters.parse)),
        "own_filters": {},
        "own_splits": {},
        "protocol": protocol,
        "systems": systems,
        "experiments": (),
        "metrics": {heading: metric for found in parsed for heading, metric in found.items()},
    }
    for number, (name, entry) in enumerate(data.items()):
        own = reader.parse_list(("data", number, "filters"), entry.filters, filters.parse)
        common["own_filters"][name] = tuple(own)
        if entry.protocol and not is_stream:
            what = "only studies of streams have a protocol per data set"
            raise reader.error(("data", number), what, "remove `protocol:` from the data")
    for system in systems:
        if isinstance(system.model, RunFiles) and not isinstance(protocol, UserProtocol):
            what = f"{system.name} is a run file, which holds ranked lists, and {protocol} needs a model"
            raise UsageError("U132", what, where=document.where(system.key), hint="protocol: ranking, or name a model")
    if isinstance(protocol, Prequential):
        return _stream_plan(reader, study, protocol, common)
    if not study.split and not all(entry.split for entry in study.data):
        raise UsageError("U132", "the study lacks the key 'split'", where=document.where(()), hint="add `split:`")
    for key in sorted({"over_time", "tune"} & study.model_fields_set):
        what = f"{key} is for streams, and {protocol} is not a protocol of streams"
        raise reader.error((key,), what, f"remove `{key}:`, or use `protocol: prequential(at=10)`")
    if isinstance(protocol, Sequence):
        return _sequence_plan(reader, study, protocol, common)
    if not isinstance(protocol, UserProtocol):
        raise reader.error(("protocol",), f"studies do not support the protocol {protocol}", "ranking(...)")
    _refuse_data_keys(reader, study, protocol, SEQUENCE_KEYS)
    designs = reader.parse_list("designs", study.designs, _design)
    return Plan(
        **common
        | _splits(reader, study, data, split.parse)
        | {
            "designs": tuple(dict.fromkeys(design for several in designs for design in several)),
            "experiments": _experiments(reader, study),
        }
    )


def _datasets(reader: Reader, study: Study) -> dict[str, Data]:
    found: dict[str, Data] = {}
    for number, data in enumerate(study.data):
        if sum(map(bool, (data.path, data.generate, data.table))) > 1 or not (
            data.path or data.generate or data.table or data.name
        ):
            what = "a data set needs exactly one of name (or table), path and generate"
            raise reader.error(("data", number), what, "path: ratings.csv")
        place = data.path or data.table
        name = data.name or (Path(place).name.partition(".")[0] if place else "generated")
        if name in found:
            what = f"two data sets have the name '{name}'"
            raise reader.error(("data", number), what, "give one of them another `name:`")
        found[name] = data
    return found


def _splits(reader: Reader, study: Study, data: Mapping[str, Data], parse: Callable[[str], Cut]) -> dict[str, Any]:
    """Return the fields ``splits`` and ``own_splits`` (by data set) of a plan; ``parse`` makes a split of a text."""
    own = {
        name: tuple(reader.parse_list(("data", number, "split"), entry.split, parse))
        for number, (name, entry) in enumerate(data.items())
        if entry.split
    }
    return {"splits": tuple(reader.parse_list("split", study.split, parse)), "own_splits": own}


def _design(text: str) -> list[str | Design]:
    return [LISTS] if text == LISTS else [*parse_designs(text)]


def _experiments(reader: Reader, study: Study) -> tuple[Experiment, ...]:
    if not study.experiments:
        return ()
    from recassay.experiments import parse  # few studies have experiments

    return tuple(dict.fromkeys(reader.parse_list("experiments", study.experiments, parse)))


def _refuse_data_keys(reader: Reader, study: Study, protocol: BaseProtocol, keys: Iterable[str]) -> None:
    """Raise U132 if an entry under ``data`` has one of ``keys``, which only studies of sequences have."""
    for number, data in enumerate(study.data):
        for key in keys:
            if getattr(data, key):
                what = f"{key} is for generated sequences, and {protocol} needs ranked lists or streams"
                raise reader.error(("data", number), what, f"remove `{key}:`, or use `protocol: sequence(k=5)`")


def _refuse_list_keys(reader: Reader, study: Study, protocol: BaseProtocol, purpose: str) -> None:
    """Raise U132 if a study of another kind has a key of ranked lists; ``purpose`` ends the error's sentence."""
    for key in LIST_KEYS:
        if key in study.model_fields_set:
            what = f"`{key}` is for ranked lists, and {protocol} {purpose}"
            raise reader.error((key,), what, f"remove `{key}:`")


# --- sequences ------------------------------------------------------------------------------------------------------


def _sequence_plan(reader: Reader, study: Study, protocol: Sequence, common: dict[str, Any]) -> SequencePlan:
    _refuse_list_keys(reader, study, protocol, "is for sequences")
    sequencers, primitives = dict[str, Sequencer](), dict[str, Any]()
    for number, (name, data) in enumerate(common["data"].items()):
        if not data.sequences:
            hint = "sequences: sessions(gap=3600), or ready_made where a user is a sequence"
            raise reader.error(("data", number), "the rule that makes sequences of the log is missing", hint)
        sequencers[name] = reader.parse(("data", number, "sequences"), data.sequences, sequences.parse_rule)
        if data.primitive and not names_table(data.primitive):
            key: Key = ("data", number, "primitive")
            primitives[name] = parse_model_text(reader, key, data.primitive, models.sequence.parse_any)
    parts = common | _splits(reader, study, common["data"], _sequence_split)
    return SequencePlan(**parts, designs=(SEQUENCES,), sequencers=sequencers, primitives=primitives)


def _sequence_split(text: str) -> SequenceSplit:
    found = sequences.parse(text)
    if not isinstance(found, SequenceSplit):
        hint = "move it to the data as `sequences:`, and write latest_sequences(test=0.2) here"
        raise UsageError("U132", f"{found} makes sequences and does not split them", where=text, hint=hint)
    return found


# --- streams --------------------------------------------------------------------------------------------------------


def _stream_plan(reader: Reader, study: Study, protocol: Prequential, common: dict[str, Any]) -> StreamPlan:
    _refuse_list_keys(reader, study, protocol, "is for streams")
    no_split = f"{protocol} needs no split: every event is first test, then training"
    if study.split:
        hint = "remove `split:`; prequential(warmup=10000) does not score the first events"
        raise reader.error(("split",), no_split, hint)
    _refuse_data_keys(reader, study, protocol, SEQUENCE_KEYS[1:])
    each = {}
    has_items = any(data.items for data in common["data"].values())
    for number, (name, data) in enumerate(common["data"].items()):
        if data.sequences:
            what = f"{protocol} is for streams, which do not use sequences"
            raise reader.error(("data", number), what, "remove `sequences:`")
        if data.split:
            raise reader.error(("data", number, "split"), no_split, "remove `split:`")
        own: Key = ("data", number, "protocol") if data.protocol else ("protocol",)
        each[name] = _stream_protocols(reader, own, data.protocol or study.protocol)
        for one in each[name]:
            with reader.locating("metrics"):
                _check_stream_metrics(common["metrics"], one, has_items)
    detectors = [
        reader.parse(("over_time", "detectors", number), text, drift.parse)
        for number, text in enumerate(study.over_time.detectors)
    ]
    curves = _curves(reader, study, common["metrics"], each)
    several = {name: tuple(WholeStream(str(one)) for one in own) for name, own in each.items() if len(own) > 1}
    return StreamPlan(
        **common | {"own_splits": several},
        splits=(WholeStream(),),
        designs=(STREAM,),
        protocols=each,
        over_time=curves[0],
        curves=curves,
        detectors=tuple(detectors),
        settings=grid_settings(reader, study.tune, common["systems"]),
    )


def _stream_protocols(reader: Reader, key: Key, texts: list[str]) -> tuple[Prequential, ...]:
    """Return the protocols that ``texts`` describe, all for one data set, which is a stream.

    ``key`` is their place in the study file. Raise U132 for a protocol that a study cannot play, or a repeated one.
    """
    found: dict[Prequential, None] = {}
    for one in reader.parse_list(key, texts, protocols.parse):
        if not isinstance(one, Prequential):
            what = f"{one} is not for streams, unlike the protocol of the study"
            raise reader.error(key, what, "prequential(at=10)")
        if one.folds != "none":
            what = f"a study plays every system once, and {one} plays several copies"
            hint = "remove folds; ra.play plays copies, and ra.overall.over_folds shows their curves"
            raise reader.error(key, what, hint)
        if one in found:
            raise reader.error(key, f"the protocol {one} is named twice", "leave one out")
        found[one] = None
    return tuple(found)


def _check_stream_metrics(metrics: Mapping[str, Metric], protocol: Prequential, items: bool) -> None:
    """Raise U192 for a metric that a stream cannot have; ``items`` says whether item features are given."""
    where, ratings = str(protocol), protocol.predict == "ratings"
    events = [heading for heading, metric in metrics.items() if not isinstance(metric, CatalogueMetric)]
    if ratings and (other := [heading for heading in metrics if heading not in ERRORS]):
        raise UsageError("U192", f"{other[0]} is not a metric of ratings", where=where, hint=" or ".join(ERRORS))
    if ratings:
        return
    if not events:
        what = "no metric has a value for each event, and curves, tests and alarms need one"
        raise UsageError("U192", what, where=where, hint=f"add one, such as recall@{protocol.at}")
    for heading, metric in metrics.items():
        if isinstance(metric, CatalogueMetric) and metric.k is not None and metric.k > protocol.at:
            what = f"{heading} looks at more than the {protocol.at} items of a list"
            raise UsageError("U192", what, where=where, hint=f"{metric.name}@{protocol.at}")
        if isinstance(metric, CatalogueMetric) and metric.catalogue != "train":
            what = f"{heading}: the catalogue of a stream is the items of its events so far"
            raise UsageError("U192", what, where=where, hint="leave the parameter catalogue out")
    StreamMetrics.of(events, protocol, lists_only=False, items=items)


def _curves(reader: Reader, study: Study, metrics: Mapping[str, Metric], datasets: Iterable[str]) -> tuple[str, ...]:
    """Return the metrics of events with curves, the main one first.

    Raise U132 for an unknown metric or data set of a window, and for tuning by a metric without values for events.
    Metrics of the catalogue always have curves of their own.
    """
    events = [heading for heading, metric in metrics.items() if not isinstance(metric, CatalogueMetric)]
    named, tuned = study.over_time.metrics, study.tune.metric if study.tune else None
    for key, metric in (*(("over_time", one) for one in named), ("tune", tuned)):
        if metric not in (None, *metrics):
            what = f"there is no metric '{metric}' in the study"
            raise reader.error((key, "metric"), what, suggest(str(metric), metrics))
    if tuned is not None and tuned not in events:
        what = f"{tuned} has no value for an event, so that no parameters can be chosen by it"
        raise reader.error(("tune", "metric"), what, events[0])
    windows, known = study.over_time.window, list(datasets)
    for name in windows if isinstance(windows, dict) else ():
        if name not in known:
            what = f"there is no data set '{name}' in the study"
            raise reader.error(("over_time", "window"), what, suggest(name, known))
    return tuple(one for one in named if one in events) or tuple(events[:1])


# --- classes in Python files ----------------------------------------------------------------------------------------


def with_own_classes(reader: Reader, study: Study) -> Study:
    """Return the study with each text such as ``mine.py:MySplit(n=2)`` replaced by the name that its class has.

    The Python files are added to the plugins of the study, so everything that holds for plugins holds for them. Raise
    U123 if a file or class cannot be used; the error names the line of the text.
    """
    files: dict[str, None] = dict.fromkeys(study.plugins)
    parse = partial(_registered_name, reader.document.path.parent, files)

    def registered(section: Study | Data, keys: Iterable[str], *place: str | int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key in keys:
            texts = getattr(section, key)
            if isinstance(texts, str):
                found[key] = reader.parse((*place, key), texts, parse)
            elif texts:
                found[key] = [reader.parse((*place, key, number), text, parse) for number, text in enumerate(texts)]
        return found

    changed = registered(study, OWN_KEYS)
    data = [
        entry.model_copy(update=registered(entry, OWN_DATA_KEYS, "data", number))
        for number, entry in enumerate(study.data)
    ]
    return study.model_copy(update={**changed, "data": data, "plugins": list(files)})


def _registered_name(folder: Path, files: dict[str, None], text: str) -> str:
    """Return a text such as ``mine.py:MySplit(n=2)`` with the name of its class in place of file and class.

    The file is added to ``files`` (the keys of a dict). Other texts are returned unchanged.
    """
    match = FORM.match(text)
    if match is None:
        return text
    file, call = match["file"].strip(), match["call"]
    module = load_file(folder / file, where=text)
    found = CLASS.match(call)
    assert found is not None, "the form begins with a name"
    kind = getattr(module, found[0], None)
    if not isinstance(kind, type):
        known = [name for name, value in vars(module).items() if isinstance(value, type)]
        hint = suggest(found[0], known) if known else "the file defines no class"
        raise UsageError("U123", f"{file} has no class '{found[0]}'", where=text, hint=hint)
    if not vars(kind).get("name"):
        what = f"{found[0]} in {file} has no name of its own, by which tables and files could call it"
        raise UsageError("U123", what, where=text, hint='give the class an attribute such as name = "my_metric"')
    files[file] = None
    return str(kind.name) + call[found.end() :]  # type: ignore[attr-defined]  # checked above
