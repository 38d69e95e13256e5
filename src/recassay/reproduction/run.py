"""A reproduction from data to verdicts, and the small folder of its results: verdicts, tables, figures, a lock."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from recassay._version import __version__
from recassay.data.io import make_folder, write_json, write_text
from recassay.data.io.manifest import recording, require_own_folder
from recassay.errors import InputError, UsageError
from recassay.report.content.csv_text import csv_text
from recassay.report.figures import panels
from recassay.report.figures.export import standalone
from recassay.reproduction.paper import ClaimVerdict, Figure, PaperFile, verdict_on
from recassay.reproduction.sources import Sources
from recassay.results.exhibit import Exhibit
from recassay.study.store.folder import digest_of
from recassay.study.store.results import versions

VERDICTS, LOCK, TABLES, FIGURES = "verdicts.json", "lock.json", "tables", "figures"
PERSONAL = ("user", "user_id", "item", "item_id", "session")  # columns that no kept table may have
MOST_ROWS = 2_000


@dataclass(frozen=True)
class Reproduction:
    """The results of a paper: a verdict on each claim, the seconds of each source, and the lock."""

    file: PaperFile
    verdicts: tuple[ClaimVerdict, ...]
    seconds: Mapping[str, float]
    lock: Mapping[str, Any]

    def added(self, verdict: ClaimVerdict) -> bool:
        """Return whether a verdict is on a claim that we added to the paper's."""
        return self.file.paper.claims[verdict.name].added

    def to_dict(self) -> dict[str, Any]:
        """Return the results as plain values for JSON."""
        return {
            "paper": self.file.name,
            "quick": self.lock["quick"],
            "claims": {one.name: one.to_dict() for one in self.verdicts},
            "seconds": {name: round(seconds, 1) for name, seconds in self.seconds.items()},
        }


def claims_digest(file: PaperFile) -> str:
    """Return a digest of the sources, claims and figures in a paper's file.

    The explanations of claims do not count, nor do keys that are left out: a new kind of source changes no digest.
    """
    paper = file.paper
    texts = ("why", "tolerance", "claim", "where", "unlike")
    claims = {name: one.model_dump(exclude=set(texts), exclude_defaults=True) for name, one in paper.claims.items()}
    sources = {name: one.model_dump(exclude_defaults=True) for name, one in paper.sources.items()}
    return digest_of(
        sources, claims, {name: one.model_dump(exclude_defaults=True) for name, one in paper.figures.items()}
    )


def code_version() -> str:
    """Return the commit of the sources, with a "+" if they differ from it; the version where there is no checkout."""
    root = Path(__file__).resolve().parents[3]
    if not (root / ".git").exists() or shutil.which("git") is None:
        return __version__
    command = ["git", "describe", "--always", "--dirty=+", "--abbrev=12", "--exclude=*"]
    answer = subprocess.run(command, check=False, cwd=root, capture_output=True, text=True)
    return answer.stdout.strip() or __version__


def build_lock(
    file: PaperFile, sources: Mapping[str, Any], tables: Mapping[str, pl.DataFrame], *, quick: bool
) -> dict[str, Any]:
    """Return what the results of a paper depend on, as plain values.

    These are versions, the commit of the code, a digest of the claims, and what each source was made from
    (``sources``). A digest of each of its ``tables`` says whether another run found the same numbers.
    """
    return {
        "paper": file.name,
        "quick": quick,
        "claims": claims_digest(file),
        "code": code_version(),
        "versions": versions(),
        "sources": dict(sources),
        "tables": {name: digest_of(table.write_json()) for name, table in tables.items()},
    }


