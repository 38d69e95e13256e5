"""The folder of a study: the paths of all stored results, each of which is complete or absent.

A stored result is used again if its key, a digest of everything that it depends on, is unchanged. So an interrupted
study resumes, and a study whose designs or metrics changed fits no model again.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import pickle
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from recassay._version import __version__
from recassay.data.fold import Fold
from recassay.data.interactions import Interactions
from recassay.data.io import archive, write_json, write_parquet, write_text
from recassay.data.io.file_names import file_name
from recassay.data.io.manifest import Manifest, manifest_of
from recassay.data.io.parquet import parquet_metadata, read_parquet
from recassay.data.read import read_run
from recassay.data.run import Run
from recassay.data.sequences import SequenceFold, Sequences
from recassay.errors import RecassayError, UsageError
from recassay.naming.system_names import ADDRESS
from recassay.report.content.csv_text import csv_text
from recassay.results.exhibit import Exhibit
from recassay.results.outcomes import Outcomes
from recassay.study.store.standings import standings_from, standings_parts
from recassay.study.store.stream_fold import StreamFold

RUNS, STANDINGS, FOLDS, FAILURES, EXHIBITS = "runs", "standings", "folds", "failures", "exhibits"
FITTED, TRAINING, FOUND = "cache/fitted", "cache/training", "cache/exhibits"
TEMPORARY = f".*.{'?' * 12}.tmp"  # files that were not yet complete
MADE_FROM = "made from"  # the entry of the key in the metadata of a table


@dataclass(frozen=True)
class StudyCell:
    """A cell of a study, the unit of its work: one fold of one split of one data set, run with one seed."""

    dataset: str
    split: str
    fold: int
    seed: int


def digest_of(*parts: object) -> str:
    """Return a digest (32 hexadecimal digits) of plain values that JSON can hold."""
    return hashlib.blake2b(json.dumps(parts, default=str).encode(), digest_size=16).hexdigest()


@dataclass
class StudyFolder:
    """The stored results of a study, and the set of files that belong to the current version of the study.

    ``names`` are the names of the data sets: names that differ only in case get different file names, because some file
    systems ignore case. ``current`` collects every path that the study has asked for; other files are outdated.
    ``trust`` says whether pickles that another process wrote may be loaded. ``replaced`` are runs that somebody else
    wrote, ``reported`` those of them that a finding names, and ``damaged`` the files to compute again.
    """

    folder: Path
    current: set[Path] = field(default_factory=set)
    names: tuple[str, ...] = ()
    trust: bool = False  # whether pickles of another process may be read
    replaced: set[Path] = field(default_factory=set)  # runs that somebody else wrote, and that are scored
    reported: set[Path] = field(default_factory=set)  # replaced runs that a finding names
    damaged: set[Path] = field(default_factory=set)  # files that are computed again

    @property
    def manifest(self) -> Manifest:
        """Return the manifest of the folder, which holds the checksums of its files."""
        return manifest_of(self.folder)

    def of_fold(self, cell: StudyCell) -> Path:
        """Return the path, relative to a folder of results, of a fold: ``DATASET/SPLIT/fold-N``."""
        return self.of_split(cell.dataset, cell.split) / f"fold-{cell.fold}"

    def of_split(self, dataset: str, split: str) -> Path:
        """Return the path, relative to a folder of results, of a split of a data set: ``DATASET/SPLIT``."""
        return Path(file_name(dataset, self.names), file_name(split))

    def of_cell(self, cell: StudyCell) -> Path:
        """Return the path, relative to a folder of results, of a fold with a seed: ``DATASET/SPLIT/fold-N/seed-N``."""
        return self.of_fold(cell) / f"seed-{cell.seed}"

    def place(self, *parts: str | Path) -> Path:
        """Return the path of a file of the study from its parts below the folder; create the folder that it is in.

        The file then counts as one of the current study, which :meth:`remove_outdated` keeps.
        """
        path = self.folder.joinpath(*parts)
        path.parent.mkdir(parents=True, exist_ok=True)
        self.current.add(path)
        return path

    def remove_outdated(self) -> None:
        """Remove files of systems, seeds and folds that the study lacks now, and temporary files of killed runs.

        Files that somebody else put into the folder stay.
        """
        for path in self.folder.rglob(TEMPORARY):
            path.unlink(missing_ok=True)  # an abandoned task may still run, and remove it itself
        for kind in (RUNS, STANDINGS, FOLDS, FAILURES, EXHIBITS):
            for path in self.manifest.listed(kind):
                if path not in self.current:
                    self.manifest.remove(path)
            folders = [self.folder / kind, *sorted((self.folder / kind).rglob("*/"))]
            for path in reversed(folders):
                if path.is_dir() and not any(path.iterdir()):
                    path.rmdir()

    # --- answers of ranked lists: a run and its standings -----------------------------------------------------------

    def answer(self, cell: StudyCell, system: str, key: str) -> Run | None:
        """Return the ranked lists of a system with their standings if both are stored under this key, else None.

        The cell is the data set, split, fold and seed. Standings count the candidates that are ranked above each
        relevant item. Lists that somebody else wrote into the folder come without standings.
        """
        if not self.has_answer(cell, system, key):
            return None
        run, pairs, mark = self._answer_places(cell, system)
        if run in self.replaced:
            return read_run(run, system)
        counts, queries, items, users = map(read_parquet, (pairs, *self._shared_places(cell)))
        about = json.loads(mark.read_text(encoding="utf-8"))
        standings = standings_from(system, (counts, queries, items, users, about))
        return dataclasses.replace(read_run(run, system), standings=standings)

    def has_answer(self, cell: StudyCell, system: str, key: str) -> bool:
        """Return whether the ranked lists of a system and their standings on a cell have this key and no damage.

        The cell is the data set, split, fold and seed. Standings count the candidates that are ranked above each
        relevant item. Lists that somebody else wrote in place of the stored ones count as stored if they can be read;
        raise U111 if they are in the way of lists to compute.
        """
        run, *others = self._answer_places(cell, system)
        *_, mark = others
        intact = self._are_intact(*others, *self._shared_places(cell)) and _marked(mark, key)
        if self._are_intact(run):
            return intact
        replaced = self._is_replaced(run, functools.partial(read_run, name=system))
        if replaced and not intact:
            raise _replaced(run)
        return replaced

    def answer_digest(self, cell: StudyCell, system: str) -> str:
        """Return a digest of the stored ranked lists and standings of a system: of the bytes of their files."""
        digest = hashlib.blake2b(digest_size=16)
        for path in (*self._answer_places(cell, system), *self._shared_places(cell)):
            digest.update(path.read_bytes())
        return digest.hexdigest()

    def store_answer(self, cell: StudyCell, run: Run, key: str) -> None:
        """Write ranked lists and standings under a key, and last the JSON file with the key which makes them valid.

        The results are of one ``cell`` (data set, split, fold, seed). A JSON file that already has this key is kept: a
        process that writes at the same time writes the same bytes.
        """
        assert run.standings is not None, "a played run has standings"
        pairs, *shared, about = standings_parts(run.standings)
        lists, counts, mark = self._answer_places(cell, run.name)
        if not (self.manifest.is_intact(mark) and _marked(mark, key)):
            self.manifest.remove(mark)
        for table, path in zip(shared, self._shared_places(cell), strict=True):
            write_parquet(table, path)
        write_parquet(run.frame(), lists)
        write_parquet(pairs, counts)
        write_json({"key": key, **about}, mark)

    def _shared_places(self, cell: StudyCell) -> list[Path]:
        names = "asked.parquet", "items.parquet", "users.parquet"
        return [self.place(STANDINGS, self.of_fold(cell), name) for name in names]

    def _answer_places(self, cell: StudyCell, system: str) -> tuple[Path, Path, Path]:
        name = file_name(system)
        return (
            self._run_place(cell, system),
            self.place(STANDINGS, self.of_cell(cell), f"{name}.parquet"),
            self.place(STANDINGS, self.of_cell(cell), f"{name}.json"),
        )

    # --- answers of other kinds: one table ----------------------------------------------------------------------------

    def table(self, cell: StudyCell, system: str, key: str) -> pl.DataFrame | None:
        """Return the table of a system's results on a fold and seed stored under a key, or None if there is none."""
        return read_parquet(self._run_place(cell, system)) if self.has_table(cell, system, key) else None

    def has_table(self, cell: StudyCell, system: str, key: str) -> bool:
        """Return whether an undamaged table of a system's results on a fold and seed is stored under this key.

        Raise U111 if somebody else wrote a table in its place.
        """
        path = self._run_place(cell, system)
        if self._is_replaced(path, read_parquet):
            raise _replaced(path)
        return self._are_intact(path) and parquet_metadata(path).get(MADE_FROM) == key

    def _run_place(self, cell: StudyCell, system: str) -> Path:
        return self.place(RUNS, self.of_cell(cell), f"{file_name(system)}.parquet")

    def store_table(self, cell: StudyCell, system: str, answer: pl.DataFrame, key: str) -> None:
        """Write the table of a system's results, with the key in the same file, so that both are stored or neither."""
        write_parquet(answer, self._run_place(cell, system), {MADE_FROM: key})

    def store_outcomes(self, cell: StudyCell, outcomes: Outcomes, key: str) -> None:
        """Write the outcomes of a system on a stream (its values at each event) and the key as one file.

        Times of queries and updates are left out.
        """
        dataclasses.replace(outcomes, timing=None).write(self._run_place(cell, outcomes.system), {MADE_FROM: key})

    def outcomes(self, cell: StudyCell, system: str, key: str) -> Outcomes | None:
        """Return the outcomes of a system on a stream (``cell``) if they are stored under this key, else None."""
        return Outcomes.read(self._run_place(cell, system)) if self.has_table(cell, system, key) else None

    # --- exhibits of experiments ------------------------------------------------------------------------------------

    def exhibits(self, key: str) -> list[Exhibit] | None:
        """Return the exhibits (tables to draw) of an experiment that are stored under this key, or None."""
        path = self.folder / FOUND / f"{key}.json"
        if not self._are_intact(path):
            return None
        found = json.loads(path.read_text(encoding="utf-8"))
        return [Exhibit(**{**row, "table": pl.DataFrame(row["table"], infer_schema_length=None)}) for row in found]

    def store_exhibits(self, key: str, exhibits: Iterable[Exhibit]) -> None:
        """Write the exhibits (tables to draw) of an experiment into the cache, under a key."""
        path = self.folder / FOUND / f"{key}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json([{**vars(exhibit), "table": exhibit.table.to_dicts()} for exhibit in exhibits], path)

    def write_exhibit(self, dataset: str, split: str, exhibit: Exhibit, *, order: int = 0) -> None:
        """Write an exhibit (a table to draw) for readers: its table as CSV, and its description as JSON.

        The JSON also has the data set, the split, and ``order``, the position of the exhibit in the report.
        """
        home = EXHIBITS / self.of_split(dataset, split)
        name = file_name(exhibit.name)
        write_text(csv_text(exhibit.table), self.place(home, f"{name}.csv"))
        about = {"dataset": dataset, "split": split, "order": order}
        write_json({**exhibit.to_dict(), **about}, self.place(home, f"{name}.json"))

    # --- fitted models ----------------------------------------------------------------------------------------------

    def fitted(self, key: str, log: Interactions | Sequences) -> Any | None:
        """Return the fitted model stored under a key, with its training ``log`` put back; None if none can be loaded.

        Raise U236 if the model is in a pickle that another process wrote, unless the folder is trusted.
        """
        stored, pickled = self._fitted_places(key)
        try:
            if self._are_intact(stored):
                return archive.load_archive(stored, {"log": log})
            if pickled.is_file() and (self._are_intact(pickled) or not self.trust):  # U236 comes before any check
                return archive.load_pickle(pickled, {"log": log}, trust=self.trust)
        except RecassayError:
            raise
        except Exception:  # damaged, of another version, or of a class that has moved: the model is fitted again
            return None
        return None

    def store_fitted(self, key: str, fitted: Any, log: Interactions | Sequences) -> None:
        """Store a fitted model without its training log: as an archive of arrays, else as a pickle, else not at all."""
        stored, pickled = self._fitted_places(key)
        stored.parent.mkdir(parents=True, exist_ok=True)
        try:
            try:
                archive.save_archive(stored, fitted, {"log": log})
            except archive.NotStorableError:  # a model of another package
                archive.save_pickle(pickled, fitted, {"log": log})
        except (pickle.PicklingError, TypeError, AttributeError):
            return
        self.checkpoint(key).unlink(missing_ok=True)

    def _fitted_places(self, key: str) -> tuple[Path, Path]:
        """Return the two paths where a fitted model may be stored: as an archive of arrays, and as a pickle."""
        return self.folder / FITTED / f"{key}.npz", self.folder / FITTED / f"{key}.pickle"

    def checkpoint(self, key: str) -> Path:
        """Return the path of the checkpoint of the work with this key; a damaged checkpoint is removed."""
        path = self.folder / TRAINING / f"{key}.checkpoint"
        path.parent.mkdir(parents=True, exist_ok=True)
        if not self._are_intact(path):
            path.unlink(missing_ok=True)  # the work begins again
        return path

    # --- damage -----------------------------------------------------------------------------------------------------

    def _are_intact(self, *paths: Path) -> bool:
        """Return whether all files are exactly as recassay wrote them; record those that are damaged."""
        for path in paths:
            if self.manifest.state(path) == "changed":
                self.damaged.add(path)
        return self.manifest.is_intact(*paths)

    def _is_replaced(self, run: Path, read: Callable[[Path], object]) -> bool:
        """Return whether somebody replaced a stored file with another that ``read`` can read.

        If so, the file is recorded as replaced and not as damaged.
        """
        if not self.manifest.is_replaced(run):
            return False
        try:
            read(run)
        except (RecassayError, pl.exceptions.PolarsError):
            return False
        self.damaged.discard(run)
        self.replaced.add(run)
        return True

    def newly_replaced(self) -> tuple[str, ...]:
        """Return the names of run files that somebody replaced and that no earlier call has returned."""
        found = tuple(map(self.manifest.name_of, sorted(self.replaced - self.reported)))
        self.reported |= self.replaced
        return found


