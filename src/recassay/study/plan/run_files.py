"""Run files as systems of a study: ranked lists that another program made, one file per data set, split, fold and seed.

A path such as ``runs/{data}/{fold}.csv`` names the file for a data set and fold; ``{split}`` and ``{seed}`` are
possible too. In a path with ``*`` every match is a system of its own.
"""

from __future__ import annotations

import functools
import glob
import hashlib
import itertools
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from recassay.data.io.columns import ITEM, USER, parse_columns
from recassay.data.io.sources import table_files, table_suffixes
from recassay.data.io.write import file_name
from recassay.data.read import read_run, read_with_shared_names
from recassay.data.run import Run
from recassay.errors import InputError, UsageError
from recassay.models.base.registry import is_file_model
from recassay.naming.system_names import run_name, without_gz
from recassay.study.config.reading import PLACE_NAMES
from recassay.study.store.folder import StudyCell

PLACE = re.compile(r"\{(" + "|".join(PLACE_NAMES) + r")\}")
TOKEN = re.compile(rf"(\{{(?:{'|'.join(PLACE_NAMES)})\}}|\*)")  # a place or a *: re.split returns it between texts
GROUPS = {"*": "([^/]*)", "{": "[^/]+"}  # what a * and a {name} of a path match
EDGES = "-_. "  # around the names of places in a file name

Columns = Mapping[str, str]


def names_run_files(text: str) -> bool:
    """Return whether a text under ``models`` is a path of run files, and not the text of a model.

    >>> [names_run_files(text) for text in ("runs/als.csv", "als-{fold}.parquet", "runs/*", "runs/{fold}/als")]
    [True, True, True, True]
    >>> [names_run_files(text) for text in ("Popular", "ALS(alpha=0.5)", "mine.py:Model(path='a/b.csv')")]
    [False, False, False]
    """
    if is_file_model(text) or text.endswith(".py"):
        return False
    before = text.partition("(")[0]
    return "/" in before or "*" in before or without_gz(Path(text)).suffix.lower() in table_suffixes()


@dataclass(frozen=True)
class RunFiles:
    """The run files of one system: a path with ``{data}``, ``{split}``, ``{fold}`` and ``{seed}`` to be filled in.

    The path ``text`` is relative to ``folder``. ``columns`` maps a data set to the names of the columns of its files,
    where they have a header.

    >>> files = RunFiles(Path("study"), "runs/{data}/{fold}.csv")
    >>> files.at(StudyCell("shop", "k_folds(k=2)", 1, 0)).path.as_posix()
    'study/runs/shop/1.csv'
    """

    folder: Path
    text: str
    columns: Mapping[str, Columns] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.text

    @property
    def names(self) -> frozenset[str]:
        """Return which of the names data, split, fold and seed the path has in braces."""
        return frozenset(PLACE.findall(self.text))

    def at(self, cell: StudyCell) -> RunFile:
        """Return the run file for a data set, split, fold and seed."""
        text = self._path_with(data=cell.dataset, split=cell.split, fold=cell.fold, seed=cell.seed)
        return RunFile(self.folder / text, text, self.columns.get(cell.dataset, {}))

    def sources(self) -> list[Path]:
        """Return the paths of all files that fit the path, and of their folders."""
        files = [part for path in self._files() for part in table_files(self.folder / path)]
        return [*{file.parent: None for file in files}, *files]

    def digests(self) -> dict[str, str]:
        """Return a digest of the content of every file that fits the path, by its path relative to the study.

        Files of folds that the study does not have are among them.
        """
        return {Path(path).as_posix(): digest_of_files(table_files(self.folder / path)) for path in self._files()}

    def _files(self) -> list[str]:
        return sorted(glob.glob(_pattern(self.text), root_dir=self.folder))

    def require(
        self, system: str, dataset: str, split: str, seeds: Collection[int], folds: Collection[int] | None
    ) -> None:
        """Raise I109 if a system's file for some fold or seed is missing, U132 if one file would serve several folds.

        While the numbers of the ``folds`` are unknown (None), a file for any fold will do.
        """
        if folds is not None and len(folds) > 1 and "fold" not in self.names:
            raise UsageError(
                "U132",
                f"{system} has one run file for the {len(folds)} folds of {dataset}, {split}",
                where=self.text,
                hint="write a file for each fold, and {fold} in the path",
            )
        places: list[dict[str, str | int]] = [
            {"data": dataset, "split": split, "seed": seed, **({} if fold is None else {"fold": fold})}
            for fold in (folds or (None,))
            for seed in seeds
        ]
        home = Path(glob.escape(str(self.folder)))
        missing = [place for place in places if not glob.glob(str(home / _pattern(self._path_with(**place))))]
        if missing:
            where = ", ".join(
                f"{name} {value}" if isinstance(value, int) else value for name, value in missing[0].items()
            )
            raise InputError(
                "I109",
                f"{system} lacks {len(missing)} of {len(places)} run files, the first for {where}",
                where=str(self.folder / self._path_with(**missing[0])),
                hint="write it: recassay split LOG -o DIR has the training log of every fold, under its number",
            )

    def _path_with(self, **place: str | int) -> str:
        known = {name: file_name(str(value)) for name, value in place.items()}
        return PLACE.sub(lambda match: known.get(match[1], match[0]), self.text)


