"""A check: a question about the files of a scoring, answered with a sentence or with None."""

from __future__ import annotations

from recassay.checks.base import check, format_count
from recassay.results.scores import Summary

FEW = 100


@check("EX001", "Few users were scored", "warning")
def few_users(rows: tuple[Summary, ...]) -> str | None:
    """Warn if the mean is over fewer than 100 users: its interval is wide and its distribution hardly known."""
    users = min((row.n for row in rows), default=FEW)
    if users >= FEW:
        return None
    return f"the mean is over {format_count(users, 'user')}; {FEW} or more are needed for an interval to be trusted"
