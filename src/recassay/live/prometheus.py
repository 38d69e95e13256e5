"""The results of a live evaluation in Prometheus' text format, with the labels metric, k, arm and segment."""

from __future__ import annotations

from typing import Any

from recassay.naming.grammar import parse
from recassay.optional import need


def exposition(document: dict[str, Any], health: dict[str, Any]) -> bytes:
    """Return the numbers of a results document (``Watched.to_dict``) in Prometheus' text format.

    ``health`` is the state of sources and of the webhook, as ``Server.health`` returns it.
    """
    client = need("prometheus_client", for_="/metrics")
    core = need("prometheus_client.core", for_="/metrics")
    registry = client.CollectorRegistry()

    class Numbers:
        def collect(self) -> Any:
            yield from _families(document, core.GaugeMetricFamily, core.CounterMetricFamily)
            yield from _differences(document, core.GaugeMetricFamily)
            yield from _operations(health, core.GaugeMetricFamily, core.CounterMetricFamily)

    registry.register(Numbers())
    written: bytes = client.generate_latest(registry)
    return written


def _families(document: dict[str, Any], gauge: Any, counter: Any) -> Any:
    events = counter("recassay_events", "Events received, by what became of them.", labels=["bin"])
    for name in ("judged", "duplicate", "late", "malformed"):
        events.add_metric([name], document["events"][name])
    yield events
    unjoined = gauge("recassay_unjoined_feedback", "Feedback events without an open window, by why.", labels=["reason"])
    for reason, n in document["unjoined"].items():
        unjoined.add_metric([reason], n)
    yield unjoined
    yield gauge("recassay_pending_events", "Events whose window has not closed.", value=document["events"]["pending"])
    if document["lag"] is not None:
        yield gauge("recassay_lag_seconds", "How far the newest event lies behind the clock.", value=document["lag"])
    if document["watermark"] is not None:
        age = (document["now"] - document["watermark"]) / 1e6
        yield gauge("recassay_watermark_age_seconds", "Age of the time up to which events are passed on.", value=age)
    yield gauge(
        "recassay_assignment_p_value", "P-value of the stated shares of arms.", value=document["assignment"]["p"]
    )
    yield gauge("recassay_findings", "Findings about the events.", value=len(document["findings"]))
    yield gauge(
        "recassay_decided_rules",
        "Rules that are decided.",
        value=sum(bool(one["decided"]) for one in document["rules"]),
    )
    exposures = counter("recassay_matured_exposures", "Exposures whose window has closed.", labels=["arm"])
    means = gauge("recassay_mean", "Mean over matured exposures.", labels=["metric", "k", "arm", "segment"])
    low = gauge("recassay_unit_mean_lower_bound", "Lower bound of the mean over units.", labels=["metric", "k", "arm"])
    high = gauge("recassay_unit_mean_upper_bound", "Upper bound of the mean over units.", labels=["metric", "k", "arm"])
    for arm, content in document["arms"].items():
        exposures.add_metric([arm], content["exposures"])
        for heading, row in content["metrics"].items():
            labels = _labels(heading)
            if row["mean"] is not None:
                means.add_metric([*labels, arm, ""], row["mean"])
            if row["low"] is not None:
                low.add_metric([*labels, arm], row["low"])
                high.add_metric([*labels, arm], row["high"])
    for segment, arms in document["segments"].items():
        for arm, row in arms.items():
            for heading, value in row["metrics"].items():
                if value is not None:
                    means.add_metric([*_labels(heading), arm, segment], value)
    yield from (exposures, means, low, high)


def _differences(document: dict[str, Any], gauge: Any) -> Any:
    """Yield the differences of arms, first minus second, with their bounds and p-values."""
    helps = {
        "difference": ("difference", "Difference of the means over units, a minus b."),
        "adjusted": ("adjusted_difference", "Adjusted difference, the centre of the bounds."),
        "low": ("difference_lower_bound", "Lower bound of the difference, valid at any time."),
        "high": ("difference_upper_bound", "Upper bound of the difference, valid at any time."),
        "p_adjusted": ("difference_p_value", "P-value of the difference, valid at any time, corrected by Holm."),
    }
    for key, (name, about) in helps.items():
        family = gauge(f"recassay_{name}", about, labels=["metric", "k", "a", "b"])
        for row in document["comparisons"]:
            if row[key] is not None:
                family.add_metric([*_labels(row["metric"]), row["a"], row["b"]], row[key])
        yield family


def _operations(health: dict[str, Any], gauge: Any, counter: Any) -> Any:
    """Yield whether sources can be read, their ages, and how the webhook fares."""
    up = gauge("recassay_source_up", "Whether the source can be read.", labels=["source"])
    answer = gauge("recassay_source_answer_age_seconds", "Time since the source could be read.", labels=["source"])
    event = gauge("recassay_source_event_age_seconds", "Time since the source's last event.", labels=["source"])
    for row in health["sources"]:
        up.add_metric([row["source"]], row["state"] != "waiting")
        answer.add_metric([row["source"]], row["seconds since answer"])
        if row["seconds since event"] is not None:
            event.add_metric([row["source"]], row["seconds since event"])
    yield from (up, answer, event)
    if health["notify"] is not None:
        yield counter(
            "recassay_notify_failures", "Failed tries to post a decision.", value=health["notify"]["failures"]
        )
        undelivered = health["notify"]["undelivered"]
        yield gauge("recassay_notify_undelivered", "Decisions that were not posted yet.", value=undelivered)


def _labels(heading: str) -> list[str]:
    """Return the name of a metric without its cut-off, and the cut-off as text ("" without one).

    >>> _labels("ndcg@10")
    ['ndcg', '10']
    """
    expression = parse(heading)
    name = heading.rpartition("@")[0] if expression.k is not None else heading
    return [name, "" if expression.k is None else str(expression.k)]
