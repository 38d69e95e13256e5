"""Results as CSV: the summary in long form, at full precision."""

from __future__ import annotations

import csv
import io
import math

from recassay.report.content.csv_text import cell
from recassay.results.scores import Scores, Summary

HEADINGS = ("system", "metric", "mean", "low", "high", *Summary.COUNTS)


def to_csv(scores: Scores) -> str:
    """Return scores as CSV: a row per system and metric with all counts; an undefined number is an empty field."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(HEADINGS)
    for row in scores.rows:
        values = [getattr(row, name) for name in HEADINGS]
        writer.writerow("" if isinstance(value, float) and math.isnan(value) else cell(value) for value in values)
    return text.getvalue()
