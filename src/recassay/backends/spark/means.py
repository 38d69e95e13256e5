"""Means and intervals from values in Parquet: from all values for few users, else from sums.

All values in one place give the bits of the local back end. The bound is the number of users up to which intervals are
resampled.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

import polars as pl

from recassay.backends.spark.scoring import ScoringTotals
from recassay.backends.spark.stored_values import Columns, StoredValues
from recassay.backends.spark.sums import means_from_sums
from recassay.engine.lists.job import Job
from recassay.engine.lists.parts import PartialCounts
from recassay.engine.finish import assemble
from recassay.results.finding import Finding
from recassay.results.scores import Summary
from recassay.stats.intervals import LARGE, Uncertainty


class MeansAndFindings(NamedTuple):
    """A row for each system and metric, and the findings."""

    rows: tuple[Summary, ...]
    findings: tuple[Finding, ...]


def means_and_findings(
    kept: StoredValues, job: Job, totals: ScoringTotals, uncertainty: Uncertainty, few: int = LARGE
) -> MeansAndFindings:
    """Return means, intervals and findings from the stored values.

    Up to ``few`` users are evaluated in one place, as without Spark; with more users the results come from sums over
    users. ``totals`` are the counts over all users.
    """
    tallies = totals.tallies
    for tally in tallies.values():
        tally.raise_if_unusable(job.conventions)  # before any more work is sent to the cluster
    if next(iter(tallies.values())).alignment.queries <= few:
        filled = [key for key in kept.keys if key in kept.there]
        found: MeansAndFindings = kept.apply(filled, partial(_assemble, job, tallies, uncertainty))
        return found
    return MeansAndFindings(*means_from_sums(kept, job, tallies, uncertainty, few))


def _assemble(
    job: Job, tallies: Mapping[str, PartialCounts], uncertainty: Uncertainty, users: pl.Series, columns: Columns
) -> MeansAndFindings:
    judged = {
        name: job.combine(name, {key.column: values for key, values in columns.items() if key.system == name}, tally)
        for name, tally in tallies.items()
    }
    scores = assemble(job, judged, users, uncertainty, None)
    return MeansAndFindings(scores.rows, tuple(scores.findings))
