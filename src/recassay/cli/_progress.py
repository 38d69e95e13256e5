"""Progress of a command: bars on a terminal, nothing elsewhere, and a final line with the time per stage."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any

from recassay.threads import StageProgress

MAX_STAGES = 4  # named in the last line
MIN_SECONDS = 0.05  # shorter stages are not named


@contextmanager
def progress(quiet: bool) -> Iterator[StageProgress | None]:
    """Show a bar per stage on standard error, and yield the function that updates it.

    Yield None, and show nothing, in pipes, in CI and if ``quiet``.
    """
    if quiet or os.environ.get("CI"):  # before rich is imported, which takes 0.02 s
        yield None
        return
    from recassay.cli._screen import Screen

    screen = Screen(stderr=True, highlight=False)
    if not screen.is_terminal:
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
    times = StageTimes()
    with Progress(*columns, console=screen, transient=True) as bar:
        tasks: dict[str, Any] = {}

        def report(stage: str, done: int, total: int) -> None:
            times.record(stage)
            if stage not in tasks:
                tasks[stage] = bar.add_task(stage, total=total, rate="")
            bar.update(tasks[stage], completed=done, total=total, rate=rate(done, bar.tasks[tasks[stage]].elapsed))

        yield report
    screen.print(times.summary(), style="dim", markup=False)


def rate(done: int, seconds: float | None) -> str:
    """Return a rate per second as text; an empty text if nothing is done or the time is not known.

    >>> rate(50_000, 2.0), rate(3, 2.0), rate(3, None)
    ('25,000/s', '1.5/s', '')
    """
    if not seconds or not done:
        return ""
    per_second = done / seconds
    return f"{per_second:,.0f}/s" if per_second >= 10 else f"{per_second:.2g}/s"


class StageTimes:
    """The seconds that each stage of a command took.

    The time between two reports belongs to the stage of the later report.
    """

    def __init__(self, clock: Callable[[], float] = perf_counter) -> None:
        self.clock, self.begin = clock, clock()
        self.last, self.stages = self.begin, dict[str, float]()

    def record(self, stage: str) -> None:
        """Add the time since the last report to the seconds of a stage."""
        now = self.clock()
        self.stages[stage] = self.stages.get(stage, 0.0) + now - self.last
        self.last = now

    def summary(self) -> str:
        """Return a line with the total time and the longest stages.

        >>> now = iter([0.0, 1.0, 4.5, 5.0])
        >>> times = StageTimes(lambda: next(now))
        >>> times.record("reading"), times.record("judging")
        (None, None)
        >>> times.summary()
        'Done in 5.0 s: judging 3.5 s, reading 1.0 s.'
        """
        total = self.clock() - self.begin
        longest = sorted(self.stages.items(), key=lambda item: -item[1])[:MAX_STAGES]
        named = ", ".join(f"{stage} {seconds:,.1f} s" for stage, seconds in longest if seconds >= MIN_SECONDS)
        return f"Done in {total:,.1f} s{f': {named}' if named else ''}."
