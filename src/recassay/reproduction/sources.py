"""The tables that the claims of a paper are computed from: published tables, studies, and what follows from both."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from recassay.comparison.rules import SuddenDeathOptions
from recassay.comparison.sudden_death import SuddenDeath
from recassay.data.io.edge import reading
from recassay.data.io.parquet import read_parquet
from recassay.engine.decisions.contests import sudden_deaths
from recassay.engine.finished.conclude import FinishedConclusions, conclude
from recassay.engine.finished.order_agreement import order_agreement
from recassay.engine.finished.read import read_finished
from recassay.engine.lists.score_sets import read_scores
from recassay.errors import UsageError
from recassay.report.folder.read import read_results
from recassay.reproduction.over_time import over_time_tables
from recassay.reproduction.paper import Made, PaperFile, PaperSource
from recassay.results.exhibit import Exhibit
from recassay.rng import derive
from recassay.study.config.sources import find_data_file
from recassay.study.run.study import run_study
from recassay.study.store.folder import EXHIBITS, digest_of

QUICK_RESAMPLES = 100
NO_PARTITION = "POLARS_NO_PARTITION"


@dataclass
class Sources:
    """The tables of a paper by name, made in the order of its file.

    ``locks`` has what each was made from; ``seconds`` how long that took. ``place`` is the folder of the studies.
    """

    file: PaperFile
    place: Path
    data: Path | None
    quick: bool = False
    threads: int | None = None
    tables: dict[str, pl.DataFrame] = field(default_factory=dict)
    locks: dict[str, dict[str, Any]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    def make(self, report: Callable[[str], None]) -> None:
        """Make all tables; ``report`` is called with the name of each before it is made."""
        for name, source in self.file.paper.sources.items():
            report(name)
            began = time.perf_counter()
            self._make(name, source)
            # a study that resumed says how long its parts took when they were made
            self.seconds[name] = max(time.perf_counter() - began, self.seconds.get(name, 0.0))

    def query(self, name: str, text: str) -> pl.DataFrame:
        """Return the result of an SQL query of the tables; raise U263 that names the query if it fails."""
        try:
            tables = pl.SQLContext(self.tables)
            names = tables.execute(text).collect_schema().names()
            columns = ", ".join(f'"{name}"' for name in names)  # groups and ties come in any order
            ordered = f"{text}, {columns}" if "ORDER BY" in text else f"{text} ORDER BY {columns}"
            with adding_in_row_order():
                found = tables.execute(ordered).collect(engine="in-memory")
            return found.with_columns(pl.selectors.decimal().cast(pl.Float64))  # SQL reads 0.71 as a decimal
        except Exception as error:
            why = str(error).partition("\n")[0]
            raise UsageError(
                "U263",
                f"the query of {name} fails: {why}",
                where=str(self.file.path),
                hint=f"the tables are {', '.join(self.tables)}",
            ) from None

    def _make(self, name: str, source: PaperSource) -> None:
        if source.file is not None and source.quick is not None:
            self.tables[name] = self._read(name, source.file, source.quick, source.capture)
        elif source.study is not None:
            self._run_study(name, source.study, source.may_fail)
        elif source.sql is not None:
            self.tables[name] = self.query(f"sources.{name}", source.sql)
        elif (wanted := source.agreement) is not None:
            finished = read_finished(self.tables[wanted.of])
            self.tables[name] = order_agreement(finished, wanted.along, each_dataset=wanted.each_dataset)
        elif (rules := source.conclude) is not None:
            resamples = min(rules.resamples, QUICK_RESAMPLES) if self.quick else rules.resamples
            found = conclude(read_finished(self.tables[rules.of]), metrics=rules.metrics, resamples=resamples)
            self.tables |= {name: rules_table(found), f"{name}_ranks": ranks_table(found)}
        elif (contest := source.sudden_death) is not None:
            scores = read_scores(self.place / "studies" / contest.of)
            options = SuddenDeathOptions(tuple(contest.at), competitors=tuple(contest.competitors))
            contests = sudden_deaths(scores, options, threads=self.threads)
            self.tables |= contest_tables(name, contests, contest.at)
        elif (streams := source.over_time) is not None:
            self.tables |= over_time_tables(name, self.place / "studies" / streams.of, streams)

    def _read(self, name: str, file: str, quick: Made, capture: Mapping[str, str]) -> pl.DataFrame:
        """Return the table in the data file ``file``; in a quick run generate it instead, as ``quick`` describes.

        ``name`` is that of the table, from which random numbers are seeded. ``capture`` maps a column of text to a
        regular expression, whose named groups become columns.
        """
        if self.quick:
            table = made_table(quick, name)
            self.locks[name] = {"generated": digest_of(quick.model_dump())}
        else:
            path = find_data_file(file, self.data, file)
            digest = hashlib.blake2b(path.read_bytes(), digest_size=16).hexdigest()
            with reading(str(path)):
                table = read_parquet(path) if path.suffix == ".parquet" else pl.read_csv(path)
            self.locks[name] = {"file": path.name, "rows": table.height, "fingerprint": digest}
        for column, pattern in capture.items():
            groups = pl.col(column).str.extract_groups(pattern)
            table = table.with_columns(groups.alias("captured")).unnest("captured")
        return table

    def _run_study(self, name: str, study: str, may_fail: Sequence[str]) -> None:
        """Run a study file, or resume it, and add tables: its summary, and its comparisons and exhibits with a suffix.

        ``name`` is the first one's name. Raise U264 if a system failed that is not in ``may_fail``.
        """
        path = (self.file.path.parent / study).resolve()
        folder = self.place / "studies" / name
        found = run_study(path, folder, data=self.data, quick=self.quick, threads=self.threads, wait=True)
        for first in (one for one in found.failures if one["system"] not in may_fail):
            raise UsageError(
                "U264",
                f"{first['system']} failed in the study {path.stem}: {first['message']}",
                where=str(folder / "failures"),
                hint="mend what its traceback shows; what is finished is kept",
            )
        self.seconds[name] = sum(float(row["seconds"]) for row in found.times)
        content = read_results(folder)
        self.tables |= {name: found.summary(), f"{name}_comparisons": plain_table(content.comparisons)}
        for exhibit, table in exhibit_tables(folder).items():
            self.tables[f"{name}_{exhibit}".replace("-", "_")] = table
        kept = ("name", "fingerprint", "users", "items", "events")
        self.locks[name] = {
            "study": path.name,
            "data": [{key: one[key] for key in kept if key in one} for one in content.lock["data"]],
            "protocol": content.lock["protocol"]["name"],
            "models": {system: one["model"] for system, one in content.lock["models"].items() if "model" in one},
            "lock": digest_of(content.lock),
        }
        if found.failures:
            self.locks[name]["failed"] = sorted({f"{one['system']} on {one['dataset']}" for one in found.failures})


@contextmanager
def adding_in_row_order() -> Iterator[None]:
    """Let Polars add up each group in the order of its rows, so that sums have the same last digits in every run.

    The streaming engine, and groups that are first added up in partitions, depend on which thread ends first.
    """
    before = os.environ.get(NO_PARTITION)
    os.environ[NO_PARTITION] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[NO_PARTITION]
        else:
            os.environ[NO_PARTITION] = before


def plain_table(rows: Any) -> pl.DataFrame:
    """Return rows as a table, without columns that hold lists or mappings."""
    table = pl.DataFrame(list(rows), infer_schema_length=None)
    return table.select(name for name, kind in table.schema.items() if not kind.is_nested())


def exhibit_tables(folder: Path) -> dict[str, pl.DataFrame]:
    """Return the tables of a study's exhibits by name of the exhibit, each with columns ``dataset`` and ``split``."""
    found: dict[str, list[pl.DataFrame]] = {}
    for path in sorted((folder / EXHIBITS).rglob("*.json")):
        document = json.loads(path.read_text(encoding="utf-8"))
        where = [pl.lit(document[axis]).alias(axis) for axis in ("dataset", "split")]
        found.setdefault(document["name"], []).append(Exhibit.from_dict(document).table.with_columns(where))
    return {name: pl.concat(tables, how="diagonal_relaxed") for name, tables in found.items()}


