"""Writes the pages that the program knows best, and the output of every example in the pages written by hand.

    python docs/generate.py            write what is stale
    python docs/generate.py --check    write nothing, name what is stale, and end with status 1 if anything is
    python docs/generate.py docs/howto/diversify.md docs/reference     only these pages and folders

A generated page comes from a module in ``docs/_generators`` with a function ``pages()``: path below ``docs`` to text.
Every script in ``examples`` becomes a notebook beside it.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Iterator
from pathlib import Path

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
sys.path.insert(0, str(DOCS))

import _examples  # noqa: E402
import _generators  # noqa: E402
import _notebooks  # noqa: E402

MARK = "<!-- Written by docs/generate.py; do not edit by hand. -->\n\n"


def generated() -> dict[Path, str]:
    """Every generated page."""
    found = {}
    for module in pkgutil.iter_modules(_generators.__path__, "_generators."):
        for path, text in importlib.import_module(module.name).pages().items():
            found[DOCS / path] = MARK + text.strip("\n") + "\n"
    return found


def written() -> list[Path]:
    """Every page written by hand."""
    own = generated_paths()
    return [ROOT / "README.md", *(path for path in sorted(DOCS.rglob("*.md")) if path not in own)]


def generated_paths() -> set[Path]:
    """Pages and figures that carry the mark of a generated page."""
    files = [path for kind in ("*.md", "*.svg") for path in DOCS.rglob(kind)]
    return {path for path in files if path.read_text(encoding="utf-8").startswith(MARK.rstrip())}


def fresh(places: list[Path]) -> Iterator[tuple[Path, str]]:
    """Every page as it ought to be, below the given places."""

    def wanted(path: Path) -> bool:
        return any(path.is_relative_to(place) for place in places)

    if any(wanted(path) for path in generated_paths()):
        yield from ((path, text) for path, text in generated().items() if wanted(path))
    for script in filter(wanted, _notebooks.scripts()):
        yield script.with_suffix(".ipynb"), _notebooks.notebook(script)
    pages = [path for path in written() if wanted(path)]
    if pages:
        with _examples.Workshop.opened() as shop:
            for path in pages:
                yield path, shop.refreshed(path.read_text(encoding="utf-8"), str(path.relative_to(ROOT)))


def main(arguments: list[str]) -> int:
    """Write or check; the exit status."""
    check, stale = "--check" in arguments, []
    places = [Path(one).resolve() for one in arguments if not one.startswith("--")]
    for path, text in fresh(places or [ROOT]):
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(path)
            if not check:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
    for path in stale:
        print(f"{'stale' if check else 'written'}: {path.relative_to(ROOT)}")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
