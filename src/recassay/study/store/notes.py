"""Descriptions of folds as plain values, and findings merged over folds and seeds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import polars as pl

from recassay.data.fold import Fold
from recassay.data.interactions import Interactions
from recassay.data.sequences import SequenceFold, Sequences
from recassay.study.store.stream_fold import StreamFold

Row = dict[str, Any]


def about_fold(fold: Fold | SequenceFold | StreamFold) -> Row:
    """Return a description of a fold, ready for JSON: counts, removed rows, leakage, and parameters of the split."""
    about: Row = {"fingerprint": fold.fingerprint, "number": fold.number}
    if isinstance(fold, StreamFold):
        about |= {"times": fold.log.times, "stream": _counts(fold.log)}
    elif isinstance(fold, SequenceFold):
        about |= {"leakage": fold.how["leakage"], "train": _sizes(fold.train), "test": _sizes(fold.test)}
    else:
        parts = {"train": fold.train, "validation": fold.validation, "test": fold.test}
        about |= {
            "leakage": fold.leakage,
            "times": fold.train.times,
            **{part: None if log is None else _counts(log) for part, log in parts.items()},
        }
    return {**about, "removed": dict(fold.removed), "how": dict(fold.how)}


def _counts(log: Interactions) -> dict[str, int]:
    users, items = (pl.Series(codes).n_unique() for codes in (log.users, log.items))
    return {"users": users, "items": items, "events": len(log)}


def _sizes(part: Sequences) -> dict[str, int]:
    users, items = (pl.Series(codes).n_unique() for codes in (part.users, part.items))
    return {"sequences": len(part), "users": users, "items": items, "events": part.items.size}


def merged_findings(findings: Iterable[Row]) -> list[Row]:
    """Return findings with one per code, system, data set, split and design; those of other folds and seeds are merged.

    The first of the merged ones is kept, with their number as ``cases``.
    """
    alike: dict[tuple[Any, ...], list[Row]] = {}
    for row in findings:
        alike.setdefault(tuple(row[key] for key in ("code", "system", "dataset", "split", "design")), []).append(row)
    return [{**same[0], "cases": len(same)} for same in alike.values()]
