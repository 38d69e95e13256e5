"""A study file parsed into its plan and checked, so that mistakes are found before any model is fitted."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from recassay import drift, models, protocols, split
from recassay.comparison.over_time.curves import ERRORS
from recassay.data.io.lake import address_name
from recassay.designs import parse_list as parse_designs
from recassay.engine.streams.values import StreamMetrics
from recassay.errors import UsageError
from recassay.metrics.base import CatalogueMetric, Metric
from recassay.metrics.registry import parse_metrics
from recassay.models.rerank.base import Reranker
from recassay.naming.grammar import suggest
from recassay.naming.registry import load_file
from recassay.protocols.base import BaseProtocol, UserProtocol
from recassay.protocols.prequential import Prequential
from recassay.protocols.ranking import Sequence
from recassay.split import filters, sequences
from recassay.split.base import Cut
from recassay.study.config.reading import Document, Key, Value, read_document
from recassay.study.config.schema import Data, Study, read_study
from recassay.study.config.sources import names_table
from recassay.study.plan.plan import LISTS, SEQUENCES, STREAM, AnyPlan, Plan, SequencePlan, StreamPlan, WholeStream
from recassay.study.plan.run_files import RunFiles
from recassay.study.plan.systems import grid_settings, parse_model, parse_systems, with_own_classes

RANKED, GENERATED, STREAMS = "ranked lists", "generated sequences", "streams"  # kinds of studies
OF_KIND = {  # keys that only studies of some kinds have
    **dict.fromkeys(("designs", "experiments", "users", "by", "by_item"), (RANKED,)),
    "split": (RANKED, GENERATED),
    **dict.fromkeys(("over_time", "tune"), (STREAMS,)),
}
DATA_OF_KIND = {
    **dict.fromkeys(("sequences", "similarities", "primitive"), (GENERATED,)),
    "split": (RANKED, GENERATED),
    "protocol": (STREAMS,),
}


def read_plan(path: str | Path, *, quick: bool = False, values: Mapping[str, Value] | None = None) -> AnyPlan:
    """Return the plan of the study in a file (its texts parsed into objects); raise an error for the first mistake.

    The mistakes are those that show in the study file alone. ``quick`` takes the small version of the study, and
    ``values`` override its parameters.
    """
    document = read_document(path, quick=quick)
    plan = make_plan(document, read_study(document, values))
    if isinstance(plan, Plan):
        _check_item_groups(plan)
        _check_paths(plan)
    _check_items(plan)
    for name in plan.data:
        for each in plan.splits_of(name):
            require_run_files(plan, name, str(each))
    return plan


def make_plan(document: Document, study: Study) -> Plan | SequencePlan | StreamPlan:
    """Return the plan of a study, read from ``document``; errors name the line and key of the mistake in the file."""
    for number, file in enumerate(study.plugins):
        document.parse(("plugins", number), file, lambda name: load_file(document.folder / name))
    study = with_own_classes(document, study)
    protocol, *more = document.parse_list("protocol", study.protocol, protocols.parse)
    if more and not isinstance(protocol, Prequential):
        raise document.error(
            ("protocol",),
            f"several protocols are for streams, and {protocol} is not one of streams",
            "name one protocol, and run a study for each other one",
        )
    _refuse_keys(document, study, protocol)
    data = _datasets(document, study)
    columns = {name: entry.columns for name, entry in data.items() if entry.columns}
    parse = models.sequence.parse_any if isinstance(protocol, Sequence) else models.parse
    systems = parse_systems(document, study.models, parse, columns)
    names, baseline = [system.name for system in systems], study.compare.baseline
    if baseline is not None and baseline not in names:
        raise UsageError(
            "U108",
            f"the baseline '{baseline}' is not one of the models",
            where=document.where(("compare", "baseline")),
            hint=suggest(baseline, names),
        )
    run_files = [system for system in systems if isinstance(system.model, RunFiles)]
    if run_files and not isinstance(protocol, UserProtocol):
        raise document.error(
            run_files[0].key,
            f"{run_files[0].name} is a run file, which holds ranked lists, and {protocol} needs a model",
            "protocol: ranking, or name a model",
        )
    parsed = document.parse_list("metrics", study.metrics, parse_metrics)
    common: dict[str, Any] = {
        "document": document,
        "study": study,
        "data": data,
        "filters": tuple(document.parse_list("filters", study.filters, filters.parse)),
        "own_filters": _parse_entries(document, data, "filters", filters.parse),
        "protocol": protocol,
        "systems": systems,
        "metrics": {heading: metric for found in parsed for heading, metric in found.items()},
    }
    if isinstance(protocol, Prequential):
        return _stream_plan(document, study, common)
    if not study.split and not all(entry.split for entry in study.data):
        raise document.error((), "the study lacks the key 'split'", "add `split:`")
    if isinstance(protocol, Sequence):
        return _sequence_plan(document, study, common)
    if not isinstance(protocol, UserProtocol):
        raise document.error(("protocol",), f"studies do not support the protocol {protocol}", "ranking(...)")
    designs = document.parse_list(
        "designs", study.designs, lambda text: [LISTS] if text == LISTS else parse_designs(text)
    )
    return Plan(
        **common,
        **_splits(document, study, data, split.parse),
        designs=tuple(dict.fromkeys(design for several in designs for design in several)),
        experiments=tuple(dict.fromkeys(document.parse_list("experiments", study.experiments, _experiment))),
    )


def _refuse_keys(document: Document, study: Study, protocol: BaseProtocol) -> None:
    """Raise U132 for a key that only studies of another kind have; ``protocol`` decides the kind of the study."""
    kind = STREAMS if isinstance(protocol, Prequential) else GENERATED if isinstance(protocol, Sequence) else RANKED
    sections: list[tuple[Key, Study | Data, Mapping[str, tuple[str, ...]]]] = [((), study, OF_KIND)]
    sections += [(("data", number), entry, DATA_OF_KIND) for number, entry in enumerate(study.data)]
    for place, section, of_kind in sections:
        for key, kinds in of_kind.items():
            if key in section.model_fields_set and getattr(section, key) and kind not in kinds:
                raise document.error(
                    (*place, key),
                    f"`{key}` is for {' and '.join(kinds)}, and {protocol} is for {kind}",
                    f"remove `{key}:`, or use another protocol",
                )


def _datasets(document: Document, study: Study) -> dict[str, Data]:
    """Return ``{name: entry}`` of the data sets; raise U132 for two of one name, or without exactly one source."""
    found: dict[str, Data] = {}
    for number, data in enumerate(study.data):
        sources = sum(map(bool, (data.path, data.generate, data.table)))
        if sources > 1 or not (sources or data.name):
            raise document.error(
                ("data", number),
                "a data set needs exactly one of name (or table), path and generate",
                "path: ratings.csv",
            )
        place = data.path or data.table
        name = data.name or (address_name(place) if place else "generated")
        if name in found:
            raise document.error(
                ("data", number), f"two data sets have the name '{name}'", "give one of them another `name:`"
            )
        found[name] = data
    return found


def _parse_entries(
    document: Document, data: Mapping[str, Data], key: str, parse: Callable[[str], Any]
) -> dict[str, Any]:
    """Return ``{data set: objects}``: the texts under ``key`` of each entry under ``data``, turned into objects."""
    return {
        name: tuple(document.parse_list(("data", number, key), getattr(entry, key), parse))
        for number, (name, entry) in enumerate(data.items())
    }


def _splits(document: Document, study: Study, data: Mapping[str, Data], parse: Callable[[str], Cut]) -> dict[str, Any]:
    """Return the fields ``splits`` and ``own_splits`` of a plan; ``parse`` turns a text into a split."""
    return {
        "splits": tuple(document.parse_list("split", study.split, parse)),
        "own_splits": {name: cuts for name, cuts in _parse_entries(document, data, "split", parse).items() if cuts},
    }


def _experiment(text: str) -> Any:
    from recassay.experiments import parse  # few studies have experiments

    return parse(text)


def _sequence_plan(document: Document, study: Study, common: dict[str, Any]) -> SequencePlan:
    sequencers, primitives = dict[str, Any](), dict[str, Any]()
    for number, (name, data) in enumerate(common["data"].items()):
        if not data.sequences:
            raise document.error(
                ("data", number),
                "the rule that makes sequences of the log is missing",
                "sequences: sessions(gap=3600), or ready_made where a user is a sequence",
            )
        sequencers[name] = document.parse(("data", number, "sequences"), data.sequences, sequences.parse_rule)
        if data.primitive and not names_table(data.primitive):
            with document.locating("data", number, "primitive"):
                primitives[name], _ = parse_model(document.folder, data.primitive, models.sequence.parse_any)
    splits = _splits(document, study, common["data"], sequences.parse_split)
    return SequencePlan(**common, **splits, designs=(SEQUENCES,), sequencers=sequencers, primitives=primitives)


# --- streams --------------------------------------------------------------------------------------------------------


def _stream_plan(document: Document, study: Study, common: dict[str, Any]) -> StreamPlan:
    each = {}
    has_items = any(data.items for data in common["data"].values())
    for number, (name, data) in enumerate(common["data"].items()):
        own: Key = ("data", number, "protocol") if data.protocol else ("protocol",)
        each[name] = _stream_protocols(document, own, data.protocol or study.protocol)
        for one in each[name]:
            with document.locating("metrics"):
                _check_stream_metrics(common["metrics"], one, has_items)
    detectors = document.parse_list(("over_time", "detectors"), study.over_time.detectors, drift.parse)
    curves = _curves(document, study, common["metrics"], each)
    several = {name: tuple(WholeStream(str(one)) for one in own) for name, own in each.items() if len(own) > 1}
    return StreamPlan(
        **common,
        own_splits=several,
        splits=(WholeStream(),),
        designs=(STREAM,),
        protocols=each,
        over_time=curves[0],
        curves=curves,
        detectors=tuple(detectors),
        settings=grid_settings(document, study.tune, common["systems"]),
    )


def _stream_protocols(document: Document, key: Key, texts: list[str]) -> tuple[Prequential, ...]:
    """Return the protocols that ``texts`` describe, all for one data set, which is a stream.

    ``key`` is their place in the study file. Raise U132 for a protocol that a study cannot play, or a repeated one.
    """
    found: dict[Prequential, None] = {}
    for one in document.parse_list(key, texts, protocols.parse):
        if not isinstance(one, Prequential):
            raise document.error(
                key, f"{one} is not for streams, unlike the protocol of the study", "prequential(at=10)"
            )
        if one.folds != "none":
            raise document.error(
                key,
                f"a study plays every system once, and {one} plays several copies",
                "remove folds; ra.play plays copies, and ra.overall.over_folds shows their curves",
            )
        if one in found:
            raise document.error(key, f"the protocol {one} is named twice", "leave one out")
        found[one] = None
    return tuple(found)


def _check_stream_metrics(metrics: Mapping[str, Metric], protocol: Prequential, items: bool) -> None:
    """Raise U192 for a metric that a stream cannot have; ``items`` says whether item features are given."""

    def refusal(what: str, hint: str) -> UsageError:
        return UsageError("U192", what, where=str(protocol), hint=hint)

    if protocol.predict == "ratings":
        if other := [heading for heading in metrics if heading not in ERRORS]:
            raise refusal(f"{other[0]} is not a metric of ratings", " or ".join(ERRORS))
        return
    events = [heading for heading, metric in metrics.items() if not isinstance(metric, CatalogueMetric)]
    if not events:
        raise refusal(
            "no metric has a value for each event, and curves, tests and alarms need one",
            f"add one, such as recall@{protocol.at}",
        )
    for heading, metric in metrics.items():
        if isinstance(metric, CatalogueMetric) and metric.k is not None and metric.k > protocol.at:
            raise refusal(
                f"{heading} looks at more than the {protocol.at} items of a list", f"{metric.name}@{protocol.at}"
            )
        if isinstance(metric, CatalogueMetric) and metric.catalogue != "train":
            raise refusal(
                f"{heading}: the catalogue of a stream is the items of its events so far",
                "leave the parameter catalogue out",
            )
    StreamMetrics.of(events, protocol, lists_only=False, items=items)


def _curves(
    document: Document, study: Study, metrics: Mapping[str, Metric], datasets: Iterable[str]
) -> tuple[str, ...]:
    """Return the headings of the metrics that get a curve over the events of a stream, the main one first.

    Raise U132 for an unknown metric or data set of a window, and for tuning by a metric without values for events.
    Metrics of the catalogue always have curves of their own.
    """
    events = [heading for heading, metric in metrics.items() if not isinstance(metric, CatalogueMetric)]
    named, tuned = study.over_time.metrics, study.tune.metric if study.tune else None
    window = study.over_time.window
    for key, noun, names, known in (
        (("over_time", "metric"), "metric", named, [*metrics]),
        (("tune", "metric"), "metric", () if tuned is None else (tuned,), [*metrics]),
        (("over_time", "window"), "data set", tuple(window) if isinstance(window, dict) else (), [*datasets]),
    ):
        if unknown := next((name for name in names if name not in known), None):
            raise document.error(key, f"there is no {noun} '{unknown}' in the study", suggest(unknown, known))
    if tuned is not None and tuned not in events:
        raise document.error(
            ("tune", "metric"),
            f"{tuned} has no value for an event, so that no parameters can be chosen by it",
            events[0],
        )
    return tuple(one for one in named if one in events) or tuple(events[:1])


# --- checks of a plan -----------------------------------------------------------------------------------------------


def require_run_files(plan: AnyPlan, name: str, split: str, folds: Collection[int] | None = None) -> None:
    """Raise I109 or U132 if a system reads its lists from run files, and one is missing or serves several folds.

    Checked are the files for the split ``split`` of data set ``name``, every seed, and the ``folds`` with these
    numbers; while the numbers are unknown (None), a file of any fold will do.
    """
    for system in plan.systems:
        if isinstance(system.model, RunFiles):
            with plan.document.locating(*system.key):
                system.model.require(system.name, name, split, plan.study.seeds, folds)


def _check_paths(plan: Plan) -> None:
    """Raise U132 if a system would use the same run file for several data sets, or for several splits of one."""
    splits = max(len(plan.splits_of(name)) for name in plan.data)
    for system in plan.systems:
        for name, things, number in (("data", "data sets", len(plan.data)), ("split", "splits", splits)):
            if isinstance(system.model, RunFiles) and number > 1 and name not in system.model.names:
                raise plan.document.error(
                    system.key,
                    f"{system.name} has one run file for {number} {things}: {system.model}",
                    f"write a file for each, and {{{name}}} in the path",
                )


def _check_item_groups(plan: Plan) -> None:
    """Raise an error if the study wants means by group of items and cannot have them.

    U132: its designs have no ranked lists; U215: none of its metrics has a value for a group of items.
    """
    if not plan.study.by_item:
        return
    if LISTS not in plan.designs:
        raise plan.document.error(
            ("by_item",),
            "groups of items are of ranked lists, and the designs do not have these",
            f"add `{LISTS}` to the designs, or remove `by_item:`",
        )
    from recassay.engine.lists.groups import metrics_of_item_groups

    with plan.document.locating("by_item"):
        metrics_of_item_groups(plan.metrics, plan.study.by_item[0])


def _check_items(plan: AnyPlan) -> None:
    """Raise an error if a metric or a re-ranker needs the features of items and cannot have them.

    U105: no data set has them, or one has no other metric; on streams the other metric must have a value for each
    event. U201: a re-ranker needs them, and some data set has none.
    """
    lacking = [name for name, data in plan.data.items() if data.items is None]
    if not lacking or isinstance(plan, SequencePlan):
        return
    hint = "name their file next to the data, `items: FILE`"
    metrics = plan.of_events if isinstance(plan, StreamPlan) else plan.metrics
    needing = [heading for heading, metric in metrics.items() if "items" in metric.needed]
    if needing and (len(lacking) == len(plan.data) or len(needing) == len(metrics)):
        raise plan.locate_metric(
            needing[0],
            UsageError(
                "U105",
                f"{needing[0]} needs the features of items, and {lacking[0]} has none",
                hint=f"{hint}, or remove the metric",
            ),
        )
    for system in plan.systems:
        model = system.model
        while isinstance(model, Reranker):
            if model.needs_items:
                raise plan.document.locate(
                    system.key,
                    UsageError(
                        "U201", f"{model.name} needs the features of items, and {lacking[0]} has none", hint=hint
                    ),
                )
            model = model.of
