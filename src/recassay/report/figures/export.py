"""Figures as files of their own, for papers and slides: SVG, or PNG at three times the size."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib.resources import files
from pathlib import Path

from recassay.data.exhibit import Exhibit
from recassay.data.io import write_bytes, write_text
from recassay.optional import need
from recassay.report.figures.draw import panels

FORMATS = ("svg", "png")
ZOOM = 3  # pixels of a PNG per unit of a picture
PAPER = "#ffffff"


def standalone(svg: str) -> str:
    """A picture with its style in it, in the colours of paper."""
    head, _, rest = svg.partition(">")
    return f'{head}><style>{_style()}</style><rect width="100%" height="100%" fill="{PAPER}"/>{rest}\n'


def write_figures(exhibits: Iterable[Exhibit], folder: Path, kind: str) -> list[Path]:
    """Write every picture of every exhibit, numbered, beside its table as CSV; returns the pictures."""
    write = png_writer() if kind == "png" else write_text
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for number, exhibit in enumerate(exhibits, start=1):
        name = f"{number:03d}-{plain(exhibit.name)}"
        for suffix, picture in _numbered(exhibit):
            written.append(folder / f"{name}{suffix}.{kind}")
            write(standalone(picture), written[-1])
        if not exhibit.table.is_empty():
            write_text(exhibit.table.write_csv(), folder / f"{name}.csv")
    return written


def plain(name: str) -> str:
    """A name as any system and LaTeX take it for a part of a file's; what tells files apart is their number.

    >>> plain("ndcg(gain='exp2')@10 of a/b")
    'ndcg(gain=_exp2_)@10_of_a_b'
    """
    return re.sub(r"[^\w.@()=,+-]+", "_", name, flags=re.ASCII)[:100]


def _numbered(exhibit: Exhibit) -> Iterator[tuple[str, str]]:
    drawn = panels(exhibit)
    for number, panel in enumerate(drawn, start=1):
        yield f"-{number}" if len(drawn) > 1 else "", panel.svg


@cache
def _style() -> str:
    """The style of pictures with the light colours of the page in place of their names."""
    home = files("recassay.report")
    look = (home / "page" / "page.css").read_text(encoding="utf-8")
    colours = dict(re.findall(r"(--[\w-]+):\s*(#[0-9a-f]{6})", look.partition("}")[0]))
    style = (home / "figures" / "figure.css").read_text(encoding="utf-8")
    return re.sub(r"var\((--[\w-]+)\)", lambda found: colours[found[1]], style)


def png_writer() -> Callable[[str, str | Path], None]:
    """What writes the text of a picture as PNG."""
    resvg = need("resvg_py", for_="PNG")

    def write(text: str, path: str | Path) -> None:
        write_bytes(bytes(resvg.svg_to_bytes(svg_string=text, zoom=ZOOM)), path)

    return write
