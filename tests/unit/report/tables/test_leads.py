"""The table of leads: one line each, as many as a screen holds, without columns that say the same everywhere."""

import io

from rich.console import Console

from recassay.comparison.verdict import Lead, verdict_of
from recassay.report.tables.compared import MAX_ROWS, leads_table
from recassay.report.tables.model import Terminal
from recassay.results.score_set import Place


def lead(dataset, split, metric="ndcg@10", leader="a-system-with-a-long-name"):
    return Lead(
        Place(dataset, split), metric, (leader, "pop"), leader, 0.4, 0.3, 0.5, "pop", 0.0312, 0.01, 0.05, 0.0123, 1, 90,
        "permutation", "holm", True,
    )  # fmt: skip


def lines(verdict):
    printed = io.StringIO()
    Console(width=100, file=printed).print(Terminal(leads_table(verdict)))
    return [line for line in printed.getvalue().splitlines() if line.strip()]


SPLITS = ("random(test=0.2, per_user=True)", "last(n=1)", "global_time(quantile=0.8, validation=0.1)")


def test_every_lead_of_many_places_is_one_line():
    leads = [lead(name, split, metric) for metric in ("ndcg@10", "mrr") for name in "abcd" for split in SPLITS]
    verdict = verdict_of(leads, level=0.95)
    printed = lines(verdict)
    assert len(printed) == 2 + MAX_ROWS
    assert "metric" not in printed[0]  # all lines are of the main metric
    assert all("0.0123" in line for line in printed[2:])


def test_a_single_place_has_no_column_of_places():
    printed = lines(verdict_of([lead("a", "given", metric) for metric in ("ndcg@10", "mrr", "hit@10")], level=0.95))
    assert printed[0].split()[:2] == ["metric", "best"]
    assert len(printed) == 5
