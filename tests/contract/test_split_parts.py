"""Every split, filter and sequencer does the same to a log in parts as to the whole, however users are dealt out."""

import functools
import itertools
import operator
import pickle
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recassay import split
from recassay.columnar.order import float_from_key, ordered_keys, positions_in_groups
from recassay.data.features import Features
from recassay.data.interactions import Interactions
from recassay.data.synthetic import log as made_up
from recassay.errors import UsageError
from recassay.split import filters
from recassay.split import sequences as cuts_of_sequences
from recassay.split.base import CutSummary, RowAssignment, Split
from recassay.split.partitions import find_boundaries
from recassay.split.sessions import Sequencer

from .test_splits import CASES

FILTERS = [
    "core(users=12, items=20)", "core(users=30, items=1)", "once(users=15, items=20)",
    "once(users=15, items=20, first='users')", "once(users=15, items=20, first='neither')", "rated(at_least=3)",
    "distinct(keep='last')", "distinct(keep='max')", "distinct(keep='sum')", "no_bursts(gap=600)",
    "between(start=1600000000, end=1620000000)", "one_in(n=3)", "one_in(n=3, of='rows')",
    filters.parse("featured(only='even')").bind(
        Features.from_frame(
            pl.DataFrame({"item_id": [f"item {i}" for i in range(90)], "kinds": ["even", "odd"] * 45}),
            columns=["kinds"],
        )
    ),
]  # fmt: skip
SEQUENCERS = ["sessions(gap=90000)", "sessions(gap=90000, inclusive=True, ties='drop')", "ready_made"]
DEALS = {
    "one user a part": lambda users: users,
    "three parts": lambda users: users % 3,
    "one large part": lambda users: users // 50,
}


@dataclass(frozen=True)
class Dealt:
    """A log in parts, as logs that know nothing of each other; ``number`` says where a row stood."""

    frames: list

    @classmethod
    def of(cls, frame, by):
        users = frame["user_id"].rank("dense").to_numpy().astype(int)
        place = DEALS[by](users)
        rows = frame.with_row_index("number")
        return cls([rows.filter(pl.Series(place == part)) for part in [*range(place.max() + 2)]])

    @property
    def logs(self):
        return [Interactions.from_frame(one) for one in self.frames]

    @property
    def time_scale(self):
        return Interactions.from_frame(pl.concat(self.frames)).time_scale

    def total(self, look, whole="user"):
        look = pickle.loads(pickle.dumps(look))  # it is sent to where the rows are
        logs = self.logs
        if whole == "item":
            rows = pl.concat(self.frames).sort("number")
            logs = [Interactions.from_frame(one) for one in rows.partition_by("item_id")]
        return functools.reduce(operator.add, [look(log) for log in logs])

    def where(self, keep):
        return Dealt([one.filter(pl.Series(keep(log))) for one, log in zip(self.frames, self.logs, strict=True)])

    def bare(self):
        return replace(self, frames=[one.select("user_id", "item_id", "number") for one in self.frames])

    def facts(self, spec):
        if not spec.orders_users:
            return [spec.facts(self)] * len(self.frames)
        queues = [spec.user_order(log) for log in self.logs]
        ids = pl.concat([log.user_vocabulary.ids for log in self.logs])
        order = np.lexsort((ids.arg_sort().arg_sort().to_numpy(), np.concatenate(queues)))
        return np.split(np.argsort(order), np.cumsum([queue.size for queue in queues])[:-1])


def gathered(parts, numbers):
    """One value for each row, in the order of the whole."""
    return np.concatenate(parts)[np.argsort(np.concatenate(numbers))]