@dataclass(frozen=True)
class RunFile:
    """The run file of a system for one data set, split, fold and seed.

    ``text`` is its path as the study writes it, and ``columns`` are the names of its columns.
    """

    path: Path
    text: str
    columns: Columns = field(default_factory=dict)

    def __str__(self) -> str:
        named = ", ".join(f"{meaning}={column}" for meaning, column in self.columns.items())
        return f"{self.text} ({named})" if named else self.text

    @property
    def digest(self) -> str:
        """Return a digest of the content of the file, or of all files in it if it is a folder."""
        return digest_of_files(table_files(self.path))

    def read(self, name: str) -> Run:
        """Return the ranked lists in the file as a run called ``name``."""
        chosen = {meaning: column for meaning, column in parse_columns(self.columns).items() if meaning in (USER, ITEM)}
        return read_with_shared_names(lambda names: read_run(self.path, name, columns=names), chosen or None)


def digest_of_files(paths: Iterable[Path]) -> str:
    """Return a digest of the content of files; it depends on the order of ``paths``."""
    return _digest(tuple((str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in paths))


@functools.lru_cache(maxsize=4096)
def _digest(stamped: tuple[tuple[str, int, int], ...]) -> str:
    """Return a digest of the content of files, given as (path, size, time of last change).

    Results are cached; size and time are there so that a changed file is read again.
    """
    digest = hashlib.blake2b(digest_size=16)
    for path, *_ in stamped:
        with Path(path).open("rb") as file:
            digest.update(hashlib.file_digest(file, "blake2b").digest())
    return digest.hexdigest()


def expand(text: str, folder: Path, name: str | None) -> dict[str, str]:
    """Return the systems that a path of run files names: for each name of a system, the path without ``*``.

    A path with ``*`` names a system for every match: the text in place of ``*``, after ``name-`` if there is a name.
    Any other path is one system, called ``name``, or else after its file. Raise U109 if two matches give the same name.

    >>> expand("runs/als-{fold}.csv.gz", Path(), None), expand("runs/als/{fold}.csv", Path(), None)
    ({'als': 'runs/als-{fold}.csv.gz'}, {'als': 'runs/als/{fold}.csv'})
    >>> expand("runs/{fold}.csv", Path(), "mine")
    {'mine': 'runs/{fold}.csv'}
    """
    if "*" not in text:
        return {name or _label(text): text}
    found = dict[str, str]()
    fits = re.compile("".join(GROUPS.get(part[:1], re.escape(part)) for part in TOKEN.split(text)))
    for path in sorted(glob.glob(_pattern(text), root_dir=folder)):
        if match := fits.fullmatch(Path(path).as_posix()):
            stars = match.groups()
            label = "-".join(([name] if name else []) + [run_name(Path(star), table_suffixes()) for star in stars])
            whole = "".join(map("".join, itertools.zip_longest(text.split("*"), stars, fillvalue="")))
            if found.setdefault(label, whole) != whole:
                raise UsageError(
                    "U109",
                    f"two systems have the name {label!r}",
                    where=f"{found[label]} and {whole}",
                    hint="rename one of the files",
                )
    return found


def _pattern(text: str) -> str:
    """Return the glob pattern of a path: ``{data}``, ``{split}``, ``{fold}`` and ``{seed}`` become ``*``."""
    return "".join("*" if TOKEN.fullmatch(part) else glob.escape(part) for part in TOKEN.split(text))


def _label(text: str) -> str:
    """Return the name of a system for a path: its file without suffixes and ``{...}``, or else the nearest folder."""
    for part in reversed(Path(text).parts):
        if label := PLACE.sub("", run_name(Path(part), table_suffixes())).strip(EDGES):
            return label
    return ""
