"""The plan of a study: its texts parsed into objects, for ranked lists, generated sequences or streams."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from recassay.data.features import Features
from recassay.data.interactions import Interactions
from recassay.designs import Design
from recassay.drift import Detector
from recassay.engine.streams.source import Batch, StreamSource, digest
from recassay.errors import RecassayError
from recassay.metrics.base import CatalogueMetric, Metric
from recassay.metrics.registry import parse_metrics
from recassay.protocols.base import BaseProtocol, UserProtocol
from recassay.protocols.prequential import Prequential
from recassay.protocols.ranking import Sequence
from recassay.split.base import Cut
from recassay.split.filters import Filter
from recassay.split.sessions import Sequencer
from recassay.study.config.reading import Document
from recassay.study.config.schema import Data, Study
from recassay.study.plan.systems import System

LISTS = "lists"  # the design that scores ranked lists as they are
SEQUENCES = "sequences"  # the only design for generated sequences
STREAM = "stream"  # the only design for streams


@dataclass(frozen=True, eq=False, kw_only=True)
class AnyPlan:
    """The parts of a plan that all kinds of studies have: the objects that the texts of a study file define.

    ``data`` maps the name of a data set to its entry, and ``metrics`` a heading (``recall@10``) to its metric.
    ``designs`` choose the candidates that are ranked. A data set may have splits and filters of its own.
    """

    document: Document
    study: Study
    data: Mapping[str, Data]
    filters: tuple[Filter, ...]
    own_filters: Mapping[str, tuple[Filter, ...]]  # by data set
    splits: tuple[Any, ...]  # of data sets that have none of their own
    own_splits: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)  # by data set, of those that have some
    protocol: BaseProtocol
    systems: tuple[System, ...]
    designs: tuple[str | Design, ...]
    metrics: Mapping[str, Metric]
    experiments: tuple[Any, ...] = ()

    @property
    def folder(self) -> Path:
        """Return the folder of the study file, to which paths in it are relative."""
        return self.document.folder

    def splits_of(self, name: str) -> tuple[Any, ...]:
        """Return the splits of data set ``name``: its own, or else those of the study."""
        return self.own_splits.get(name, self.splits)

    def protocol_of(self, dataset: str, split: str) -> BaseProtocol:
        """Return the protocol by which systems answer on a split of a data set."""
        return self.protocol

    def locating_split(self, name: str, number: int) -> AbstractContextManager[None]:
        """Return a context that adds to errors the line of split ``number`` of data set ``name`` in the study file."""
        if name in self.own_splits:
            return self.locating_data(name, "split", number)
        return self.document.locating("split", number)

    def locating_data(self, name: str, *more: str | int) -> AbstractContextManager[None]:
        """Return a context that adds to errors the line of data set ``name``, or of key ``more`` in its entry."""
        return self.document.locating("data", list(self.data).index(name), *more)

    def locate_metric(self, heading: str, error: RecassayError) -> RecassayError:
        """Return an error about the metric with this heading, with its line in the study file."""
        number = next((at for at, text in enumerate(self.study.metrics) if heading in parse_metrics(text)), 0)
        return self.document.locate(("metrics", number), error)

    def with_metrics(self, headings: Iterable[str]) -> Self:
        """Return the plan with only the metrics that have these headings."""
        return dataclasses.replace(self, metrics={heading: self.metrics[heading] for heading in headings})

    def for_data(self, name: str) -> Self:
        """Return the plan with only the metrics that can be computed on a data set: some need features of items."""
        lacks = self.data[name].items is None
        return self.with_metrics(name for name, one in self.metrics.items() if not (lacks and "items" in one.needed))


@dataclass(frozen=True, eq=False, kw_only=True)
class Plan(AnyPlan):
    """The plan of a study of ranked lists."""

    protocol: UserProtocol


@dataclass(frozen=True, eq=False, kw_only=True)
class SequencePlan(AnyPlan):
    """The plan of a study of generated sequences.

    Both mappings are keyed by data set: ``sequencers`` are the rules that make its sequences, and ``primitives`` the
    recommenders of its obvious items, where the study names one.
    """

    protocol: Sequence
    sequencers: Mapping[str, Sequencer]
    primitives: Mapping[str, Any]


@dataclass(frozen=True, eq=False, kw_only=True)
class StreamPlan(AnyPlan):
    """The plan of a study of streams, in which systems are tested and trained event by event.

    ``protocols`` is keyed by data set. ``settings`` maps a system to the models that tuning chooses from. ``over_time``
    is the main metric, which the drift alarms watch. ``curves`` are all metrics with a curve over time, that one first.
    """

    protocol: Prequential
    protocols: Mapping[str, tuple[Prequential, ...]]
    over_time: str
    curves: tuple[str, ...]
    detectors: tuple[Detector, ...]
    settings: Mapping[str, tuple[Any, ...]]

    def with_metrics(self, headings: Iterable[str]) -> Self:
        """Return the plan with only these metrics, also in its curves, and at least one metric of single events."""
        kept = list(headings)
        has_events = any(one in self.of_events for one in kept)
        found = super().with_metrics(kept if has_events else [self.over_time, *kept])
        curves = tuple(one for one in self.curves if one in found.metrics) or tuple(found.of_events)[:1]
        return dataclasses.replace(found, over_time=curves[0], curves=curves)

    def protocol_of(self, dataset: str, split: str) -> Prequential:
        """Return the protocol that the split with the text ``split`` uses on the stream ``dataset``."""
        return dict(zip(map(str, self.splits_of(dataset)), self.protocols[dataset], strict=True))[split]

    @property
    def of_events(self) -> Mapping[str, Metric]:
        """Return the metrics that have a value for each event."""
        return {heading: one for heading, one in self.metrics.items() if not isinstance(one, CatalogueMetric)}

    @property
    def of_catalogue(self) -> Mapping[str, CatalogueMetric]:
        """Return the metrics of the lists of many events together, such as coverage."""
        return {heading: one for heading, one in self.metrics.items() if isinstance(one, CatalogueMetric)}

    @property
    def tuned_by(self) -> str:
        """Return the metric by which settings are chosen: that of ``tune``, or else that of ``over_time``."""
        return (self.study.tune and self.study.tune.metric) or self.over_time


@dataclass(frozen=True, repr=False)
class WholeStream(Cut):
    """The split of a stream, which leaves it whole: every event is first used for testing, then for training.

    ``protocol`` is the text of the protocol, if systems are tested under several; it is empty for a single one.
    """

    name: ClassVar[str] = "whole"

    protocol: str = ""


@dataclass(frozen=True, eq=False)
class StreamFold:
    """A log and the protocol by which systems are tested on it event by event.

    The first ``tuned_on`` events only serve to choose settings of models. ``items`` are features of items, for metrics
    of lists. ``removed`` are the numbers of removed events by reason.
    """

    log: Interactions
    protocol: Prequential
    dataset: str
    tuned_on: int = 0
    number: int = 0
    removed: Mapping[str, int] = field(default_factory=dict)
    items: Features | None = None
    split: str = str(WholeStream())

    @property
    def train(self) -> Interactions:
        """Return the whole log, because systems learn from every event."""
        return self.log

    @property
    def how(self) -> dict[str, Any]:
        """Return how the fold was made: the name of the split, the protocol, and the number of events for tuning."""
        return {"split": self.split, "protocol": str(self.protocol), "tuned_on": self.tuned_on}

    @cached_property
    def fingerprint(self) -> str:
        """Return a digest of the events, their order (by time, then by row) and the item features."""
        rows = np.arange(len(self.log))
        features = "" if self.items is None else f"-{self.items.fingerprint}"
        order = digest(Batch(self.log, rows, None, np.zeros(rows.size, np.bool_)))
        return f"{self.log.fingerprint}-{order:x}{features}"

    @cached_property
    def _in_order(self) -> Interactions:
        return next(StreamSource(self.log, self.protocol).batches()).log

    def first(self, events: int, protocol: Prequential) -> StreamFold:
        """Return a fold of the first ``events`` events in order of time, with another protocol and without tuning."""
        log = self._in_order.take(np.arange(min(events, len(self.log)))).compact()
        return dataclasses.replace(self, log=log, protocol=protocol, tuned_on=0)
