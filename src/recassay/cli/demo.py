"""``recassay demo``: a small complete study on generated data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from recassay.cli import _common, _options


def demo(
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FOLDER", help="Folder for the files of the demo.")
    ] = Path("recassay-demo"),
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Seed of the generated data.")] = 1,
    as_json: _options.AsJson = False,
    quiet: _options.Quiet = False,
) -> None:
    """Generate a log, run three recommenders on it, and score and compare them. Needs no data and no network.

    Example: recassay demo -o first
    """
    _common.announce_compilation(quiet or as_json)
    from recassay.demo import run_demo
    from recassay.report.folder.write import document

    with _common.progress(quiet or as_json) as report:
        result = run_demo(output, seed=seed, progress=report)
    if as_json:
        _common.print_json(document(result.scores, result.comparison))
    else:
        result.show(_common.console())
