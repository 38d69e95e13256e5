"""A small study on a generated log: split, recommend with three baselines, score, compare, write and print."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.text import Text

from recassay.api.score import score
from recassay.columnar.order import positions_in_groups
from recassay.comparison.compare import Comparison, compare
from recassay.data.interactions import Interactions
from recassay.data.io import make_folder, write_parquet, write_text
from recassay.data.io.manifest import recording
from recassay.data.synthetic import item_features, log
from recassay.data.truth import Truth
from recassay.engine.options import Execution
from recassay.errors import UsageError
from recassay.models.base.capabilities import CanFit
from recassay.models.base.model import recommend
from recassay.models.baselines import Popular, Random
from recassay.models.factors import PureSVD
from recassay.report.content.grids import grids_of
from recassay.report.folder.results import verdict_of_scores, write_results
from recassay.report.tables.scores import text_table, to_markdown
from recassay.report.tables.verdict import findings_table, verdict_block
from recassay.results.scores import Scores
from recassay.rng import derive
from recassay.threads import StageProgress

USERS, ITEMS, EVENTS = 2_000, 1_000, 100_000
DEPTH = 20
BASELINE = "popular"
IDENTITY = {"dataset": "demo", "split": "random(test=0.2, by='user')"}  # what hold_out does; all users have a past
METRICS = "ndcg@10 recall@10 precision@10 mrr map hit@10 efd@10 ild@10 coverage@10"

TITLE = "# A small study made by `recassay demo`"
README = """{title}

- `log.csv`: {events:,} events of {users:,} users on {items:,} items, generated with seed {seed}
- `train.parquet`, `truth.parquet`: the log without, and with only, a random fifth of each user's events
- `items.parquet`: topics of the items
- `runs/`: top {depth} of {systems}
- `report.html`: all results, to be opened in a browser
- `scores.parquet`, `summary.json`, `summary.md`, `findings.jsonl`: their scores, comparisons and findings

This command prints the table again:

    {command}
"""


def hold_out(log: Interactions, share: float = 0.2, *, seed: int = 0) -> tuple[Interactions, Truth]:
    """Return the training log, and the truth made of a random share of each user's events.

    The share is rounded down, but is at least one event. A user with a single event keeps it and is not in the truth.
    The order of rows does not matter. Raise U102 unless the share is between 0 and 1.

    >>> import polars as pl
    >>> log = Interactions.from_frame(pl.DataFrame({"user_id": [1, 1, 1, 2], "item_id": [7, 8, 9, 7]}))
    >>> train, truth = hold_out(log)
    >>> len(train), truth.queries.to_list(), truth.items.size
    (3, [1], 1)
    """
    if not 0 < share < 1:
        raise UsageError("U102", f"share must be between 0 and 1, got {share}", hint="a share such as 0.2")
    keys = (log.items, log.users) if log.timestamps is None else (log.timestamps.to_physical(), log.items, log.users)
    draw = np.empty(len(log))
    draw[np.lexsort(keys)] = derive(seed, "hold-out").random(len(log))
    events = np.bincount(log.users, minlength=log.n_users)
    taken = np.where(events > 1, np.maximum(1, np.floor(share * events)), 0)
    held = positions_in_groups(log.users, draw) < taken[log.users]
    frame = log.frame()
    train = Interactions.from_frame(frame.filter(~held), origin=log.origin, times=log.times)
    return train, Truth.from_frame(frame.filter(held).select("user_id", "item_id"), origin=log.origin)


@dataclass(frozen=True, eq=False)
class Demo:
    """The scores of the demo, their folder, and the command that prints the same table."""

    scores: Scores
    comparison: Comparison
    folder: Path
    command: str

    def show(self, console: Console) -> None:
        """Print the table, the findings, the folder, and the command that makes the same table from the files."""
        verdict = verdict_of_scores(self.scores, self.comparison, IDENTITY)
        console.print(verdict_block(verdict, grids_of(self.scores, self.comparison)))
        console.print(text_table(self.scores, self.comparison))
        console.print(findings_table(self.scores, verdict))
        console.print(
            Text(
                f"\nThe log, the runs and the results are in {self.folder}; open {self.folder / 'report.html'} in a "
                "browser.\nThis command makes the same table from the files:\n"
            )
        )
        console.print(Text(self.command, style="bold"), soft_wrap=True)


def run_demo(folder: str | Path, seed: int = 1, progress: StageProgress | None = None) -> Demo:
    """Run a small study and write it to a folder, which must be new, empty, or from an earlier demo.

    The systems are scored from the written files, exactly as the printed command does. Equal seeds give equal files.
    """
    report = progress or _silent
    target = make_folder(folder)
    truth, train, items = target / "truth.parquet", target / "train.parquet", target / "items.parquet"
    runs = [target / "runs" / f"{name}.parquet" for name in _systems(seed)]
    options = ["--train", str(train), "--items", str(items), "--baseline", BASELINE]
    command = shlex.join(["recassay", "score", str(truth), str(target / "runs"), "-m", METRICS, *options])
    with recording(target):
        make_folder(target / "runs")
        write_text(_readme(seed, command), target / "README.md")
        _write_study(target, seed, report)
        scores = score(
            list(map(str, runs)), str(truth), METRICS, train=str(train), items=str(items), first_hits=True,
            execution=Execution(progress=progress),
        )  # fmt: skip
        comparison = compare(scores, baseline=BASELINE, progress=lambda done, total: report("comparing", done, total))
        identity = {**IDENTITY, "seed": seed}
        write_results(scores, comparison, target, identity, command=command)
        write_text(to_markdown(scores, comparison), target / "summary.md")
    return Demo(scores, comparison, target, command)


def _systems(seed: int) -> dict[str, CanFit]:
    """Return the models of the demo by name, in the order in which their run files are written."""
    return {"popular": Popular(), "pure-svd": PureSVD(factors=20), "random": Random(seed)}


def _write_study(target: Path, seed: int, report: StageProgress) -> None:
    """Write the log, its training and test part, the item features, and a run file of every system."""
    systems = _systems(seed)
    steps = 1 + len(systems)
    report("preparing data and runs", 0, steps)
    whole = log(users=USERS, items=ITEMS, events=EVENTS, seed=seed)
    train, truth = hold_out(whole, seed=seed)
    write_text(whole.frame().write_csv(), target / "log.csv")
    write_parquet(train.frame(), target / "train.parquet")
    write_parquet(truth.frame(), target / "truth.parquet")
    write_parquet(item_features(items=ITEMS, seed=seed), target / "items.parquet")
    for done, (name, model) in enumerate(systems.items(), start=1):
        report("preparing data and runs", done, steps)
        run = recommend(model.fit(train), truth.queries, DEPTH, name)
        write_parquet(run.frame(), target / "runs" / f"{name}.parquet")
    report("preparing data and runs", steps, steps)


def _readme(seed: int, command: str) -> str:
    return README.format(
        title=TITLE,
        users=USERS,
        items=ITEMS,
        events=EVENTS,
        seed=seed,
        depth=DEPTH,
        systems=", ".join(map(str, _systems(seed).values())),
        command=command,
    )


def _silent(_stage: str, _done: int, _of: int) -> None:
    """Do nothing: the progress callback of a demo that reports no progress."""