def _replaced(path: Path) -> UsageError:
    return UsageError(
        "U111",
        f"somebody else wrote {path.name}, and the study has to compute it again",
        where=str(path),
        hint="move the file away, or choose another folder with -o",
    )


def failed_in_dry_run(folder: Path) -> frozenset[str]:
    """Return the names of the systems and metrics that failed in the dry run of the study whose results are there."""
    found = (json.loads(path.read_text(encoding="utf-8")) for path in (folder / FAILURES).rglob("*.json"))
    return frozenset(about["system"] for about in found if about.get("dry_run"))


def model_key(text: str, source: str, model: object, fold: Fold | SequenceFold | StreamFold) -> str:
    """Return the key under which a fitted model is stored: a digest of everything that the fit depends on.

    ``text`` is the expression that defines the model, and ``source`` the digest of its Python file (or ""). The key
    also covers the model's parameters and seed, the fold, and the versions of recassay and NumPy.
    """
    return digest_of(__version__, np.__version__, text, source, ADDRESS.sub("", str(model)), fold.fingerprint)


def _marked(mark: Path, key: str) -> bool:
    """Return whether the JSON file ``mark`` exists and holds ``key``.

    It is written last, so if it does, the files of the result are complete.
    """
    return mark.is_file() and bool(json.loads(mark.read_text(encoding="utf-8"))["key"] == key)
