"""Properties that every registered metric must have."""

import inspect
import typing
from typing import Literal

import numpy as np
import polars as pl
import pytest

import recassay as ra
from recassay.data.read import read_interactions, read_items, read_run, read_truth
from recassay.engine.lists import job as local
from recassay.errors import UsageError
from recassay.metrics.base import Accuracy, CatalogueMetric, UnitMetric, truth_statistics_for
from recassay.metrics.registry import HEADINGS, METRICS, describe, parse_metric, parse_metrics
from recassay.metrics.sequence.base import SequenceMetric
from recassay.naming.grammar import Expression
from recassay.naming.named import parameter_kinds

from ..refusals import refused
from ..scoring import score

EVERY = list(METRICS.kinds.values())
LISTED = [kind for kind in EVERY if not issubclass(kind, SequenceMetric)]  # metrics of ranked lists

# Parameters that a metric, or one of its choices, requires.
COMPANIONS = {
    "auc": {"targets": 90},
    "err": {"scale": 3.0},
    ("ndcg", "ideal", "k"): {"gain": "binary"},
    ("ips", "credit", "auc"): {"targets": 90},
    ("snips", "credit", "auc"): {"targets": 90},
}
N_USERS, N_ITEMS = 60, 90


def expression(kind, **stated):
    """Return a metric that can be built, as text."""
    parameters = dict(COMPANIONS.get(kind.name, {}))
    for key, value in stated.items():
        parameters |= COMPANIONS.get((kind.name, key, value), {})
    k = None if kind.cutoff == "none" or stated.get("credit") == "auc" else 5
    return str(Expression(kind.name, parameters | stated, k))


def kinds_of(kind):
    return {name: hint for name, hint in parameter_kinds(kind).items() if name != "k"}


def variants(kind):
    """Yield the default of a metric, and each choice of each parameter with choices."""
    yield expression(kind)
    for name, hint in kinds_of(kind).items():
        choices = typing.get_args(hint) if typing.get_origin(hint) is Literal else (True, False) if hint is bool else ()
        for choice in choices:
            yield expression(kind, **{name: choice})


ALL = [text for kind in LISTED for text in variants(kind)]
OF_SEQUENCES = [text for kind in EVERY if issubclass(kind, SequenceMetric) for text in variants(kind)]
DEFAULTS = [expression(kind) for kind in LISTED]


def world(seed=5):
    """Return a log, features, a truth and two runs with ties, repeats, short lists, missing users and grades."""
    rng = np.random.default_rng(seed)
    users = np.arange(1, N_USERS + 1)
    popularity = 1.0 / np.arange(1, N_ITEMS + 1)
    popularity /= popularity.sum()

    def pick(n):
        return rng.choice(np.arange(1, N_ITEMS + 1), size=n, replace=False, p=popularity)

    log = [(u, i, int(rng.integers(1, 6)), int(rng.integers(1_000))) for u in users for i in pick(12)]
    judged = [(u, i, float(g)) for u in users for i, g in zip(pick(7), [0, *rng.integers(0, 4, 6)], strict=True)]
    runs, tags = {}, ["a", "b", "c", "d"]
    for name in ("even", "odd"):
        rows = []
        for u in users[: -3 if name == "even" else None]:
            length = int(rng.integers(1, 12))
            rows += [(u, i, float(rng.integers(0, 8)) / 8) for i in pick(length)]
            if u % 10 == 0:
                rows.append((u, rows[-1][1], float(rng.integers(0, 8)) / 8))
        runs[name] = pl.DataFrame(rows, ["user_id", "item_id", "score"], orient="row")
    genres = [list(rng.choice(tags, size=int(rng.integers(0, 3)), replace=False)) for _ in range(N_ITEMS)]
    return {
        "train": pl.DataFrame(log, ["user_id", "item_id", "rating", "timestamp"], orient="row"),
        "items": pl.DataFrame({"item_id": np.arange(1, N_ITEMS + 1), "genres": genres}),
        "truth": pl.DataFrame(judged, ["user_id", "item_id", "gain"], orient="row"),
        "runs": runs,
    }


def table_of_distances(tables):
    """Return a distance from 0 to 1 for each pair of items of the log, from the positions of their ids."""
    place = np.arange(tables["train"]["item_id"].n_unique())
    return np.abs(place[:, None] - place) / place.size


