"""Generated sequences from a file to eight metrics, beside what the authors of Sequeval published for their program.

    python bench/sequences.py [--quick]

Data are generated to the size of the paper's Foursquare check-ins: 44,319 users, 651 items of the same entropy, and
1,047,429 check-ins in about 400,000 sequences. Everything is done in one process for each size; times are the
shortest of three after a first run (other work on the machine only adds), peak memory is that of the whole process.
Writes its section of bench/RESULTS.md.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

import recassay as ra
from recassay.engine.sequences.generate import generate
from recassay.models.sequence import MostPopular, NGram, Uniform, Unigram
from recassay.protocols.ranking import Sequence
from recassay.split.sequences import LatestSequences
from recassay.split.sessions import Sessions
from recassay.threads import available
from tools import is_quick, write_section

USERS, ITEMS, RATINGS, SEQUENCES = 44_319, 651, 1_047_429, 400_261
ENTROPY = 4.95  # of the items, in nats, as the paper gives it
GAP = 8 * 3600
K = 5
MODELS = {"MP": MostPopular(), "Random": Uniform(), "Unigram": Unigram(), "Bigram": NGram(order=2)}
PUBLISHED = {"MP": 15.88, "Random": 1326.31, "Unigram": 58.64, "Bigram": 101.73}
# What bench/RESULTS.md can say of the authors' program without running it: it needs Python 3.9 or older.
HERE = (
    "Published are times on another machine. On one like this the authors' program was measured earlier at 6 to 13 s "
    "(MP), 84 to 103 s (Random), 40 s (Unigram) and 203 to 228 s (Bigram), 12 to 15 s to load and prepare, and 2 GB"
)
SECONDS = 6 + 84 + 40 + 203 + 12  # the shortest of each
SCALES = (1, 4, 10, 38)  # the last: 40 million check-ins


def made(path: Path, scale: float) -> Path:
    """A log of so many times the paper's users, in a file, made if it is not there."""
    if path.exists():
        return path
    rng, users, n = np.random.default_rng(1), int(USERS * scale), int(SEQUENCES * scale)
    lengths = 1 + rng.geometric(1 / (RATINGS / SEQUENCES - 1), n)
    first = np.cumsum(lengths) - lengths
    gaps = rng.integers(60, GAP, lengths.sum())
    gaps[first] = rng.integers(GAP, 30 * 24 * 3600, n)
    user = np.sort(rng.integers(0, users, n)).repeat(lengths)
    item = rng.choice(ITEMS, lengths.sum(), p=popularity()).astype(np.int32)
    passed = np.cumsum(gaps)
    since = passed - passed[np.searchsorted(user, user)]  # every user begins at the same time
    frame = pl.DataFrame({"user_id": user.astype(np.int32), "item_id": item, "timestamp": 1_300_000_000 + since})
    frame.write_parquet(path)
    return path


def popularity() -> np.ndarray:
    """Shares of the items by a power law with the paper's entropy."""
    ranks, low, high = np.arange(1.0, ITEMS + 1), 0.0, 3.0
    for _ in range(60):
        power = (low + high) / 2
        share = ranks**-power / (ranks**-power).sum()
        low, high = (power, high) if -(share * np.log(share)).sum() > ENTROPY else (low, power)
    return share


def pipeline(path: Path) -> tuple[dict[str, float], dict[str, int], dict[str, list[float]]]:
    """Seconds of every stage; what came out; and the means of every system."""
    seconds: dict[str, float] = {}

    def timed(stage: str, work: Callable[[], object]) -> object:
        begin = time.perf_counter()
        found = work()
        seconds[stage] = time.perf_counter() - begin
        return found

    log = timed("load", lambda: ra.read_interactions(path))
    sequences = timed("build", lambda: Sessions(gap=GAP)(log))
    [fold] = timed("split", lambda: LatestSequences(test=0.2)(sequences))
    means = {}
    for name, model in MODELS.items():
        generated = timed(f"generate {name}", lambda model=model: generate(model, fold, Sequence(k=K)))
        scores = timed(f"evaluate {name}", lambda made=generated: ra.sequences.score_sequences(fold, made))
        means[name] = [row.mean for row in scores.rows]
    sizes = {"ratings": len(log), "sequences": len(sequences), "test": len(fold.test)}
    return seconds, sizes, means


