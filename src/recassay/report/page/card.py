"""The card of a study: data, split, systems, designs, metrics, uncertainty, versions, and how to run it again."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from recassay._version import __version__
from recassay.report import wording
from recassay.report.page.board import Board

PLAIN = {"lists": "ranked lists as given", "sequences": "generated sequences", "stream": "events of a stream"}
Fact = tuple[str, str]


def card(shown: Sequence[Board], lock: Mapping[str, Any], settings: Mapping[str, Any]) -> list[Fact]:
    """What was studied and how, a line each; what is not known is left out."""
    grids = [grid for board in shown for grid in board.grids]
    systems = list(dict.fromkeys(system for grid in grids for system in grid.systems))
    designs = list(dict.fromkeys(design for grid in grids for design in grid.designs))
    facts = [
        ("Data", ", ".join(_data(lock) or _distinct(shown, 0))),
        ("Split", ", ".join(_distinct(shown, 1))),
        ("Protocol", ", ".join(_distinct(shown, 2))),
        ("Systems", ", ".join(_system(name, lock) for name in systems)),
        ("Designs", ", ".join(PLAIN.get(design, design) if len(designs) == 1 else design for design in designs)),
        ("Metrics", ", ".join(dict.fromkeys(grid.metric for grid in grids))),
        ("Settings", _tuned(lock)),
        ("Seeds", ", ".join(map(str, lock.get("seeds") or _distinct(shown, 3)))),
        ("Uncertainty", _uncertainty(shown, lock.get("judge") or settings.get("interval") or {})),
        ("Versions", ", ".join(f"{name} {version}" for name, version in _versions(lock).items())),
    ]
    return [(name, text) for name, text in facts if text and systems]


def again(lock: Mapping[str, Any], command: str) -> str:
    """The command that makes the same numbers again, as far as the folder knows it."""
    if command or not lock.get("study"):
        return command
    name = str(lock["study"])
    given = [f"--set {shlex.quote(f'{key}={value}')}" for key, value in (lock.get("parameters") or {}).items()]
    quick = ["--quick"] if lock.get("quick") else []
    return " ".join(["recassay run", shlex.quote(f"{name}.yaml"), "-o", shlex.quote(name), *quick, *given])


def _data(lock: Mapping[str, Any]) -> list[str]:
    return [
        f"{one['name']} ({one['events']:,} events of {one['users']:,} users with {one['items']:,} items)"
        for one in lock.get("data") or []
    ]


def _system(name: str, lock: Mapping[str, Any]) -> str:
    """A system, and what it is if its name does not say so."""
    about = (lock.get("models") or {}).get(name)
    model = about.get("model") if isinstance(about, Mapping) else None
    return name if not model or model == name else f"{name}: {model}"


def _tuned(lock: Mapping[str, Any]) -> str:
    """How settings of models were chosen on a stream, if they were."""
    tune = lock.get("tune")
    if not isinstance(tune, Mapping):
        return ""
    tried = ", ".join(f"{len(models)} of {name}" for name, models in (tune.get("tried") or {}).items())
    return f"chosen by {tune['metric']} on the first {tune['share']:.0%}, which is not scored: {tried}"


def _uncertainty(shown: Sequence[Board], judge: Mapping[str, Any]) -> str:
    parts = []
    if judge.get("method") or judge.get("interval"):
        method = judge.get("method") or judge.get("interval")
        level = f"{100 * float(judge.get('level') or 0.95):.4g} %"
        parts.append(f"{level} {wording.INTERVALS.get(str(method), f'{method} interval')}")
    pairs = [row for board in shown for row in board.comparisons]
    kinds = dict.fromkeys((row.get("test"), row.get("correction")) for row in pairs)
    for test, correction in kinds:
        name, how = wording.TESTS.get(str(test), str(test)), wording.CORRECTIONS.get(str(correction), str(correction))
        parts.append(f"{name}, {'p uncorrected' if correction == 'none' else how}")
    return "; ".join(parts)


def _versions(lock: Mapping[str, Any]) -> Mapping[str, Any]:
    return lock.get("versions") or {"recassay": __version__}


def _distinct(shown: Sequence[Board], part: int) -> list[str]:
    """What stands at one part of the places of boards, where it was said."""
    return list(dict.fromkeys(str(board.place[part]) for board in shown if board.place[part] not in (None, "given")))