def judged(tables, texts=ALL, **more):
    options = {"resamples": 200, "seed": 3} | more
    return score(
        {name: read_run(frame, name) for name, frame in tables["runs"].items()},
        read_truth(tables["truth"]),
        texts,
        train=read_interactions(tables["train"]),
        items=read_items(tables["items"]),
        **{"distances": table_of_distances(tables)} | options,
    )


def bits(scores):
    """Return all results of a scoring in a form in which equal means equal to the last bit."""
    columns = {key: column.tobytes() for key, column in scores.per_unit.items()}
    weights = {key: column.tobytes() for key, column in scores.per_unit_weights.items()}
    rows = [(row.system, row.metric, *map(repr, (row.mean, row.low, row.high, row.to_dict()))) for row in scores.rows]
    return columns, weights, rows, scores.findings


def remapped(tables, user=lambda ids: ids, item=lambda ids: ids):
    """Return the same tables with other ids."""

    def table(frame):
        columns = {"item_id": item(frame["item_id"])}
        columns |= {"user_id": user(frame["user_id"])} if "user_id" in frame.columns else {}
        return frame.with_columns(**columns)

    plain = {name: table(frame) for name, frame in tables.items() if name != "runs"}
    return plain | {"runs": {name: table(frame) for name, frame in tables["runs"].items()}}


@pytest.fixture(scope="module")
def tables():
    return world()


@pytest.fixture(scope="module")
def everything(tables):
    """Return the scores of every choice of every parameter."""
    return judged(tables, threads=1)


@pytest.fixture(scope="module")
def reference(tables):
    """Return the scores of every metric at its defaults."""
    return judged(tables, DEFAULTS, threads=1)


class TestNames:
    def test_a_name_reads_back_to_an_equal_metric(self):
        for text in ALL + OF_SEQUENCES:
            metric = parse_metric(text)
            assert parse_metric(repr(metric)) == metric
            assert repr(parse_metric(repr(metric))) == repr(metric)
            assert hash(parse_metric(repr(metric))) == hash(metric)

    def test_every_alias_and_any_case_names_the_same_metric(self):
        for kind in EVERY:
            for name in (kind.name, *kind.aliases, kind.name.upper()):
                assert METRICS.find(name) is kind

    def test_no_name_belongs_to_two_metrics(self):
        said = [name for kind in EVERY for name in {kind.name, *kind.aliases}]
        ours = [name for name, kind in METRICS.names.items() if kind in EVERY]
        assert sorted(said) == sorted(ours)  # other tests of this process may have defined metrics

    def test_names_that_differ_in_case_alone_mean_the_same_metric(self):
        by_case = {}
        for name, kind in METRICS.names.items():
            by_case.setdefault(name.lower(), set()).add(kind)
        assert [name for name, kinds in by_case.items() if len(kinds) > 1] == []

    def test_default_parameters_are_in_the_result_but_not_in_the_name(self):
        for kind in EVERY:
            metric = parse_metric(expression(kind))
            assert set(metric.parameters) == set(kind.defaults())
            assert "missing" not in repr(metric)

    def test_an_unknown_parameter_is_refused(self):
        for kind in EVERY:
            with refused("U102", match="has no parameter 'nonsense'"):
                parse_metric(str(Expression(kind.name, {"nonsense": 1}, None if kind.cutoff == "none" else 5)))

    def test_a_choice_that_does_not_exist_is_refused(self):
        for kind in EVERY:
            for name, hint in kinds_of(kind).items():
                if typing.get_origin(hint) is Literal:
                    with refused("U102", match=f"{name}='nonsense'"):
                        parse_metric(expression(kind, **{name: "nonsense"}))

    @pytest.mark.parametrize("value", [True, float("nan"), float("inf"), "word"])
    def test_a_number_must_be_a_finite_number(self, value):
        for kind in EVERY:
            for name, hint in kinds_of(kind).items():
                if float in (hint, *typing.get_args(hint)) or int in (hint, *typing.get_args(hint)):
                    with refused("U102"):
                        kind(k=None if kind.cutoff == "none" else 5, **{name: value})

    def test_the_cutoff_is_required_optional_or_refused(self):
        for kind in EVERY:
            stated = COMPANIONS.get(kind.name, {})
            if kind.cutoff == "none":
                with pytest.raises(UsageError, match="has no cut-off"):
                    kind(k=5, **stated)
            elif kind.cutoff == "required":
                with pytest.raises(UsageError, match="needs a cut-off"):
                    kind(**stated)
            for k in (0, -1, 1.5, True):
                with refused("U103"):
                    kind(k=k, **stated)


