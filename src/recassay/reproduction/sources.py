"""The tables that the claims of a paper are computed from: published tables, studies, and what follows from both."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from recassay.comparison.over_time.compare import OverTime, compare_over_time
from recassay.comparison.rules import SuddenDeathOptions
from recassay.data.io.edge import reading
from recassay.data.io.manifest import manifest_of
from recassay.data.io.parquet import read_parquet
from recassay.engine.decisions.contest import SuddenDeath
from recassay.engine.decisions.decide import sudden_deaths
from recassay.engine.finished.conclude import FinishedConclusions, conclude, order_agreement
from recassay.engine.finished.read import read_finished
from recassay.engine.lists.score_sets import FILE, read_scores
from recassay.errors import UsageError
from recassay.report.folder.results import read_results
from recassay.reproduction.paper import Made, OverTimeSource, PaperFile, PaperSource
from recassay.results.exhibit import Exhibit
from recassay.results.outcomes import EVENT, Outcomes
from recassay.rng import derive
from recassay.study.config.sources import find_data_file
from recassay.study.run.study import run_study
from recassay.study.store.folder import EXHIBITS, digest_of

QUICK_RESAMPLES = 100
NO_PARTITION = "POLARS_NO_PARTITION"


@dataclass
class Sources:
    """The tables that the claims of a paper are computed from, made in the order of its file.

    ``tables`` maps names to tables, ``locks`` to what each was made from, and ``seconds`` to how long that took.
    ``place`` is the folder of the studies.
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
            self.tables[name] = order_agreement(
                read_finished(self.tables[wanted.of]), wanted.along, each_dataset=wanted.each_dataset
            )
        elif (rules := source.conclude) is not None:
            resamples = min(rules.resamples, QUICK_RESAMPLES) if self.quick else rules.resamples
            found = conclude(read_finished(self.tables[rules.of]), metrics=rules.metrics, resamples=resamples)
            self.tables |= {name: rules_table(found), f"{name}_ranks": ranks_table(found)}
        elif (contest := source.sudden_death) is not None:
            scores = read_scores(self.place / "studies" / contest.of)
            options = SuddenDeathOptions(tuple(contest.at), competitors=tuple(contest.competitors))
            self.tables |= contest_tables(name, sudden_deaths(scores, options, threads=self.threads), contest.at)
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

        ``name`` is the first one's name. Raise U263 if a system failed that is not in ``may_fail``.
        """
        path = (self.file.path.parent / study).resolve()
        folder = self.place / "studies" / name
        found = run_study(path, folder, data=self.data, quick=self.quick, threads=self.threads, wait=True)
        for first in (one for one in found.failures if one["system"] not in may_fail):
            raise UsageError(
                "U263",
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
    before = dict(os.environ)
    os.environ[NO_PARTITION] = "1"
    try:
        yield
    finally:
        os.environ.pop(NO_PARTITION)
        os.environ.update(before)


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


def contest_tables(name: str, contests: Mapping[str, SuddenDeath], cutoffs: Sequence[int]) -> dict[str, pl.DataFrame]:
    """Return the tables of Sudden Death by name: the share of users that each system wins, and the pairs of systems.

    ``contests`` has the result for each data set, whose name is the first part of its key. The table ``name`` has a
    row per data set, cut-off and system; ``NAME_pairs`` one per data set, cut-off and pair, with the difference of
    the shares, its interval and its p-value, adjusted over the pairs.
    """
    cases = [
        (contest, at, pl.lit(key.partition(", ")[0]).alias("dataset"))
        for key, contest in contests.items()
        for at in cutoffs
    ]
    compared = [
        contest.compare(at).frame().with_columns(dataset, pl.lit(at).alias("at")) for contest, at, dataset in cases
    ]
    return {
        name: pl.concat(contest.summary(at).with_columns(dataset) for contest, at, dataset in cases),
        f"{name}_pairs": pl.concat(compared),
    }


def rules_table(conclusions: FinishedConclusions) -> pl.DataFrame:
    """Return a row per metric, setting, rule and system: its score and rank, and how stable the first rank is.

    A rule combines the means of a system on several data sets, for example by mean rank; a setting is, for example, a
    split. ``share_first`` is the share of resamples of the data sets in which the winner is first. ``changes`` is the
    number of data sets without which another system is first. Both are null for systems that do not win.
    """
    changes = [
        {"metric": one.metric, **one.setting, "rule": rule.rule, "system": rule.winner, "changes": len(rule.dropping)}
        for one in conclusions.rankings
        for rule in one.winners
    ]
    return conclusions.frame().join(
        pl.DataFrame(changes),
        on=["metric", *conclusions.rankings[0].setting, "rule", "system"],
        how="left",
        maintain_order="left",
    )


def ranks_table(conclusions: FinishedConclusions) -> pl.DataFrame:
    """Return a row per metric, setting and system: mean rank over data sets, and bounds around it.

    The bounds are half a critical difference away. ``apart`` says whether the system differs significantly from the one
    with the best mean rank (Nemenyi); ``p`` is that of Friedman's test.
    """
    rows = [
        {
            "metric": one.metric, **one.setting, "system": system, "mean_rank": rank,
            "low": rank - test.critical_difference / 2, "high": rank + test.critical_difference / 2,
            "critical_difference": test.critical_difference,
            "apart": rank - one.ranking.mean_ranks[0] >= test.critical_difference, "p": test.p_f,
        }
        for one in conclusions.rankings
        if one.ranking is not None and (test := one.ranking.test) is not None
        for system, rank in zip(one.ranking.systems, one.ranking.mean_ranks, strict=True)
    ]  # fmt: skip
    return pl.DataFrame(rows, infer_schema_length=None)


STREAM = ["dataset", "protocol", "seed"]  # columns of stored scores that tell streams apart


def over_time_tables(name: str, folder: Path, wanted: OverTimeSource) -> dict[str, pl.DataFrame]:
    """Return ``{name: table}`` of signed McNemar tests on the streams of a study; ``folder`` is that of the study.

    The table ``name`` has a row per stream, pair of systems, kind of window and level, as :func:`window_shares` says.
    ``NAME_tests`` has the test of each pair over all events at each level, with bounds of the difference, and
    ``NAME_curves`` the curve of signed McNemar at the first window and level. Metrics that are not 0 or 1 have no test
    in windows, so that streams with such values are left out.
    """
    shares, tests, curves = [], [], []
    for where, played in _streams(folder, wanted):
        about = [pl.lit(value).alias(key) for key, value in where.items()]
        for number, (how, level) in enumerate(itertools.product(_window_options(wanted), wanted.levels)):
            compared = compare_over_time(
                played, metric=wanted.metric, baseline=wanted.baseline, alpha=level, fewest=wanted.fewest,
                exact=wanted.exact, **how,
            )  # fmt: skip
            shares.append(window_shares(compared).with_columns(*about))
            if number < len(wanted.levels):
                tests.append(compared.summary().with_columns(*about, pl.lit(level).alias("level")))
            if number == 0:
                curves += [one.table.with_columns(*about) for one in compared.exhibits() if one.y == "mcnemar"]
    found = {name: shares, f"{name}_tests": tests, f"{name}_curves": curves}
    return {key: pl.concat(tables, how="diagonal_relaxed") for key, tables in found.items()}


def window_shares(compared: OverTime) -> pl.DataFrame:
    """Return a row per pair of systems: the shares of full windows in which one is above, and significantly above.

    The columns: ``a`` and ``b``, the systems; ``window``, what a window is, in words; ``level``; ``windows``, how many
    are full; ``a_above`` and ``b_above``, the shares of them in which the mean of one is higher; ``a_ahead`` and
    ``b_ahead``, those in which signed McNemar finds it better; and ``significant``, the share of those with different
    means in which it finds either better. Shares of no windows are null.

    >>> import numpy as np
    >>> a = Outcomes("a", np.arange(40), {"hit@1": np.array([1.0, 1, 1, 0] * 10)}, events=40)
    >>> b = Outcomes("b", np.arange(40), {"hit@1": np.array([0.0, 0, 0, 1] * 10)}, events=40)
    >>> found = window_shares(compare_over_time(a, b, metric="hit@1", window=24))
    >>> found.select("windows", "a_above", "a_ahead", "b_ahead", "significant").rows()
    [(17, 1.0, 0.0, 0.0, 0.0)]
    """
    full = compared.curve.filter(~pl.col("partial"))
    ahead_a, ahead_b = ((pl.col("better") == pl.col(one)).fill_null(value=False) for one in "ab")
    above_a, above_b = pl.col("mean_a") > pl.col("mean_b"), pl.col("mean_b") > pl.col("mean_a")
    counted = full.group_by("a", "b", maintain_order=True).agg(
        pl.len().alias("windows"),
        above_a.mean().alias("a_above"),
        above_b.mean().alias("b_above"),
        ahead_a.mean().alias("a_ahead"),
        ahead_b.mean().alias("b_ahead"),
        (ahead_a | ahead_b).filter(above_a | above_b).mean().alias("significant"),
    )
    pairs = compared.summary().select("a", "b")
    about = [pl.lit(str(compared.windows)).alias("window"), pl.lit(compared.alpha).alias("level")]
    found = pairs.with_columns(*about).join(counted, on=["a", "b"], how="left", maintain_order="left")
    return found.with_columns(pl.col("windows").fill_null(0))


def _window_options(wanted: OverTimeSource) -> list[dict[str, Any]]:
    """Return the options of each kind of window that a source lists: moving windows, then fading ones."""
    moving = [{"how": "moving", "window": size} for size in wanted.windows]
    return [*moving, *({"how": "fading", "fading": factor} for factor in wanted.fading)]


def _streams(folder: Path, wanted: OverTimeSource) -> Iterator[tuple[dict[str, Any], dict[str, Outcomes]]]:
    """Yield ({column: value} that identifies a stream, {system: outcomes}) for each stream with values 0 or 1.

    ``folder`` is that of the study, and ``wanted`` names the metric and the systems.

    Raise U263 if the study has none, or lacks the metric or a system.
    """
    manifest_of(folder).require_intact([folder / FILE])
    scores = read_parquet(folder / FILE).filter(pl.col("protocol").str.starts_with("prequential"))
    lacking = {wanted.metric} - set(scores.columns) or set(wanted.competitors) - set(scores["system"])
    if lacking or scores.is_empty():
        what = f"has no {min(lacking)}" if lacking else "has no streams"
        raise UsageError("U263", f"the study {wanted.of} {what}", hint="over_time is of a study of streams")
    scores = scores.filter(pl.col("system").is_in(wanted.competitors or scores["system"].unique()))
    for key, part in scores.partition_by(STREAM, as_dict=True, maintain_order=True).items():
        values = part[wanted.metric].drop_nulls().drop_nans()
        if not values.is_in([0.0, 1.0]).all():
            continue
        events = int(part["unit"].max()) + 1  # type: ignore[arg-type]  # later events were not scored
        yield (
            dict(zip(STREAM, key, strict=True)),
            {
                str(system): Outcomes.from_frame(
                    own.select(pl.col("unit").alias(EVENT), wanted.metric).drop_nulls().drop_nans().sort(EVENT),
                    str(system),
                    events=events,
                )
                for (system,), own in part.partition_by("system", as_dict=True, maintain_order=True).items()
            },
        )
