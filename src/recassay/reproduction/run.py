"""A reproduction from the data to the verdicts; what was stored and still fits is not computed again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from recassay.data.io.manifest import require_own_folder
from recassay.report.figures.draw import panels
from recassay.report.figures.export import standalone
from recassay.reproduction.claims import verdict_on
from recassay.reproduction.paper import Figure, PaperFile
from recassay.reproduction.results import Reproduction, build_lock, code_version, write_reproduction
from recassay.reproduction.sources import Sources
from recassay.results.exhibit import Exhibit

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
    ``data`` is the folder that holds the data by name. ``quick`` runs the small versions of studies and generates
    published tables: it shows that everything works, and its verdicts say nothing about the paper. ``report`` is called
    with the name of each source before it is made.
    """
    require_own_folder(out / RESULT)
    sources = Sources(file, out / f"code-{code_version()}", data, quick, threads)
    sources.make(report)
    paper = file.paper
    verdicts = tuple(
        verdict_on(name, claim, None if claim.value is None else sources.query(f"claims.{name}", claim.value))
        for name, claim in paper.claims.items()
    )
    lock = build_lock(file, sources.locks, sources.tables, quick=quick)
    found = Reproduction(file, verdicts, sources.seconds, lock)
    kept = {name: sources.tables[name] for name, source in paper.sources.items() if source.keep}
    drawn = {name: _picture(name, figure, sources) for name, figure in paper.figures.items()}
    write_reproduction(found, out / RESULT, kept, drawn)
    return found


def _picture(name: str, figure: Figure, sources: Sources) -> str:
    """Return a figure of a paper as SVG; its table is the result of its query of the ``sources``."""
    table = sources.query(f"figures.{name}", figure.sql)
    axes = figure.model_dump(exclude={"title", "caption", "sql"})
    exhibit = Exhibit(name, figure.title, figure.caption, table, **axes)
    return standalone(panels(exhibit)[0].svg)
