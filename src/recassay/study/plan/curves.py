"""The protocols of a study of streams, and its metrics: those of an event, of many lists, and which have curves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from recassay import protocols
from recassay.comparison.over_time.curves import ERRORS
from recassay.engine.streams.values import StreamMetrics
from recassay.errors import UsageError
from recassay.metrics.base import CatalogueMetric, Metric
from recassay.metrics.registry import parse_metrics
from recassay.naming.grammar import suggest
from recassay.protocols.base import BaseProtocol
from recassay.protocols.prequential import Prequential
from recassay.study.config.reading import Key, Reader
from recassay.study.config.schema import Study


def streams_of(reader: Reader, key: Key, texts: list[str]) -> tuple[Prequential, ...]:
    """Return the protocols that ``texts`` describe, all for one data set, which is a stream.

    ``key`` is their place in the study file. Raise an error for a protocol that a study cannot play, or a repeated one.
    """
    found = tuple(playable(reader, one, key) for one in reader.parse_list(key, texts, protocols.parse))
    if twice := [one for number, one in enumerate(found) if one in found[:number]]:
        raise reader.error(key, f"the protocol {twice[0]} is named twice", "leave one out")
    return found


def playable(reader: Reader, protocol: BaseProtocol, key: Key) -> Prequential:
    """Return a protocol as one of streams; raise an error if it is none, or plays several copies of a model."""
    if not isinstance(protocol, Prequential):
        raise reader.error(
            key, f"{protocol} is not for streams, unlike the protocol of the study", "prequential(at=10)"
        )
    if protocol.folds != "none":
        what = f"a study plays every system once, and {protocol} plays several copies"
        raise reader.error(
            key, what, "remove folds; ra.play plays copies, and ra.overall.over_folds shows their curves"
        )
    return protocol


def of_events(metrics: Mapping[str, Metric]) -> dict[str, Metric]:
    """Return the metrics that have a value for each event of a stream."""
    return {heading: one for heading, one in metrics.items() if not isinstance(one, CatalogueMetric)}


def of_catalogue(metrics: Mapping[str, Metric]) -> dict[str, CatalogueMetric]:
    """Return the metrics that describe the lists of many events together, such as coverage."""
    return {heading: one for heading, one in metrics.items() if isinstance(one, CatalogueMetric)}


def check_metrics(study: Study, protocol: Prequential, items: bool, _text: str) -> None:
    """Raise an error for a metric that a stream cannot have; ``items`` says whether item features are given."""
    parsed = parse_metrics(study.metrics)
    events, where = of_events(parsed), str(protocol)
    if protocol.predict == "ratings":
        if other := [heading for heading in parsed if heading not in ERRORS]:
            raise UsageError("U192", f"{other[0]} is not a metric of ratings", where=where, hint=" or ".join(ERRORS))
        return
    if not events:
        what = "no metric has a value for each event, and curves, tests and alarms need one"
        raise UsageError("U192", what, where=where, hint=f"add one, such as recall@{protocol.at}")
    for heading, metric in of_catalogue(parsed).items():
        if metric.k is not None and metric.k > protocol.at:
            what, hint = (
                f"{heading} looks at more than the {protocol.at} items of a list",
                f"{metric.name}@{protocol.at}",
            )
            raise UsageError("U192", what, where=where, hint=hint)
        if metric.catalogue != "train":
            what = f"{heading}: the catalogue of a stream is the items of its events so far"
            raise UsageError("U192", what, where=where, hint="leave the parameter catalogue out")
    StreamMetrics.of(list(events), protocol, lists_only=False, items=items)


def curves_of(reader: Reader, study: Study, metrics: Mapping[str, Metric], datasets: Iterable[str]) -> tuple[str, ...]:
    """Return the metrics of events with curves, the main one first.

    Raise U132 for an unknown metric or data set of a window, and for tuning by a metric without values for events.
    Metrics of the catalogue always have curves of their own.
    """
    events = list(of_events(metrics))
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