def made_table(made: Made, name: str) -> pl.DataFrame:
    """Return a table with a row for every combination of the columns' values, and columns of random numbers.

    ``made`` lists the values of each column (a number n stands for "0" to n - 1) and the columns of random numbers,
    which depend on ``name``, the name of the table.

    >>> made_table(Made(columns={"system": ["a", "b"], "point": 2}, values=["ndcg"]), "x").shape
    (4, 3)
    """
    columns = {
        key: [str(one) for one in range(parts)] if isinstance(parts, int) else parts
        for key, parts in made.columns.items()
    }
    rows = list(itertools.product(*columns.values()))
    draws = derive(0, "reproduction", name)
    values = {key: draws.random(len(rows)) for key in made.values}
    return pl.DataFrame(rows, list(columns), orient="row").with_columns(**{k: pl.Series(v) for k, v in values.items()})


def contest_tables(name: str, contests: Mapping[str, SuddenDeath], cutoffs: Iterable[int]) -> dict[str, pl.DataFrame]:
    """Return the tables of Sudden Death by name: the share of users that each system wins, and the pairs of systems.

    ``contests`` has the result for each data set, whose name is the first part of its key. The table ``name`` has a
    row per data set, cut-off and system; ``NAME_pairs`` one per data set, cut-off and pair, with the difference of
    the shares, its interval and its p-value, adjusted over the pairs.
    """
    shares, pairs = [], []
    for key, contest in contests.items():
        dataset = pl.lit(key.partition(", ")[0]).alias("dataset")
        for at in cutoffs:
            shares.append(contest.summary(at).with_columns(dataset))
            pairs.append(contest.compare(at).frame().with_columns(dataset, pl.lit(at).alias("at")))
    return {name: pl.concat(shares), f"{name}_pairs": pl.concat(pairs)}


