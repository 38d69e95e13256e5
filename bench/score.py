"""Six metrics from Parquet files to values per user, beside the peers, in one run.

    python bench/score.py [--quick] [--skip-peers]

Writes its sections of bench/RESULTS.md. Every library runs in a process of its own, in turn, on the same files
(``bench/data``, generated). A warm-up on a small slice comes first, so compilation is not counted; it is measured by
itself further down. Times are medians.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import data
from tools import help_if_asked, machine, write_section

HERE = Path(__file__).resolve().parent
FILES = HERE / "data"
ENVIRONMENTS = HERE.parent / ".peers"
OURS, BOUND = "recassay", "hand-written loop"
METRICS = "ndcg@10 map mrr recall@10 precision@10 hit@10"


@dataclass(frozen=True)
class Peer:
    """A library, the script that runs it and the environment it runs in."""

    name: str
    script: str
    environment: str | None = None

    def python(self) -> str:
        if self.environment is None:
            return sys.executable
        folder = ENVIRONMENTS / f"bench-{self.environment}"
        python = folder / "bin" / "python"
        requirements = HERE / "requirements" / f"{self.environment}.txt"
        ready = folder / "ready.txt"
        if not ready.exists() or ready.read_text() != requirements.read_text():
            maker = shutil.which("python3.11") or sys.executable
            subprocess.run([maker, "-m", "venv", "--clear", str(folder)], check=True)
            alone = ["--no-deps"] if requirements.read_text().startswith("# without dependencies") else []
            install = [str(python), "-m", "pip", "install", "--quiet", *alone, "-r", str(requirements)]
            subprocess.run(install, check=True)
            ready.write_text(requirements.read_text())
        return str(python)


PEERS = (
    Peer(BOUND, "handwritten.py"),
    Peer(OURS, "with_recassay.py"),
    Peer("pytrec_eval", "with_pytrec_eval.py", "numpy2"),
    Peer("ranx", "with_ranx.py", "numpy2"),
    Peer("RePlay (polars)", "with_replay.py", "numpy2"),
    Peer("RecTools", "with_rectools.py", "rectools"),
)
ON_TEXTS = (*PEERS[1:], Peer("ir_measures", "with_ir_measures.py", "numpy2"))
# users x list length, and how often the quick and the slow libraries run
SIZES = (("a", 1_000_000, 10, 7, 1), ("b", 100_000, 100, 7, 1), ("c", 6_040, 100, 15, 3))


def main(arguments: list[str]) -> None:
    sizes = SIZES[-1:] if "--quick" in arguments else SIZES
    peers = PEERS[:2] if "--skip-peers" in arguments else PEERS
    sections: dict[str, Callable[[], str]] = {"Scoring files": header}
    for label, users, length, often, seldom in sizes:
        title = f"({label}) {users:,} users x {length}"
        sections[title] = partial(compared, data.make(FILES, users, length), often, seldom, peers)
    if "--quick" not in arguments:
        if "--skip-peers" not in arguments:
            files = data.make(FILES, 100_000, 100, strings=True, shuffled=True)
            sections["Shuffled rows with text ids"] = partial(compared, files, 5, 1, ON_TEXTS)
        sections |= {"Threads": kernels, "String ids": strings, "Growth": growth}
    sections["Whole processes"] = processes
    for title, make in sections.items():
        print(title, file=sys.stderr, flush=True)
        text = f"## {title}\n\n{make()}"
        if "--quick" in arguments or "--skip-peers" in arguments:
            print(text)
        else:
            write_section(title, text)


def header() -> str:
    return (
        "The sections up to *Whole processes* are written by `python bench/score.py` (`make bench`). Six metrics\n"
        "(nDCG@10, MAP, MRR, recall@10, precision@10, hit@10) with values per user kept, from Parquet files, sorted\n"
        "and with integer ids where nothing else is said, 50,000 items, 10 relevant items a user on average. Medians\n"
        f"of warm runs, each library in a process of its own. {machine()}.\n\n"
        "The hand-written loop is the bound: a loop for exactly these six metrics, that reads two columns of four\n"
        "and checks nothing."
    )


def measured(peer: Peer, run: Path, truth: Path, repeats: int) -> dict[str, Any]:
    print(f"  {peer.name} ...", file=sys.stderr, flush=True)
    command = [peer.python(), str(HERE / "peers" / peer.script), str(run), str(truth), str(repeats)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{peer.name} failed:\n{done.stderr[-2000:]}")
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    answer["total"] = statistics.median(sum(both) for both in zip(answer["load"], answer["compute"], strict=True))
    return answer


def compared(files: tuple[Path, Path], often: int, seldom: int, peers: tuple[Peer, ...]) -> str:
    run, truth = files
    answers = {}
    for peer in peers:
        answers[peer.name] = measured(peer, run, truth, often if peer.environment is None else seldom)
    ours = answers[OURS]
    lines = [
        "| library | version | load s | compute s | whole s | whole / recassay | peak MB |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name, answer in answers.items():
        load, compute = statistics.median(answer["load"]), statistics.median(answer["compute"])
        lines.append(
            f"| {name} | {answer['version']} | {load:.3g} | {compute:.3g} | {answer['total']:.3g} "
            f"| {answer['total'] / ours['total']:.2f} | {answer['peak'] / 1e6:,.0f} |"
        )
    size = (run.stat().st_size + truth.stat().st_size) / 1e6
    lines += ["", f"The two files hold {size:,.0f} MB. {agreement(answers)}"]
    return "\n".join(lines)


def agreement(answers: dict[str, Any]) -> str:
    """Whether the libraries mean the same: nDCG@10 and MAP of each."""
    ndcg = {name: next(v for k, v in a["means"].items() if k.startswith("ndcg")) for name, a in answers.items()}
    shown = ", ".join(f"{name} {value:.6f}" for name, value in ndcg.items())
    return f"nDCG@10: {shown}."


def kernels() -> str:
    """Scoring runs that are laid out already on 1, 2 and 4 threads, against the hand-written loop."""
    script = (
        "import sys, time, statistics, recassay as ra\n"
        "run, truth = ra.read_run(sys.argv[1]), ra.read_truth(sys.argv[2])\n"
        "for threads in (1, 2, 4):\n"
        "    times = []\n"
        "    for _ in range(9):\n"
        "        start = time.perf_counter()\n"
        f"        ra.score(run, truth, '{METRICS}', interval=None, execution=ra.options.Execution(threads=threads))\n"
        "        times.append(time.perf_counter() - start)\n"
        "    print(statistics.median(times[1:]))\n"
    )
    run, truth = data.make(FILES, 1_000_000, 10)
    done = subprocess.run([sys.executable, "-c", script, run, truth], capture_output=True, text=True, check=True)
    one, two, four = (float(line) for line in done.stdout.split())
    bound = measured(PEERS[0], run, truth, 7)
    return (
        "`ra.score` on runs in memory, 1,000,000 x 10 (matching users, duplicates, ties, metrics,\n"
        "means, counts, findings), seconds.\n\n| 1 thread | 2 threads | 4 threads | hand-written loop, all cores |\n"
        "| --- | --- | --- | --- |\n"
        f"| {one:.3f} | {two:.3f} | {four:.3f} | {statistics.median(bound['compute']):.3f} |"
    )


def strings() -> str:
    answers = [measured(PEERS[1], *data.make(FILES, 1_000_000, 10, strings=text), 5) for text in (False, True)]
    integers, text = (answer["total"] for answer in answers)
    return (
        "1,000,000 x 10, ids such as `user-00000017` and `item-00004711`.\n\n"
        "| integer ids s | string ids s | ratio |\n| --- | --- | --- |\n"
        f"| {integers:.3f} | {text:.3f} | {text / integers:.2f} |"
    )


def growth() -> str:
    lines = ["| users x 10 | whole s | s per million users | peak MB |", "| --- | --- | --- | --- |"]
    for users in (100_000, 1_000_000, 3_000_000, 10_000_000):
        answer = measured(PEERS[1], *data.make(FILES, users, 10), 3)
        lines.append(
            f"| {users:,} | {answer['total']:.3f} | {answer['total'] / users * 1e6:.3f} | {answer['peak'] / 1e6:,.0f} |"
        )
    return "\n".join(lines)


def processes() -> str:
    """Whole processes, as a person waits for them."""
    run, truth = data.make(FILES, 6_040, 100)
    recassay = str(Path(sys.executable).with_name("recassay"))
    score = [recassay, "score", str(truth), str(run), "-m", METRICS, "--json"]
    with tempfile.TemporaryDirectory() as cache:
        first = clock(score, {"NUMBA_CACHE_DIR": cache}, 1)
    rows = [
        ("`recassay --help`", clock([recassay, "--help"], {}, 7)),
        ("`recassay score` on (c), the first run after installation: kernels are compiled", first),
        ("`recassay score` on (c), every later run, with bootstrap intervals", clock(score, {}, 7)),
    ]
    lines = ["| command | s |", "| --- | --- |"]
    return "\n".join([*lines, *(f"| {what} | {seconds:.2f} |" for what, seconds in rows)])


def clock(command: list[str], environment: dict[str, str], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        subprocess.run(
            command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=os.environ | environment
        )
        times.append(time.perf_counter() - start)
    return statistics.median(times)


if __name__ == "__main__":
    help_if_asked(__doc__)
    main(sys.argv[1:])
