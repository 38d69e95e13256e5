"""A whole small study on a generated log: split, recommend with three baselines, judge, compare, write, show."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.text import Text

from recassay.comparison.compare import Comparison, compare
from recassay.data.holdout import hold_out
from recassay.data.io import write_parquet, write_text
from recassay.data.scores import Scores
from recassay.data.synthetic import item_features, log
from recassay.engine.score import score
from recassay.errors import UsageError
from recassay.models.base import Model, recommend
from recassay.models.popular import Popular
from recassay.models.pure_svd import PureSVD
from recassay.models.random import Random
from recassay.report.folder import write_results
from recassay.report.table import findings_table, text_table, to_markdown

USERS, ITEMS, EVENTS = 2_000, 1_000, 100_000
DEPTH = 20
BASELINE = "popular"
METRICS = "ndcg@10 recall@10 precision@10 mrr map hit@10 efd@10 ild@10 coverage@10"

TITLE = "# A small study made by `recassay demo`"
README = """{title}

- `log.csv`: {events:,} events of {users:,} users on {items:,} items, generated with seed {seed}
- `train.parquet`, `truth.parquet`: the log without, and with only, a random fifth of each user's events
- `items.parquet`: topics of the items
- `runs/`: top {depth} of {systems}
- `report.html`: everything that was found, to be opened in a browser
- `scores.parquet`, `summary.json`, `summary.md`, `findings.jsonl`: what they are worth

The table again:

    {command}
"""

Report = Callable[[str, int, int], None]  # stage, done, of


@dataclass(frozen=True, eq=False)
class Demo:
    """What the demo found, and where it is."""

    scores: Scores
    comparison: Comparison
    folder: Path
    command: str

    def show(self, console: Console) -> None:
        """The table, the findings, where the files are and how to make the table from them."""
        console.print(text_table(self.scores, self.comparison))
        console.print(findings_table(self.scores))
        console.print(
            Text(
                f"\nThe log, the runs and the results are in {self.folder}; open {self.folder / 'report.html'} in a "
                "browser.\nThe same table from its files:\n"
            )
        )
        console.print(Text(self.command, style="bold"), soft_wrap=True)


def run_demo(folder: str | Path, seed: int = 1, progress: Report | None = None) -> Demo:
    """Make a small study in a folder, which is new, empty, or that of an earlier demo.

    The systems are judged from the files written, by what the printed command does. Equal seeds give equal files.
    """
    told = progress or _silent
    target = _folder(Path(folder))
    truth, train, items = target / "truth.parquet", target / "train.parquet", target / "items.parquet"
    runs = [target / "runs" / f"{name}.parquet" for name in _systems(seed)]
    options = ["--train", str(train), "--items", str(items), "--baseline", BASELINE]
    command = shlex.join(["recassay", "score", str(truth), str(target / "runs"), "-m", METRICS, *options])
    write_text(_readme(seed, command), target / "README.md")
    _write_study(target, seed, told)
    scores = score(list(map(str, runs)), str(truth), METRICS, train=str(train), items=str(items), progress=progress)
    comparison = compare(scores, baseline=BASELINE, progress=lambda done, of: told("comparing", done, of))
    identity = {"dataset": "demo", "split": "random(test=0.2)", "seed": seed}
    write_results(scores, comparison, target, identity, command=command)
    write_text(to_markdown(scores, comparison), target / "summary.md")
    return Demo(scores, comparison, target, command)


def _systems(seed: int) -> dict[str, Model]:
    """In the order of their names, as a folder of runs is read."""
    return {"popular": Popular(), "pure-svd": PureSVD(factors=20), "random": Random(seed)}


def _write_study(target: Path, seed: int, told: Report) -> None:
    """The log, its two sides, the items, and a run of every system."""
    systems = _systems(seed)
    steps = 1 + len(systems)
    told("making a study", 0, steps)
    whole = log(users=USERS, items=ITEMS, events=EVENTS, seed=seed)
    train, truth = hold_out(whole, seed=seed)
    write_text(whole.frame().write_csv(), target / "log.csv")
    write_parquet(train.frame(), target / "train.parquet")
    write_parquet(truth.frame(), target / "truth.parquet")
    write_parquet(item_features(items=ITEMS, seed=seed), target / "items.parquet")
    for done, (name, model) in enumerate(systems.items(), start=1):
        told("making a study", done, steps)
        run = recommend(model.fit(train), truth.queries, DEPTH, name)
        write_parquet(run.frame(), target / "runs" / f"{name}.parquet")
    told("making a study", steps, steps)


def _folder(target: Path) -> Path:
    """The folder, made if need be; one with other files in it is left alone."""
    try:
        if not _is_free(target):
            raise UsageError(
                "U111",
                "the folder has files that no demo wrote, and the demo would write among them",
                where=str(target),
                hint="choose a new folder with -o",
            )
        (target / "runs").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            "U111",
            f"cannot make the folder: {error.strerror or error}",
            where=str(target),
            hint="choose another with -o",
        ) from None
    return target


def _is_free(target: Path) -> bool:
    """Whether the folder is new, empty, or that of an earlier demo."""
    if not target.is_dir() or not any(target.iterdir()):
        return True
    readme = target / "README.md"
    return readme.is_file() and readme.read_text(encoding="utf-8", errors="replace").startswith(TITLE)


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
    """Nobody listens."""
