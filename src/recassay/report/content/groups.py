"""Sentences about means by group, the same in the terminal and on the page."""

from __future__ import annotations

from recassay.errors import printable
from recassay.report.content import wording
from recassay.results.group_scores import GroupScores

FEW_FOR_WELCH = 100  # users of a group; with more, skewed values hardly matter (docs/explanation/uncertainty.md)


def groups_title(groups: GroupScores) -> str:
    """Return the heading of a table of means by group: the column that makes the groups.

    >>> groups_title(GroupScores("country", "users", (), (), 10))
    'By country (users)'
    """
    return f"By {printable(groups.by)} ({'users' if groups.kind == 'users' else 'relevant items'})"


def groups_counts(groups: GroupScores) -> str:
    """Return sentences on the number of groups, those that are hidden, and users or items without a group.

    >>> groups_counts(GroupScores("country", "users", (), (), 10, hidden=2, hidden_users=7, without=1))
    '0 groups. 2 groups of fewer than 10 users are not shown (7 users in all). 1 user has no group.'
    """
    parts = [f"{_counted(len(groups.groups), 'group')}."]
    if groups.hidden:
        are = "is" if groups.hidden == 1 else "are"
        parts.append(
            f"{_counted(groups.hidden, 'group')} of fewer than {groups.smallest:,} users {are} not shown "
            f"({_counted(groups.hidden_users, 'user')} in all)."
        )
    if groups.without:
        what = "user" if groups.kind == "users" else "relevant item"
        parts.append(f"{_counted(groups.without, what)} {'has' if groups.without == 1 else 'have'} no group.")
    if groups.note:
        parts.append(f"{printable(groups.note)}.")
    for metric, why in groups.left_out.items():
        parts.append(f"{printable(metric)} is left out: it {why}.")
    return " ".join(parts)


def groups_method(groups: GroupScores) -> str:
    """Return sentences on how the gaps between groups were tested."""
    corrected = wording.CORRECTIONS.get(groups.correction, groups.correction)
    over = "p uncorrected" if groups.correction == "none" else f"{corrected} over all pairs of groups"
    shared = "" if groups.kind == "users" else ", which counts users of both groups once"
    fewest = min((row.n for row in groups.rows), default=FEW_FOR_WELCH)
    few = ""
    if fewest < FEW_FOR_WELCH:
        few = (
            f" The smallest group has {_counted(fewest, 'user')}: with fewer than {FEW_FOR_WELCH} and skewed values "
            "the test finds a difference that is not there in more than 5 % of studies (at 20 users in 8 to 23 %)."
        )
    return (
        f"Gap: best group minus worst group, tested by Welch's t test{shared} ({over}). The best and the worst of "
        f"several groups differ even by chance: read a gap with its p.{few}"
    )


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
