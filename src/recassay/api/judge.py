"""``judge``: scores the same recommendations under every target-set design, on the back end that has their ranks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from recassay.backends.base import engine_of
from recassay.data.run import Run
from recassay.data.standings import Standings
from recassay.designs.grammar import Design, parse_list
from recassay.engine.options import DesignOptions, Execution
from recassay.engine.ranks.judge import JudgeRequest, judge_in_memory, named
from recassay.metrics.registry import Metrics, parse_metrics
from recassay.naming import choices
from recassay.naming.arguments import checks_types
from recassay.naming.named import Departure, departs
from recassay.results.design_scores import DesignScores
from recassay.stats.intervals import Uncertainty

if TYPE_CHECKING:
    from recassay.backends.spark.play import SparkRun


@departs(
    Departure(
        "target-sets",
        "The paper ranks against one random sample of non-relevant items; recassay computes the mean over all samples.",
        "ra.judge(runs, designs, metrics, method='sample', draws=1)",
    ),
    Departure(
        "sampled-metrics",
        "The paper reports means of 20 draws; recassay computes the mean over all draws, and draws nothing.",
        "ra.judge(runs, designs, metrics, method='sample', draws=20)",
    ),
    Departure(
        "sampled-metrics",
        "The paper compares orders by Kendall's tau-a, in whose words a tie is discordant; DesignScores.agreement and "
        "the tables of studies have tau-b, which is the same without ties, and the orders of ra.sampling_curve have "
        "both.",
    ),
)
@checks_types
def judge(
    runs: Run | Standings | SparkRun | Iterable[Run | Standings | SparkRun] | Mapping[str, Run | Standings | SparkRun],
    designs: str | Design | Iterable[str | Design],
    metrics: Metrics,
    *,
    users: choices.DesignUsers = "all",
    short: choices.Short = "error",
    method: choices.DrawMethod = "exact",
    draws: int = 20,
    variance: bool = True,
    interval: choices.IntervalMethod | None = "bootstrap",
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
    threads: int | None = None,
    work: str | Path | None = None,
) -> DesignScores:
    """Return the scores of systems under every target-set design: exact means over all draws, with intervals.

    A target set is the set of candidates that relevant items are ranked in; a design says how it is made. ``runs`` are
    results of :func:`~recassay.play`, so that the rank of every relevant item is known. ``users`` says whether users
    without a relevant test item count 0 where all relevant items of a user are ranked together. ``short`` says what
    happens to users with fewer candidates than a design draws: ``error``, or ``all`` to take all their candidates.
    ``variance=False`` leaves out the variance over draws, and is quicker.

    ``method="sample"`` draws target sets as papers do, ``draws`` times and the same for every system, and ranks them.
    It is slower and noisy, but is the only method for ``by='popularity', replace=False``. The systems' scores of items
    are computed again.

    By popularity with replacement, means are approximate where an item ties with more than seven candidates of
    different popularity, and so are chance values; finding S005 reports where that can matter.

    Intervals are over users. Of runs that were played on Spark, beyond 50,000 users tasks do the work; they write to a
    folder within ``work`` that all nodes can read and write, and findings are checked on a sample of about 50,000
    users, drawn by their ids.

    >>> import recassay as ra
    >>> from recassay.data.synthetic import log
    >>> fold = ra.split.random(test=0.2, seed=7)(log(users=200, items=80, events=4_000, seed=1))[0]
    >>> protocol = ra.protocols.ranking()
    >>> runs = [ra.play(model, fold, protocol) for model in (ra.models.Popular(), ra.models.Random())]
    >>> scores = judge(runs, "TI-AR-AN, TI-1R-NN(20)", "precision@5", interval=None)
    >>> [(row.design, row.system, round(row.mean, 3), round(row.random, 3)) for row in scores.rows]
    [('TI-AR-AN', 'Popular', 0.142, 0.067), ('TI-AR-AN', 'Random', 0.061, 0.067),
     ('TI-1R-NN(20)', 'Popular', 0.079, 0.048), ('TI-1R-NN(20)', 'Random', 0.047, 0.048)]
    """
    played = dict(named(runs))
    request = JudgeRequest(
        tuple(parse_list(designs)),
        parse_metrics(metrics),
        DesignOptions(users, short, method, draws, variance),
        Uncertainty(interval, level, resamples, seed),
        Execution(work=work, threads=threads),
    )
    if engine_of(*played.values()) == "spark":
        from recassay.backends.spark.designs import judge_on_spark  # late: who has no Spark tables needs none of it

        return judge_on_spark(played, request)
    return judge_in_memory(played, request)
