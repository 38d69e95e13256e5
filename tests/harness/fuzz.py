"""``make fuzz``: hostile inputs for a given time, in a process of their own that may abort or hang.

Each fault is made small and stored in ``regressions``; the exit status is 1 if there is any.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
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
from .corpus import TABLE
from .flip import MEMORY_FOLDER
from .structures import NAMES

LONGEST = 10.0  # seconds of a processor that an input may take
PATIENCE = 60.0  # seconds in which a process could run, until an input counts as a hang
FIRST = 600.0  # for the first input of a process, which imports, and compiles or waits for another that does
MEMORY = 4 << 30  # bytes that a process may hold
# Inputs that are not timed: they compile the kernels of every use of a file, and those of a study.
WARM_UP: tuple[Case, ...] = (
    ("file:.csv", TABLE.write_csv().encode()),
    ("options", b"run study.yaml -o warm-up"),
    *(("structures", name) for name in NAMES),
)
STORED = Path(__file__).parent / "regressions"
MOST_STORED = 20


@dataclasses.dataclass
class Tally:
    """How many inputs of each class ended how, the processor seconds of the longest of each class, and the faults."""

    counts: collections.Counter[tuple[str, str]] = dataclasses.field(default_factory=collections.Counter)
    longest: dict[str, float] = dataclasses.field(default_factory=dict)
    faults: list[tuple[Case, str]] = dataclasses.field(default_factory=list)
    peak: int = 0  # bytes of the largest process

    def add(self, kind: str, outcome: str, took: float = 0.0, held: int = 0) -> None:
        """Count an input of a class."""
        name = kind.partition(":")[0]
        self.counts[name, _short(outcome)] += 1
        self.longest[name] = max(self.longest.get(name, 0.0), took)
        self.peak = max(self.peak, held)

    def add_fault(self, case: Case, outcome: str) -> None:
        """Keep an input that is a fault."""
        self.faults.append((case, outcome))

    def table(self) -> str:
        """Return a line for each class and how its inputs ended, with the longest time."""
        lines = [f"{count:9,}  {kind} {outcome}" for (kind, outcome), count in sorted(self.counts.items())]
        times = ", ".join(f"{kind} {took:.2f} s" for kind, took in sorted(self.longest.items()))
        total = f"{sum(self.counts.values()):9,}  inputs, {len(self.faults):,} faults"
        return "\n".join([*lines, f"{total}, peak memory {self.peak / 2**30:.2f} GB; longest: {times}"])


def work(pipe: Connection, seed: int, first: int, until: float) -> None:
    """Run inputs one after another, and send after each how it ended."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # what Polars prints when it panics
    with tempfile.TemporaryDirectory(prefix="recassay-fuzz-", dir=MEMORY_FOLDER) as place:
        folder = Path(place)
        prepare(folder)
        for case in WARM_UP:
            run(case, folder)
        number = first
        while time.time() < until:
            case = make(number, seed)
            began = time.process_time()
            outcome = run(case, folder)
            if (took := time.process_time() - began) > LONGEST:
                outcome = f"FAULT slow {took:.0f} s of a processor"
            pipe.send((case[0], outcome, took, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10))
            number += 1
    pipe.send(("", "END", 0.0, 0))


def attack(seed: int, seconds: float) -> Tally:
    """Return what became of the inputs of a seed that some seconds suffice for."""
    context = multiprocessing.get_context("spawn")
    tally, number, until = Tally(), 0, time.time() + seconds
    while time.time() < until:
        ours, theirs = context.Pipe()
        process = context.Process(target=work, args=(theirs, seed, number, until), daemon=True)
        process.start()
        theirs.close()
        patience = FIRST
        while True:
            try:
                if not _answers(ours, process.pid or 0, patience):
                    lost = f"FAULT hang of more than {patience:.0f} s"
                    os.kill(process.pid or 0, signal.SIGKILL)
                    break
                kind, outcome, took, held = ours.recv()
            except (EOFError, OSError):
                process.join()
                lost = f"FAULT abort with status {process.exitcode}"
                break
            if outcome == "END":
                lost = ""
                break
            patience = PATIENCE
            tally.add(kind, outcome, took, held)
            if outcome.startswith("FAULT"):
                tally.add_fault(make(number, seed), outcome)
            number += 1
        process.join(5)
        ours.close()
        if lost:  # the input that the process was at
            case = make(number, seed)
            tally.add(case[0], lost)
            tally.add_fault(case, lost)
            number += 1
    return tally


def _answers(pipe: Connection, pid: int, patience: float) -> bool:
    """Return whether a process sends something before it hangs.

    On a busy machine its threads wait for a processor, which is no hang, so that time does not count.
    """
    began = since = time.monotonic()
    before = waited = _waited(pid)
    while (since - began) - (waited - before) < patience:
        if pipe.poll(min(patience, 10)):
            return True
        since, waited = time.monotonic(), _waited(pid)
    return False


def _waited(pid: int) -> float:
    """Return the seconds that the thread of a process that waited longest has waited for a processor."""
    try:
        threads = [path.read_text().split() for path in Path(f"/proc/{pid}/task").glob("*/schedstat")]
    except OSError:  # a thread has ended, or this system does not say it
        return 0.0
    return max((int(words[1]) / 1e9 for words in threads), default=0.0)


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
    name, suffix, *_ = f"{kind}:".split(":")
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
    tally = attack(seed, given.seconds)
    print(tally.table())
    kinds: dict[str, tuple[Case, str]] = {}
    for case, outcome in tally.faults:
        kinds.setdefault(f"{case[0].partition(':')[0]} {' '.join(outcome.split()[:3])}", (case, outcome))
    for case, outcome in list(kinds.values())[:MOST_STORED]:
        small = minimised(case, outcome)
        print(f"{outcome}\n    {small[0]} {small[1][:200]!r}")
        if given.store:
            print(f"    stored as {store(small)}")
    return int(bool(tally.faults) or tally.peak > MEMORY)


if __name__ == "__main__":
    sys.exit(main())