def measure(path: Path, times: int) -> dict[str, object]:
    """The shortest times after a first run, and peak memory in MB: in a process of its own."""
    import resource

    pipeline(path)
    runs = [pipeline(path) for _ in range(times)]
    seconds = {stage: min(run[0][stage] for run in runs) for stage in runs[0][0]}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"seconds": seconds, **runs[0][1], "means": runs[0][2], "peak": peak}


def alone(path: Path, times: int) -> dict[str, object]:
    code = (
        f"import json, pathlib, sequences; print(json.dumps(sequences.measure(pathlib.Path({str(path)!r}), {times})))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path(__file__).parent
    )
    found: dict[str, object] = json.loads(done.stdout)
    return found


def paper_size(found: dict) -> list[str]:
    seconds = found["seconds"]
    before = sum(seconds[stage] for stage in ("load", "build", "split"))
    lines = [
        f"{found['ratings']:,} check-ins, {found['sequences']:,} sequences, {found['test']:,} test sequences, k = {K}; "
        f"all eight metrics, diversity among them, with intervals; {available()} threads. Load {seconds['load']:.2f} "
        f"s, build {seconds['build']:.2f} s, split {seconds['split']:.2f} s; then, by system:",
        "",
        "| system | generate s | evaluate s | both | published s | ratio |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    total = before
    for name, published in PUBLISHED.items():
        one, other = seconds[f"generate {name}"], seconds[f"evaluate {name}"]
        total += one + other
        both = one + other
        lines.append(
            f"| {name} | {one:.3f} | {other:.3f} | {both:.3f} | {published:,.1f} | {published / both:,.0f} x |"
        )
    published = sum(PUBLISHED.values())
    lines.append(
        f"| all, with load, build and split | | | {total:.2f} | {published:,.1f} | {published / total:,.0f} x |"
    )
    return [
        *lines,
        "",
        f"Peak memory {found['peak']:,.0f} MB.",
        "",
        f"{HERE}: {SECONDS / total:,.0f} times the whole here.",
    ]


def quality(found: dict) -> list[str]:
    """The means beside each other: on such data only their order can be that of the paper."""
    names = ("coverage", "precision", "nDPM", "diversity", "novelty", "serendipity", "confidence", "perplexity")
    lines = [f"| system | {' | '.join(names)} |", "| --- |" + " --- |" * len(names)]
    return lines + [
        f"| {name} | {' | '.join(f'{mean:.4g}' for mean in means)} |" for name, means in found["means"].items()
    ]


def linearity(rows: list[dict]) -> list[str]:
    lines = [
        "| check-ins | test sequences | load, build, split s | generate s | evaluate s | s per million | peak MB |"
    ]
    lines.append("| --- |" + " --- |" * 6)
    for found in rows:
        parts = [0.0, 0.0, 0.0]
        for stage, one in found["seconds"].items():
            parts[("generate", "evaluate").index(stage.partition(" ")[0]) + 1 if " " in stage else 0] += one
        rate, spent = sum(parts) / found["ratings"] * 1e6, " | ".join(f"{part:.2f}" for part in parts)
        lines.append(f"| {found['ratings']:,} | {found['test']:,} | {spent} | {rate:.2f} | {found['peak']:,.0f} |")
    return lines


def main() -> None:
    quick = is_quick(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        rows = [
            alone(made(Path(folder) / f"log-{scale}.parquet", scale), 1 if quick else 3)
            for scale in ((0.05, 0.1) if quick else SCALES)
        ]
    lines = [
        "## Generated sequences",
        "",
        "`python bench/sequences.py`: from a Parquet file to eight metrics of four systems, on data of the size of the "
        "paper's Foursquare check-ins. Published: seconds of evaluation, of the authors' program on their machine.",
        "",
        *paper_size(rows[0]),
        "",
        "What the metrics say on the generated data, whose sequences have no order to be learnt:",
        "",
        *quality(rows[0]),
        "",
        "The same four systems on more users:",
        "",
        *linearity(rows),
    ]
    text = "\n".join(lines)
    print(text)
    if not quick:
        write_section("Generated sequences", text)


if __name__ == "__main__":
    main()
