"""Commands that convert plain values of options themselves.

typer converts every value with pydantic, also the default of an option that is not given. Importing pydantic and
building a converter for each of 45 options takes 0.07 s, a tenth of scoring a small file. Defaults, ASCII text and
whole numbers need no pydantic. All other values are left to typer, so mistakes have typer's messages.
"""

from __future__ import annotations

from typing import Any, Literal, get_origin

from typer.core import TyperCommand, TyperGroup

_LEFT_TO_TYPER = object()
_MOST_DIGITS = 18  # more could exceed 64 bits


class PlainCommand(TyperCommand):
    """A command that converts plain values without pydantic."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments of the command."""
        _convert_plain_values(self.get_params(ctx))
        return super().parse_args(ctx, args)


class PlainGroup(TyperGroup):
    """A group of commands that converts plain values without pydantic."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments before the name of the command."""
        _convert_plain_values(self.get_params(ctx))
        return super().parse_args(ctx, args)


def _convert_plain_values(parameters: list[Any]) -> None:
    for parameter in parameters:
        # Older versions of typer have no pydantic. A command that parses again has its conversions already.
        if hasattr(parameter, "type_descriptor") and "process_value" not in vars(parameter):
            _convert_plain_values_of(parameter)


def _convert_plain_values_of(parameter: Any) -> None:
    convert = parameter.process_value

    def process_value(context: Any, value: Any) -> Any:
        plain = plain_value(parameter, value)
        if plain is _LEFT_TO_TYPER:
            return convert(context, value)
        return plain if parameter.callback is None else parameter.callback(context, parameter, plain)

    parameter.process_value = process_value


def plain_value(parameter: Any, value: Any) -> Any:
    """Return the value of an option as typer converts it, or ``_LEFT_TO_TYPER`` if it is not plain."""
    several = parameter.multiple or parameter.nargs == -1
    if value is None and not parameter.required:
        return () if several else None
    kind, about = parameter.type_descriptor.annotation, parameter.type_descriptor.parameter_info
    if kind == list[str] and several and value and not isinstance(value, str) and all(map(_is_ascii, value)):
        return list(value)
    if (kind is str or (get_origin(kind) is Literal and about.parser)) and _is_ascii(value):
        return about.parser(value) if about.parser else value
    if kind is int and _is_ascii(value) and value.isdecimal() and len(value) <= _MOST_DIGITS:
        value = int(value)
    if kind in (int, float) and type(value) is kind and _is_within(value, about):
        return value
    return _LEFT_TO_TYPER


def _is_ascii(value: Any) -> bool:
    """Return whether a value is ASCII text; other text may have bytes that typer refuses."""
    return isinstance(value, str) and value.isascii()


def _is_within(value: float, about: Any) -> bool:
    return (about.min is None or about.min <= value) and (about.max is None or value <= about.max)
