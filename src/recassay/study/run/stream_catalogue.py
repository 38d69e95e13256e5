"""Metrics of the lists of many events together, such as coverage, in studies of streams."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
import polars as pl

from recassay.comparison.over_time.windows import windows
from recassay.engine.streams.result import Stream
from recassay.metrics.base import CatalogueMetric
from recassay.results.exhibit import Exhibit
from recassay.results.outcomes import EVENT, CatalogueValues, Outcomes
from recassay.study.plan.plan import StreamPlan

NOT_TESTED = (
    "It describes many lists together and has no value for an event, so that no test compares systems by it, and its "
    "means have no intervals."
)


def catalogue_window(plan: StreamPlan, dataset: str) -> int | None:
    """Return the number of scored events in a window: that of ``over_time`` if it counts scored events.

    Else return None, for the default size.
    """
    how = plan.study.over_time
    size = how.window_of(dataset) if (how.how, how.by) == ("moving", "scored") else None
    return None if size is None else max(1, int(size))


def with_catalogue(stream: Stream, metrics: Mapping[str, CatalogueMetric], window: int | None) -> Outcomes:
    """Return the outcomes of a stream that kept its lists, with these metrics over all of it and over windows."""
    outcomes, found = stream.outcomes, dict[str, CatalogueValues]()
    scored = len(outcomes)
    default = windows(window=window, scored=scored, events=outcomes.events).window
    size = min(int(default or 1), scored)
    for heading in metrics:
        if not scored:
            found[heading] = CatalogueValues(math.nan, 0, (), ())
            continue
        whole = stream.catalogue_over_time(heading, scored).table
        table = stream.catalogue_over_time(heading, size).table
        column = next(name for name in table.columns if name not in (EVENT, "system"))
        values = CatalogueValues(float(whole[column][-1]), size, tuple(table[EVENT]), tuple(table[column]))
        found[heading] = values
    return replace(outcomes, catalogue=found)


def catalogue_exhibits(played: Mapping[str, Outcomes], plan: StreamPlan) -> Iterator[Exhibit]:
    """Yield a chart over time for each metric of many lists; ``played`` are the outcomes by system."""
    for heading in plan.of_catalogue:
        curves = {name: outcomes.catalogue[heading] for name, outcomes in played.items()}
        table = pl.concat(
            pl.DataFrame({EVENT: np.array(one.at, np.int64), heading: np.array(one.values, np.float64)}).with_columns(
                system=pl.lit(name)
            )
            for name, one in curves.items()
        )
        sizes = sorted({one.window for one in curves.values()})
        yield Exhibit(
            "over-time-" + re.sub(r"\W+", "-", heading).strip("-"),
            f"{heading} over time",
            f"{heading} of the lists of the last {' or '.join(f'{size:,}' for size in sizes)} scored events. The "
            f"catalogue is all items of events up to then, and all items in lists of the window. {NOT_TESTED}",
            table,
            EVENT,
            heading,
            "system",
        )
