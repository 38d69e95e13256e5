"""What real files do to a result: each trap is said, or listed with the reason why nobody can know.

The rows are in ``traps``; ``docs/howto/what-recassay-notices.md`` is made of the same rows.
"""

import sys
from functools import reduce
from operator import add
from pathlib import Path

import polars as pl
import pytest

import recassay as ra
from recassay.data.io import open_table
from recassay.data.run import Run
from recassay.data.truth import Truth
from recassay.engine.lists.job import Job
from recassay.errors import CODES
from recassay.metrics.align import Conventions
from recassay.metrics.base import truth_statistics_for
from recassay.metrics.context import Context
from recassay.metrics.registry import parse_metrics

HERE = Path(__file__).parent
if str(HERE) not in sys.path:
    sys.path.insert(0, str(HERE))

from traps import TRAPS  # noqa: E402
from traps.base import Sheet, clean, moved, outcome, written  # noqa: E402

TWINS = list({id(trap.twin): trap.twin for trap in TRAPS if trap.twin is not None}.values())
MUCH = 0.01  # a mean that moves by more is said, or listed as undetectable


@pytest.mark.parametrize("trap", TRAPS, ids=lambda trap: trap.title[:60])
def test_a_trap_is_said_or_listed_as_undetectable(trap):
    found = outcome(trap.case)
    assert found.codes == trap.said, found.text
    by = moved(trap, found)
    if not trap.said and (by is None or abs(by) > MUCH):
        assert trap.why, "say why this cannot be known"


@pytest.mark.parametrize("twin", [clean(), *TWINS], ids=range(len(TWINS) + 1))
def test_nothing_is_said_of_the_clean_twin(twin):
    found = outcome(twin)
    assert found.codes == (), found.text
    assert found.mean is not None


SAID = [trap for trap in TRAPS if trap.said and trap.said[0] not in CODES and isinstance(trap.case.run, Sheet | bytes)]


@pytest.mark.parametrize("trap", SAID, ids=lambda trap: trap.title[:60])
def test_of_parts_of_users_the_same_is_said_as_of_all(trap, tmp_path):
    case = trap.case
    files = {"run": case.run, "truth": case.truth, "train": case.train}
    paths = {name: written(tmp_path / file, files[name]) for name, file in zip(files, case.names, strict=True)}
    how = {"columns": case.options.get("columns")}
    truth = ra.read_truth(paths["truth"], **how)
    log = None if paths["train"] is None else ra.read_interactions(paths["train"], **how)
    run = open_table(paths["run"], "run", ordered=case.options.get("order") == "row", **how)
    named = parse_metrics(case.metric, {"relevant_from": float(case.options.get("relevant_from", 1))})
    conventions = Conventions(order=case.options.get("order", "given"))
    job = Job(named, conventions, Context(log), threads=1).resolved(truth_statistics_for(named.values(), truth))
    rows, answers = run.frame(), open_table(paths["truth"], "truth", **how)

    def part(users):
        def own(frame):
            return frame.filter(pl.col("user_id").is_in(users.implode()))

        order = "row" if conventions.order == "row" else None
        lists = Run.from_frame(own(rows), "run", order=order, remarks=run.remarks)
        return job.judge_part(lists, Truth.from_frame(own(answers.frame()), remarks=answers.remarks))

    everyone = pl.concat([rows["user_id"], answers["user_id"]]).unique().sort()
    whole = part(everyone)
    dealt = reduce(add, (part(everyone[begin : begin + 13]) for begin in range(0, everyone.len(), 13)))
    assert (
        job.combine("run", dealt).findings
        == job.judge(Run.from_frame(run, "run", order="row" if conventions.order == "row" else None), truth).findings
    )
    assert repr(dealt.counts.alignment) == repr(whole.counts.alignment)
