"""A reproduction from the data to the verdicts; what was stored and still fits is not computed again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from recassay.report.figures.draw import panels
from recassay.report.figures.export import standalone
from recassay.reproduction.claims import verdict_on
from recassay.reproduction.code import TABLES, fingerprint, study_modules
from recassay.reproduction.paper import Figure, PaperFile
from recassay.reproduction.results import Reproduction, build_lock, write_reproduction
from recassay.reproduction.sources import Sources
from recassay.results.exhibit import Exhibit
from recassay.study.plan.early import read_plan
from recassay.study.store.folder import digest_of

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

    Studies are in ``out/code-DIGEST/studies`` and resume there, as long as the code that they depend on is the same:
    with other code they begin again in another folder. ``data`` is the folder that holds the data by name. ``quick``
    runs the small versions of studies and generates published tables: it shows that everything works, and its verdicts
    say nothing about the paper. ``report`` is called with the name of each source before it is made.
    """
    sources = Sources(file, _home(file, out, data, quick), data, quick, threads)
    sources.make(report)
    paper = file.paper
    verdicts = tuple(
        verdict_on(name, claim, None if claim.value is None else sources.query(f"claims.{name}", claim.value))
        for name, claim in paper.claims.items()
    )
    lock = build_lock(file, sources.locks, fingerprint(_code(sources)), sources.tables, quick=quick)
    found = Reproduction(file, verdicts, sources.seconds, lock)
    kept = {name: sources.tables[name] for name, source in paper.sources.items() if source.keep}
    drawn = {name: _picture(name, figure, sources) for name, figure in paper.figures.items()}
    write_reproduction(found, out / RESULT, kept, drawn)
    return found


def _home(file: PaperFile, out: Path, data: Path | None, quick: bool) -> Path:
    """Return the folder below ``out`` for a paper's studies, named by a digest of the code that they depend on.

    Without studies it is ``out`` itself.
    """
    studies = [file.path.parent / source.study for source in file.paper.sources.values() if source.study is not None]
    plans = [read_plan(path, data=data, quick=quick) for path in studies]
    models = [system.text for plan in plans for system in plan.systems]
    parts = [*TABLES, *study_modules(models, [plan.protocol.name for plan in plans])]
    return out / f"code-{digest_of(fingerprint(parts))[:12]}" if plans else out


def _code(sources: Sources) -> list[str]:
    """Return the files and folders of the package that the results of a paper depend on."""
    studies = [lock for lock in sources.locks.values() if "study" in lock]
    models = [text for lock in studies for text in lock["models"].values()]
    return [*TABLES, *(study_modules(models, [lock["protocol"] for lock in studies]) if studies else ())]


def _picture(name: str, figure: Figure, sources: Sources) -> str:
    """Return a figure of a paper as SVG; its table is the result of its query of the ``sources``."""
    table = sources.query(f"figures.{name}", figure.sql)
    axes = figure.model_dump(exclude={"title", "caption", "sql"})
    exhibit = Exhibit(name, figure.title, figure.caption, table, **axes)
    return standalone(panels(exhibit)[0].svg)
