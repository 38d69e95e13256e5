"""Export of figures to files for papers and slides: SVG, or PNG at three times the size."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache
from importlib.resources import files
from pathlib import Path

from recassay.data.io import write_bytes, write_text
from recassay.optional import need
from recassay.report.content.csv_text import csv_text
from recassay.report.figures import panels
from recassay.results.exhibit import Exhibit

ZOOM = 3  # pixels of a PNG per unit of a figure
PAPER = "#ffffff"


def standalone(svg: str) -> str:
    """Return a figure as the text of a complete SVG file, with its style inside and the light colours of the page."""
    head, _, rest = svg.partition(">")
    return f'{head}><style>{_style()}</style><rect width="100%" height="100%" fill="{PAPER}"/>{rest}\n'


def write_figures(exhibits: Iterable[Exhibit], folder: Path, kind: str) -> list[Path]:
    """Write all figures of exhibits (tables to draw) into a folder, numbered, with the tables as CSV.

    Return the paths of the figures. ``kind`` is ``svg`` or ``png``.
    """
    write = png_writer() if kind == "png" else write_text
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for number, exhibit in enumerate(exhibits, start=1):
        name = f"{number:03d}-{safe_name(exhibit.name)}"
        drawn = panels(exhibit)
        for at, panel in enumerate(drawn, start=1):
            written.append(folder / f"{name}{f'-{at}' if len(drawn) > 1 else ''}.{kind}")
            write(standalone(panel.svg), written[-1])
        if not exhibit.table.is_empty():
            write_text(csv_text(exhibit.table), folder / f"{name}.csv")
    return written


def safe_name(name: str) -> str:
    """Return a name that is safe in file names on every system and in LaTeX; it need not be unique.

    >>> safe_name("ndcg(gain='exp2')@10 of a/b")
    'ndcg(gain=_exp2_)@10_of_a_b'
    """
    return re.sub(r"[^\w.@()=,+-]+", "_", name, flags=re.ASCII)[:100]


@cache
def _style() -> str:
    """Return the CSS of figures, with the light colours of the page in place of CSS variables."""
    home = files("recassay.report")
    look = (home / "page" / "page.css").read_text(encoding="utf-8")
    colours = dict(re.findall(r"(--[\w-]+):\s*(#[0-9a-f]{6})", look.partition("}")[0]))
    style = (home / "figures" / "figure.css").read_text(encoding="utf-8")
    return re.sub(r"var\((--[\w-]+)\)", lambda match: colours[match[1]], style)


def png_writer() -> Callable[[str, str | Path], None]:
    """Return a function that writes the SVG text of a figure as PNG; raise if the optional library is missing."""
    resvg = need("resvg_py", for_="PNG")

    def write(text: str, path: str | Path) -> None:
        write_bytes(bytes(resvg.svg_to_bytes(svg_string=text, zoom=ZOOM)), path)

    return write
