"""``reference/metrics.md``: every metric as it describes itself."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

from recassay.metrics.registry import METRICS, Description, describe, parse_metric

GOLDEN = Path(__file__).resolve().parents[2] / "tests" / "golden"
MOST_EXAMPLES = 4  # of one metric

FAMILIES = {
    "ranking": ("Accuracy of ranked lists", "Are the relevant items there, and how high?"),
    "beyond": ("Beyond accuracy", "Is a list new, varied, surprising, and like its user?"),
    "catalogue": (
        "The whole catalogue",
        "How many items get attention, and how evenly? One value for all lists together.",
    ),
    "debiased": ("Accuracy without popularity bias", "What would accuracy be had every liking been observed alike?"),
    "sequence": (
        "Generated sequences",
        "What a system lets follow the first item of a sequence, beside what really followed: "
        "`ra.sequences.score_sequences`. These names begin with `seq_`.",
    ),
    "rating": ("Predicted ratings", "How far are predicted numbers from the given ones?"),
}

SHARED = {
    "relevant_from": "an item is relevant from this gain",
    "missing": "a user without a list counts as an empty list, or is left out",
    "no_relevant": "a user with nothing to find has no value, or counts 0",
}

INTRODUCTION = """\
# Metrics

A metric is a value with one name everywhere: on the command line, in Python, in tables and in files. `ndcg@10` is nDCG
cut at 10; `ndcg(gain='exp2')@10` states a parameter. Parameters that are not stated have the defaults below, and every
result stores all of them.

`[@k]` means that the cut-off may be left out, and then the whole list counts; `@k` that it must be given. Names are
forgiving of case. `recassay explain NAME` prints an entry of this page.

The worked examples are some of those that the tests compute; what they are given stands [at the end](#examples).

Accuracy metrics share three parameters:

| parameter | meaning |
| --- | --- |
| `relevant_from` | an item is relevant from this gain; the option `--relevant-from` sets it for all metrics |
| `missing` | a user without a list counts as an empty list (`zero`) or is left out (`skip`); `--missing` |
| `no_relevant` | a user with nothing to find has no value (`undefined`) or counts 0 (`zero`); `--no-relevant` |
"""


def pages() -> dict[str, str]:
    """Return the text of the page by its path."""
    found = [describe(metric) for metric in METRICS.kinds.values()]
    strange = {one.family for one in found} - FAMILIES.keys()
    if strange:
        raise KeyError(f"say in docs/_generators/metrics.py what these families are: {', '.join(sorted(strange))}")
    parts = [INTRODUCTION, _contents(found)]
    for family, (title, question) in FAMILIES.items():
        own = [one for one in found if one.family == family]
        if own:
            parts += [f"## {title}\n\n{question}\n", *map(_entry, own)]
    return {"reference/metrics.md": "\n".join([*parts, _given()])}


def _given() -> str:
    """Return the full inputs of the worked examples."""
    lines = ["## Examples", "", "What the worked examples above are given.", ""]
    for name, given in json.loads((GOLDEN / "given.json").read_text(encoding="utf-8")).items():
        shown = "; ".join(f"{kind} `{json.dumps(table)}`" for kind, table in given.items())
        lines.append(f"- **{name}**: {shown}")
    return "\n".join(lines) + "\n"


def _contents(found: list[Description]) -> str:
    lines = ["| family | metrics |", "| --- | --- |"]
    for family, (title, _) in FAMILIES.items():
        names = ", ".join(f"[{one.name}](#{one.name})" for one in found if one.family == family)
        if names:
            lines.append(f"| {title} | {names} |")
    return "\n".join(lines) + "\n"


def _entry(one: Description) -> str:
    lines = [f"### {one.name}", "", plain(one.title), ""]
    for heading, text in one.sections.items():
        lines += [f"**{heading}.** {plain(text if heading == 'Libraries' else text[:1].upper() + text[1:])}", ""]
    own = [parameter for parameter in one.parameters if parameter.name not in SHARED]
    if own:
        lines += ["| parameter | default | choices |", "| --- | --- | --- |"]
        lines += [
            f"| `{parameter.name}` | `{parameter.default!r}` | {_choices(parameter.choices)} |" for parameter in own
        ]
        lines.append("")
    lines += [f"{_facts(one)}", "", *_examples(one.name)]
    return "\n".join(lines)


def _examples(name: str) -> list[str]:
    """Return the first worked examples of a metric, each with other parameters."""
    rows = worked().get(name, [])
    chosen: dict[str, Any] = {}
    for row in rows:
        chosen.setdefault(row["metric"].partition("@")[0], row)
    lines = ["| worked example | given | value | how |", "| --- | --- | --- | --- |"]
    for row in list(chosen.values())[:MOST_EXAMPLES]:
        named = isinstance(row["given"], str)
        given = row["given"] if named else f"`{json.dumps(row['given'], ensure_ascii=False)}`"
        value = row["value"] if "value" in row else json.dumps(row["per_user"]).replace("null", "undefined").strip("{}")
        lines.append(f"| `{row['metric']}` | {given} | {value} | {plain(row['arithmetic'])} |")
    return [*lines, ""] if rows else []


@functools.cache
def worked() -> dict[str, list[dict[str, Any]]]:
    """Worked examples by the name of their metric."""
    found: dict[str, list[dict[str, Any]]] = {}
    for path in sorted(GOLDEN.glob("*.json")):
        rows = json.loads(path.read_text(encoding="utf-8"))
        for row in rows if isinstance(rows, list) else ():  # what is given, and what was recorded, are no rows
            found.setdefault(parse_metric(row["metric"]).name, []).append(row)
    return found


def _choices(choices: tuple[str, ...]) -> str:
    return ", ".join(f"`{choice}`" if choice[0] in "'0123456789" else choice for choice in choices)


def _facts(one: Description) -> str:
    ways = {True: "higher is better", False: "lower is better", None: "neither direction is better"}
    forms = {"required": f"`{one.name}@k`", "optional": f"`{one.name}` or `{one.name}@k`", "none": f"`{one.name}`"}
    shared = [parameter.name for parameter in one.parameters if parameter.name in SHARED]
    facts = [
        f"Written {forms[one.cutoff]}",
        f"range {one.range}, {ways[one.higher_is_better]}",
    ]
    if one.needs:
        options = {"train": "`--train`", "items": "`--items`"}
        facts.append(f"needs {' and '.join(options[need] for need in one.needs)}")
    if shared:
        facts.append(f"also takes {', '.join(f'`{name}`' for name in shared)}")
    if one.aliases:
        facts.append(f"answers to {', '.join(f'`{alias}`' for alias in one.aliases)}")
    return "; ".join(facts) + "."


def plain(text: str) -> str:
    """Docstring markup as Markdown: double backquotes become single, a star outside code stands for itself."""
    return "`".join(
        part if i % 2 else part.replace("*", "\\*").replace("|", "\\|").replace("<", "&lt;")
        for i, part in enumerate(text.replace("``", "`").split("`"))
    )
