"""Six metrics on the inputs that people have (shuffled, text ids, frames, dicts, CSV), beside Polars by hand.

    python bench/inputs.py [--share 0.1] [--repeats 5] [--threads 2] [ROW ...]

Each way runs in a process of its own, and the ways of a row take turns, so that other work on the machine meets all of
them. Building frames and dicts is not timed. ``--share`` makes fewer users, for a short trial; words choose the rows
whose names hold them. The hand-written Polars, kept in ``by_hand``, checks nothing and has no intervals; its means
agree with recassay's to 1e-12, or the row fails. The table of all rows is a section of RESULTS.md; ``growth.py`` has
more users.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import data
from tools import machine, write_section

LISTS = ("nested", "structs", "texts")  # holders with a row per user
FILES = Path(__file__).resolve().parent / "data"
METRICS = "ndcg@10 map mrr recall@10 precision@10 hit@10"
TREC_MEASURES = {"ndcg_cut.10": "ndcg@10", "map": "map", "recip_rank": "mrr", "recall.10": "recall@10",
                 "P.10": "precision@10", "success.10": "hit@10"}  # fmt: skip
PARTS = 1_000
K = 10
SAID = """\
`python bench/inputs.py`: six metrics with intervals (beside pytrec_eval without), {} threads, medians of {} rounds
after one that is not counted. Other ways to the same values take turns in the same run; their means agree with
recassay's to 1e-12 (pytrec_eval: 1e-6). Polars is written by hand and checks nothing; numba is the hand-written loop on
sorted files, which reads two columns of four and has no intervals. {}.
"""
HEAD = (
    "| input | users x items | recassay: s (processor s), peak | others | ratio of s / processor s | aim |",
    "| --- | --- | --- | --- | --- | --- |",
)


@dataclass(frozen=True)
class Row:
    """One input: its size, the order of its rows, the form of its ids, and what holds it."""

    name: str
    users: int
    length: int
    order: str = "shuffled"  # by_rank, by_user (scores of a user in any order) or shuffled
    ids: str = "integers"  # integers, text or uuid
    # parquet, csv, gz, parts; nested, structs or texts with a row per user; polars, pandas, duckdb, dicts, lists or
    # tuples; the frames also of categories
    holder: str = "parquet"
    others: tuple[str, ...] = ("polars",)
    aim: float | None = None  # of recassay's seconds to those of the first of the others
    interval: str | None = "abc"  # what ``bootstrap`` is above 50,000 users; None beside what has no intervals at all


ROWS = (
    Row("Parquet by user and rank", 100_000, 100, "by_rank"),
    Row("Parquet by user, scores in any order", 100_000, 100, "by_user"),
    Row("Parquet shuffled", 100_000, 100, aim=0.6),
    Row("frame shuffled, text ids", 100_000, 100, ids="text", holder="polars", aim=1.0),
    Row("frame shuffled, ids as categories", 100_000, 100, ids="text", holder="polars categories"),
    Row("Parquet shuffled, text ids", 100_000, 100, ids="text", aim=1.0),
    Row("Parquet shuffled, UUIDs", 100_000, 100, ids="uuid", aim=1.0),
    Row("wide: 1,000 items a list, shuffled", 10_000, 1_000, aim=0.6),
    Row("short: 10 items a list, shuffled", 1_000_000, 10, aim=0.6),
    Row("pandas shuffled", 100_000, 100, holder="pandas"),
    Row("pandas shuffled, text ids", 20_000, 100, ids="text", holder="pandas"),
    Row("pandas shuffled, ids as categories", 20_000, 100, ids="text", holder="pandas categories"),
    Row("DuckDB shuffled", 100_000, 100, holder="duckdb"),
    Row("CSV shuffled", 100_000, 100, holder="csv", others=("read_csv", "polars"), aim=1.8),
    Row("gzip CSV shuffled", 20_000, 100, holder="gz", others=("read_csv", "polars")),
    Row("1,000 part files, shuffled", 100_000, 100, holder="parts"),
    Row("Parquet with a list and scores a user", 100_000, 100, holder="nested"),
    Row("Parquet with a list of structs a user, text ids", 100_000, 100, ids="text", holder="structs"),
    Row("CSV with a text of items a user", 20_000, 100, holder="texts"),
    *(
        Row(f"{name}, text ids", 6_000, 100, ids="text", holder=holder, others=("pytrec_eval",), aim=0.7, interval=None)
        for name, holder in (("dict of dicts", "dicts"), ("dict of lists", "lists"), ("list of tuples", "tuples"))
    ),
    Row("short: 10 items a list, by user and rank", 1_000_000, 10, "by_rank", others=("numba", "polars"), aim=1.2),
)


def by_hand(run: pl.LazyFrame, truth: pl.LazyFrame) -> pl.DataFrame:
    """Return the six metrics of each user of the truth, as somebody would write them in Polars."""
    rank = pl.col("score").rank("ordinal", descending=True).over("user_id")
    discount = (1 / (pl.col("rank") + 1).log(2)).filter(pl.col("rank") <= K).sum()
    hits = (
        run.select("user_id", "item_id", rank.alias("rank"))
        .join(truth.select("user_id", "item_id"), on=["user_id", "item_id"])
        .sort("user_id", "rank")
        .with_columns(hit=pl.int_range(1, pl.len() + 1).over("user_id"))
        .group_by("user_id")
        .agg(
            dcg=discount,
            precisions=(pl.col("hit") / pl.col("rank")).sum(),
            first=pl.col("rank").min(),
            shown=(pl.col("rank") <= K).sum(),
        )
    )
    ideal = pl.Series([0.0, *np.cumsum(1 / np.log2(np.arange(2, K + 2)))])
    relevant = truth.group_by("user_id").agg(relevant=pl.len())
    return (
        relevant.join(hits, on="user_id", how="left")
        .select(
            (pl.col("dcg") / pl.lit(ideal).gather(pl.col("relevant").clip(upper_bound=K))).alias("ndcg@10"),
            (pl.col("precisions") / pl.col("relevant")).alias("map"),
            (1 / pl.col("first")).alias("mrr"),
            (pl.col("shown") / pl.col("relevant")).alias("recall@10"),
            (pl.col("shown") / K).alias("precision@10"),
            (pl.col("shown") > 0).cast(pl.Float64).alias("hit@10"),
        )
        .fill_null(0.0)
        .collect()
    )


def with_recassay(run: Any, truth: Any, interval: str | None) -> dict[str, float]:
    import recassay as ra

    scores = ra.score({"run": run}, truth, METRICS, interval=interval)
    return {row.metric: row.mean for row in scores.rows}


def with_polars(run: Any, truth: Any) -> dict[str, float]:
    found = by_hand(_lazy(run), _lazy(truth))
    return dict(zip(found.columns, found.mean().row(0), strict=True))


def with_numba(run: Path, truth: Path) -> dict[str, float]:
    """Score sorted files with integer ids as the loop does that checks nothing and has no intervals."""
    sys.path.insert(0, str(FILES.parent / "peers"))
    import handwritten

    return handwritten.compute(handwritten.load(str(run), str(truth)))


def with_read_csv(run: Path, truth: Path) -> dict[str, float]:
    """Read the files alone."""
    pl.read_csv(run)
    pl.read_csv(truth)
    return {}


def with_pytrec_eval(run: Any, truth: Any) -> dict[str, float]:
    import pytrec_eval

    found = pytrec_eval.RelevanceEvaluator(truth, set(TREC_MEASURES)).evaluate(as_dicts(run))
    columns = {name: name.replace(".", "_") for name in TREC_MEASURES}
    return {ours: sum(values[columns[name]] for values in found.values()) / len(found)
            for name, ours in TREC_MEASURES.items()}  # fmt: skip


def as_dicts(run: Any) -> dict[str, dict[str, float]]:
    """Return a run of dicts, of lists or of tuples as the dicts that pytrec_eval takes."""
    if isinstance(run, list):
        found: dict[str, dict[str, float]] = {}
        for user, item, score in run:
            found.setdefault(user, {})[item] = score
        return found
    if isinstance(next(iter(run.values())), dict):
        return run
    return {user: {item: -place for place, item in enumerate(items)} for user, items in run.items()}


def _lazy(table: Any) -> pl.LazyFrame:
    """Return a table of any holder as Polars' own users would open it, and take lists apart."""
    rows = _opened(table)
    names = rows.collect_schema().names()
    if "items" in names:
        return rows.explode("items", "scores").rename({"items": "item_id", "scores": "score"})
    if "recommendations" in names:
        rows = rows.explode("recommendations").unnest("recommendations")
        return rows.rename({"item": "item_id", "rating": "score"})
    if "prediction" in names:
        rows = rows.with_columns(item_id=pl.col("prediction").str.split(" ")).explode("item_id")
        return rows.select("user_id", pl.col("item_id").cast(pl.Int64), score=-pl.int_range(pl.len()))
    return rows


