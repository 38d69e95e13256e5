"""A paper's venue and year stand in its file in ``reproductions``; wherever else the title is cited, they agree."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from recassay.reproduction.paper import read_paper

ROOT = Path(__file__).parents[2]
PAPERS = sorted((ROOT / "reproductions").glob("*.yaml"))
CITING = [
    path
    for folder in ("src", "docs", "studies", "reproductions", "examples")
    for kind in ("*.py", "*.md", "*.yaml")
    for path in sorted((ROOT / folder).rglob(kind))
] + [ROOT / "README.md"]
YEAR = re.compile(r"\b(?:19|20)\d\d\b")


def words(text: str) -> list[str]:
    """Return the words of a text, without marks of comments, quotes and line ends."""
    return re.findall(r"[\w'’-]+", text.casefold())


def title_of(reference: str) -> str:
    """Return the title in "A, B and C, Title, Venue year.": what follows the last author."""
    parts = reference.split(", ")
    return parts[1 + next(number for number, part in enumerate(parts) if " and " in part)]


@pytest.mark.parametrize("paper", PAPERS, ids=lambda path: path.stem)
def test_venue_and_year_agree_wherever_a_paper_is_cited(paper: Path) -> None:
    reference = read_paper(paper).paper.reference
    title, known = " ".join(words(title_of(reference))), set(words(reference))
    cited = 0
    for path in CITING:
        text = " ".join(words(path.read_text(encoding="utf-8")))
        for found in re.finditer(re.escape(title), text):
            after = text[found.end() : found.end() + 60]
            year = YEAR.search(after)
            if year and not {"and", "the"} & set(words(after[: year.start()])):  # the sentence ends before the year
                assert set(words(after[: year.end()])) <= known, f"{path}: {after}"
                cited += 1
    assert cited
