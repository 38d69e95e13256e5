"""``gallery``: a page per paper from its stored results in ``reproductions``, with its figures, and the first page."""

from __future__ import annotations

from pathlib import Path

from recassay.reproduction.page import gallery_index, gallery_page
from recassay.reproduction.paper import read_paper
from recassay.reproduction.run import FIGURES, LOCK, read_reproduction

HOME = Path(__file__).resolve().parents[2] / "reproductions"


def pages() -> dict[str, str]:
    """Return the text of every page and figure by its path."""
    files = [read_paper(path) for path in sorted(HOME.glob("*.yaml"))]
    found = [read_reproduction(file, file.results) for file in files if (file.results / LOCK).is_file()]
    made = {"gallery/index.md": gallery_index(found)}
    for one in found:
        made[f"gallery/{one.file.name}.md"] = gallery_page(one)
        for figure in sorted((one.file.results / FIGURES).glob("*.svg")):
            made[f"gallery/{one.file.name}-{figure.stem}.svg"] = figure.read_text(encoding="utf-8")
    return made
