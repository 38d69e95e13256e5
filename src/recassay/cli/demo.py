"""``recassay demo``: a small study on a generated log: split, recommend with three baselines, score, compare.

``recassay warm`` runs it, and two more, to compile what most commands need.
"""

import os
import shlex
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from recassay.cli import _common, _options
from recassay.errors import UsageError

if TYPE_CHECKING:
    from recassay.comparison.compare import Comparison
    from recassay.data.interactions import Interactions
    from recassay.data.truth import Truth
    from recassay.results.scores import Scores
    from recassay.threads import StageProgress

USERS, ITEMS, EVENTS = 2_000, 1_000, 100_000
DEPTH = 20
BASELINE = "popular"
IDENTITY = {"dataset": "demo", "split": "random(test=0.2, by='user')"}  # what hold_out does; all users have a past
METRICS = "ndcg@10 recall@10 precision@10 mrr map hit@10 efd@10 ild@10 coverage@10"
README = """# A small study made by `recassay demo`

- `log.csv`: {events:,} events of {users:,} users on {items:,} items, generated with seed {seed}
- `train.parquet`, `truth.parquet`: the log without, and with only, a random fifth of each user's events
- `items.parquet`: topics of the items
- `runs/`: top {depth} of {systems}
- `report.html`: all results, to be opened in a browser
- `scores.parquet`, `summary.json`, `summary.md`, `findings.jsonl`: their scores, comparisons and findings

This command prints the table again:

    {command}
"""
STUDIES = {
    "designs.yaml": """
study: designs
data: {generate: "log(users=60, items=40, events=1200)"}
split: random(test=0.2)
models: {popular: Popular, knn: UserKNN(neighbours=9), svd: PureSVD(factors=5)}
designs: [lists, TI-AR-AN, P1R]
metrics: [ndcg@5, recall@10, mrr]
""",
    "stream.yaml": """
study: stream
data: {generate: "drifting(users=60, items=60, events=1200)"}
protocol: prequential(at=10)
models: {isgd: ISGD(factors=5), recent: Recent}
metrics: [recall@10, mrr@10]
""",
}


def demo(
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FOLDER", help="Folder for the files of the demo.")
    ] = Path("recassay-demo"),
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Seed of the generated data.")] = 1,
    as_json: _options.AsJson = False,
    quiet: _options.Quiet = False,
) -> None:
    """Generate a log, run three recommenders on it, and score and compare them. Needs no data and no network.

    Example: recassay demo -o first
    """
    from rich.text import Text

    with _common.progress(quiet or as_json) as progress:
        scores, comparison, command = run_demo(output, seed, progress)
    _common.show_scores(scores, comparison, {} if as_json else IDENTITY, None, "text", as_json)
    if as_json:
        return
    console, page = _common.console(), output / "report.html"
    console.print(Text(f"\nThe log, the runs and the results are in {output}; open {page} in a browser."))
    console.print("This command makes the same table from the files:\n")
    console.print(Text(command, style="bold"), soft_wrap=True)