def write_reproduction(
    results: Reproduction, folder: Path, tables: Mapping[str, pl.DataFrame], figures: Mapping[str, str]
) -> None:
    """Write the verdicts, the ``tables`` to keep and the ``figures`` (SVG) into a folder; both are keyed by name.

    The lock file is written last, because results without it are incomplete.
    """
    home = make_folder(folder)
    with recording(home) as manifest:
        manifest.remove(home / LOCK)
        for name, table in tables.items():
            _require_small(name, table)
            write_text(csv_text(table), make_folder(home / TABLES) / f"{name}.csv")
        for name, picture in figures.items():
            write_text(picture, make_folder(home / FIGURES) / f"{name}.svg")
        write_json(results.to_dict(), home / VERDICTS)
        write_text(json.dumps(results.lock, indent=1, sort_keys=True) + "\n", home / LOCK)
        manifest.write()


def _require_small(name: str, table: pl.DataFrame) -> None:
    """Raise U132 for a kept table with ids of users or items, or with more rows than a summary has."""
    personal = [column for column in table.columns if column.lower() in PERSONAL]
    if personal or table.height > MOST_ROWS:
        what = f"has a column '{personal[0]}'" if personal else f"has {table.height:,} rows, more than {MOST_ROWS:,}"
        raise UsageError(
            "U132",
            f"the kept table {name} {what}",
            where=f"sources.{name}.keep",
            hint="keep a summary of it: a query with GROUP BY",
        )


def read_reproduction(file: PaperFile, folder: Path) -> Reproduction:
    """Return the results in a folder; raise I318 if there are none, or if they cannot be read."""
    try:
        lock, content = (json.loads((folder / name).read_text(encoding="utf-8")) for name in (LOCK, VERDICTS))
        claims = file.paper.claims
        verdicts = tuple(ClaimVerdict.from_dict(name, one, claims.get(name)) for name, one in content["claims"].items())
        return Reproduction(file, verdicts, content["seconds"], lock)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            "I318",
            f"there are no results of {file.name} that can be read: {type(error).__name__}: {error}",
            where=str(folder),
            hint=f"make them: recassay reproduce {file.name} --data DIR -o FOLDER",
        ) from None


def is_outdated(results: Reproduction) -> bool:
    """Return whether the sources or claims in a paper's file have changed since its results were stored."""
    return bool(results.lock["claims"] != claims_digest(results.file))


RESULT = "result"  # the folder, below that of a reproduction, with what is small enough to be kept


def reproduce(
    file: PaperFile,
    out: Path,
    *,
    data: Path | None = None,
    quick: bool = False,
    threads: int | None = None,
    report: Callable[[str], None] = lambda _: None,
) -> Reproduction:
    """Run the studies of a paper and return the verdict on each of its claims, written to ``out/result`` too.

    Studies are in ``out/code-COMMIT/studies`` and resume there: with other code they begin again in another folder.
    ``data`` is the folder in which data sets are looked up by name. ``quick`` runs the small versions of studies and
    generates published tables: it shows that everything works, and its verdicts say nothing about the paper. ``report``
    is called with the name of each source before it is made.
    """
    require_own_folder(out / RESULT)
    sources = Sources(file, out / f"code-{code_version()}", data, quick, threads)
    sources.make(report)
    paper = file.paper
    verdicts = tuple(
        verdict_on(name, claim, None if claim.value is None else sources.query(f"claims.{name}", claim.value))
        for name, claim in paper.claims.items()
    )
    found = Reproduction(file, verdicts, sources.seconds, build_lock(file, sources.locks, sources.tables, quick=quick))
    kept = {name: sources.tables[name] for name, source in paper.sources.items() if source.keep}
    drawn = {name: _picture(name, figure, sources) for name, figure in paper.figures.items()}
    write_reproduction(found, out / RESULT, kept, drawn)
    return found


def _picture(name: str, figure: Figure, sources: Sources) -> str:
    """Return a figure of a paper as SVG; its table is the result of its query of the ``sources``."""
    table = sources.query(f"figures.{name}", figure.sql)
    axes = figure.model_dump(exclude={"title", "caption", "sql"})
    return standalone(panels(Exhibit(name, figure.title, figure.caption, table, **axes))[0].svg)
