"""Lists that grow, against lists of Python."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from recassay.models.incremental._lists import GrowingLists

batches = st.lists(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 99)), max_size=40), max_size=8)


@settings(deadline=None)
@given(batches)
def test_they_hold_what_was_appended_in_its_order(batches):
    lists, plain = GrowingLists(), [[] for _ in range(13)]
    lists.reserve(np.arange(13))
    for batch in batches:
        keys, values = np.array(batch, np.int64).reshape(-1, 2).T.copy()
        lists.append(keys, values)
        for key, value in batch:
            plain[key].append(value)
        assert [lists.get(key).tolist() for key in range(13)] == plain
        assert not lists.pending.any()


@settings(deadline=None)
@given(batches)
def test_memory_is_linear_in_what_they_hold(batches):
    lists, held = GrowingLists(), 0
    for batch in batches:
        keys, values = np.array(batch, np.int64).reshape(-1, 2).T.copy()
        lists.append(keys, values)
        held += len(batch)
    assert lists.values.size <= 12 * held


def test_room_that_was_reserved_and_not_used_is_found_again():
    lists = GrowingLists()
    for _ in range(100):
        lists.reserve(np.array([1, 1, 0]))
    assert lists.capacity[:2].tolist() == [1, 2]
