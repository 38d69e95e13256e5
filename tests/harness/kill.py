"""``make kill``: studies that are killed at random moments, twice started, or out of disk; then run to their end.

The outputs must have the bits of a study that nobody disturbed. Networks are trained too where PyTorch is installed.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import importlib
import importlib.util
import multiprocessing
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import IO, Any

import recassay as ra
from recassay.errors import RecassayError

from .flip import MEMORY_FOLDER, STUDIES, outputs

LONGEST = 300  # seconds until a study counts as one that hangs
SOON = 60  # seconds that a process of a study may go on
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
NETWORKS = """study: networks
data: {generate: "log(users=60, items=40, events=900)"}
split: last(n=1)
protocol: next_item()
models: {gru: "GRU(dim=8, hidden=8, epochs=3)", sasrec: "SASRec(dim=8, epochs=3)"}
metrics: [recall@5]
judge: {interval: normal}
"""
KNOWN = STUDIES | ({"networks": NETWORKS} if importlib.util.find_spec("torch") else {})
FRESH = 0.1  # share of the processes that are started anew; the others are forks of this one, which has imported all
AGAIN = "import sys; from tests.harness.kill import study; study(*sys.argv[1:4], *map(int, sys.argv[4:]))"


def study(path: str, out: str, after: str, number: int = 0, blocks: int = 0) -> None:
    """Run a study that sends itself the signal ``number`` after some seconds, or whose files have few bytes.

    The seconds are of a processor, so that a busy machine does not move the moment.
    """
    if blocks:
        resource.setrlimit(resource.RLIMIT_FSIZE, (blocks, blocks))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    until = time.process_time() + float(after)

    def end() -> None:
        while time.process_time() < until:
            time.sleep(min(0.002, float(after)))
        os.kill(os.getpid(), number)

    if number:
        threading.Thread(target=end, daemon=True).start()
    try:
        ra.run_study(path, out, wait=True)
    except RecassayError as error:
        print(error.code, flush=True)
        sys.exit(2)


class Fork:
    """A study in a fork of this process, with what :class:`subprocess.Popen` has.

    This process never runs a query, so no thread of Polars is lost in the fork.
    """

    def __init__(self, arguments: tuple[Any, ...], out: IO[str], err: IO[str]) -> None:
        self.stdout, self.stderr, self.returncode = out, err, 0
        self._process = multiprocessing.get_context("fork").Process(target=self._run, args=arguments)
        self._process.start()
        self.pid = self._process.pid or 0

    def _run(self, *arguments: Any) -> None:
        os.setsid()
        for file, number in ((self.stdout, 1), (self.stderr, 2)):
            os.dup2(file.fileno(), number)
        study(*arguments)

    def wait(self, timeout: float) -> None:
        """Wait for the end; raise TimeoutExpired if it does not come."""
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired("study", timeout)
        self.returncode = self._process.exitcode


Started = subprocess.Popen[str] | Fork


def run(
    path: Path,
    out: Path,
    after: float = 0.0,
    number: int = 0,
    blocks: int = 0,
    fresh: bool = True,
) -> Started:
    """Start :func:`study` in a process of its own, which is a fork unless it should be ``fresh``."""
    arguments = (str(path), str(out), str(after), int(number), blocks)
    out_file, err_file = (tempfile.TemporaryFile("w+") for _ in range(2))  # noqa: SIM115 (read when it has ended)
    if not fresh:
        return Fork(arguments, out_file, err_file)
    # No pipes: a process left behind would keep them open.
    process = subprocess.Popen(
        [sys.executable, "-c", AGAIN, *map(str, arguments)],
        text=True, start_new_session=True, stdout=out_file, stderr=err_file,
    )  # fmt: skip
    process.stdout, process.stderr = out_file, err_file
    return process


def ended(process: Started) -> str:
    """Return how a process ended: "done", "killed", a code, or the last line of what it raised.

    What it started must end soon after it; what is left is killed.
    """
    try:
        process.wait(timeout=LONGEST)
        if not _group_ends(process.pid):
            return f"FAULT left a process behind for {SOON} s"
    except subprocess.TimeoutExpired:
        return f"FAULT not ended after {LONGEST} s"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # the group of its own session
    out, err = (_text_of(file) for file in (process.stdout, process.stderr))
    if process.returncode == 0:
        return "done"
    if process.returncode == 2:
        return out.strip()
    if process.returncode < 0 or "KeyboardInterrupt" in err:
        return "killed"
    return "FAULT " + (err.strip().splitlines() or ["nothing said"])[-1][:120]


def _group_ends(group: int) -> bool:
    """Return whether every process of a group ends soon."""
    until = time.monotonic() + SOON
    while time.monotonic() < until:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.02)
    return False


def _text_of(file: IO[str] | None) -> str:
    assert file is not None
    with file:
        file.seek(0)
        return file.read()


class Attack:
    """Studies that are disturbed, the outputs they must have, and what came of them."""

    def __init__(self, home: Path, names: list[str], seed: int) -> None:
        self.home, self.names, self.rng = home, names, random.Random(seed)
        self.sound: dict[str, dict[str, bytes]] = {}
        self.took: dict[str, float] = {}  # processor seconds
        self.counts: collections.Counter[str] = collections.Counter()
        self.faults: list[str] = []
        self.number = 0
        for name in names:
            (home / f"{name}.yaml").write_text(KNOWN[name])

    def run(self, name: str, out: Path, **how: Any) -> str:
        """Run a study, and return how it ended."""
        return ended(run(self.home / f"{name}.yaml", out, fresh=self.rng.random() < FRESH, **how))

    def learn(self, name: str) -> None:
        """Store the outputs of an undisturbed study, and its time once the kernels are compiled."""
        for number in range(2):
            began, out = children_time(), self.home / f"{name}-sound-{number}"
            said = self.run(name, out)
            self.took[name] = children_time() - began
            if said != "done":
                raise RuntimeError(f"{name}: {said}")
            if self.sound.setdefault(name, outputs(out)) != outputs(out):
                self.faults.append(f"{name}: other outputs without a disturbance")

    def disturb(self) -> None:
        """Disturb a study, and run it to its end."""
        name, out = self.rng.choice(self.names), self.home / "disturbed"
        if name not in self.sound:
            self.learn(name)
        self.number += 1
        how = self.rng.choice(("kill", "kill", "kill", "two", "full"))
        if how == "kill":
            for _ in range(self.rng.choice((1, 1, 2, 4))):
                after = self.rng.uniform(0, self.took[name])
                said = self.run(name, out, after=after, number=self.rng.choice(SIGNALS))
                self.counts[f"{name} kill: {said}"] += 1
        elif how == "two":
            path = self.home / f"{name}.yaml"
            both = [run(path, out, fresh=self.rng.random() < FRESH) for _ in range(2)]
            self.counts.update(f"{name} two at once: {ended(one)}" for one in both)
        else:
            said = self.run(name, out, blocks=self.rng.randrange(1, 20_000))
            self.counts[f"{name} full: {said}"] += 1
        said = self.run(name, out)
        theirs = outputs(out) if out.is_dir() else {}
        same = said == "done" and theirs == self.sound[name]
        self.counts[f"{name} {how}, then to the end: {'same bits' if same else 'FAULT'}"] += 1
        if not same:
            paths = sorted(theirs.keys() | self.sound[name].keys())
            differ = [path for path in paths if theirs.get(path) != self.sound[name].get(path)]
            self.faults.append(f"{name} after {how} ({said}): {', '.join(differ[:5])}")
        shutil.rmtree(out, ignore_errors=True)


def children_time() -> float:
    """Return the processor seconds of processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> int:
    """Disturb for a while, and print what happened."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seconds", type=float, default=60)
    options.add_argument("--seed", type=int, default=None)
    options.add_argument("--studies", default=" ".join(KNOWN), help="names of studies, separated by blanks")
    given = options.parse_args()
    seed = random.SystemRandom().randrange(1 << 32) if given.seed is None else given.seed
    print(f"kill: seed {seed}, {given.seconds:g} s; again: make kill SEED={seed}", flush=True)
    until = time.time() + given.seconds
    for module in ("recassay.study.run.study", *(["torch"] if "networks" in given.studies else [])):
        importlib.import_module(module)  # once for all forks
    with tempfile.TemporaryDirectory(prefix="recassay-kill-", dir=MEMORY_FOLDER) as place:
        attack = Attack(Path(place), given.studies.split(), seed)
        while time.time() < until:
            attack.disturb()
    faults = attack.faults + [what for what in attack.counts if "FAULT" in what and "to the end" not in what]
    for what, count in sorted(attack.counts.items()):
        print(f"{count:9,}  {what}")
    kills = sum(count for what, count in attack.counts.items() if what.endswith(" kill: killed"))
    print(f"{attack.number:9,}  disturbed studies, {kills:,} kills, {len(faults):,} faults")
    print("\n".join(faults[:20]))
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
