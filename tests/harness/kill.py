"""``make kill``: studies that are killed at random moments, twice started, or out of disk; then run to their end.

The outputs must have the bits of a study that nobody disturbed. Networks are trained too where PyTorch is installed.
With ``ENGINE=spark`` the disturbed studies use Spark, which starts slowly: give it minutes. They are only killed, since
a limit on files would hit Java, and must have the bits of a study on this machine.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import importlib.util
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO

from .flip import STUDIES, outputs

LONGEST = 300  # seconds until a study counts as one that hangs
SOON = 60  # seconds that Java may go on
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
NETWORKS = """study: networks
data: {generate: "log(users=60, items=40, events=900)"}
split: last(n=1)
protocol: next_item()
models: {gru: "GRU(dim=8, hidden=8, epochs=6)", sasrec: "SASRec(dim=8, epochs=6)"}
metrics: [recall@5]
judge: {interval: normal}
"""
KNOWN = STUDIES | ({"networks": NETWORKS} if importlib.util.find_spec("torch") else {})
STUDY = """
import os, resource, sys, threading, time
import recassay as ra
from recassay.errors import RecassayError
_, study, out, engine, seconds, number, blocks = sys.argv
ra.parse_metric("recall@5"), __import__("recassay.study.run.study")
if int(blocks):
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(blocks), int(blocks)))
    __import__("signal").signal(__import__("signal").SIGXFSZ, __import__("signal").SIG_IGN)
if float(seconds):
    end = lambda: (time.sleep(float(seconds)), os.kill(os.getpid(), int(number)))
    threading.Thread(target=end, daemon=True).start()
try:
    ra.run_study(study, out, wait=True, engine=engine)
except RecassayError as error:
    print(error.code)
    sys.exit(2)
"""


def run(
    study: Path, out: Path, engine: str = "local", seconds: float = 0.0, number: int = 0, blocks: int = 0
) -> subprocess.Popen[str]:
    """Start a study that sends itself the signal ``number`` after some seconds, or whose files have few bytes."""
    arguments = [sys.executable, "-c", STUDY, str(study), str(out), engine, str(seconds), str(number), str(blocks)]
    out_file, err_file = (tempfile.TemporaryFile("w+") for _ in range(2))  # noqa: SIM115 (read when it has ended)
    # No pipes: a process left behind would keep them open.
    process = subprocess.Popen(arguments, text=True, start_new_session=True, stdout=out_file, stderr=err_file)
    process.stdout, process.stderr = out_file, err_file
    return process


def ended(process: subprocess.Popen[str]) -> str:
    """Return how a process ended: "done", "killed", a code, or the last line of what it raised.

    What it started, such as Java, must end soon after it; what is left is killed.
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


def main() -> int:
    """Disturb for a while, and print what happened."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seconds", type=float, default=60)
    options.add_argument("--seed", type=int, default=None)
    options.add_argument("--engine", choices=("local", "spark"), default="local")
    options.add_argument("--studies", default=" ".join(KNOWN), help="names of studies, separated by blanks")
    given = options.parse_args()
    seed = random.SystemRandom().randrange(1 << 32) if given.seed is None else given.seed
    print(f"kill: seed {seed}, {given.seconds:g} s; again: make kill SEED={seed}", flush=True)
    rng, counts, faults = random.Random(seed), collections.Counter[str](), list[str]()
    until = time.time() + given.seconds
    with tempfile.TemporaryDirectory(prefix="recassay-kill-") as place:
        home, sound, number = Path(place), dict[str, dict[str, bytes]](), 0
        took: dict[str, float] = {}
        names = given.studies.split()
        for name in names:
            (home / f"{name}.yaml").write_text(KNOWN[name])
        while time.time() < until:
            number += 1
            name = rng.choice(names)
            study, out = home / f"{name}.yaml", home / f"{name}-{number}"
            if name not in sound:
                began = time.time()
                said = ended(run(study, home / name))
                sound[name], took[name] = outputs(home / name), time.time() - began
                if said != "done":
                    faults.append(f"{name}: {said}")
            how = rng.choice(("kill", "kill", "kill", "two", "full")) if given.engine == "local" else "kill"
            if how == "kill":
                for _ in range(rng.choice((1, 1, 2))):
                    after = rng.uniform(0, 0.6 * took[name]) if given.engine == "local" else rng.uniform(0, 20)
                    said = ended(run(study, out, given.engine, after, rng.choice(SIGNALS)))
                    counts[f"kill: {said}"] += 1
            elif how == "two":
                both = [run(study, out) for _ in range(2)]
                counts.update(f"two at once: {ended(one)}" for one in both)
            else:
                said = ended(run(study, out, blocks=rng.randrange(1, 20_000)))
                counts[f"full: {said}"] += 1
            said = ended(run(study, out, given.engine))
            same = said == "done" and outputs(out) == sound[name]
            counts[f"{name}: {how}, then to the end: {'same bits' if same else 'FAULT'}"] += 1
            if not same:
                theirs = outputs(out) if out.is_dir() else {}
                differ = sorted(
                    path for path in theirs.keys() | sound[name].keys() if theirs.get(path) != sound[name].get(path)
                )
                faults.append(f"{name} after {how} ({said}): {', '.join(differ[:5])}")
    faults += [what for what in counts if "FAULT" in what and "to the end" not in what]
    for what, count in sorted(counts.items()):
        print(f"{count:9,}  {what}")
    print(f"{number:9,}  disturbed studies, {len(faults):,} faults")
    print("\n".join(faults[:20]))
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
