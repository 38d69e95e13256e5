"""The folder of a study: the paths of all stored results, each of which is complete or absent.

A stored result is used again if its key, a digest of everything that it depends on, is unchanged. So an interrupted
study resumes, and a study whose designs or metrics changed fits no model again.
"""

from __future__ import annotations

import hashlib
import json
import pickle
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any, TypeVar

import numpy as np
import polars as pl

from recassay._version import __version__
from recassay.data.interactions import Interactions
from recassay.data.io import archive, write_json, write_text
from recassay.data.io.manifest import Manifest, manifest_of
from recassay.data.io.parquet import parquet_metadata, read_parquet
from recassay.data.io.write import file_name
from recassay.data.sequences import Sequences
from recassay.errors import RecassayError, UsageError
from recassay.naming.system_names import ADDRESS
from recassay.stats.resampling import Memo, remembering
from recassay.threads import available

RUNS, STANDINGS, FOLDS, FAILURES, EXHIBITS = "runs", "standings", "folds", "failures", "exhibits"
FITTED, TRAINING, COMPUTED = "cache/fitted", "cache/training", "cache/computed"
SCORED = "scored"  # the kind of values of one system on one fold
STATISTICS, TIMES = "cache/statistics.json", "cache/times"
FIT, ANSWER, JUDGE = "fit", "answer", "judge"  # timed steps
PLACES = 3  # decimals of a second
TEMPORARY = f".*.{'?' * 12}.tmp"  # files that were not yet complete
MADE_FROM = "made from"  # the entry of the key in the metadata of a table
VERSIONS = (__version__, np.__version__)  # results of other versions may differ
Value = TypeVar("Value")


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
    ``trust`` says whether pickles that another process wrote may be loaded. ``replaced`` are runs that another program
    wrote, ``reported`` those of them that a finding names, and ``damaged`` the files to compute again. ``computed`` and
    ``taken`` count, for each kind of value, those that :meth:`remember` computed and those that it read from files.
    """

    folder: Path
    names: tuple[str, ...] = ()
    trust: bool = False
    current: set[Path] = field(default_factory=set)
    replaced: set[Path] = field(default_factory=set)
    reported: set[Path] = field(default_factory=set)
    damaged: set[Path] = field(default_factory=set)
    computed: Counter[str] = field(default_factory=Counter)
    taken: Counter[str] = field(default_factory=Counter)

    @property
    def manifest(self) -> Manifest:
        """Return the manifest of the folder, which holds the checksums of its files."""
        return manifest_of(self.folder)

    def of_split(self, dataset: str, split: str) -> Path:
        """Return the path, relative to a folder of results, of a split of a data set: ``DATASET/SPLIT``."""
        return Path(file_name(dataset, self.names), file_name(split))

    def of_cell(self, cell: StudyCell) -> Path:
        """Return the path, relative to a folder of results, of a fold with a seed: ``DATASET/SPLIT/fold-N/seed-N``."""
        return self.of_split(cell.dataset, cell.split) / f"fold-{cell.fold}" / f"seed-{cell.seed}"

    def place(self, *parts: str | Path) -> Path:
        """Return the path of a file of the study from its parts below the folder; create the folder that it is in.

        The file then counts as one of the current study, which :meth:`remove_outdated` keeps.
        """
        path = self.folder.joinpath(*parts)
        path.parent.mkdir(parents=True, exist_ok=True)
        self.current.add(path)
        return path

    def run_place(self, cell: StudyCell, system: str, kind: str = RUNS) -> Path:
        """Return the path of the table of a system's answer on a cell: its lists, sequences or outcomes.

        A cell is a data set, split, fold and seed; ``kind`` is the folder of such tables.
        """
        return self.place(kind, self.of_cell(cell), f"{file_name(system)}.parquet")

    def remove_outdated(self) -> None:
        """Remove files of systems, seeds and folds that the study lacks now, and temporary files of killed runs.

        Files that recassay did not write stay.
        """
        for path in self.folder.rglob(TEMPORARY):
            path.unlink(missing_ok=True)
        for kind in (RUNS, STANDINGS, FOLDS, FAILURES, EXHIBITS, COMPUTED):
            for path in self.manifest.listed(kind):
                if path not in self.current:
                    self.manifest.remove(path)
            for path in (*sorted((self.folder / kind).rglob("*/"), reverse=True), self.folder / kind):
                if path.is_dir() and not any(path.iterdir()):
                    path.rmdir()

    # --- stored results: intact, damaged, or replaced by somebody else ------------------------------------------------

    def are_intact(self, *paths: Path) -> bool:
        """Return whether all files are exactly as recassay wrote them; record those that are damaged."""
        self.damaged |= {path for path in paths if self.manifest.state(path) == "changed"}
        return self.manifest.is_intact(*paths)

    def is_made_from(self, key: str, path: Path) -> bool:
        """Return whether a table is there, undamaged, and was stored under this key."""
        return self.are_intact(path) and parquet_metadata(path).get(MADE_FROM) == key

    def is_replaced(self, path: Path, read: Callable[[Path], object] = read_parquet) -> bool:
        """Return whether another program replaced a stored table by one that ``read`` can read.

        If so, the file is recorded as replaced and not as damaged.
        """
        if not self.manifest.is_replaced(path):
            return False
        try:
            read(path)
        except (RecassayError, pl.exceptions.PolarsError):
            return False
        self.damaged.discard(path)
        self.replaced.add(path)
        return True

    def stored_table(self, cell: StudyCell, system: str, key: str) -> Path | None:
        """Return the path of the table of a system's answers on a cell if it is stored under this key, else None.

        Raise U111 if another program wrote a table in its place.
        """
        path = self.run_place(cell, system)
        if self.is_replaced(path):
            refuse_replaced(path)
        return path if self.is_made_from(key, path) else None

    def newly_replaced(self) -> tuple[str, ...]:
        """Return the names of run files that another program replaced and that no earlier call has returned."""
        found = tuple(map(self.manifest.name_of, sorted(self.replaced - self.reported)))
        self.reported |= self.replaced
        return found

    def checksums(self, *paths: Path) -> list[object]:
        """Return the sizes and checksums of files, which a value that was computed from them depends on."""
        return [self.manifest.entries[self.manifest.name_of(path)][-1] for path in paths]

    # --- values and models by key -------------------------------------------------------------------------------------

    def remember(self, kind: str, parts: tuple[object, ...], compute: Callable[[], Value]) -> Value:
        """Return the stored value that was computed from ``parts``; if there is none, compute and store it.

        ``kind`` is the folder of such values. A value that no archive can hold is computed each time.
        """
        path = self.place(COMPUTED, kind, f"{digest_of(*VERSIONS, *parts)}.npz")
        found: Value | None = self.archived(path)
        if found is not None:
            self.taken[kind] += 1
            return found
        value = compute()
        self.computed[kind] += 1
        with suppress(archive.NotStorableError):  # such as a finding of a check in a plugin
            archive.save_archive(path, value)
        return value

    def archived(self, path: Path) -> Any:
        """Return the value in an archive; None if there is none, or if it cannot be read."""
        if self.are_intact(path):
            with suppress(Exception):  # of another version, or of a class that has moved
                return archive.load_archive(path)
        return None

    def fitted(self, key: str, log: Interactions | Sequences) -> Any | None:
        """Return the fitted model stored under a key, with its training ``log`` put back; None if none can be loaded.

        Raise U236 if the model is in a pickle that another process wrote, unless the folder is trusted.
        """
        path = self.folder / FITTED / f"{key}.model"
        try:
            return archive.load(path, {"log": log}, trust=self.trust) if self.are_intact(path) else None
        except RecassayError:
            raise
        except Exception:  # of another version, or of a class that has moved: the model is fitted again
            return None

    def store_fitted(self, key: str, fitted: Any, log: Interactions | Sequences) -> None:
        """Store a fitted model without its training log: as an archive of arrays, else as a pickle, else not at all."""
        with suppress(pickle.PicklingError, TypeError, AttributeError):
            archive.save(self.place(FITTED, f"{key}.model"), fitted, {"log": log})
            self.checkpoint(key).unlink(missing_ok=True)

    def checkpoint(self, key: str) -> Path:
        """Return the path of the checkpoint of the work with this key; a damaged checkpoint is removed."""
        path = self.place(TRAINING, f"{key}.checkpoint")
        if not self.are_intact(path):
            path.unlink(missing_ok=True)  # the work begins again
        return path

    def times(self, key: str) -> Mapping[str, Any]:
        """Return the stored seconds and threads of the step with this key; an empty mapping if there are none."""
        path = self.folder / TIMES / f"{key}.json"
        return dict(json.loads(path.read_text(encoding="utf-8"))) if self.manifest.is_intact(path) else {}

    def store_times(self, key: str, times: Mapping[str, Any]) -> None:
        """Write how long the step with this key took (``times``, such as seconds and threads) as a JSON file."""
        write_json(times, self.place(TIMES, f"{key}.json"))

    @contextmanager
    def timed(self, key: str, threads: int | None, *, resumed: bool = False) -> Iterator[Callable[[], None]]:
        """Store the seconds that the block takes, unless it raises; yield a function that stores the time so far.

        ``key`` is the key of the step's result. If ``resumed``, the stored time of an earlier, interrupted part is
        added.
        """
        before = float(self.times(key).get("seconds", 0)) if resumed else 0.0
        begin = perf_counter()

        def note() -> None:
            seconds = round(before + perf_counter() - begin, PLACES)
            self.store_times(key, {"seconds": seconds, "threads": threads or available()})

        yield note
        note()

    @contextmanager
    def statistics(self) -> Iterator[Memo]:
        """Keep results of resampling (bootstraps and tests) within a ``with`` block, and store those that it used.

        Yield the cache, which begins with the stored results. If the block raises, the stored results are all kept;
        otherwise those that it did not use are dropped.
        """
        path, known = self.folder / STATISTICS, {}
        if self.are_intact(path):
            versions, results = json.loads(path.read_text(encoding="utf-8"))
            known = {key: tuple(numbers) for key, numbers in results.items()} if versions == [*VERSIONS] else {}
        with remembering(known) as memo:
            kept = known
            try:
                yield memo
                kept = {}
            finally:
                if memo.used:
                    text = json.dumps([VERSIONS, dict(sorted((kept | memo.used).items()))])
                    write_text(text, self.place(STATISTICS))


def refuse_replaced(path: Path) -> None:
    """Raise U111: another program wrote a file in the place of one that the study has to compute again."""
    raise UsageError(
        "U111",
        f"somebody else wrote {path.name}, and the study has to compute it again",
        where=str(path),
        hint="move the file away, or choose another folder with -o",
    )


def model_key(text: str, source: str, model: object, fold: str) -> str:
    """Return the key under which a fitted model is stored: a digest of everything that the fit depends on.

    ``text`` is the expression that defines the model, ``source`` the digest of its Python file (or ""), and ``fold``
    the fingerprint of the fold. The key also covers the model's parameters and seed, and the versions of recassay and
    NumPy.
    """
    return digest_of(*VERSIONS, text, source, ADDRESS.sub("", str(model)), fold)
