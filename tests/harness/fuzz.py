"""``make fuzz``: hostile inputs for as long as it is told, in a process of their own that may abort or hang.

Each fault is made small and stored in ``regressions``; the exit status is 1 if there is any.
"""

from __future__ import annotations

import argparse
import collections
import hashlib
import multiprocessing
import os
import random
import resource
import signal
import sys
import tempfile
import time
from multiprocessing.connection import Connection
from pathlib import Path

from .cases import Case, make, prepare, run

LONGEST = 10.0  # seconds of a processor that an input may take
PATIENCE = 60.0  # seconds by the clock, on a busy machine, until an input counts as a hang
FIRST = 120.0  # for the first input of a process, which imports and compiles
MEMORY = 4 << 30  # bytes that a process may hold
STORED = Path(__file__).parent / "regressions"
MOST_STORED = 20


def work(pipe: Connection, seed: int, first: int, step: int, until: float) -> None:
    """Run inputs one after another, and say before each which one it is."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # what Polars prints when it panics
    with tempfile.TemporaryDirectory(prefix="recassay-fuzz-") as place:
        folder = Path(place)
        prepare(folder)
        number = first
        while time.time() < until:
            pipe.send((number, None, None, 0))
            case = make(number, seed)
            began = time.process_time()
            outcome = run(case, folder)
            if (took := time.process_time() - began) > LONGEST:
                outcome = f"FAULT slow {took:.0f} s of a processor"
            pipe.send((number, case[0], outcome, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10))
            number += step
    pipe.send((number, None, "END", 0))


def replay(pipe: Connection, case: Case) -> None:
    """Run one input, and send how it ended."""
    with tempfile.TemporaryDirectory(prefix="recassay-fuzz-") as place:
        prepare(Path(place))
        pipe.send(run(case, Path(place)))


def attack(seed: int, seconds: float, first: int = 0) -> tuple[collections.Counter[str], list[tuple[Case, str]], int]:
    """Return how many inputs of each class ended how, the faults, and the largest memory."""
    context = multiprocessing.get_context("spawn")
    counts: collections.Counter[str] = collections.Counter()
    faults: list[tuple[Case, str]] = []
    until, number, peak = time.time() + seconds, first, 0
    while time.time() < until:
        ours, theirs = context.Pipe()
        process = context.Process(target=work, args=(theirs, seed, number, 1, until), daemon=True)
        process.start()
        theirs.close()
        patience = FIRST
        while True:
            try:
                if not ours.poll(patience):
                    outcome = f"FAULT hang of more than {patience:.0f} s"
                    os.kill(process.pid or 0, signal.SIGKILL)
                    break
                number, kind, outcome, held = ours.recv()
            except (EOFError, OSError):
                process.join()
                outcome = f"FAULT abort with status {process.exitcode}"
                break
            if outcome == "END":
                break
            if outcome is not None:
                patience = PATIENCE
                peak = max(peak, held)
                counts[f"{kind.partition(':')[0]} {_short(outcome)}"] += 1
                if outcome.startswith("FAULT"):
                    faults.append((make(number, seed), outcome))
        process.join(5)
        ours.close()
        if outcome != "END":
            case = make(number, seed)
            counts[f"{case[0].partition(':')[0]} {_short(outcome)}"] += 1
            faults.append((case, outcome))
            number += 1
    return counts, faults, peak


def _short(outcome: str) -> str:
    return outcome if outcome.startswith("FAULT") else "ok" if outcome in ("ok", "exit 0", "exit 1") else "refused"


def minimised(case: Case, outcome: str, seconds: float = 5.0) -> Case:
    """Return a smaller input with the same fault; an abort or a hang is stored as it is."""
    if any(word in outcome for word in ("abort", "hang", "slow")):
        return case
    fault, until, size = outcome.split("'", maxsplit=1)[0], time.time() + seconds, max(len(case[1]) // 2, 1)
    kind, data = case
    with tempfile.TemporaryDirectory(prefix="recassay-fuzz-") as place:
        prepare(Path(place))
        while size and time.time() < until:
            for begin in range(0, len(data), size):
                shorter = data[:begin] + data[begin + size :]
                if run((kind, shorter), Path(place)).startswith(fault):
                    data = shorter
                    break
            else:
                size //= 2
    return kind, data


def store(case: Case) -> Path:
    """Write an input into the regressions."""
    kind, data = case
    name, _, suffix = kind.partition(":")
    path = STORED / f"{name}-{hashlib.blake2b(data, digest_size=6).hexdigest()}{suffix}"
    STORED.mkdir(exist_ok=True)
    path.write_bytes(data)
    return path


def main() -> int:
    """Attack for a while, and print what happened."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seconds", type=float, default=60)
    options.add_argument("--seed", type=int, default=None)
    options.add_argument("--store", action="store_true", help="store what is found in tests/harness/regressions")
    given = options.parse_args()
    seed = random.SystemRandom().randrange(1 << 32) if given.seed is None else given.seed
    print(f"fuzz: seed {seed}, {given.seconds:g} s; again: make fuzz SEED={seed}", flush=True)
    counts, faults, peak = attack(seed, given.seconds)
    for what, count in sorted(counts.items()):
        print(f"{count:9,}  {what}")
    print(f"{sum(counts.values()):9,}  inputs, {len(faults):,} faults, peak memory {peak / 2**30:.2f} GB")
    kinds: dict[str, tuple[Case, str]] = {}
    for case, outcome in faults:
        kinds.setdefault(f"{case[0].partition(':')[0]} {' '.join(outcome.split()[:3])}", (case, outcome))
    for case, outcome in list(kinds.values())[:MOST_STORED]:
        small = minimised(case, outcome)
        print(f"{outcome}\n    {small[0]} {small[1][:200]!r}")
        if given.store:
            print(f"    stored as {store(small)}")
    return int(bool(faults) or peak > MEMORY)


if __name__ == "__main__":
    sys.exit(main())
