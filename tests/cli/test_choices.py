"""Options with a fixed set of words: the command line and Python accept the same words, and completion lists them."""

from __future__ import annotations

import pytest
import typer.main

from recassay.cli import build_app
from recassay.naming import choices
from recassay.stats.differences import EFFECTS
from recassay.stats.intervals import METHODS
from recassay.stats.significance import CORRECTIONS, TESTS


@pytest.mark.parametrize(
    ("choice", "implemented"),
    [
        (choices.TestName, TESTS),
        (choices.Correction, CORRECTIONS),
        (choices.Effect, EFFECTS),
        (choices.IntervalMethod, {"bootstrap", *METHODS}),
    ],
)
def test_every_word_of_a_statistical_option_is_implemented(choice, implemented):
    assert set(choices.words(choice)) == set(implemented)


@pytest.mark.parametrize(
    ("command", "option", "choice"),
    [
        ("score", "--ties", choices.TieOrder),
        ("score", "--engine", choices.Engine),
        ("compare", "--effect", choices.Effect),
        ("check", "--fail-on", choices.Severity),
        ("report", "--figures", choices.FigureFormat),
        ("stats", "--times", choices.TimeKind),
    ],
)
def test_help_and_completion_list_the_words_of_an_option(recassay, command, option, choice):
    parameter = next(one for one in typer.main.get_command(build_app()).commands[command].params if option in one.opts)
    for word in choices.words(choice):
        assert word in parameter.help
    context = typer.main.get_command(build_app()).commands[command].make_context(command, [], resilient_parsing=True)
    completed = [item if isinstance(item, str) else item.value for item in parameter.shell_complete(context, "")]
    assert completed == list(choices.words(choice))
