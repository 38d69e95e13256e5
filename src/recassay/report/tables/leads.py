"""The table of leads: which system is best by a metric, which is second, by how much, and how certainly."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from recassay.comparison.verdict import Lead, Verdict
from recassay.errors import printable
from recassay.report.content import wording
from recassay.report.content.places import place_names
from recassay.report.tables.text import bare_table

MAX_LEADS = 12  # what a screen holds, with everything else
SYSTEM_WIDTH, PLACE_WIDTH, METRIC_WIDTH = 12, 32, 20


def leads_table(verdict: Verdict, *, digits: int = 4) -> Table:
    """Return a line per lead: the best system by a metric, the second, and their difference with its test.

    Leads by the main metric come first, then those by other metrics and designs, as many as a screen holds. There is no
    column for what all lines share: the metric, or the data set, split and so on.
    """
    leads = [*verdict.leads, *verdict.others][:MAX_LEADS]
    names = place_names(dict.fromkeys(lead.place for lead in leads))
    places, metrics = len(names) > 1, len({lead.metric for lead in leads}) > 1
    table = bare_table()
    for heading in ("setting",) * places + ("metric",) * metrics + ("best", "runner-up"):
        table.add_column(heading, no_wrap=True)
    for heading in ("lead", f"{100 * verdict.level:.4g} % interval", "p"):
        table.add_column(heading, justify="right", no_wrap=True)
    for lead in leads:
        place = (_short(names[lead.place], PLACE_WIDTH),) * places
        table.add_row(*place, *(_short(lead.metric, METRIC_WIDTH),) * metrics, *_cells(lead, digits))
    return table


def leads_note(verdict: Verdict) -> Text:
    """Return a note on how leads (best system minus second) were tested: test, correction of p, and interval."""
    tested = next((lead for lead in verdict.leads if lead.tested), None)
    if tested is None:
        return Text("No lead was tested.", style="dim")
    name = wording.TESTS.get(tested.test, f"{tested.test} test")
    adjusted = "p uncorrected" if tested.correction == "none" else wording.CORRECTIONS[tested.correction]
    text = (
        f"{name[0].upper()}{name[1:]}, {adjusted} over all pairs of systems by one metric; bootstrap interval of the "
        "difference. Dim rows are not significant."
    )
    return Text(text, style="dim")


def n_left_out(verdict: Verdict) -> int:
    """Return how many leads (best systems by a metric) the table of :func:`leads_table` has no room for."""
    return max(0, len(verdict.leads) + len(verdict.others) - MAX_LEADS)


def _cells(lead: Lead, digits: int) -> Sequence[Text]:
    style = "" if lead.significant else "dim"
    systems = (_short(name, SYSTEM_WIDTH) for name in (lead.leader, lead.runner_up or wording.NOTHING))
    numbers = (
        wording.difference(lead.difference, digits) if lead.tested else wording.NOTHING,
        wording.interval(lead.difference_low, lead.difference_high, digits),
        wording.p_value(lead.p) if lead.tested else "not tested",
    )
    return [*systems, *(Text(cell, style=style) for cell in numbers)]


def _short(name: str, width: int) -> Text:
    return Text(wording.shorten(printable(name), width))
