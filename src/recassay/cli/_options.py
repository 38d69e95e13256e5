"""Options that mean the same in every command that has them."""

from __future__ import annotations

from typing import Annotated, Any

import typer

STATISTICS, OUTPUT = "Uncertainty", "Output"
SEVERITIES = ("info", "warning", "error")


def option(names: str, help_text: str, panel: str, **more: Any) -> Any:
    """An option under a heading of the command's help."""
    return typer.Option(*names.split(), help=help_text, rich_help_panel=panel, **more)


Test = Annotated[
    str,
    option(
        "--test", "permutation, bootstrap, t, wilcoxon, wilcoxon-pratt, sign or mcnemar.", STATISTICS, metavar="TEST"
    ),
]
Correction = Annotated[str, option("--correction", "holm, bonferroni, bh, by or none.", STATISTICS, metavar="METHOD")]
Interval = Annotated[
    str, option("--interval", "bootstrap, bca, percentile, abc, normal or none.", STATISTICS, metavar="METHOD")
]
Level = Annotated[float, option("--level", "Level of intervals and tests.", STATISTICS, metavar="SHARE")]
Resamples = Annotated[int, option("--resamples", "Bootstrap resamples of an interval.", STATISTICS, metavar="N", min=1)]
Seed = Annotated[int, option("--seed", "Seed of everything random.", STATISTICS, metavar="N")]

Table = Annotated[str, option("--table", "Print as text, markdown, csv or latex.", OUTPUT, metavar="FORMAT")]
AsJson = Annotated[bool, option("--json", "Print one JSON document and nothing else.", OUTPUT)]
FailOn = Annotated[
    str | None,
    option(
        "--fail-on",
        "Exit with status 1 if a finding is at least this severe: info, warning or error.",
        OUTPUT,
        metavar="SEVERITY",
    ),
]
Threads = Annotated[
    int | None, option("--threads", "Threads; the result is the same for any number.", OUTPUT, metavar="N", min=1)
]
Quiet = Annotated[bool, option("-q --quiet", "No progress.", OUTPUT)]