def frame_of():
    """Pairs and times that repeat, ratings, users of one row and of many."""
    made = made_up(users=60, items=80, events=1500, exponent=0.5, seed=3).frame()
    rows = np.arange(made.height)
    made = made.with_columns(timestamp=pl.col("timestamp") // 40_000 * 40_000, rating=pl.Series(rows % 5 + 1.0))
    alone = made.head(3).with_columns(user_id=pl.Series([101, 102, 103]))
    return pl.concat([made, made.head(200), made.head(300).with_columns(timestamp=pl.col("timestamp") + 5), alone])


@pytest.fixture(scope="module")
def frame():
    return frame_of()


def named(frame):
    return frame.with_columns(
        pl.format("ü{}", "user_id").alias("user_id"), pl.format("item {}", "item_id").alias("item_id")
    )


def everything(kinds):
    return sorted({kind.name for kind in kinds})


def test_the_contract_looks_at_all():
    assert everything(type(split.parse(text)) for text in CASES) == sorted(split.REGISTRY.built_in)
    assert everything(type(filters.parse(text)) for text in FILTERS) == sorted(filters.REGISTRY.built_in)
    makers = [kind for kind in cuts_of_sequences.REGISTRY.built_in.values() if issubclass(kind, Sequencer)]
    assert everything(type(cuts_of_sequences.parse(text)) for text in SEQUENCERS) == everything(makers)


WAYS = [("one user a part", named), ("three parts", lambda frame: frame), ("one large part", named)]


@pytest.mark.parametrize(("text", "way"), list(zip(CASES, itertools.cycle(WAYS), strict=False)))
def test_every_split_labels_rows_as_it_labels_the_whole(text, way, frame):
    by, ids = way
    spec, dealt = split.parse(text), Dealt.of(ids(frame), by)
    log = Interactions.from_frame(ids(frame))
    whole = list(spec.parts(log))
    found = [list(spec.cuts(*one)) for one in zip(dealt.logs, dealt.facts(spec), strict=True)]
    assert {len(one) for one in found} == {len(whole)}
    for place, part in enumerate(whole):
        labels = [one[place].labels() for one in found]
        assert (gathered(labels, [one["number"] for one in dealt.frames]) == part.labels()).all()
        together = functools.reduce(
            operator.add, [CutSummary.of(one[place], own) for one, own in zip(found, labels, strict=True)]
        )
        fold = spec(log)[place]
        assert spec.how(together) == fold.how
        assert (together.removed, together.number) == (fold.removed, fold.number)


@pytest.mark.parametrize(("text", "by"), list(zip(FILTERS, itertools.cycle(DEALS), strict=False)))
def test_every_filter_keeps_the_same_rows(text, by, frame):
    spec, dealt = filters.parse(text), Dealt.of(named(frame), by)
    rows, removed = spec.rows(Interactions.from_frame(named(frame)))
    facts = spec.facts(dealt)
    found = [spec.kept(log, facts) for log in dealt.logs]
    assert 0 < np.count_nonzero(rows) < rows.size
    assert (gathered([one for one, _ in found], [one["number"] for one in dealt.frames]) == rows).all()
    assert functools.reduce(filters.add_counts, [counts for _, counts in found]) == removed


@pytest.mark.parametrize("by", DEALS)
@pytest.mark.parametrize("text", SEQUENCERS)
def test_every_sequencer_makes_the_same_sequences(text, by, frame):
    spec = cuts_of_sequences.parse(text)
    whole, parts = spec(Interactions.from_frame(frame)), [spec.sequences_of(log) for log in Dealt.of(frame, by).logs]

    def rows(made):
        return [one.drop("sequence_id").rows() for one in made.frame().partition_by("sequence_id")]

    assert sorted(row for made in parts for row in rows(made)) == sorted(rows(whole))
    assert functools.reduce(filters.add_counts, [made.removed for made in parts]) == whole.removed


@pytest.mark.parametrize("kind", [Split, filters.Filter])
def test_what_needs_the_whole_says_so(kind, frame):
    @dataclass(frozen=True, repr=False)
    class Halves(kind):  # without a name, or pages that list all splits would list it
        def parts(self, log):
            yield RowAssignment(np.arange(len(log)) % 2 == 0)

    log = Interactions.from_frame(frame)
    if kind is Split:
        assert len(Halves()(log)[0].test) == -(-frame.height // 2)
    with pytest.raises(UsageError, match="U225"):
        (Halves().cuts if kind is Split else Halves().kept)(log, None)


NUMBERS = st.lists(st.sampled_from([0, 1, 2, 3, 2**16, 2**16 + 1, 2**48, 2**48 + 2**17, 2**63, 2**64 - 1]), max_size=40)


@settings(deadline=None)
@given(NUMBERS, st.integers(1, 4))
def test_boundaries_are_the_ranks_of_a_sort(numbers, parts):
    frame = pl.DataFrame({"user_id": np.arange(len(numbers)), "item_id": pl.Series(numbers, dtype=pl.UInt64)})
    dealt = Dealt([frame[part::parts] for part in range(parts)])
    found = find_boundaries(dealt, keys_of_items, lambda n: [*range(n + 1)])
    ordered = sorted(numbers)
    assert [boundary.key for boundary in found[:-1]] == ordered
    assert [boundary.ties for boundary in found[:-1]] == [
        place - ordered.index(key) for place, key in enumerate(ordered)
    ]
    log = Interactions.from_frame(frame)
    for boundary in found:
        before = boundary.before(log, keys_of_items(log))
        assert np.count_nonzero(before) == boundary.rank
        expected = positions_in_groups(np.zeros(len(numbers), np.int32), np.array(numbers, np.uint64)) < boundary.rank
        assert (before == expected).all()


def keys_of_items(log):
    return log.item_vocabulary.decode(log.items).to_numpy()


@given(st.lists(st.floats(allow_nan=False), min_size=1))
def test_ordinals_come_back_as_what_they_were(values):
    keys = ordered_keys(np.array(values))
    assert [float_from_key(int(key)) for key in keys] == values
    assert (np.argsort(keys, kind="stable") == np.argsort(np.array(values) + 0.0, kind="stable")).all()
