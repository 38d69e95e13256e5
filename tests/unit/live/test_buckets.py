"""Sums by period, and the merging of old periods."""

import numpy as np

from recassay.live.buckets import Buckets, Period
from recassay.live.clock import DAY, HOUR, MINUTE
from recassay.stats.exact_sums import GroupSums


def add(store, begins, arm="a"):
    periods = [Period(5 * MINUTE, int(begin), arm) for begin in begins]
    store.add(periods, GroupSums.of(np.arange(len(periods)), np.ones((len(periods), 1)), len(periods)))


def test_no_period_is_lost_or_counted_twice_when_old_ones_are_merged():
    store, added = Buckets(1), 0
    for day in range(70):
        begins = day * DAY + np.arange(0, DAY, HOUR)
        for arm in ("a", "b"):
            add(store, begins, arm)
        added += begins.size
        store.coarsen((day + 1) * DAY)
        for arm in ("a", "b"):
            assert store.select(arm=arm).counts.tolist() == [[added]]
    assert {one.length for one in store.rows} == {5 * MINUTE, HOUR, DAY}
