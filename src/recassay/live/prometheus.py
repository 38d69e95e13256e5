"""The results of a live evaluation in Prometheus' text format, with the labels metric, k, arm and segment."""

from __future__ import annotations

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

from recassay.naming.grammar import parse
from recassay.optional import need

UNIT = ["metric", "k", "arm"]
PAIR = ["metric", "k", "a", "b"]
SOURCE = ["source"]
Family = tuple[str, str, list[str], Iterable[tuple[Any, ...]]]


def exposition(document: dict[str, Any], health: dict[str, Any]) -> bytes:
    """Return the numbers of a results document (``Watched.to_dict``) in Prometheus' text format.

    ``health`` is the state of sources and of the webhook, as ``Server.health`` returns it.
    """
    client = need("prometheus_client", for_="/metrics")
    core = need("prometheus_client.core", for_="/metrics")
    families = []
    for name, about, labels, rows in [*_results(document), *_differences(document), *_operations(document, health)]:
        kind = core.CounterMetricFamily if name.endswith("_total") else core.GaugeMetricFamily
        families.append(kind(f"recassay_{name.removesuffix('_total')}", about, labels=labels))
        for *values, number in rows:
            if number is not None:
                families[-1].add_metric(values, number)
    written: bytes = client.generate_latest(SimpleNamespace(collect=lambda: families))
    return written


def _results(document: dict[str, Any]) -> list[Family]:
    """Return the means of arms: name, help, labels, and rows of values of labels with a number, of each family."""
    arms = [
        (*_labels(heading), arm, row) for arm, content in document["arms"].items()
        for heading, row in content["metrics"].items()
    ]  # fmt: skip
    means = [(*unit, "", row["mean"]) for *unit, row in arms]
    means += [
        (*_labels(heading), arm, segment, mean)
        for segment, content in document["segments"].items()
        for arm, row in content.items()
        for heading, mean in row["metrics"].items()
    ]
    exposures = [(arm, content["exposures"]) for arm, content in document["arms"].items()]
    low, high = ([(*unit, row[bound]) for *unit, row in arms] for bound in ("low", "high"))
    return [
        ("matured_exposures_total", "Exposures whose window has closed.", ["arm"], exposures),
        ("mean", "Mean over matured exposures.", [*UNIT, "segment"], means),
        ("unit_mean_lower_bound", "Lower bound of the mean over units.", UNIT, low),
        ("unit_mean_upper_bound", "Upper bound of the mean over units.", UNIT, high),
    ]


def _differences(document: dict[str, Any]) -> list[Family]:
    """Return the differences of arms, first minus second, with their bounds and p-values."""
    rows = [(*_labels(row["metric"]), row["a"], row["b"], row) for row in document["comparisons"]]
    helps = [
        ("difference", "difference", "Difference of the means over units, a minus b."),
        ("adjusted", "adjusted_difference", "Adjusted difference, the centre of the bounds."),
        ("low", "difference_lower_bound", "Lower bound of the difference, valid at any time."),
        ("high", "difference_upper_bound", "Upper bound of the difference, valid at any time."),
        ("p_adjusted", "difference_p_value", "P-value of the difference, valid at any time, corrected by Holm."),
    ]
    return [(name, about, PAIR, [(*pair, row[key]) for *pair, row in rows]) for key, name, about in helps]


def _operations(document: dict[str, Any], health: dict[str, Any]) -> list[Family]:
    """Return counts of events, what is still open, and how the sources and the webhook fare."""
    counts, watermark, sources = document["events"], document["watermark"], health["sources"]
    bins = [(name, counts[name]) for name in ("judged", "duplicate", "late", "malformed")]
    age = None if watermark is None else (document["now"] - watermark) / 1e6
    decided = sum(bool(rule["decided"]) for rule in document["rules"])
    up, answers, heard = (
        [(row["source"], row[key]) for row in sources]
        for key in ("state", "seconds since answer", "seconds since event")
    )
    families: list[Family] = [
        ("events_total", "Events received, by what became of them.", ["bin"], bins),
        (
            "unjoined_feedback",
            "Feedback events without an open window, by why.",
            ["reason"],
            document["unjoined"].items(),
        ),
        ("pending_events", "Events whose window has not closed.", [], [(counts["pending"],)]),
        ("lag_seconds", "How far the newest event lies behind the clock.", [], [(document["lag"],)]),
        ("watermark_age_seconds", "Age of the time up to which events are passed on.", [], [(age,)]),
        ("assignment_p_value", "P-value of the stated shares of arms.", [], [(document["assignment"]["p"],)]),
        ("findings", "Findings about the events.", [], [(len(document["findings"]),)]),
        ("decided_rules", "Rules that are decided.", [], [(decided,)]),
        ("source_up", "Whether the source can be read.", SOURCE, [(name, state != "waiting") for name, state in up]),
        ("source_answer_age_seconds", "Time since the source could be read.", SOURCE, answers),
        ("source_event_age_seconds", "Time since the source's last event.", SOURCE, heard),
    ]
    if (notify := health["notify"]) is not None:
        families += [
            ("notify_failures_total", "Failed tries to post a decision.", [], [(notify["failures"],)]),
            ("notify_undelivered", "Decisions that were not posted yet.", [], [(notify["undelivered"],)]),
        ]
    return families


def _labels(heading: str) -> list[str]:
    """Return the name of a metric without its cut-off, and the cut-off as text ("" without one).

    >>> _labels("ndcg@10")
    ['ndcg', '10']
    """
    expression = parse(heading)
    name = heading.rpartition("@")[0] if expression.k is not None else heading
    return [name, "" if expression.k is None else str(expression.k)]
