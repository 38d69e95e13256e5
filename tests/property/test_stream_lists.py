"""Metrics of whole lists on streams, against scoring each list with the log of the events before its event."""

import numpy as np
import polars as pl
import pytest

import recassay as ra
from recassay.data.synthetic import item_features, log

from ..refusals import refused

ONCE = log(users=25, items=40, events=220, seed=3).frame().select("user_id", "item_id")
ROWS = pl.concat([ONCE.head(120), ONCE.gather_every(3), ONCE.tail(100)])  # some events are repeats
EVENTS = ra.read_interactions(ROWS)
ITEMS = ra.read_items(item_features(items=40, seed=3))
BY_LISTS = (
    "ild@4 alpha_ndcg@4 subtopic_recall@3 precision(divide_by='list')@4 f1(divide_by='list')@4 err@4 "
    "eild@4 ild(distance='cosine')@3"
)
BY_TIME = (
    "epc@4 epc(rank_discount='log', relevance_aware=True)@3 efd@4 efd(form='self_information')@4 "
    "efd(unseen='smoothing')@4 efd(form='self_information', unseen='smoothing')@2 efd(unseen='zero')@4 arp@4 "
    "unexpectedness@4 unexpectedness(m=2, divide_by='list')@4 serendipity@4 serendipity(m=1)@4"
)
PROTOCOLS = {
    "seen": ra.protocols.prequential(at=4, order="row"),
    "all items, repeats": ra.protocols.prequential(at=4, candidates="all", repeats="allow", order="row"),
    "batches": ra.protocols.prequential(at=4, batch=20, order="row"),
}


def played(protocol, metrics, **options):
    return ra.play(ra.models.incremental.UKNN(neighbours=5), EVENTS, protocol, metrics=metrics, items=ITEMS, **options)


@pytest.mark.parametrize("name", PROTOCOLS)
def test_an_event_has_the_value_of_its_list_under_the_log_before_it(name):
    stream = played(PROTOCOLS[name], f"{BY_LISTS} {BY_TIME}", lists=True)
    outcomes, lists = stream.outcomes, stream.lists
    checked = 0
    for place in range(0, len(outcomes), 23):
        event = int(outcomes.event[place])
        user, item = ROWS["user_id"][event], ROWS["item_id"][event]
        shown = lists.filter(pl.col("event") == event)["item_id"].to_list()
        train = ra.read_interactions(ROWS.head(event).select("user_id", "item_id"))
        if not shown:
            continue
        checked += 1
        wanted = ra.score(
            {"x": {user: shown, -1: [item]}},
            {user: [item], -1: [item]},
            f"{BY_LISTS} {BY_TIME}",
            train=train,
            items=ITEMS,
            interval=None,
        )
        for heading in outcomes.metrics:
            found = outcomes.of(heading)[place]
            np.testing.assert_allclose(found, wanted.values("x", heading)[1], rtol=1e-12, err_msg=f"{heading} {event}")
    assert checked > 6


@pytest.mark.parametrize("name", PROTOCOLS)
def test_blocks_do_not_matter(name):
    metrics = f"recall@4 {BY_LISTS} {BY_TIME}"
    one, other = (played(PROTOCOLS[name], metrics, block=block) for block in (8192, 17))
    assert one.outcomes.fingerprint == other.outcomes.fingerprint


def test_metrics_of_ranks_and_lists_come_in_the_order_asked_for():
    stream = played(PROTOCOLS["seen"], "efd@4 recall@4 precision@4 f1@4 map@4")
    assert stream.outcomes.metrics == ("efd@4", "recall@4", "precision@4", "f1@4", "map@4")
    hit = stream.outcomes.of("recall@4")
    np.testing.assert_allclose(stream.outcomes.of("precision@4"), hit / 4)
    np.testing.assert_allclose(stream.outcomes.of("f1@4"), hit * 2 / 5)


