"""The summary card of a study: data, split, systems, designs, metrics, uncertainty, versions and command."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from recassay._version import __version__
from recassay.report.content import wording
from recassay.report.content.grids import ResultGrids
from recassay.results.settings import population

DESCRIPTIONS = {"lists": "ranked lists as given", "sequences": "generated sequences", "stream": "events of a stream"}
Fact = tuple[str, str]


def card(results: Sequence[ResultGrids], lock: Mapping[str, Any], settings: Mapping[str, Any]) -> list[Fact]:
    """Return the lines of the summary card of a study as (name, text) pairs; what is unknown is left out.

    ``lock`` is the content of the study's lock file, and ``settings`` are those of a scoring without a study.
    """
    grids = [grid for group in results for grid in group.grids]
    systems = list(dict.fromkeys(system for grid in grids for system in grid.systems))
    designs = list(dict.fromkeys(design for grid in grids for design in grid.designs))
    facts = [
        ("Data", ", ".join(_data(lock) or _distinct(results, 0))),
        ("Split", ", ".join(_distinct(results, 1))),
        ("Protocol", ", ".join(_distinct(results, 2))),
        ("Systems", ", ".join(_system(name, lock) for name in systems)),
        ("Designs", ", ".join(DESCRIPTIONS.get(design, design) if len(designs) == 1 else design for design in designs)),
        ("Users", population(settings)),
        ("Metrics", ", ".join(dict.fromkeys(grid.metric for grid in grids))),
        ("Settings", _tuning(lock)),
        ("Seeds", ", ".join(map(str, lock.get("seeds") or _distinct(results, 3)))),
        ("Uncertainty", _uncertainty(results, lock.get("judge") or settings.get("interval") or {})),
        ("Versions", ", ".join(f"{name} {version}" for name, version in _versions(lock).items())),
    ]
    return [(name, text) for name, text in facts if text and systems]


def _data(lock: Mapping[str, Any]) -> list[str]:
    return [
        f"{data['name']} ({data['events']:,} events, {data['users']:,} users, {data['items']:,} items)"
        for data in lock.get("data") or []
    ]


def _system(name: str, lock: Mapping[str, Any]) -> str:
    """Return the name of a system, with its model unless that is the name."""
    about = (lock.get("models") or {}).get(name)
    model = about.get("model") if isinstance(about, Mapping) else None
    return name if not model or model == name else f"{name}: {model}"


def _tuning(lock: Mapping[str, Any]) -> str:
    """Return how the settings of models were chosen on a stream, as text; empty without tuning."""
    tune = lock.get("tune")
    if not isinstance(tune, Mapping):
        return ""
    tried = ", ".join(f"{len(models)} of {name}" for name, models in (tune.get("tried") or {}).items())
    return f"selected by {tune['metric']} on the first {tune['share']:.0%}, which is not scored; tried {tried}"


def _uncertainty(results: Sequence[ResultGrids], judge: Mapping[str, Any]) -> str:
    parts = []
    if judge.get("method") or judge.get("interval"):
        method = judge.get("method") or judge.get("interval")
        level = f"{100 * float(judge.get('level') or 0.95):.4g} %"
        parts.append(f"{level} {wording.INTERVALS.get(str(method), f'{method} interval')}")
    pairs = [row for group in results for row in group.comparisons]
    kinds = dict.fromkeys((row.get("test"), row.get("correction")) for row in pairs)
    for test, correction in kinds:
        name, correction_name = (
            wording.TESTS.get(str(test), str(test)),
            wording.CORRECTIONS.get(str(correction), str(correction)),
        )
        parts.append(f"{name}, {'p uncorrected' if correction == 'none' else correction_name}")
    return "; ".join(parts)


def _versions(lock: Mapping[str, Any]) -> Mapping[str, Any]:
    return lock.get("versions") or {"recassay": __version__}


def _distinct(results: Sequence[ResultGrids], part: int) -> list[str]:
    """Return the distinct values of one part of where results belong: 0 data set, 1 split, 2 protocol, 3 seed."""
    values = (group.place[part] for group in results)
    return list(dict.fromkeys(str(value) for value in values if value not in (None, "given")))
