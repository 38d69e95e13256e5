"""Worked examples: every number was computed by hand and is stored with its arithmetic.

A row has a metric, its input (an example of ``given.json`` by name, or inline), the mean over users (``value``) or the
value of each user (``per_user``, null where undefined), and the ``arithmetic``.
"""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from recassay.data.features import Features
from recassay.data.generated import Generated
from recassay.data.interactions import Interactions
from recassay.data.run import Run
from recassay.data.sequences import SequenceFold, Sequences
from recassay.data.truth import Truth
from recassay.engine.sequences.score import score_sequences
from recassay.metrics.align import align
from recassay.metrics.base import CatalogueMetric, truth_statistics_for
from recassay.metrics.catalogue import exposure_of
from recassay.metrics.context import Context, bind
from recassay.metrics.registry import METRICS, parse_metric

FOLDER = Path(__file__).parent
EXAMPLES = json.loads((FOLDER / "given.json").read_text())
ROWS = [
    pytest.param(row, id=f"{path.stem}-{number}-{row['metric']}")
    for path in sorted(FOLDER.glob("*.json"))
    if isinstance(rows := json.loads(path.read_text()), list)  # other files hold inputs
    for number, row in enumerate(rows)
]


def run_of(lists):
    """Return a run from {user: [items]} or {user: {item: score}}."""
    rows = [(user, item) for user, items in lists.items() for item in items]
    frame = {"user_id": [user for user, _ in rows], "item_id": [item for _, item in rows]}
    if any(isinstance(items, dict) for items in lists.values()):
        frame["score"] = [float(lists[user][item]) for user, item in rows]
    return Run.from_frame(pl.DataFrame(frame), "golden")


def truth_of(gains):
    rows = [(user, item, float(gain)) for user, items in gains.items() for item, gain in items.items()]
    return Truth.from_frame(pl.DataFrame(rows, ["user_id", "item_id", "gain"], orient="row"), negative="unjudged")


def context_of(given):
    train = items = None
    if "train" in given:
        rows = [(user, item) for item, users in given["train"].items() for user in users]
        train = Interactions.from_frame(pl.DataFrame(rows, ["user_id", "item_id"], orient="row"))
    if "items" in given:
        columns = {"item_id": list(given["items"]), "features": list(given["items"].values())}
        items = Features.from_frame(pl.DataFrame(columns, schema_overrides={"features": pl.List(pl.String)}))
    return Context(train, items)


def judge_sequences(name, given):
    """Return what :func:`judge` returns, for test sequences."""
    rows = [(s, item) for part in ("train", "test") for s, items in given[part].items() for item in items]
    made = Sequences.from_frame(pl.DataFrame(rows, ["sequence_id", "item_id"], orient="row"))
    ids, tested = made.user_vocabulary.ids.to_list(), list(given["test"])
    fold = SequenceFold(*(made.take(np.array([ids.index(one) for one in given[part]])) for part in ("train", "test")))
    code = {item: number for number, item in enumerate(made.item_vocabulary.ids)}
    items = np.array([[code[item] for item in given["generated"][one]] for one in tested])
    chances = np.array([given["chances"][one] for one in tested], np.float64)
    bits = np.array([given["bits"][one] for one in tested], np.float64)
    scores = score_sequences(fold, Generated("x", items, chances, bits, 0), name, interval=None)
    values = scores.values("x", name) if name in scores.unit_metrics else []
    return scores.row("x", name).mean, dict(zip(tested, values, strict=False))


def judge(name, given):
    """Return the mean of a metric, and its value for each user (none for a metric of the catalogue)."""
    if "generated" in given:
        return judge_sequences(name, given)
    truth, context = truth_of(given["truth"]), context_of(given)
    metric = parse_metric(name)
    facts = truth_statistics_for([metric], truth)
    metric = metric.resolve(facts)
    metric.prepare(facts, context)
    alignment = align(run_of(given["lists"]), truth)
    bind([metric], alignment, context)
    if isinstance(metric, CatalogueMetric):
        return metric.measure(exposure_of(alignment, context, metric.catalogue, metric.k).counts), {}
    block = alignment.block(0, truth.queries.len())
    values, weights = metric.checked(block), metric.weights(block)
    defined = ~np.isnan(values)
    weights = np.ones(values.size) if weights is None else weights
    mean = np.average(values[defined] ** metric.power, weights=weights[defined]) ** (1 / metric.power)
    return mean, dict(zip(truth.queries, values.tolist(), strict=True))


@pytest.mark.parametrize("row", ROWS)
def test_a_worked_example_gives_its_value(row):
    given = EXAMPLES[row["given"]] if isinstance(row["given"], str) else row["given"]
    assert row["arithmetic"]
    mean, per_user = judge(row["metric"], given)
    assert ("value" in row) or ("per_user" in row)
    if "value" in row:
        assert mean == pytest.approx(row["value"], abs=1e-6)
    for user, value in row.get("per_user", {}).items():
        wanted = float("nan") if value is None else value
        assert per_user[user] == pytest.approx(wanted, abs=1e-6, nan_ok=True), user


def test_every_metric_has_a_worked_example():
    shown = {parse_metric(row.values[0]["metric"]).name for row in ROWS}
    assert sorted(set(METRICS.built_in) - shown) == []
