"""Check a metric of your own."""

from __future__ import annotations

import numpy as np
import polars as pl

from recassay.api.judge import judge
from recassay.api.score import score
from recassay.data.read import read_run
from recassay.errors import InternalError, RecassayError, UsageError
from recassay.metrics.base import Metric
from recassay.metrics.credit import Credit
from recassay.metrics.describe import HEADINGS, describe
from recassay.metrics.registry import parse_metric
from recassay.results.scores import Scores
from recassay.testing.promise import require
from recassay.testing.world import World, world

RANKS = 8
CLOSE = 1e-12


def check_metric(metric: Metric) -> None:
    """Raise AssertionError, with the reason, unless a metric of ranked lists meets the requirements of all metrics.

    Its name parses back to an equal metric; its docstring has the headings that ``recassay explain`` shows; values are
    within ``bounds`` or NaN; neither the order of rows nor the number of threads changes a bit; and what it credits at
    a rank gives the same number in a list and when the same items are ranked as candidates.
    """
    name, here = str(metric), world()
    try:
        again = parse_metric(name)
    except RecassayError as error:
        raise AssertionError(f"{name} does not read back: {error}") from error
    require(again == metric, f"{name} reads back as {again!r}")
    sections = describe(type(metric)).sections
    absent = [heading for heading in HEADINGS if heading not in sections]
    require(not absent, f"the docstring of {name} has no paragraph {' and no '.join(f'{one}:' for one in absent)}")
    _check_values(metric, here)
    _check_ranks(metric, here)


def _check_values(metric: Metric, here: World) -> None:
    try:
        first = _scored(metric, here.run.frame(), here, threads=1)
    except (InternalError, UsageError) as error:  # every value is held to the bounds while it is computed
        require(error.code in ("X101", "U243"), f"{metric} cannot be computed: {error}")
        raise AssertionError(f"{metric} has values outside its bounds: {error}") from error
    row = first.row("system", str(metric))
    require(row.n > 0, f"{metric} is undefined for every user of a sound run")
    shuffled = here.run.frame().sample(fraction=1.0, shuffle=True, seed=1)
    for frame, threads, what in ((shuffled, 1, "the order of rows"), (here.run.frame(), 3, "the number of threads")):
        other = _scored(metric, frame, here, threads).row("system", str(metric))
        require(repr(other.mean) == repr(row.mean), f"{what} changes {metric}: {row.mean!r} becomes {other.mean!r}")


def _scored(metric: Metric, frame: pl.DataFrame, here: World, threads: int) -> Scores:
    run, log = read_run(frame, "system"), here.fold.train
    return score({"system": run}, here.grades, [metric], train=log, items=here.items, interval=None, threads=threads)


def _check_ranks(metric: Metric, here: World) -> None:
    """Raise AssertionError unless a metric gives the same numbers in three ways.

    These are from lists, from its formula by rank, and from ranks among candidates. The check is skipped for a metric
    without a formula.
    """
    formula = metric.rank_formula()
    if not isinstance(formula, Credit):
        return
    wanted = formula.of_one(np.arange(1.0, RANKS + 1))
    truth = {f"user {rank}": {"right": 1.0} for rank in range(1, RANKS + 1)}
    lists = {
        f"user {rank}": [*(f"wrong {place}" for place in range(1, rank)), "right"]
        + [f"below {n}" for n in range(RANKS)]
        for rank in range(1, RANKS + 1)
    }
    found = score({"lists": lists}, truth, [metric], interval=None).values("lists", str(metric))
    for rank in range(RANKS):
        what = f"{metric} of a list with one relevant item at rank {rank + 1} is {found[rank]!r}, its formula by rank"
        require(abs(found[rank] - wanted[rank]) < CLOSE, f"{what} gives {wanted[rank]!r}")
    if formula.weight is None:
        listed = score({"system": here.run}, here.relevant, [metric], interval=None).rows[0].mean
        design = judge({"system": here.run}, "AI-AR-AN", [metric], users="with_relevant", interval=None).rows[0].mean
        require(abs(listed - design) < CLOSE, f"{metric} is {listed!r} from lists and {design!r} under AI-AR-AN")