class TestWords:
    def test_the_docstring_has_a_title_and_all_headings(self):
        for kind in EVERY:
            assert kind.__doc__
            assert "__doc__" in vars(kind)
            described = describe(kind)
            assert described.title
            assert described.title.endswith(".")
            for heading in HEADINGS:
                assert described.sections.get(heading), f"{kind.name} has no {heading}"

    def test_every_parameter_of_its_own_is_explained(self):
        for kind in EVERY:
            shared = set(Accuracy.defaults()) | {"empty", "catalogue"}
            words = " ".join(inspect.getdoc(base) or "" for base in kind.__mro__ if base not in (UnitMetric, object))
            for name in set(kind.defaults()) - shared:
                assert name in words, f"{kind.name} does not say what {name} is"

    def test_class_variables_are_consistent(self):
        for kind in EVERY:
            low, high = kind.bounds
            assert low < high
            assert kind.family in {"ranking", "beyond", "catalogue", "debiased", "rating", "sequence"}
            assert (kind.family == "sequence") == kind.name.startswith("seq_") == issubclass(kind, SequenceMetric)
            assert kind.needs <= {"train", "items"}
            assert issubclass(kind, UnitMetric | CatalogueMetric | SequenceMetric)


class TestValues:
    def test_values_are_in_bounds_or_undefined_and_somewhere_defined(self, everything):
        for text in ALL:
            low, high = parse_metric(text).bounds
            for system in everything.systems:
                row = everything.row(system, text)
                assert low <= row.mean <= high
                if text in everything.unit_metrics:
                    values = everything.values(system, text)
                    defined = values[~np.isnan(values)]
                    assert defined.size == row.n > 0
                    assert (defined >= low - 1e-9).all()
                    assert (defined <= high + 1e-9).all()
                    assert row.low <= row.mean <= row.high
                    skipped = row.missing if row.parameters.get("missing") == "skip" else 0
                    assert row.n + row.undefined + skipped == N_USERS

    def test_users_have_different_values(self, everything):
        for text in ALL:
            if text in everything.unit_metrics:
                values = np.concatenate([everything.values(system, text) for system in everything.systems])
                assert np.unique(values[~np.isnan(values)]).size > 1

    def test_judging_users_one_by_one_gives_the_same_values(self, tables, reference):
        from recassay.metrics.align import align
        from recassay.metrics.context import Context, bind

        truth = read_truth(tables["truth"])
        log, features = read_interactions(tables["train"]), read_items(tables["items"])
        context = Context(log, features, table_of_distances(tables))
        named = parse_metrics(DEFAULTS)
        facts = truth_statistics_for(named.values(), truth)
        resolved = {heading: metric.resolve(facts) for heading, metric in named.items()}
        for name, frame in tables["runs"].items():
            alignment = align(read_run(frame, name), truth)
            bind(resolved.values(), alignment, context)
            for heading, metric in resolved.items():
                if isinstance(metric, UnitMetric):
                    values = [metric.checked(alignment.block(q, q + 1))[0] for q in range(truth.queries.len())]
                    assert np.array(values).tobytes() == reference.values(name, heading).tobytes(), heading


