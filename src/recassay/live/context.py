"""What metrics and attached models read besides events: item features and a training log, with ids as text."""

from __future__ import annotations

from typing import Any

import polars as pl

from recassay.data.features import Features
from recassay.data.interactions import Interactions
from recassay.data.read import read_interactions, read_items, read_training
from recassay.metrics.context import Context


def build_context(items: Any, train: Any) -> Context:
    """Return the item features and training log that metrics need; ids become text, because events have text ids."""
    features = None if items is None else _text_features(read_items(items))
    log = None if train is None else text_log(read_training(train))
    return Context(log, features)


def _text_features(features: Features) -> Features:
    if features.vocabulary.kind == "string":
        return features
    pairs = pl.DataFrame({"item_id": features.items.cast(pl.String), "codes": [
        features.names.gather(features.codes[begin:end]).to_list()
        for begin, end in zip(features.offsets[:-1], features.offsets[1:], strict=True)
    ]}, schema={"item_id": pl.String, "codes": pl.List(pl.String)})  # fmt: skip
    return Features.from_frame(pairs, columns=["codes"], origin=features.origin)


def text_log(log: Interactions) -> Interactions:
    """Return a log with the same rows, whose ids are text, because events have text ids."""
    if log.item_vocabulary.kind == "string" and log.user_vocabulary.kind == "string":
        return log
    frame = log.frame()
    return read_interactions(frame.with_columns(pl.col("user_id", "item_id").cast(pl.String)))
