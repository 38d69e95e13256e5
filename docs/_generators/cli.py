"""``reference/cli.md``: every command and option, from the program that parses them."""

from __future__ import annotations

from typing import Any

import typer.main

from recassay.cli import build_app

INTRODUCTION = """\
# Command line

`recassay COMMAND --help` prints what stands here. Results go to standard output; progress and notes go to standard
error. Every command that prints a result takes `--json` and then prints exactly one JSON document
([schemas](schemas.md)).

| exit status | meaning |
| --- | --- |
| 0 | done |
| 1 | done, and a finding is at least as severe as `--fail-on` |
| 2 | the input or the request cannot be used; nothing was written ([errors](errors.md)) |
| 3 | a mistake of recassay itself; please report it |
| 130 | stopped from the keyboard |
"""


def pages() -> dict[str, str]:
    """Return the text of the page by its path."""
    group: Any = typer.main.get_command(build_app())
    contents = "".join(
        f"- [`recassay {name}`](#recassay-{name}): {_first_line(command)}\n" for name, command in _commands(group)
    )
    parts = [INTRODUCTION, contents, _options("recassay", group, level=2)]
    parts += [_options(f"recassay {name}", command, level=2) for name, command in _commands(group)]
    return {"reference/cli.md": "\n".join(parts)}


def _commands(group: Any) -> list[tuple[str, Any]]:
    return list(group.commands.items())


def _first_line(command: Any) -> str:
    return str(command.help).partition("\n")[0]


def _options(title: str, command: Any, *, level: int) -> str:
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    usage = [title, "[OPTIONS]", *(_argument(one) for one in arguments)] + (["COMMAND"] if title == "recassay" else [])
    text = "\n".join(line.strip() for line in str(command.help).splitlines())
    lines = [f"{'#' * level} {title}", "", text, "", f"Usage: `{' '.join(usage)}`", ""]
    if arguments:
        lines += ["| argument | meaning |", "| --- | --- |"]
        lines += [f"| `{_argument(one)}` | {_cell(one.help)}{_default(one)} |" for one in arguments] + [""]
    for panel, options in _panels(command).items():
        lines += [f"| {panel.lower()} | meaning |", "| --- | --- |"]
        lines += [f"| {_names(one)} | {_cell(one.help)}{_default(one)} |" for one in options] + [""]
    return "\n".join(lines)


def _panels(command: Any) -> dict[str, list[Any]]:
    panels: dict[str, list[Any]] = {}
    for one in command.params:
        if one.param_type_name == "option" and not one.hidden:
            panels.setdefault(getattr(one, "rich_help_panel", None) or "Options", []).append(one)
    return dict(sorted(panels.items(), key=lambda item: item[0] == "Output"))


def _argument(one: Any) -> str:
    name = (one.metavar or one.name.upper()) + ("..." if one.nargs == -1 else "")
    return name if one.required else f"[{name}]"


def _names(one: Any) -> str:
    value = "" if one.is_flag else f" {one.metavar or 'VALUE'}"
    return ", ".join(f"`{name}{value}`" for name in one.opts)


def _default(one: Any) -> str:
    told = (
        one.default in (None, [], ())
        or getattr(one, "is_flag", False)
        or callable(one.default)
        or "[default" in (one.help or "")
    )
    return "" if told or one.required else f" [default: `{one.default}`]"


def _cell(text: str | None) -> str:
    return (text or "").replace("|", "\\|").replace("  [default", " [default")