def run_demo(
    folder: str | Path, seed: int = 1, progress: "StageProgress | None" = None
) -> "tuple[Scores, Comparison, str]":
    """Run the demo and write it to a folder, which must be new, empty, or from an earlier demo.

    Return the scores, the comparison, and the command that makes the same table. The systems are scored from the
    written files, exactly as that command does. Equal seeds give equal files.
    """
    from recassay.api.score import score
    from recassay.comparison.compare import compare
    from recassay.data.io import make_folder, write_parquet, write_text
    from recassay.data.io.manifest import recording
    from recassay.data.synthetic import item_features, log
    from recassay.engine.options import Execution
    from recassay.models.base.capabilities import CanFit
    from recassay.models.base.model import recommend
    from recassay.models.baselines import Popular, Random
    from recassay.models.factors import PureSVD
    from recassay.report.folder.results import write_results
    from recassay.report.tables.scores import score_table

    report = progress or (lambda _stage, _done, _of: None)
    systems: dict[str, CanFit] = {"popular": Popular(), "pure-svd": PureSVD(factors=20), "random": Random(seed)}
    target = make_folder(folder)
    truth, train, items = (str(target / f"{name}.parquet") for name in ("truth", "train", "items"))
    runs = [str(target / "runs" / f"{name}.parquet") for name in systems]
    options = ["--train", train, "--items", items, "--baseline", BASELINE]
    command = shlex.join(["recassay", "score", truth, str(target / "runs"), "-m", METRICS, *options])
    with recording(target):
        make_folder(target / "runs")
        named = ", ".join(map(str, systems.values()))
        sizes = {"users": USERS, "items": ITEMS, "events": EVENTS, "seed": seed, "depth": DEPTH}
        write_text(README.format(**sizes, systems=named, command=command), target / "README.md")
        whole = log(users=USERS, items=ITEMS, events=EVENTS, seed=seed)
        training, held_out = hold_out(whole, seed=seed)
        write_text(whole.frame().write_csv(), target / "log.csv")
        write_parquet(training.frame(), Path(train))
        write_parquet(held_out.frame(), Path(truth))
        write_parquet(item_features(items=ITEMS, seed=seed), Path(items))
        for done, ((name, model), path) in enumerate(zip(systems.items(), runs, strict=True)):
            report("preparing data and runs", done, len(systems))
            write_parquet(recommend(model.fit(training), held_out.queries, DEPTH, name).frame(), Path(path))
        report("preparing data and runs", len(systems), len(systems))
        scores = score(
            runs, truth, METRICS, train=train, items=items, first_hits=True, execution=Execution(progress=progress)
        )
        comparison = compare(scores, baseline=BASELINE, progress=lambda done, total: report("comparing", done, total))
        write_results(scores, comparison, target, {**IDENTITY, "seed": seed}, command=command)
        write_text(score_table(scores, comparison, "markdown"), target / "summary.md")
    return scores, comparison, command


def hold_out(log: "Interactions", share: float = 0.2, *, seed: int = 0) -> "tuple[Interactions, Truth]":
    """Return the training log, and the truth made of a random share of each user's events.

    The share is rounded down, but is at least one event. A user with a single event keeps it and is not in the truth.
    The order of rows does not matter. Raise U102 unless the share is between 0 and 1.

    >>> import polars as pl
    >>> from recassay.data.interactions import Interactions
    >>> log = Interactions.from_frame(pl.DataFrame({"user_id": [1, 1, 1, 2], "item_id": [7, 8, 9, 7]}))
    >>> train, truth = hold_out(log)
    >>> len(train), truth.queries.to_list(), truth.items.size
    (3, [1], 1)
    """
    import numpy as np

    from recassay.columnar.order import positions_in_groups
    from recassay.data.interactions import Interactions
    from recassay.data.truth import Truth
    from recassay.rng import derive

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


def warm() -> None:
    """Compile what most commands need, so that a later first run is as fast as any; for images and build servers.

    The compiled kernels are kept in $NUMBA_CACHE_DIR if it is set, else beside the installed package.

    Example: NUMBA_CACHE_DIR=/opt/recassay-kernels recassay warm
    """
    from recassay.study.run.study import run_study

    with (
        tempfile.TemporaryDirectory(prefix="recassay-warm-") as name,
        redirect_stdout(StringIO()),
        redirect_stderr(StringIO()),
    ):
        folder = Path(name)
        run_demo(folder / "demo", seed=1)
        for file, text in STUDIES.items():
            (folder / file).write_text(text, encoding="utf-8")
            run_study(folder / file, folder / file.removesuffix(".yaml"))
    kept = os.environ.get("NUMBA_CACHE_DIR") or Path(__file__).parents[1]
    _common.say(f"Compiled kernels are kept in {kept}")