class TestSameBits:
    def test_the_number_of_threads_changes_no_bit(self, tables, reference, monkeypatch):
        monkeypatch.setattr(local, "USERS_PER_BLOCK", 7)
        assert bits(judged(tables, DEFAULTS, threads=4)) == bits(reference)

    def test_the_size_of_blocks_changes_no_bit(self, tables, reference, monkeypatch):
        from recassay.columnar import layout, numbering, vocabulary
        from recassay.metrics import catalogue, refusals

        monkeypatch.setattr(local, "USERS_PER_BLOCK", 1)
        monkeypatch.setattr(refusals, "FIRST_LOOK", 1)
        monkeypatch.setattr(vocabulary, "ROWS_PER_LOOK", 1)
        monkeypatch.setattr(layout, "LISTS_PER_BLOCK", 1)
        monkeypatch.setattr(catalogue, "LISTS_PER_BLOCK", 1)
        monkeypatch.setattr(numbering, "ROWS_PER_BLOCK", 10)
        assert bits(judged(tables, DEFAULTS)) == bits(reference)

    def test_the_order_of_rows_changes_no_bit(self, tables, reference):
        def mixed(frame):
            return frame.sample(fraction=1.0, shuffle=True, seed=1)

        shuffled = {name: mixed(frame) for name, frame in tables.items() if name != "runs"}
        shuffled["runs"] = {name: mixed(frame) for name, frame in tables["runs"].items()}
        assert bits(judged(shuffled, DEFAULTS)) == bits(reference)

    def test_a_metric_does_not_depend_on_the_other_metrics(self, tables, reference):
        for text in DEFAULTS:
            alone = judged(tables, text)
            for system in alone.systems:
                assert repr(alone.row(system, text)) == repr(reference.row(system, text))

    def test_a_system_does_not_depend_on_the_other_systems(self, tables, reference):
        alone = judged(tables | {"runs": {"odd": tables["runs"]["odd"]}}, DEFAULTS)
        assert [repr(row) for row in alone.rows] == [repr(row) for row in reference.rows if row.system == "odd"]

    @pytest.mark.parametrize(
        "name",
        [
            lambda ids: pl.Series([f"é{one:05d}" for one in ids]),
            lambda ids: ids + 10**12,
            lambda ids: ids.cast(pl.UInt64) + 2**63,
            lambda ids: ids - 50,
        ],
        ids=["strings", "large integers", "unsigned", "negative"],
    )
    def test_other_ids_in_the_same_order_change_no_bit(self, tables, reference, name):
        other = judged(remapped(tables, name, name), DEFAULTS)
        columns, weights, rows, findings = bits(other)
        assert (columns, weights, rows) == bits(reference)[:3]
        assert [one.code for one in findings] == [one.code for one in reference.findings]

    def test_a_monotone_transform_of_scores_changes_no_metric_of_ranks(self, tables, reference):
        def bent(frame):
            return frame.with_columns(score=-5.0 + 3.0 * pl.col("score") ** 3)

        other = judged(tables | {"runs": {name: bent(frame) for name, frame in tables["runs"].items()}}, DEFAULTS)
        for text in DEFAULTS:
            if parse_metric(text).family != "rating":
                for system in other.systems:
                    assert repr(other.row(system, text)) == repr(reference.row(system, text)), text

    def test_ranks_instead_of_scores_give_the_same_values(self, tables, reference):
        ranked = {name: read_run(frame, name).with_ties_broken().frame() for name, frame in tables["runs"].items()}
        other = judged(tables | {"runs": ranked}, DEFAULTS)
        for text in DEFAULTS:
            for system in other.systems:
                assert other.row(system, text).to_dict() == reference.row(system, text).to_dict(), text


class TestUsers:
    def test_renaming_users_changes_nothing_but_their_order(self, tables, reference):
        new = np.random.default_rng(1).permutation(N_USERS) + 1
        other = judged(remapped(tables, user=lambda ids: pl.Series(new[ids.to_numpy() - 1])), DEFAULTS)
        for text in reference.unit_metrics:
            for system in reference.systems:
                values, renamed = reference.values(system, text), other.values(system, text)
                assert other.row(system, text).mean == pytest.approx(reference.row(system, text).mean, rel=1e-12)
                np.testing.assert_allclose(renamed[new - 1], values, rtol=1e-9, atol=1e-12)

    def test_renaming_items_changes_nothing_without_ties(self, tables):
        settled = {name: read_run(frame, name).with_ties_broken().frame() for name, frame in tables["runs"].items()}
        ranked = tables | {"runs": {name: frame.drop("score") for name, frame in settled.items()}}
        new = np.random.default_rng(2).permutation(N_ITEMS) + 1
        # The head, the most popular items, and the best list of the most popular: ids settle ties of popularity there.
        by_popularity = ("aclt", "aplt", "serendipity", "unexpectedness")
        texts = [one for one in DEFAULTS if parse_metric(one).name not in (*by_popularity, "mae", "rmse")]
        before = judged(ranked, texts)
        after = judged(remapped(ranked, item=lambda ids: pl.Series(new[ids.to_numpy() - 1])), texts)
        for text in before.unit_metrics:
            for system in before.systems:
                old, renamed = before.values(system, text), after.values(system, text)
                np.testing.assert_allclose(renamed, old, rtol=1e-9, atol=1e-12, err_msg=text)


