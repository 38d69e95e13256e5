"""Training and full ranking of sequential models beside RecBole's: same model, data and batch size, on one CPU.

    python bench/training.py [--quick]
    python bench/training.py --losses [--data DIR] [--seconds 120] [--quick] [ROW ...]
    python bench/training.py --epochs --data DIR

RecBole makes an example of every prefix of a history, recassay learns all prefixes of a history at once, so what is
compared is targets learnt a second, and what has been learnt after the same time. Both train on one thread, as recassay
always does on a CPU, so that a seed gives the same bits on any machine; RecBole runs in an environment of its own
(``make agreement`` makes it). Writes its section of bench/RESULTS.md.

``--losses`` compares the losses of each network after equal processor seconds, and writes another section. ``--data``
is a folder with tables ``ml-1m/sequences_items5.parquet`` and ``amazon-beauty-bert4rec/sequences.parquet`` (user, item,
pos); without it a log is generated. All networks have their defaults, except for the loss. Words choose the rows whose
log, network or loss they are; the section is then not written. ``--epochs`` times epochs of SASRec and BERT4Rec on the
larger log, with all defaults, and writes a section too.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import recassay as ra
from recassay.data.sequences import Histories
from recassay.data.synthetic import log
from recassay.models.base.capabilities import Training, fitted_on_fold
from recassay.models.neural.base import Neural
from tools import write_section

HERE = Path(__file__).resolve().parent
PYTHON = HERE.parent / ".peers" / "recbole" / "bin" / "python"
SIZE, QUICK = {"users": 600, "items": 3_400, "events": 36_000}, {"users": 300, "items": 500, "events": 9_000}
DIM, LENGTH, EPOCHS = 64, 50, 2
MODELS = {
    "SASRec": "SASRec(dim={dim}, length={length}, dropout=0.2, batch={batch}, epochs={epochs}, loss='softmax', "
    "windows='all')",
    "GRU4Rec": "GRU(dim={dim}, length={length}, dropout=0.2, batch={batch}, epochs={epochs}, windows='all')",
}


def write_for_recbole(made: ra.Interactions, folder: Path) -> None:
    """Write a log in the format that RecBole reads."""
    (folder / "log").mkdir()
    names = {"user_id": "user_id:token", "item_id": "item_id:token", "timestamp": "timestamp:float"}
    frame = made.frame().select(list(names)).rename(names)
    frame.write_csv(folder / "log" / "log.inter", separator="\t")


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


NETWORKS = (ra.models.SASRec, ra.models.GRU, ra.models.NARM, ra.models.BERT4Rec)
LOSSES = ("softmax", "sampled", "gbce", "binary")
TABLES = {
    "Amazon Beauty": "amazon-beauty-bert4rec/sequences.parquet",
    "MovieLens 1M": "ml-1m/sequences_items5.parquet",
}
LARGE, SMALL = {"users": 10_000, "items": 20_000, "events": 100_000}, {"users": 300, "items": 500, "events": 9_000}


class SpentError(Exception):
    """The processor seconds of a training are spent."""


def best_so_far(text: str) -> float:
    """Return the best HR@10 on validation from the line about an epoch."""
    return float(text.split("best ")[1].split(maxsplit=1)[0])


def after(model: object, fold: ra.Fold, seconds: float) -> tuple[int, float, float]:
    """Epochs, processor seconds an epoch, and HR@10 on validation, of a training of so many processor seconds."""
    best, spent = [0.0], [time.process_time()]

    def listener(text: str, *_: int) -> None:
        spent.append(time.process_time())
        best.append(best_so_far(text))
        if spent[-1] - spent[0] >= seconds:
            raise SpentError

    with contextlib.suppress(SpentError):
        model.fit(fold.train, training=Training(fold.validation, listener=listener))
    epochs = len(spent) - 1
    each = sorted(end - start for start, end in itertools.pairwise(spent))
    return epochs, each[epochs // 2], best[-1]


def read_log(name: str, folder: str) -> ra.Interactions:
    """Return one of the logs in TABLES, in the order of its positions."""
    frame = pl.read_parquet(Path(folder) / TABLES[name])
    return ra.Interactions.from_frame(frame.select(user_id="user", item_id="item", timestamp="pos"))


def losses(data: str | None, seconds: float, quick: bool, words: list[str]) -> None:
    """Compare the losses of each network after equal processor seconds."""
    if data:
        logs = {name: read_log(name, data) for name in TABLES}
    else:
        logs = {"generated": log(**(SMALL if quick else LARGE), seed=1)}
    lines = [
        "## Losses", "",
        f"`python bench/training.py --losses`: each network with its defaults but for the loss, for {seconds:.0f} "
        "processor seconds on one machine; an epoch includes the full ranking of at most 5,000 users of the validation "
        "part.", "",
        "| data | network | loss | epochs | processor s an epoch | targets a second | HR@10 |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]  # fmt: skip
    for name, made in logs.items():
        fold = ra.split.last(n=1, validation=1)(made)[0]
        for model, loss in itertools.product(NETWORKS, LOSSES):
            if not set(words) <= {name, model.name, loss}:
                continue
            network = model(loss=loss)
            windows = network.windows_of(Histories.of(fold.train))
            lengths = np.tile(windows.lengths, network.passes)
            targets = int(network.n_targets(lengths, np.arange(lengths.size) // len(windows)).sum())
            epochs, each, hit = after(network, fold, seconds)
            size = f"{name}, {made.n_items:,} items"
            row = (size, network.name, loss, epochs, f"{each:.1f}", f"{targets / each:,.0f}", f"{hit:.4f}")
            lines.append(f"| {' | '.join(map(str, row))} |")
            print(lines[-1], flush=True)
    if not quick and not words:
        write_section("Losses", "\n".join([*lines, ""]))


@contextlib.contextmanager
def in_bfloat16(model: type[Neural]) -> Iterator[None]:
    """Let the products of a network's layers take numbers of 16 bits, as PyTorch's autocast chooses them."""
    import torch

    exact = model.states

    def states(*values: Any) -> Any:
        with torch.autocast("cpu", torch.bfloat16):
            found = exact(*values)
        return found.float()

    model.states = states  # type: ignore[method-assign]
    yield
    model.states = exact  # type: ignore[method-assign]


def epochs(data: str) -> None:
    """Time epochs of two networks with their defaults on Amazon Beauty; the first is not counted."""
    made = read_log("Amazon Beauty", data)
    fold = ra.split.last(n=1, validation=1)(made)[0]
    lines = [
        "## Epochs on a large catalogue", "",
        f"`python bench/training.py --epochs --data DIR`: Amazon Beauty, {made.n_users:,} users and {made.n_items:,} "
        f"items, all defaults, {os.cpu_count()} cores; an epoch ends with a ranking of all items for 5,000 "
        "users of the validation part. Medians of the epochs after the first; HR@10 on validation after the last. "
        "bfloat16 is a trial: the products of the layers in it, by PyTorch's autocast, and the rest in float32.", "",
        "| model | numbers | epochs | s an epoch | processor s | HR@10 |",
        "| --- | --- | ---: | ---: | ---: | ---: |",
    ]  # fmt: skip
    ways = (("float32", lambda _: contextlib.nullcontext()), ("bfloat16", in_bfloat16))
    for (model, count), (numbers, way) in itertools.product(((ra.models.SASRec, 4), (ra.models.BERT4Rec, 3)), ways):
        ends, hits = [(time.perf_counter(), time.process_time())], []

        def listener(text: str, *_: object, ends: Any = ends, hits: Any = hits) -> None:
            ends.append((time.perf_counter(), time.process_time()))
            hits.append(best_so_far(text))

        with way(model):
            model(epochs=count).fit(fold.train, training=Training(fold.validation, listener=listener))
        spent = np.median(np.diff(ends, axis=0)[1:], axis=0)
        lines.append(f"| {model.name} | {numbers} | {count - 1} | {spent[0]:.1f} | {spent[1]:.1f} | {hits[-1]:.4f} |")
        print(lines[-1], flush=True)
    write_section("Epochs on a large catalogue", "\n".join([*lines, ""]))


def beside_recbole(quick: bool) -> None:
    """Compare training and full ranking with those of RecBole, as long as RecBole takes."""
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
        write_for_recbole(made, folder)
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", metavar="ROW", help="a log, network or loss, for --losses")
    parser.add_argument("--losses", action="store_true")
    parser.add_argument("--epochs", action="store_true")
    parser.add_argument("--data", help="the folder with the logs")
    parser.add_argument("--seconds", type=float, default=120.0, help="processor seconds of each row of --losses")
    parser.add_argument("--quick", action="store_true", help="a short trial that writes no section")
    options = parser.parse_args()
    if options.epochs and not options.data:
        parser.error("--epochs needs --data DIR")
    if options.losses:
        losses(options.data, 5.0 if options.quick else options.seconds, options.quick, options.words)
    elif options.epochs:
        epochs(options.data)
    else:
        beside_recbole(options.quick)


if __name__ == "__main__":
    main()
