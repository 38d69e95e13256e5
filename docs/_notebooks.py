"""Makes ``examples/*.ipynb`` of ``examples/*.py``: the cells of the script, and what each of them prints.

A cell begins with ``# %%``; the comment lines of a ``# %% [markdown]`` cell are its text.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import tempfile
from pathlib import Path
from typing import Any

import polars as pl
from _examples import ROOT, inside, tidy

EXAMPLES = ROOT / "examples"
MARK = re.compile(r"^# %%(.*)\n", re.MULTILINE)


def scripts() -> list[Path]:
    """Every example."""
    return sorted(EXAMPLES.glob("*.py"))


def notebook(script: Path) -> str:
    """Return an example as a notebook with its outputs, run in an empty folder."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    with pl.Config(), tempfile.TemporaryDirectory(prefix="recassay-example-") as folder, inside(Path(folder)):
        made = [_cell(place, kind, body, namespace) for place, (kind, body) in enumerate(cells(script))]
    about = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    return json.dumps({"cells": made, "metadata": about, "nbformat": 4, "nbformat_minor": 5}, indent=1) + "\n"


def cells(script: Path) -> list[tuple[str, str]]:
    """Kind and text of each cell."""
    parts = MARK.split(script.read_text(encoding="utf-8"))[1:]
    found = []
    for mark, body in zip(parts[::2], parts[1::2], strict=True):
        text = body.strip("\n")
        if mark.strip() == "[markdown]":
            found.append(("markdown", re.sub(r"^# ?", "", text, flags=re.MULTILINE)))
        else:
            found.append(("code", text))
    return found


def _cell(place: int, kind: str, text: str, namespace: dict[str, Any]) -> dict[str, Any]:
    lines = text.splitlines(keepends=True)
    cell: dict[str, Any] = {"cell_type": kind, "id": f"cell-{place}", "metadata": {}, "source": lines}
    if kind == "markdown":
        return cell
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(text, f"cell {place}", "exec"), namespace)
    printed = tidy(out.getvalue()).splitlines(keepends=True)
    outputs = [{"name": "stdout", "output_type": "stream", "text": printed}] if printed else []
    return {**cell, "execution_count": None, "outputs": outputs}
