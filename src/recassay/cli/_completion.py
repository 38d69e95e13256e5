"""Completion of words in a shell: names of metrics, models, splits, profiles and systems that begin as typed.

A shell starts a process for every completion, so a registry is imported where its names are asked for. Arguments before
an option whose value is typed are in ``ctx.args``: the parser stops at the option.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import typer

from recassay.errors import explanations
from recassay.naming.system_names import TABLE_SUFFIXES, run_name, without_gz

SUMMARY = "summary.json"
WILDCARDS = "*?["

Complete = Callable[[str], list[str]]


def words(known: Iterable[str]) -> Complete:
    """Return a function that takes the beginning of a word and returns the ``known`` words that begin with it."""
    listed = list(known)
    return lambda incomplete: [word for word in listed if word.startswith(incomplete)]


def metrics(incomplete: str) -> list[str]:
    """Return the metrics that begin as typed; of several words in quotes the last one is completed.

    >>> metrics("ndcg@10 rpr")
    ['ndcg@10 rprec']
    """
    done, blank, word = incomplete.rpartition(" ")
    return [f"{done}{blank}{name}" for name in metric_names() if name.startswith(word)]


def metric_names(cutoff: int = 10) -> list[str]:
    """Return the names of all metrics, with ``@cutoff`` added where a metric may have a cut-off."""
    from recassay.metrics.registry import METRICS

    return [name if kind.cutoff == "none" else f"{name}@{cutoff}" for name, kind in METRICS.kinds.items()]


def models(incomplete: str) -> list[str]:
    """Return the names of models that begin with the text typed so far.

    >>> models("EA")
    ['EASE']
    """
    from recassay.models import REGISTRY

    return words(REGISTRY.kinds)(incomplete)


def splits(incomplete: str) -> list[str]:
    """Return the names of splits, filters and rules that make sequences that begin with the text typed so far."""
    from recassay.split import REGISTRY, filters, sequences

    return words(sorted({*REGISTRY.kinds, *filters.REGISTRY.kinds, *sequences.REGISTRY.kinds}))(incomplete)


def profiles(incomplete: str) -> list[str]:
    """Return the names of profiles that begin with the text typed so far."""
    from recassay.profiles.base import PROFILES

    return words(PROFILES.kinds)(incomplete)


def everything(incomplete: str) -> list[str]:
    """Return the names and codes that ``recassay explain`` accepts and that begin with the text typed so far.

    These are metrics, models, splits, profiles and error codes.

    >>> everything("U10")[:2]
    ['U101', 'U102']
    """

    named = [name.partition("@")[0] for name in metrics(incomplete)]
    named += [*models(incomplete), *splits(incomplete), *profiles(incomplete), *words(explanations())(incomplete)]
    return list(dict.fromkeys(named))


def run_systems(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the names of the runs on the command line that begin with the text typed so far."""
    return words(_systems_of_runs(ctx.params.get("runs") or ctx.args[1:]))(incomplete)


def result_values(axis: str) -> Callable[[typer.Context, str], list[str]]:
    """Return a function that completes the values of one column in the folders of results on the command line.

    ``axis`` is the column: system, metric, dataset, split or design.
    """

    def complete(ctx: typer.Context, incomplete: str) -> list[str]:
        found = [str(row.get(axis)) for row in _rows(ctx.params.get("scores") or ctx.args)]
        return words(dict.fromkeys(found))(incomplete)

    return complete


def _systems_of_runs(sources: Iterable[str]) -> list[str]:
    """Return the names of the runs that files, glob patterns and folders hold."""
    found: list[str] = []
    for source in sources:
        path = Path(source)
        folder, pattern = (path, "*") if path.is_dir() else (path.parent, path.name)
        entries = sorted(folder.glob(pattern)) if path.is_dir() or set(WILDCARDS) & set(pattern) else [path]
        found += [run_name(entry) for entry in entries if without_gz(entry).suffix.lower() in TABLE_SUFFIXES]
    return list(dict.fromkeys(found))


def _rows(folders: Iterable[str]) -> list[dict[str, Any]]:
    """Return the rows of the summaries of folders of results; folders that cannot be read are passed over."""
    rows: list[dict[str, Any]] = []
    for folder in folders:
        try:
            rows += json.loads((Path(folder) / SUMMARY).read_text(encoding="utf-8"))["rows"]
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return rows
