"""``explanation/departures.md``: every departure from a paper, as the class or function that differs declares it.

Whether a study or a reproduction runs the paper's form is looked up in their files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

import recassay as ra
from recassay.designs import grammar
from recassay.errors import UsageError
from recassay.metrics.registry import METRICS
from recassay.naming.grammar import Value, parse_parameters, split
from recassay.naming.named import PAPERS, Departure
from recassay.report.listing import NAMED, departures_of
from recassay.reproduction.paper import find_paper

ROOT = Path(__file__).resolve().parents[2]
CALL = re.compile(r"^(?:ra\.)?([\w-]+)(\(.*\))?(?:@\d+)?$", re.DOTALL)
POSITIONAL = {"function": ("runs", "truth", "metrics")}  # arguments without a name, which are no part of a form
PROSE = ("about", "quick", "study")  # keys of a study whose texts are not run, or only on generated data

INTRODUCTION = """\
# Where recassay departs from the papers, and why

recassay brings together five published ways to evaluate recommenders. Where a default of recassay differs from what a
paper says, or fills in what the paper leaves open, the class or function declares it in one sentence. This page lists these
sentences, and `recassay explain NAME` prints those of a name.

The third column is the text that gives the paper's own form, and the last one names the studies in `studies/` and the pages of
the [gallery](../gallery/index.md) that run it, as their files say now. A form that "no study" has in its file is held by tests
alone, unless the sentence names an experiment. Where the third column is empty there is no such form, and the sentence says what
is done instead.
"""

HEADER = "| name | what differs, and why | the paper's form | run by |\n| --- | --- | --- | --- |"


def pages() -> dict[str, str]:
    """Return the text of the page by its path."""
    every = departures()
    parts = [INTRODUCTION]
    for key, name in PAPERS.items():
        rows = [_row(one) for one in sorted(every, key=_order) if one.departure.paper == key]
        if rows:
            paper = find_paper(name).paper
            parts.append(f"## {paper.title}\n\n{paper.reference}\n\n{HEADER}\n" + "\n".join(rows) + "\n")
    return {"explanation/departures.md": "\n".join(parts)}


@dataclass(frozen=True)
class Declared:
    """A documented way in which something deviates from a paper, with its name and kind (metric, split, ...)."""

    name: str
    kind: str
    departure: Departure


def departures() -> list[Declared]:
    """Return every documented deviation from a paper that a class, a design or a public function declares."""
    registries = [home.registry for home in NAMED.values()]
    functions = {f"ra.{name}": getattr(ra, name) for name in ra.__all__}
    functions = {name: one for name, one in functions.items() if callable(one) and not isinstance(one, type)}
    named = {(name, registry.noun): one for registry in registries for name, one in registry.kinds.items()}
    named |= {(name, "metric"): one for name, one in METRICS.kinds.items()}
    named |= {(name, "function"): one for name, one in functions.items()}
    declared = {key: departures_of(one) for key, one in named.items()}
    declared |= {(name, "design"): found for name, found in grammar.DEPARTURES.items()}
    return [Declared(*key, departure) for key, found in declared.items() for departure in found]


def _order(one: Declared) -> tuple[str, str]:
    return one.kind, one.name


def _row(one: Declared) -> str:
    form = f"`{one.departure.literal}`" if one.departure.literal else ""
    cells = (f"{one.kind} `{one.name}`", one.departure.sentence, form, _runners(one))
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _runners(one: Declared) -> str:
    if not one.departure.literal:
        return ""
    studies, papers = run_by(one)
    return ", ".join([*studies, *(f"[{name}](../gallery/{name}.md)" for name in papers)]) or "no study"


def run_by(one: Declared) -> tuple[list[str], list[str]]:
    """Return the studies that run the paper's form of a departure, and the reproductions that do.

    A reproduction does so in one of its studies, or in a source that is made by the function that departs.
    """
    name, form = _call(one.departure.literal, POSITIONAL.get(one.kind, ("n",)))
    wanted = {key: value for key, value in form.items() if key not in ("n", *POSITIONAL["function"])}
    studies = [
        study for study, calls in calls_of_studies().items()
        if any(name == other and wanted.items() <= parameters.items() for other, parameters in calls)
    ]  # fmt: skip
    return studies, [
        paper for paper, sources in sources_of_papers().items()
        if any(_stem(source) in studies or _has(source, name, wanted) for source in sources)
    ]  # fmt: skip


def _stem(source: Mapping[str, Any]) -> str:
    return Path(source.get("study", "")).stem


def _has(source: Mapping[str, Any], function: str, form: Mapping[str, Value]) -> bool:
    """Return whether a source is made by the function, named by the end of its name, with the parameters of the form."""
    return any(
        function.endswith(kind) and isinstance(how, Mapping) and form.items() <= how.items()
        for kind, how in source.items()
    )


@cache
def calls_of_studies() -> dict[str, list[tuple[str, Mapping[str, Value]]]]:
    """Return every name with its parameters in the texts of each study, by the study's name."""
    return {path.stem: list(_calls(path)) for path in sorted((ROOT / "studies").glob("*.yaml"))}


@cache
def sources_of_papers() -> dict[str, list[Mapping[str, Any]]]:
    """Return the sources of each reproduction that has results in the gallery, by its name."""
    files = sorted((ROOT / "reproductions").glob("*.yaml"))
    done = [path for path in files if path.with_suffix("").is_dir()]
    return {path.stem: list(_content(path)["sources"].values()) for path in done}


def _calls(path: Path) -> Iterator[tuple[str, Mapping[str, Value]]]:
    content = _content(path)
    for text in _texts({key: value for key, value in content.items() if key not in PROSE}):
        for name, value in content.get("parameters", {}).items():
            text = text.replace(f"{{{name}}}", str(value))  # noqa: PLW2901
        yield from (_call(part, ("n",)) for part in split(text) if CALL.match(part))


def _call(text: str, positional: tuple[str, ...]) -> tuple[str, Mapping[str, Value]]:
    match = CALL.match(text)
    assert match is not None, text
    try:
        return match[1], parse_parameters(match[2] or "", text, positional)
    except UsageError:  # words in brackets that are no call
        return match[1], {}


def _content(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from _texts(one)
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one)