def _opened(table: Any) -> pl.LazyFrame:
    if isinstance(table, Path):
        files = table / "*.parquet" if table.is_dir() else table
        return pl.scan_parquet(files) if table.is_dir() or table.suffix == ".parquet" else pl.read_csv(table).lazy()
    return (table if isinstance(table, pl.DataFrame) else pl.DataFrame(table)).lazy()


WAYS: dict[str, Callable[[Any, Any], dict[str, float]]] = {
    "polars": with_polars, "read_csv": with_read_csv, "pytrec_eval": with_pytrec_eval, "numba": with_numba,
}  # fmt: skip


def frames(row: Row) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the run (user_id, item_id, score) and the truth of a row, in its order and with its ids."""
    paths = data.make(FILES, row.users, row.length)
    run, truth = (pl.read_parquet(path) for path in paths)
    run = run.drop("rank")
    if row.order == "by_user":
        run = run.with_columns(pl.col("score").shuffle(1).over("user_id"))
    if row.order == "shuffled":
        run, truth = (frame.sample(fraction=1.0, shuffle=True, seed=1) for frame in (run, truth))
    if row.ids == "text":
        run, truth = (frame.with_columns(map(data.text_ids, ("user_id", "item_id"))) for frame in (run, truth))
    if row.ids == "uuid":
        run, truth = (
            frame.with_columns(data.uuids(frame[name]) for name in ("user_id", "item_id")) for frame in (run, truth)
        )
    return run, truth


def files(row: Row) -> tuple[Path, Path]:
    """Return the files of a row, made if they are not there."""
    suffix = {"csv": ".csv", "gz": ".csv.gz", "parts": "", "texts": ".csv"}.get(row.holder, ".parquet")
    form = f"-{row.holder}" if row.holder in LISTS else ""
    stem = f"{row.users}x{row.length}-{row.order}-{row.ids}{form}"
    paths = [FILES / f"inputs-{kind}-{stem}{suffix}" for kind in ("run", "truth")]
    if not all(path.exists() for path in paths):
        run, truth = frames(row)
        for path, frame in zip(paths, (_lists(run, row.holder), truth), strict=True):
            unfinished = path.with_name("unfinished")
            if suffix == ".parquet":
                frame.write_parquet(unfinished)
            elif suffix == ".csv":
                frame.write_csv(unfinished)
            elif row.holder == "gz":
                unfinished.write_bytes(gzip.compress(frame.write_csv().encode(), 1))
            else:
                shutil.rmtree(unfinished, ignore_errors=True)
                unfinished.mkdir()
                size = -(-frame.height // PARTS)
                for number, part in enumerate(frame.iter_slices(size)):
                    part.write_parquet(unfinished / f"part-{number:05}.parquet")
            unfinished.rename(path)
    return paths[0], paths[1]


def _lists(run: pl.DataFrame, holder: str) -> pl.DataFrame:
    """Return a run as its holder has it: two lists per user, a list of structs, a text of items, or a row per item."""
    if holder not in LISTS:
        return run
    users = run.sort("score", descending=True).group_by("user_id", maintain_order=True)
    if holder == "structs":
        return users.agg(recommendations=pl.struct(item="item_id", rating="score"))
    if holder == "nested":
        return users.agg(items="item_id", scores="score")
    return users.agg(prediction=pl.col("item_id").cast(pl.String).str.join(" "))


def held(row: Row) -> tuple[Any, Any]:
    """Return the run and the truth of a row as its holder gives them."""
    if row.holder in ("parquet", "csv", "gz", "parts", *LISTS):
        return files(row)
    run, truth = frames(row)
    if row.holder.endswith("categories"):
        run, truth = (frame.with_columns(pl.col("user_id", "item_id").cast(pl.Categorical)) for frame in (run, truth))
    if row.holder.startswith("polars"):
        return run, truth
    if row.holder.startswith("pandas"):
        return run.to_pandas(), truth.to_pandas()
    if row.holder == "duckdb":
        import duckdb

        return tuple(duckdb.sql("select * from frame").to_arrow_table() for frame in (run, truth))  # type: ignore[return-value]
    judged = _nested(truth.with_columns(gain=1), "gain")
    if row.holder == "tuples":
        return run.select("user_id", "item_id", "score").rows(), judged
    if row.holder == "lists":
        best_first = run.sort("score", descending=True).group_by("user_id", maintain_order=True).agg("item_id")
        return dict(best_first.iter_rows()), judged
    return _nested(run, "score"), judged


def _nested(frame: pl.DataFrame, value: str) -> dict[str, dict[str, Any]]:
    lists = frame.group_by("user_id", maintain_order=True).agg("item_id", value)
    return {user: dict(zip(items, values, strict=True)) for user, items, values in lists.iter_rows()}


def serve(score: Callable[[], dict[str, float]]) -> None:
    """Call ``score`` whenever a line comes; answer with seconds, processor seconds, the peak, the means, and seconds
    of the processor seconds that were spent in the kernel.
    """
    for _ in sys.stdin:
        Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
        wall, processor, kernel = time.perf_counter(), time.process_time(), os.times().system
        means = score()
        seconds = time.perf_counter() - wall, time.process_time() - processor
        print(json.dumps([*seconds, _peak(), means, os.times().system - kernel]), flush=True)


def _peak() -> int:
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


def prepare(row: Row) -> None:
    """Write the files that the processes of a row read, before they start."""
    data.make(FILES, row.users, row.length)
    if row.holder in ("parquet", "csv", "gz", "parts", *LISTS):
        files(row)


def chosen(words: list[str], share: float) -> list[Row]:
    """Return the rows whose names hold all the words, with a share of their users."""
    return [
        Row(**row.__dict__ | {"users": max(1_000, int(row.users * share))})
        for row in ROWS
        if all(word.lower() in row.name.lower() for word in words)
    ]


def measured(row: Row, repeats: int, threads: int) -> str:
    """Return the line of the table for one row, from ``repeats`` rounds after one that is not counted."""
    prepare(row)
    environment = os.environ | {"POLARS_MAX_THREADS": str(threads)}
    command = ["taskset", "-c", "0", sys.executable] if threads == 1 else [sys.executable]
    ways = ["recassay", *row.others]
    servers = {
        way: subprocess.Popen(
            [*command, __file__, "--serve", way, json.dumps(row.__dict__)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment,
        )
        for way in ways
    }  # fmt: skip
    answers = in_turn(servers, repeats + 1)
    for way in row.others:
        _agree(row, answers["recassay"][-1][3], answers[way][-1][3], 1e-12 if way == "polars" else 1e-6)
    cells = [cell(answers[way]) for way in ways]
    ratios = [_ratio(answers["recassay"], answers[way]) for way in row.others]
    beside = "; ".join(f"{way} {cell}" for way, cell in zip(row.others, cells[1:], strict=True))
    aim = "" if row.aim is None else f"{row.aim}"
    return f"| {row.name} | {row.users:,} x {row.length:,} | {cells[0]} | {beside} | {', '.join(ratios)} | {aim} |"


def in_turn(servers: Mapping[str, subprocess.Popen[str]], rounds: int) -> dict[str, list[Any]]:
    """Return what each process answered in each round; they take turns, and end."""
    answers: dict[str, list[Any]] = {way: [] for way in servers}
    for _ in range(rounds):
        for way, server in servers.items():
            assert server.stdin
            assert server.stdout
            print("go", file=server.stdin, flush=True)
            answers[way].append(json.loads(server.stdout.readline()))
    for server in servers.values():
        server.communicate()
    return answers


def cell(answers: list[Any]) -> str:
    """Return the medians of the rounds but the first: seconds, processor seconds and peak memory."""
    wall, processor, peak = (statistics.median(answer[place] for answer in answers[1:]) for place in range(3))
    return f"{wall:.2f} ({processor:.2f}), {peak / 1e6:,.0f} MB"


def _ratio(ours: list[Any], theirs: list[Any]) -> str:
    """Return the medians, over rounds, of the ratio of seconds and of processor seconds."""
    pairs = list(zip(ours[1:], theirs[1:], strict=True))
    return " / ".join(
        f"{statistics.median(mine[place] / other[place] for mine, other in pairs):.2f}" for place in (0, 1)
    )


def _agree(row: Row, ours: dict[str, float], theirs: dict[str, float], within: float) -> None:
    for name, value in theirs.items():
        if abs(ours[name] - value) > within:
            raise SystemExit(f"{row.name}: {name} is {ours[name]!r} of recassay and {value!r} of the other")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", nargs="*", help="words that the names of the rows hold")
    parser.add_argument("--share", type=float, default=1.0, help="share of the users of each row")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--serve", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        way, row = options.serve[0], Row(**json.loads(options.serve[1]))
        run, truth = held(row)
        serve(lambda: with_recassay(run, truth, row.interval) if way == "recassay" else WAYS[way](run, truth))
        return
    lines = [SAID.format(options.threads, options.repeats, machine()), *HEAD]
    print(*lines, sep="\n", flush=True)
    for row in chosen(options.rows, options.share):
        lines.append(measured(row, options.repeats, options.threads))
        print(lines[-1], flush=True)
    if options.share == 1 and not options.rows:
        write_section("Inputs as they are", "## Inputs as they are\n\n" + "\n".join(lines))


if __name__ == "__main__":
    main()
