"""Training and full ranking of sequential models beside RecBole's: same model, data and batch size, on one CPU.

    python bench/training.py [--quick]

RecBole makes an example of every prefix of a history, recassay learns all prefixes of a history at once, so what is
compared is targets learnt a second, and what has been learnt after the same time. Both train on one thread, as recassay
always does on a CPU, so that a seed gives the same bits on any machine; RecBole runs in an environment of its own
(``make agreement`` makes it). Writes its section of bench/RESULTS.md.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import polars as pl

import recassay as ra
from recassay.data.synthetic.tastes import log
from recassay.models.base.capabilities import fitted_on_fold
from standings import write_section

HERE = Path(__file__).resolve().parent
PYTHON = HERE.parent / ".peers" / "recbole" / "bin" / "python"
SIZE, QUICK = {"users": 600, "items": 3_400, "events": 36_000}, {"users": 300, "items": 500, "events": 9_000}
DIM, LENGTH, EPOCHS = 64, 50, 2
MODELS = {
    "SASRec": "SASRec(dim={dim}, length={length}, dropout=0.2, batch={batch}, epochs={epochs}, loss='softmax', "
    "windows='all')",
    "GRU4Rec": "GRU(dim={dim}, length={length}, dropout=0.2, batch={batch}, epochs={epochs}, windows='all')",
}


def theirs(folder: Path, model: str, batch: int) -> dict[str, float]:
    command = [PYTHON, HERE / "peers" / "train_recbole.py", folder, model, batch, DIM, LENGTH, EPOCHS]
    alone = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, check=True, cwd=folder, env=alone
    )
    return json.loads(done.stdout.splitlines()[-1])


def ours(fold: ra.Fold, model: str, batch: int, epochs: int = EPOCHS) -> dict[str, float]:
    spec = ra.models.parse(MODELS[model].format(dim=DIM, length=LENGTH, batch=batch, epochs=epochs))
    ends = [time.perf_counter()]
    fitted = fitted_on_fold(spec, fold, listener=lambda *_: ends.append(time.perf_counter()))
    begin = time.perf_counter()
    run = ra.play(fitted, fold, ra.protocols.next_item(k=10), name=model)
    hit = ra.judge(run, "AI-1R-AN", "hit@10", interval=None).rows[0].mean
    whole = time.perf_counter() - begin
    seconds = min(end - start for start, end in itertools.pairwise(ends))
    targets = len(fold.train) - int(fold.train.user_vocabulary.size)
    return {"epoch": seconds, "evaluation": whole, "targets": targets, "hit": hit}


def main() -> None:
    quick = "--quick" in sys.argv
    made = log(**(QUICK if quick else SIZE), seed=1)
    fold = ra.split.last(n=1, validation=1)(made)[0]
    lines = [
        "## Training", "",
        f"`python bench/training.py`: {made.n_users:,} users, {made.n_items:,} items, {len(made):,} events; dim {DIM}, "
        f"histories of {LENGTH}, softmax over all items. An epoch of recassay ends with a ranking of all items for the "
        "validation part, which RecBole's does not. An epoch of RecBole has many more steps: the third line of each "
        "block trains as long as RecBole did.", "",
        "| model | batch | library | epochs | s an epoch | targets a second | full ranking s | HR@10 |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]  # fmt: skip
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "log").mkdir()
        table = made.frame().rename(
            {"user_id": "user_id:token", "item_id": "item_id:token", "timestamp": "timestamp:float"}
        )
        table.select(pl.col("user_id:token", "item_id:token", "timestamp:float")).write_csv(
            folder / "log" / "log.inter", separator="\t"
        )
        for model in MODELS:
            for batch in (128,) if quick else (128, 1024):
                first, other = ours(fold, model, batch), theirs(folder, model, batch)
                as_long = max(1, int(EPOCHS * other["epoch"] / first["epoch"]))
                longer = ours(fold, model, batch, as_long)
                for library, epochs, found in (
                    ("RecBole", EPOCHS, other),
                    ("recassay", EPOCHS, first),
                    ("recassay", as_long, longer),
                ):
                    lines.append(
                        f"| {model} | {batch} | {library} | {epochs} | {found['epoch']:.2f} | "
                        f"{found['targets'] / found['epoch']:,.0f} | {found['evaluation']:.2f} | {found['hit']:.3f} |"
                    )
                    print(lines[-1], flush=True)
    if not quick:
        write_section("Training", "\n".join([*lines, ""]))


if __name__ == "__main__":
    main()
