"""``reference/profiles.md``: every profile as it is declared."""

from __future__ import annotations

from typing import Any

from recassay.profiles import PROFILES

INTRODUCTION = """\
# Profiles

A profile is the set of conventions under which recassay prints what another library prints on the same input. Ask for it
with `--profile NAME`, or `profile="NAME"` in Python ([how to](../howto/reproduce-another-library.md)). What a profile
leaves open is as without it, and a parameter stated in the name of a metric wins over the profile.

Profiles are held to recorded answers of the libraries themselves, user by user. The names below are those of our
[metrics](metrics.md).
"""


def pages() -> dict[str, str]:
    """Return the text of the page by its path."""
    found = PROFILES.kinds
    lines = ["| profile | library | version | metrics |", "| --- | --- | --- | --- |"]
    lines += [
        f"| [{name}](#{name}) | {one.title} | {one.version} | {', '.join(one.metrics)} |" for name, one in found.items()
    ]
    return {"reference/profiles.md": "\n".join([INTRODUCTION, *lines, "", *map(_section, found.values())])}


def _section(one: Any) -> str:
    lines = [f"## {one.name}", "", f"{one.title} {one.version}."]
    if one.transcribed:
        lines[-1] += " Held to the source of the library, not to a run of it."
    lines.append("")
    if one.conventions:
        lines += [f"Lists are read with {', '.join(f'`{key}={value}`' for key, value in one.conventions.items())}.", ""]
    lines += [f"- {_sentence(text)}" for text in one.differs] + ([""] if one.differs else [])
    lines += ["| asked for | is |", "| --- | --- |"]
    lines += [f"| `{ours}` | `{theirs}` |" for ours, theirs in one.metrics.items()] + [""]
    if one.excludes:
        lines += ["Knowingly not reproduced:", ""] + [f"- {exclusion}." for exclusion in one.excludes] + [""]
    return "\n".join(lines)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")
