"""Sentences about means by group."""

import math

import pytest

from recassay.report.tables.verdict import groups_method
from recassay.results.group_scores import GroupRow, GroupScores


@pytest.mark.parametrize(("n", "said"), [(99, True), (100, False)])
def test_a_group_of_few_users_is_named_where_the_test_is(n, said):
    rows = [GroupRow("pop", "mrr", name, n, 0.5, math.nan, math.nan, 0.1, 0.01, True) for name, n in
            (("de", 500), ("fr", n))]  # fmt: skip
    text = groups_method(GroupScores("country", "users", tuple(rows), (), 10))
    assert (f"The smallest group has {n:,} users: with fewer than 100" in text) == said
