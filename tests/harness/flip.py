"""``make flip``: bits flipped in results folders and states of a watch. No output may change without a word.

A study is run once, and a watch reads the first part of its events. Then a copy of its folder gets one flipped bit,
which changes neither the size nor the times of the file. The study runs again, or the folder is read, or checked for
changes, or the watch goes on, for a given time. Either every output has the bits of the first run, or an error with a
code names a file. No process may abort.
"""

from __future__ import annotations

import argparse
import collections
import multiprocessing
import os
import random
import shutil
import sys
import tempfile
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from recassay.errors import RecassayError

from .cases import fault

STUDIES = {
    "ranking": """study: ranking
data: {generate: "log(users=40, items=30, events=600)"}
split: random(test=0.3)
models: {pop: Popular, svd: "PureSVD(factors=4)"}
metrics: [recall@5]
designs: [lists, AI-AR-AN]
judge: {interval: normal}
""",
    "stream": """study: stream
data: {generate: "log(users=60, items=40, events=500)"}
protocol: prequential(at=5)
models: [StreamPopular, StreamRandom]
metrics: [recall@5]
judge: {interval: normal}
""",
    "sequence": """study: sequence
data: {generate: "log(users=60, items=40, events=600)", sequences: sessions(gap=3600)}
split: random_sequences(test=0.3)
protocol: sequence(k=3)
models: [Unigram, MostPopular]
metrics: [seq_precision@3]
judge: {interval: normal}
""",
}
MEMORY_FOLDER = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # a disk would be the slowest part
NOT_COMPARED = ("cache", "times.json", "report.html", "manifest.jsonl")  # they hold times, or checksums of these


def outputs(folder: Path) -> dict[str, bytes]:
    """Return the outputs that are the same on every run."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.relative_to(folder).parts[0] not in NOT_COMPARED
    }


def read_all(folder: Path) -> str:
    """Return all that commands make of a folder: its tables and its comparisons."""
    import recassay as ra
    from recassay.report.folder.results import read_results, tables

    scores = ra.read_scores(folder)
    return tables(read_results(folder), "csv") + str(ra.decide(scores, resamples=50).to_dict())


def watch(folder: Path, exposures: int) -> str:
    """Go on with the watch of a folder up to a number of exposures, and return all its numbers."""
    import recassay as ra

    events: list[dict[str, Any]] = []
    for n in range(exposures):
        shown = {"user_id": f"u{n % 7}", "items": ["a", "b", "c"], "arm": "xy"[n % 7 % 2]}
        events.append({"request_id": str(n), "time": 600 * n, **shown})
        if n % 3 == 0:
            events.append({"request_id": str(n), "time": 600 * n + 5, "item_id": "abc"[n % 5 % 3]})
    times: dict[str, Any] = {"lateness": "1h", "idle": "1h", "user_window": "2h"}
    found = ra.watch(events, "hit@1, ndcg@5", output=folder, finish=False, **times).to_dict()
    return str({name: value for name, value in found.items() if name not in ("now", "lag", "commits")})


def flip(folder: Path, rng: random.Random, names: str = "*") -> str:
    """Flip one bit of a file of a folder with one of these names, and return where."""
    files = [path for path in sorted(folder.rglob(names)) if path.is_file() and path.stat().st_size]
    path = rng.choice(files)
    data = bytearray(path.read_bytes())
    bit = rng.randrange(8 * len(data))
    data[bit // 8] ^= 1 << bit % 8
    times = path.stat()
    path.write_bytes(data)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    return f"{path.relative_to(folder).as_posix()} bit {bit}"


def work(pipe: Connection, seed: int, seconds: float, first: int) -> None:
    """Flip bits for some seconds, once the studies have run, and send what came of each."""
    import recassay as ra
    from recassay.study.store import results as stored

    with tempfile.TemporaryDirectory(prefix="recassay-flip-", dir=MEMORY_FOLDER) as place:
        home = Path(place)
        sound: dict[str, tuple[dict[str, bytes], str, dict[str, Any]]] = {}
        for name, text in STUDIES.items():
            (home / f"{name}.yaml").write_text(text)
            document = ra.run_study(home / f"{name}.yaml", home / name).document()
            sound[name] = outputs(home / name), read_all(home / name), document
        watch(home / "watch", 300)
        shutil.copytree(home / "watch", home / "copy")
        gone_on = watch(home / "copy", 400)
        number, until = first, time.time() + seconds
        while time.time() < until:
            rng = random.Random(f"{seed} {number}")
            name, how = rng.choice(list(STUDIES)), rng.choice(("run", "read", "answer", "state"))
            name = "watch" if how == "state" else name
            copy = home / "copy"
            shutil.rmtree(copy, ignore_errors=True)
            shutil.copytree(home / name, copy)
            where = flip(copy, rng, "state.sqlite" if how == "state" else "*")
            pipe.send((number, f"{name} {how} {where}", None))
            try:
                if how == "state":
                    same = watch(copy, 400) == gone_on
                elif how == "run":
                    ra.run_study(home / f"{name}.yaml", copy)
                    same = outputs(copy) == sound[name][0]
                elif how == "read":
                    same = read_all(copy) == sound[name][1]
                else:
                    wanted = stored.request(home / f"{name}.yaml", data=None, quick=False, values=None)
                    found = stored.stored_results(copy, wanted)
                    same = found is None or found.document() == sound[name][2]
                outcome = "same bits" if same else "FAULT other outputs"
            except RecassayError as error:
                outcome = f"refused {error.code}"
            except BaseException as error:
                outcome = fault(error)
            pipe.send((number, f"{name} {how} {where}", outcome))
            number += 1
    pipe.send((number, "", "END"))


def attack(seed: int, seconds: float) -> tuple[collections.Counter[str], list[str]]:
    """Return how many flips ended how, and the faults."""
    context = multiprocessing.get_context("spawn")
    counts: collections.Counter[str] = collections.Counter()
    faults: list[str] = []
    number, where, outcome = 0, "", None
    while outcome != "END":
        ours, theirs = context.Pipe()
        process = context.Process(target=work, args=(theirs, seed, seconds, number), daemon=True)
        process.start()
        theirs.close()
        while outcome != "END":
            try:
                number, where, outcome = ours.recv()
            except EOFError:
                process.join()
                outcome = f"FAULT abort with status {process.exitcode}"
            if outcome not in (None, "END"):
                counts[" ".join([where.split(" ")[1] if where else "", outcome])] += 1
                if outcome.startswith("FAULT"):
                    faults.append(f"{where}: {outcome}")
                if not where:
                    raise RuntimeError("the studies do not run: see the error above")
                if "abort" in outcome:
                    number += 1
                    break
        ours.close()
    return counts, faults


def main() -> int:
    """Flip for a while, and print what happened."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seconds", type=float, default=60)
    options.add_argument("--seed", type=int, default=None)
    given = options.parse_args()
    seed = random.SystemRandom().randrange(1 << 32) if given.seed is None else given.seed
    print(f"flip: seed {seed}, {given.seconds:g} s; again: make flip SEED={seed}", flush=True)
    counts, faults = attack(seed, given.seconds)
    for what, count in sorted(counts.items()):
        print(f"{count:9,}  {what}")
    print(f"{sum(counts.values()):9,}  flips, {len(faults):,} faults")
    print("\n".join(faults[:20]))
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
