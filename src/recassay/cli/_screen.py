"""A console that shows control characters in names from files as text, and bars of progress on it."""

from __future__ import annotations

from collections.abc import Iterable

from rich import progress
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from recassay.errors import printable

PARTS_OF_TEXT = "\n\u00a0\u202f\u2009"  # line ends, and the spaces of formatted numbers


class Screen(Console):
    r"""A console that shows control characters in names as escapes, so that they never reach the terminal.

    >>> Screen(width=40).print("als\x1b[2J wins")
    als\x1b[2J wins
    """

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Yield the segments of a rich object, with control characters in its text replaced by escapes."""
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable():
                yield segment
            else:
                yield Segment(printable(segment.text, keep=PARTS_OF_TEXT), segment.style)


def progress_bars(screen: Screen) -> progress.Progress:
    """Return bars with counts, a rate (the field ``rate`` of a task) and times, which disappear at the end."""
    columns = (
        progress.TextColumn("{task.description}", markup=False), progress.BarColumn(), progress.MofNCompleteColumn(),
        progress.TextColumn("{task.fields[rate]}", style="dim"), progress.TimeElapsedColumn(),
        progress.TimeRemainingColumn(),
    )  # fmt: skip
    return progress.Progress(*columns, console=screen, transient=True)
