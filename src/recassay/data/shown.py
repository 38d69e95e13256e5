"""Values that show themselves in notebooks: how they look is the business of ``recassay.report``, asked when needed."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any


def looks(maker: str, value: Any, **how: Any) -> Any:
    """What a function of the report makes of a value; data stands below the report and does not import it."""
    return getattr(importlib.import_module("recassay.report.notebook"), maker)(value, **how)


class Shown:
    """Shows itself as HTML where HTML is shown."""

    def _repr_html_(self) -> str:
        return str(looks("html", self))


@dataclass(frozen=True)
class Picture:
    """A picture as SVG: notebooks show it, and it can be kept."""

    svg: str

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: str | Path) -> Path:
        """Write it; a name that ends with .png makes a PNG, which needs recassay[figures]."""
        return Path(looks("save", self, path=Path(path)))
