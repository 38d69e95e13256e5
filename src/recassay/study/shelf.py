"""The folder of a study: where every piece lies, under names made of what it is, each whole or absent.

A piece on the shelf is taken again if its key, a digest of everything it was made from, is still the same. So a study
that was stopped goes on where it was, and one whose designs or metrics changed fits nothing again.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import pickle
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from recassay._version import __version__
from recassay.data.exhibit import Exhibit
from recassay.data.file_names import file_name
from recassay.data.fold import Fold
from recassay.data.interactions import Interactions
from recassay.data.io import atomic, write_json, write_parquet, write_text
from recassay.data.outcomes import Outcomes
from recassay.data.read import read_run
from recassay.data.run import Run
from recassay.data.sequences import SequenceFold, Sequences
from recassay.study.standings import standings_from, standings_parts
from recassay.study.stream_fold import StreamFold

RUNS, STANDINGS, FOLDS, FAILURES, EXHIBITS = "runs", "standings", "folds", "failures", "exhibits"
FITTED, TRAINING, FOUND = "cache/fitted", "cache/training", "cache/exhibits"
MADE_FROM = "made from"  # in the metadata of a table: its key
ADDRESS = re.compile(r" at 0x[0-9a-f]+")  # in what Python says of an object that does not describe itself


@dataclass(frozen=True)
class Cell:
    """One fold of one split of one data set, asked with one seed."""

    dataset: str
    split: str
    fold: int
    seed: int


def digest_of(*parts: object) -> str:
    """A digest of plain values."""
    return hashlib.blake2b(json.dumps(parts, default=str).encode(), digest_size=16).hexdigest()


@dataclass
class Shelf:
    """Pieces of a study below a folder, and which of its files belong to the study as it is now.

    ``names`` are those of the data sets: two that differ in case alone have names of files that differ in more.
    """

    folder: Path
    current: set[Path] = field(default_factory=set)
    names: tuple[str, ...] = ()

    def of_fold(self, cell: Cell) -> Path:
        """The place, below a folder, of what all seeds share."""
        return self.of_split(cell.dataset, cell.split) / f"fold-{cell.fold}"

    def of_split(self, dataset: str, split: str) -> Path:
        """The place, below a folder, of a split of a data set."""
        return Path(file_name(dataset, self.names), file_name(split))

    def of_cell(self, cell: Cell) -> Path:
        """The place of a cell below a folder."""
        return self.of_fold(cell) / f"seed-{cell.seed}"

    def place(self, *parts: str | Path) -> Path:
        """The path of a piece that belongs to the study; its folder is made."""
        path = self.folder.joinpath(*parts)
        path.parent.mkdir(parents=True, exist_ok=True)
        self.current.add(path)
        return path

    def tidy(self) -> None:
        """Remove what is no longer in the study (systems, seeds, folds), and what a kill left half-written."""
        for path in self.folder.rglob(".*.tmp"):
            path.unlink(missing_ok=True)  # a task that was given up may still be there, and take it away itself
        for kind in (RUNS, STANDINGS, FOLDS, FAILURES, EXHIBITS):
            for path in sorted((self.folder / kind).rglob("*"), reverse=True):
                if path.is_file() and path not in self.current:
                    path.unlink()
                elif path.is_dir() and not any(path.iterdir()):
                    path.rmdir()
            if (self.folder / kind).is_dir() and not any((self.folder / kind).iterdir()):
                (self.folder / kind).rmdir()

    # --- answers: a run and its standings, taken together -----------------------------------------------------------

    def answer(self, cell: Cell, system: str, key: str) -> Run | None:
        """The run with its standings, if both were made from what the key says."""
        if not self.has_answer(cell, system, key):
            return None
        run, pairs, mark = self._answer_places(cell, system)
        counts, asked, items, users = map(pl.read_parquet, (pairs, *self._shared_places(cell)))
        about = json.loads(mark.read_text(encoding="utf-8"))
        standings = standings_from(system, (counts, asked, items, users, about))
        return dataclasses.replace(read_run(run, system), standings=standings)

    def has_answer(self, cell: Cell, system: str, key: str) -> bool:
        """Whether there are a run and standings that were made from what the key says."""
        *tables, mark = self._answer_places(cell, system)
        there = all(path.is_file() for path in (*tables, *self._shared_places(cell)))
        return there and _marked(mark, key) and "masses" in json.loads(mark.read_text(encoding="utf-8"))  # or older

    def keep_answer(self, cell: Cell, run: Run, key: str) -> None:
        """Write a run and its standings; the mark that makes them valid comes last.

        One of the same key stays: who else writes at the same time writes the same bytes.
        """
        assert run.standings is not None, "a played run has standings"
        pairs, *shared, about = standings_parts(run.standings)
        lists, counts, mark = self._answer_places(cell, run.name)
        if not _marked(mark, key):
            mark.unlink(missing_ok=True)
        for table, path in zip(shared, self._shared_places(cell), strict=True):
            write_parquet(table, path)
        write_parquet(run.frame(), lists)
        write_parquet(pairs, counts)
        write_json({"key": key, **about}, mark)

    def _shared_places(self, cell: Cell) -> list[Path]:
        names = "asked.parquet", "items.parquet", "users.parquet"
        return [self.place(STANDINGS, self.of_fold(cell), name) for name in names]

    def _answer_places(self, cell: Cell, system: str) -> tuple[Path, Path, Path]:
        name = file_name(system)
        return (
            self._run_place(cell, system),
            self.place(STANDINGS, self.of_cell(cell), f"{name}.parquet"),
            self.place(STANDINGS, self.of_cell(cell), f"{name}.json"),
        )

    # --- answers that are one table ---------------------------------------------------------------------------------

    def table(self, cell: Cell, system: str, key: str) -> pl.DataFrame | None:
        """The answer of a system, if it was made from what the key says."""
        return pl.read_parquet(self._run_place(cell, system)) if self.has_table(cell, system, key) else None

    def has_table(self, cell: Cell, system: str, key: str) -> bool:
        """Whether there is an answer in one table that was made from what the key says."""
        path = self._run_place(cell, system)
        return path.is_file() and pl.read_parquet_metadata(path).get(MADE_FROM) == key

    def _run_place(self, cell: Cell, system: str) -> Path:
        return self.place(RUNS, self.of_cell(cell), f"{file_name(system)}.parquet")

    def keep_table(self, cell: Cell, system: str, answer: pl.DataFrame, key: str) -> None:
        """Write the answer of a system, with the key in the file itself: it is whole or it is not there."""
        with atomic(self._run_place(cell, system)) as temporary:
            answer.write_parquet(temporary, metadata={MADE_FROM: key})

    def keep_outcomes(self, cell: Cell, outcomes: Outcomes, key: str) -> None:
        """Write what a system did on a stream, with the key in the file itself; times are no part of it."""
        path = self._run_place(cell, outcomes.system)
        dataclasses.replace(outcomes, timing=None).write(path, {MADE_FROM: key})

    def outcomes(self, cell: Cell, system: str, key: str) -> Outcomes | None:
        """What a system did on a stream, if it was made from what the key says."""
        return Outcomes.read(self._run_place(cell, system)) if self.has_table(cell, system, key) else None

    # --- exhibits of experiments ------------------------------------------------------------------------------------

    def exhibits(self, key: str) -> list[Exhibit] | None:
        """What an experiment found under this key."""
        path = self.folder / FOUND / f"{key}.json"
        if not path.is_file():
            return None
        found = json.loads(path.read_text(encoding="utf-8"))
        return [Exhibit(**{**one, "table": pl.DataFrame(one["table"], infer_schema_length=None)}) for one in found]

    def keep_exhibits(self, key: str, exhibits: Iterable[Exhibit]) -> None:
        """Write what an experiment found."""
        path = self.folder / FOUND / f"{key}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json([{**vars(one), "table": one.table.to_dicts()} for one in exhibits], path)

    def show_exhibit(self, dataset: str, split: str, exhibit: Exhibit, *, order: int = 0) -> None:
        """Write an exhibit for readers: its table, what it is, where it is from, and its place among the others."""
        home = EXHIBITS / self.of_split(dataset, split)
        name = file_name(exhibit.name)
        write_text(exhibit.table.write_csv(), self.place(home, f"{name}.csv"))
        about = {"dataset": dataset, "split": split, "order": order}
        write_json({**exhibit.to_dict(), **about}, self.place(home, f"{name}.json"))

    # --- fitted models ----------------------------------------------------------------------------------------------

    def fitted(self, key: str, log: Interactions | Sequences) -> Any | None:
        """What was fitted under this key, put back on its log; None if there is none, or it cannot be read here."""
        path = self.folder / FITTED / f"{key}.pickle"
        if not path.is_file():
            return None
        with path.open("rb") as file:
            try:
                return _Unpickler(file, log).load()
            except Exception:  # of another version, or of a class that has moved: it is fitted again
                return None

    def checkpoint(self, key: str) -> Path:
        """Where a model that is being trained under this key leaves its state."""
        path = self.folder / TRAINING / f"{key}.checkpoint"
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def keep_fitted(self, key: str, fitted: Any, log: Interactions | Sequences) -> None:
        """Keep a fitted model, without the log it was fitted on; one that cannot be pickled is not kept."""
        path = self.folder / FITTED / f"{key}.pickle"
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with atomic(path) as temporary, temporary.open("wb") as file:
                _Pickler(file, log).dump(fitted)
        except (pickle.PicklingError, TypeError, AttributeError):
            return
        self.checkpoint(key).unlink(missing_ok=True)


def model_key(text: str, source: str, model: object, fold: Fold | SequenceFold | StreamFold) -> str:
    """What a fitted model is made from: its text, the file that defines it, its seed, the fold, and who computes."""
    return digest_of(__version__, np.__version__, text, source, ADDRESS.sub("", str(model)), fold.fingerprint)


def _marked(mark: Path, key: str) -> bool:
    """Whether a mark says that what it stands for was made from what the key says."""
    return mark.is_file() and bool(json.loads(mark.read_text(encoding="utf-8"))["key"] == key)


class _Pickler(pickle.Pickler):
    """Names the log and does not write it."""

    def __init__(self, file: Any, log: Interactions | Sequences) -> None:
        super().__init__(file, protocol=5)
        self.log = log

    def persistent_id(self, obj: Any) -> str | None:
        return "log" if obj is self.log else None


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: Any, log: Interactions | Sequences) -> None:
        super().__init__(file)
        self.log = log

    def persistent_load(self, pid: Any) -> Interactions | Sequences:
        return self.log
