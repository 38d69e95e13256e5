"""Write the numbers that every command prints today, and compare them with those of an earlier version of the code.

    python .ci/freeze.py FOLDER                   write a JSON file for each command
    python .ci/freeze.py FOLDER --against OLD     and print what differs by more than 1e-9; status 1 if anything does

Inputs are generated: the demo's log and runs, and the quick versions of all studies and papers. For changes of the code
that are to move no result.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
TOLERANCE = 1e-9
METRICS = "ndcg@10 ndcg(gain='exp2')@10 recall@10 precision@5 hit@1 map mrr auc(targets=1000) rprec err@10 rbp"
TRAIN, TRUTH = "demo/train.parquet", "demo/truth.parquet"
ITEMS = ["--items", "demo/items.parquet"]
SCORE = ["score", TRUTH, "demo/runs", "--json"]
COMMANDS: dict[str, list[str]] = {
    "demo": ["demo", "-o", "demo", "--json"],
    "stats": ["stats", "demo/log.csv", "--json"],
    "score": [*SCORE, "-m", METRICS],
    "score-beyond": [*SCORE, "-m", "epc@10 epd@10 efd@10 coverage@10 gini@10 arp@10 aplt@10", "--train", TRAIN, *ITEMS],
    "score-ties": [*SCORE, "-m", "ndcg@10 mrr hit@3", "--ties", "expected", "--interval", "normal"],
    "score-known": [*SCORE, "-m", "ndcg@10", "--users", "known", "--train", TRAIN],
    "score-memory": [*SCORE, "-m", METRICS, "--memory", "8GB"],
    "score-folder": [*SCORE, "-m", METRICS, "-o", "scores"],
    "compare": ["compare", "scores", "--json"],
    "check": ["check", "scores", "--json"],
    "split": ["split", "demo/log.csv", "--split", "k_folds(k=2)", "-o", "folds", "--json"],
    "split-sequences": ["split", "demo/log.csv", "--split", "latest_sequences(test=0.2)", "-o", "sequences", "--json"],
    "list": ["list", "--json"],
    "watch": ["watch", "--simulate", "days=2", "--until", "hit@10: new > old", "--once", "--json", "-o", "watched"],
}


def commands() -> Iterator[tuple[str, list[str]]]:
    """Yield a name and the words of each command."""
    yield from COMMANDS.items()
    for study in sorted((ROOT / "studies").glob("*.yaml")):
        yield f"study-{study.stem}", ["run", str(study), "--quick", "--json", "-o", f"studies/{study.stem}"]
    for paper in sorted((ROOT / "reproductions").glob("*.yaml")):
        yield f"paper-{paper.stem}", ["reproduce", str(paper), "--quick", "--json", "-o", f"papers/{paper.stem}"]


def write(folder: Path) -> None:
    """Run all commands in a folder that has none of their files yet, and write what each prints to ``NAME.json``."""
    folder.mkdir(parents=True)
    for name, words in commands():
        line = [sys.executable, "-m", "recassay", *words]
        done = subprocess.run(line, cwd=folder, check=False, capture_output=True, text=True, env=os.environ)
        print(f"{name}: status {done.returncode}", flush=True)
        (folder / f"{name}.json").write_text(done.stdout if done.returncode in (0, 1) else json.dumps(done.stderr))


def differences(before: Any, after: Any, place: str = "") -> Iterator[str]:
    """Yield a line for each value of two JSON documents that differs, numbers by more than the tolerance."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in {**before, **after}:
            yield from differences(before.get(key), after.get(key), f"{place}.{key}")
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for number, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from differences(one, other, f"{place}[{number}]")
    elif isinstance(before, int | float) and isinstance(after, int | float):
        if not math.isclose(before, after, rel_tol=TOLERANCE, abs_tol=TOLERANCE) and "second" not in place:
            yield f"{place}: {before!r} -> {after!r}"
    elif before != after:
        yield f"{place}: {before!r:.80} -> {after!r:.80}"


def main() -> int:
    """Write the numbers, and compare them with ``--against OLD``."""
    folder = Path(sys.argv[1]).resolve()
    if not folder.exists():
        write(folder)
    if "--against" not in sys.argv:
        return 0
    old, lines = Path(sys.argv[sys.argv.index("--against") + 1]), []
    for name, _ in commands():
        before, after = (json.loads((home / f"{name}.json").read_text()) for home in (old, folder))
        lines += [f"{name}{line}" for line in differences(before, after)]
    print("\n".join(lines) or "no number differs")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
