"""Base of values that display themselves: as some lines of text when printed, and as HTML in notebooks.

Rendering belongs to a higher package, which is installed here as a hook when ``recassay`` is imported, so that the
values themselves do not depend on it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol


class Renderer(Protocol):
    """A protocol for the module that displays results as text, HTML and pictures: ``recassay.report.notebook``."""

    def html(self, value: Any) -> str:
        """Return a result, such as scores or findings, as HTML."""

    def text(self, value: Any) -> str:
        """Return a value as some lines of text."""

    def plot(self, scores: Any, *, metric: str | None = None) -> Picture:
        """Return the means and intervals of scores under one metric as a picture."""

    def report(self, scores: Any, comparison: Any, *, path: Path) -> Path:
        """Write the HTML page of scores and their comparison to a file, and return its path."""

    def save(self, picture: Picture, *, path: Path) -> Path:
        """Write a picture in the format of the path's suffix, and return the path."""


_loaders: list[Callable[[], Any]] = []


def install_renderer(load: Callable[[], Any]) -> None:
    """Set the function that imports the renderer; it is called when a value is displayed for the first time."""
    _loaders[:] = [load]


def renderer() -> Renderer:
    """Return the renderer that was installed."""
    found: Renderer = _loaders[0]()
    return found


class Displayable:
    """Base of values that print as some lines of text, and that notebooks show as HTML.

    A dataclass needs ``repr=False``, or it prints all of its fields.
    """

    def __repr__(self) -> str:
        return renderer().text(self)

    def _repr_html_(self) -> str:
        return renderer().html(self)


@dataclass(frozen=True)
class Picture:
    """A picture as SVG text, which notebooks show and :meth:`save` writes."""

    svg: str

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: str | Path) -> Path:
        """Write the picture and return the path; a name that ends with .png makes a PNG and needs recassay[figures]."""
        return renderer().save(self, path=Path(path))
