"""Minutes of training until a network reaches 0.9 of its published value, and what RecBole's takes on the same log.

    python bench/reach.py --data DIR [--minutes 60] [--peer-minutes 5] [WORD ...]

The values are those of Dallmann, Zoller and Hotho, RecSys 2021, table 3: HR@10 among all items, on the two logs of
``bench/training.py``. They are a mark and no comparison: validation leaves out the items that a user has had. The
networks have their defaults, the same on both logs. They stop at the first epoch whose validation part has the value,
which is ranked in full for at most 5,000 users. RecBole makes an example of every prefix of a history; of it the
examples learnt in the first minutes are measured, and how long an epoch takes at that rate. It runs in an environment
of its own (``python tests/agreement/record.py recbole`` makes it), with batches of 1,024. Words choose rows, by network
and log. Writes its section of bench/RESULTS.md if all rows were made.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import recassay as ra
from recassay.models.base.capabilities import Training
from tools import write_section
from training import HERE, NETWORKS, PYTHON, TABLES, SpentError, best_so_far, read_log, write_for_recbole

SHARE = 0.9
PUBLISHED = {
    "MovieLens 1M": {"GRU": 0.224, "NARM": 0.202, "SASRec": 0.185, "BERT4Rec": 0.160},
    "Amazon Beauty": {"GRU": 0.031, "NARM": 0.033, "SASRec": 0.036, "BERT4Rec": 0.027},
}
PEERS = {"GRU": "GRU4Rec", "NARM": "NARM", "SASRec": "SASRec"}  # RecBole's BERT4Rec needs other settings
BATCH, DIM, LENGTH = 1_024, 64, 50


def reached(model: Any, fold: ra.Fold, goal: float, minutes: float) -> tuple[float, int, float]:
    """Return the minutes and epochs until the validation part has ``goal`` or time is over, and the value then."""
    begin, best, epochs = time.perf_counter(), 0.0, 0

    def listener(text: str, *_: int) -> None:
        nonlocal best, epochs
        best, epochs = best_so_far(text), epochs + 1
        if best >= goal or time.perf_counter() - begin >= 60 * minutes:
            raise SpentError

    with contextlib.suppress(SpentError):
        model.fit(fold.train, training=Training(fold.validation, listener=listener))
    return (time.perf_counter() - begin) / 60, epochs, best


def rate_of_recbole(folder: Path, model: str, minutes: float) -> tuple[float, float]:
    """Return the targets that RecBole learns in a second, and the minutes that its epoch takes at this rate."""
    command = [PYTHON, HERE / "peers" / "train_recbole.py", folder, model, BATCH, DIM, LENGTH, 1, 60 * minutes]
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=True, cwd=folder)
    found = json.loads(done.stdout.splitlines()[-1])
    rate = found["learnt"] / found["seconds"]
    return rate, found["targets"] / rate / 60


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("words", nargs="*", help="words that the network and log of a row hold")
    parser.add_argument("--data", required=True)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--peer-minutes", type=float, default=5.0)
    options = parser.parse_args()
    lines = [
        "## Minutes to published values", "",
        f"`python bench/reach.py --data DIR`: training until HR@10 of the validation part is {SHARE} of the published "
        "value (Dallmann, Zoller and Hotho 2021, table 3), with the defaults, the same on both logs. The value is a "
        "mark and no comparison: it is among all items, and validation leaves out those that the user has had. "
        f"Training ends after {options.minutes:.0f} minutes; {os.cpu_count()} cores. RecBole is measured for "
        f"{options.peer_minutes:.0f} minutes, with vectors of {DIM} numbers, histories of {LENGTH} and batches of "
        f"{BATCH:,}; the last column is what one of its epochs takes at that rate.", "",
        "| log | network | wanted | HR@10 | epochs | minutes | RecBole: targets a second | minutes an epoch |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]  # fmt: skip
    for log in reversed(TABLES):
        made = read_log(log, options.data)
        fold = ra.split.last(n=1, validation=1)(made)[0]
        with tempfile.TemporaryDirectory() as name:
            write_for_recbole(made, Path(name))
            for network in NETWORKS:
                row = f"{log} {network.name}"
                if not all(word.lower() in row.lower() for word in options.words):
                    continue
                goal = SHARE * PUBLISHED[log][network.__name__]
                minutes, epochs, best = reached(network(), fold, goal, options.minutes)
                cells = [log, network.name, f"{goal:.4f}", f"{best:.4f}", str(epochs), f"{minutes:.1f}"]
                peer = PEERS.get(network.__name__)
                if peer and options.peer_minutes:
                    rate, epoch = rate_of_recbole(Path(name), peer, options.peer_minutes)
                    cells += [f"{rate:,.0f}", f"{epoch:,.0f}"]
                lines.append(f"| {' | '.join(cells + [''] * (8 - len(cells)))} |")
                print(lines[-1], flush=True)
    if not options.words:
        write_section("Minutes to published values", "\n".join([*lines, ""]))


if __name__ == "__main__":
    main()
