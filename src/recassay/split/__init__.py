"""Splits: ways to cut a log into the events a system learns from and those it is tested on.

>>> import polars as pl
>>> from recassay import split
>>> from recassay.data.synthetic import log
>>> fold = split.random(test=0.2, seed=7)(log(users=50, items=40, events=600))[0]
>>> len(fold.train), len(fold.test), split.parse(fold.how["split"])
(482, 118, random(test=0.2, seed=7))
"""

from __future__ import annotations

from recassay.data.fold import LeakReport, leaks
from recassay.naming.registry import Registry
from recassay.split import filters
from recassay.split.base import RowAssignment, Split
from recassay.split.chance import Given as given  # noqa: N813
from recassay.split.chance import KFolds as k_folds  # noqa: N813 - a split reads like a verb
from recassay.split.chance import LeaveOut as leave_out  # noqa: N813
from recassay.split.chance import RandomSplit as random  # noqa: N813
from recassay.split.chance import UserFolds as user_folds  # noqa: N813
from recassay.split.chance import subsample
from recassay.split.debiased import Skew as skew  # noqa: N813
from recassay.split.debiased import UniformItems as uniform_items  # noqa: N813
from recassay.split.debiased import Wtd as wtd  # noqa: N813
from recassay.split.sequences import LatestSequences as latest_sequences  # noqa: N813
from recassay.split.sequences import RandomSequences as random_sequences  # noqa: N813
from recassay.split.sequences import SequenceFolds as sequence_folds  # noqa: N813
from recassay.split.sequences import SequencesSince as sequences_since  # noqa: N813
from recassay.split.sessions import ReadyMade as ready_made  # noqa: N813
from recassay.split.sessions import Sessions as sessions  # noqa: N813
from recassay.split.temporal import GlobalTime as global_time  # noqa: N813
from recassay.split.temporal import Last as last  # noqa: N813
from recassay.split.temporal import Windows as windows  # noqa: N813

REGISTRY: Registry[type[Split]] = Registry("split", "recassay.split", Split, group="recassay.splits")
parse = REGISTRY.parse

__all__ = [
    "LeakReport",
    "RowAssignment",
    "Split",
    "filters",
    "given",
    "global_time",
    "k_folds",
    "last",
    "latest_sequences",
    "leaks",
    "leave_out",
    "parse",
    "random",
    "random_sequences",
    "ready_made",
    "sequence_folds",
    "sequences_since",
    "sessions",
    "skew",
    "subsample",
    "uniform_items",
    "user_folds",
    "windows",
    "wtd",
]
__dir__ = __all__.copy  # what `dir` lists
