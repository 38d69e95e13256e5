"""Means and intervals from values in Parquet: in one task for as many users as are resampled, else from sums.

Of few users one task has all values, and does what the local engine does, to the last bit.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

import polars as pl

from recassay.comparison.intervals import LARGE, Uncertainty
from recassay.data.finding import Finding
from recassay.data.scores import Summary
from recassay.engine.local import Job
from recassay.engine.parts import Tally
from recassay.engine.spark.judge import Tallied
from recassay.engine.spark.kept import Columns, Kept
from recassay.engine.spark.sums import from_sums
from recassay.engine.summary import assemble


class Worths(NamedTuple):
    """What all systems were worth: a row for each and each metric, and what was found."""

    rows: tuple[Summary, ...]
    findings: tuple[Finding, ...]


def worths(kept: Kept, job: Job, tallied: Tallied, uncertainty: Uncertainty, few: int = LARGE) -> Worths:
    """Means, intervals and findings; of up to ``few`` users in one task."""
    tallies = tallied.tallies
    for tally in tallies.values():
        tally.refuse(job.conventions)  # before anything else is asked of the cluster
    if next(iter(tallies.values())).met.queries <= few:
        asked = [key for key in kept.keys if key in kept.there]
        found: Worths = kept.in_one_task(asked, partial(_as_locally, job, tallies, uncertainty))
        return found
    return Worths(*from_sums(kept, job, tallies, uncertainty, few))


def _as_locally(
    job: Job, tallies: Mapping[str, Tally], uncertainty: Uncertainty, users: pl.Series, columns: Columns
) -> Worths:
    judged = {
        name: job.together(name, {key.column: values for key, values in columns.items() if key.system == name}, tally)
        for name, tally in tallies.items()
    }
    scores = assemble(job, judged, uncertainty, None, units=users)
    return Worths(scores.rows, tuple(scores.findings))
