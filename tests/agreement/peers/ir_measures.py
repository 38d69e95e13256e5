"""ir-measures: ``calc`` with measure objects, on its own ``Qrel`` and ``ScoredDoc`` rows."""

from __future__ import annotations

from importlib import metadata
from typing import Any

import ir_measures

from .shared import Answers, answer, attempt, run_rows

TRANSCRIBED = False


def version() -> str:
    return metadata.version("ir-measures")


def answers(case: dict[str, Any]) -> Answers:
    k = case["k"]
    at_cutoff = ("P", "R", "nDCG", "AP", "RR", "Success", "Judged")
    names = [f"{name}@{k}" for name in at_cutoff] + ["AP", "RR", "nDCG", "Rprec", "Bpref", "infAP", "SetF"]
    return {name: attempt(lambda name=name: _answer(case, name)) for name in names}


def _answer(case: dict[str, Any], name: str) -> dict[str, Any]:
    measure = ir_measures.parse_measure(name)
    qrels = [ir_measures.Qrel(u, i, gain) for u, judged in case["truth"].items() for i, gain in judged.items()]
    run = [ir_measures.ScoredDoc(user, item, score) for user, item, score, _ in run_rows(case)]
    aggregated, per_query = ir_measures.calc([measure], qrels, run)
    return answer(aggregated[measure], {row.query_id: row.value for row in per_query})