def test_the_catalogue_over_time_is_that_of_the_lists_in_the_window():
    stream = played(PROTOCOLS["seen"], "recall@4", lists=True)
    table = stream.catalogue_over_time("coverage@3", window=30, step=7).table
    first = int(np.flatnonzero(stream.outcomes.event == table["event"][2])[0])
    inside = stream.outcomes.event[first - 29 : first + 1]
    shown = stream.lists.filter(pl.col("event").is_in(inside), pl.col("rank") <= 3)["item_id"].n_unique()
    known = ROWS["item_id"].head(int(inside[-1])).n_unique()
    assert table["coverage@3"][2] == shown / known


@pytest.mark.parametrize(
    ("metrics", "options", "code"),
    [
        ("ild@4", {}, "U105"), ("coverage@4", {}, "U192"), ("aplt@4", {}, "U192"), ("ild@9", {}, "U192"),
        ("serendipity@4", {"match": "future"}, "U192"), ("epc(relevance_aware=True)@4", {"match": "future"}, "U192"),
    ],
)  # fmt: skip
def test_metrics_without_a_value_for_an_event_are_refused(metrics, options, code):
    with refused(code):
        ra.play(
            ra.models.incremental.StreamPopular(),
            EVENTS,
            ra.protocols.prequential(at=4, order="row", **options),
            metrics=metrics,
        )


def test_novelty_under_relaxed_matching_is_that_of_the_list():
    relaxed = played(ra.protocols.prequential(at=4, match="future", order="row"), "recall@4 efd@4")
    assert np.array_equal(relaxed.outcomes.of("efd@4"), played(PROTOCOLS["seen"], "efd@4").outcomes.of("efd@4"), True)


def test_features_of_other_items_are_refused():
    other = ra.read_items(pl.DataFrame({"item_id": [-1, -2], "genres": [["a"], ["b"]]}))
    with refused("I407"):
        ra.play(ra.models.incremental.StreamPopular(), EVENTS, PROTOCOLS["seen"], metrics="ild@4", items=other)


@pytest.mark.parametrize("metric", ["efd@4", "coverage@4"])
def test_windows_of_the_catalogue_need_lists_and_a_metric_of_it(metric):
    stream = played(PROTOCOLS["seen"], "recall@4", lists=metric == "efd@4")
    with refused("U192"):
        stream.catalogue_over_time(metric, window=10)


class TestKnownByTheStream:
    """``known="stream"``: all models are scored at the same events, whatever they have learned."""

    def played(self, **regime):
        protocol = ra.protocols.prequential(at=4, order="row", known="stream", **regime)
        return ra.play(ra.models.incremental.UKNN(neighbours=5), EVENTS, protocol, metrics="recall@4 efd@4", lists=True)

    def test_a_model_that_learns_every_event_is_scored_as_before(self):
        plain = played(PROTOCOLS["seen"], "recall@4 efd@4").outcomes
        own = self.played().outcomes
        assert np.array_equal(own.event, plain.event)
        assert np.array_equal(own.of("recall@4"), plain.of("recall@4"))
        assert own.counts["unlearned"] == 0

    @pytest.mark.parametrize("regime", [{"batch": 40}, {"refit": 60}, {"learn_until": 50}, {"delay": 25}])
    def test_other_regimes_are_scored_at_the_same_events_and_miss_users_they_have_not_learned(self, regime):
        stream, other = self.played(**regime), self.played()
        own = stream.outcomes
        assert np.array_equal(own.event, other.outcomes.event)
        assert own.users.equals(other.outcomes.users)
        by_model = ra.play(
            ra.models.incremental.UKNN(neighbours=5), EVENTS, ra.protocols.prequential(at=4, order="row", **regime),
            metrics="recall@4 efd@4",
        ).outcomes  # fmt: skip
        answered = np.isin(own.event, by_model.event)
        assert own.counts["unlearned"] == int((~answered).sum()) > 0
        assert np.array_equal(own.of("recall@4")[answered], by_model.of("recall@4"))
        assert not own.of("recall@4")[~answered].any()
        assert np.isnan(own.of("efd@4")[~answered]).all()
        assert not set(stream.lists["event"]) & set(own.event[~answered])

    def test_a_detector_and_ratings_are_refused(self):
        for options in ({"detector": "ADWIN"}, {"predict": "ratings"}):
            with refused("U102"):
                ra.protocols.prequential(known="stream", **options)
