"""How far a command has come: bars on a terminal, nothing elsewhere, and a line at the end of where the time went."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any

Report = Callable[[str, int, int], None]  # stage, done, of
NAMED = 4  # stages that the last line names
SHORT = 0.05  # seconds that are not worth a word


@contextmanager
def progress(quiet: bool) -> Iterator[Report | None]:
    """A bar per stage with rate and time left on standard error; nothing in pipes, in CI or when asked to be quiet."""
    from rich.console import Console

    screen = Console(stderr=True, highlight=False)
    if quiet or not screen.is_terminal or os.environ.get("CI"):
        yield None
        return
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}", style="dim"), TimeElapsedColumn(), TimeRemainingColumn(),
    )  # fmt: skip
    spent = Spent()
    with Progress(*columns, console=screen, transient=True) as bar:
        tasks: dict[str, Any] = {}

        def report(stage: str, done: int, of: int) -> None:
            spent.on(stage)
            if stage not in tasks:
                tasks[stage] = bar.add_task(stage, total=of, rate="")
            bar.update(tasks[stage], completed=done, total=of, rate=rate(done, bar.tasks[tasks[stage]].elapsed))

        yield report
    screen.print(spent.told(), style="dim", markup=False)


def rate(done: int, seconds: float | None) -> str:
    """How many a second.

    >>> rate(50_000, 2.0), rate(3, 2.0), rate(3, None)
    ('25,000/s', '1.5/s', '')
    """
    if not seconds or not done:
        return ""
    each = done / seconds
    return f"{each:,.0f}/s" if each >= 10 else f"{each:.2g}/s"


class Spent:
    """Seconds by stage: what passes between two reports is of the stage that reports."""

    def __init__(self, clock: Callable[[], float] = perf_counter) -> None:
        self.clock, self.begin = clock, clock()
        self.last, self.stages = self.begin, dict[str, float]()

    def on(self, stage: str) -> None:
        """A stage reports."""
        now = self.clock()
        self.stages[stage] = self.stages.get(stage, 0.0) + now - self.last
        self.last = now

    def told(self) -> str:
        """All of it in a line, the longest stages by name.

        >>> now = iter([0.0, 1.0, 4.5, 5.0])
        >>> spent = Spent(lambda: next(now))
        >>> spent.on("reading"), spent.on("judging")
        (None, None)
        >>> spent.told()
        'Done in 5.0 s: judging 3.5 s, reading 1.0 s.'
        """
        whole = self.clock() - self.begin
        longest = sorted(self.stages.items(), key=lambda one: -one[1])[:NAMED]
        named = ", ".join(f"{stage} {seconds:,.1f} s" for stage, seconds in longest if seconds >= SHORT)
        return f"Done in {whole:,.1f} s{f': {named}' if named else ''}."