TRUTH = {"known": {"x": 1, "n": 0}, "nothing": {"x": 0, "y": 0}, "silent": {"x": 1, "n": 0}}
RUN = {"known": {"x": 3.0, "q": 2.0, "n": 1.0}, "nothing": {"x": 2.0, "q": 1.0}}
TRAIN = [("known", "q"), ("known", "n"), ("nothing", "x"), ("silent", "y"), ("silent", "q")]
ITEMS = pl.DataFrame({"item_id": ["x", "y", "q", "n"], "genre": [["a"], ["b"], ["a", "b"], ["b"]]})


class TestUndefined:
    """Values without anything to measure are NaN: never 0, never one half."""

    def values(self, text):
        scores = ra.score({"run": RUN}, TRUTH, text, train=TRAIN, items=ITEMS, interval=None)
        return dict(zip(scores.units, scores.values("run", scores.metrics[0]), strict=True)), scores.rows[0]

    @pytest.mark.parametrize(
        "kind", [kind for kind in LISTED if issubclass(kind, Accuracy)], ids=lambda kind: kind.name
    )
    def test_a_user_without_a_relevant_item_is_undefined_or_zero(self, kind):
        values, row = self.values(expression(kind))
        assert not np.isnan(values["known"])
        if kind.name in ("dcg", "rbp_residual") and not np.isnan(values["nothing"]):
            pytest.fail(f"{kind.name} has a value where nothing is relevant")
        assert np.isnan(values["nothing"])
        assert row.undefined == 1
        values, row = self.values(expression(kind, no_relevant="zero"))
        assert values["nothing"] == 0
        assert row.undefined == 0

    @pytest.mark.parametrize(
        "kind", [kind for kind in LISTED if issubclass(kind, Accuracy)], ids=lambda kind: kind.name
    )
    def test_a_user_without_a_list_counts_as_missing(self, kind):
        values, row = self.values(expression(kind))
        assert not np.isnan(values["silent"])
        assert row.missing == 1
        values, row = self.values(expression(kind, missing="skip"))
        assert np.isnan(values["silent"])
        assert (row.missing, row.n) == (1, 1)

    @pytest.mark.parametrize(
        "kind", [kind for kind in LISTED if "empty" in kind.defaults()], ids=lambda kind: kind.name
    )
    def test_an_empty_list_is_undefined_or_zero(self, kind):
        values, row = self.values(expression(kind, empty="undefined"))
        assert np.isnan(values["silent"])
        assert row.undefined >= 1
        values, row = self.values(expression(kind, empty="zero"))
        assert values["silent"] == 0

    @pytest.mark.parametrize("kind", [kind for kind in LISTED if kind.needs], ids=lambda kind: kind.name)
    def test_missing_data_that_a_metric_needs_is_an_error(self, kind):
        with refused("U105", match="needs the") as caught:
            ra.score({"run": RUN}, TRUTH, expression(kind))
        assert all(f"--{need}" in caught.value.hint for need in kind.needs)


def test_the_training_part_of_a_fold_scores_like_its_rows_alone():
    """A part of a log has the vocabulary of the whole log; metrics count users and items with training events."""
    tables = world()
    strange = pl.DataFrame({"user_id": [900, 900], "item_id": [2, 950], "rating": [1, 5], "timestamp": [1, 2]})
    strange = strange.cast(dict(tables["train"].schema))
    whole = read_interactions(pl.concat([tables["train"], strange]))
    part = whole.take(np.arange(tables["train"].height))
    assert part.n_items > read_interactions(tables["train"]).n_items
    runs = {
        name: frame.with_columns(item_id=pl.col("item_id").replace(3, 950)) for name, frame in tables["runs"].items()
    }
    texts = [text for text in ALL if "train" in parse_metric(text).needed]
    found = [
        ra.score(
            runs, tables["truth"], texts, train=one, items=tables["items"], interval=None,
            distances=table_of_distances(tables),
        )
        for one in (part, tables["train"])
    ]  # fmt: skip
    assert len(texts) > 20
    assert bits(found[0])[:3] == bits(found[1])[:3]
