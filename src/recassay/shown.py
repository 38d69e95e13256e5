"""Base of values that display themselves: as some lines of text when printed, and as HTML in notebooks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_loaders: list[Callable[[], Any]] = []


def install_renderer(load: Callable[[], Any]) -> None:
    """Set the function that imports the renderer; it is called when a value is displayed for the first time.

    The renderer belongs to a higher package, so the values do not import it.
    """
    _loaders[:] = [load]


def renderer() -> Any:
    """Return the module that shows values as text, HTML and pictures."""
    return _loaders[0]()


class Displayable:
    """Base of values that print as some lines of text, and that notebooks show as HTML.

    A dataclass needs ``repr=False``, or it prints all of its fields.
    """

    def __repr__(self) -> str:
        return str(renderer().text(self))

    def _repr_html_(self) -> str:
        return str(renderer().html(self))


@dataclass(frozen=True)
class Picture:
    """A picture as SVG text, which notebooks show and :meth:`save` writes."""

    svg: str

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: str | Path) -> Path:
        """Write the picture and return the path; a name that ends with .png makes a PNG and needs recassay[figures]."""
        written: Path = renderer().save(self, path=Path(path))
        return written