def rules_table(found: FinishedConclusions) -> pl.DataFrame:
    """Return a row per metric, setting, rule and system: its score and place, and how stable the winner is.

    A rule combines the means of a system on several data sets, for example by mean rank; a setting is, for example, a
    split. ``share_first`` is the share of resamples of the data sets in which the winner is first. ``changes`` is the
    number of data sets without which another system is first. Both are null for systems that do not win.
    """
    changes = [
        {"metric": one.metric, **one.setting, "rule": rule.rule, "system": rule.winner, "changes": len(rule.dropping)}
        for one in found.rankings
        for rule in one.winners
    ]
    keys = ["metric", *found.rankings[0].setting, "rule", "system"]
    return found.frame().join(pl.DataFrame(changes), on=keys, how="left", maintain_order="left")


def ranks_table(found: FinishedConclusions) -> pl.DataFrame:
    """Return a row per metric, setting and system: mean rank over data sets, and bounds around it.

    The bounds are half a critical difference away. ``apart`` says whether the system differs significantly from the one
    with the best mean rank (Nemenyi); ``p`` is that of Friedman's test.
    """
    rows = []
    for one in found.rankings:
        if one.ranking is None or one.ranking.test is None:
            continue
        test = one.ranking.test
        best = one.ranking.mean_ranks[0]
        for system, rank in zip(one.ranking.systems, one.ranking.mean_ranks, strict=True):
            about = {"metric": one.metric, **one.setting, "system": system, "mean_rank": rank}
            reach = test.critical_difference / 2
            rows.append(
                {
                    **about, "low": rank - reach, "high": rank + reach, "critical_difference": test.critical_difference,
                    "apart": rank - best >= test.critical_difference, "p": test.p_f,
                }
            )  # fmt: skip
    return pl.DataFrame(rows, infer_schema_length=None)
