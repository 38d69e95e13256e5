"""Values of options that are converted without pydantic are those that typer makes."""

import subprocess
import sys

import polars as pl
import pytest
import typer

import recassay.cli
from recassay.cli import _values

pytestmark = pytest.mark.skipif(
    not hasattr(typer.core.TyperOption, "get_runtime_param"), reason="this typer has no pydantic"
)

TYPED = ["", "a", "ä", "\udcff", "0", "007", "-1", "1.5", "1e3", "nan", " 1", "1_0", "٣", "9" * 18, "9" * 30, "none"]


@pytest.mark.parametrize("name", recassay.cli.COMMANDS)
def test_a_plain_value_is_the_one_that_typer_makes(name):
    command = typer.main.get_command(recassay.cli.build_app([name])).commands[name]
    context = typer.Context(command)
    for parameter in command.params:
        several = parameter.multiple or parameter.nargs == -1
        typed = [(word, "b") for word in TYPED] if several else TYPED
        for value in [parameter.get_default(context), *typed]:
            plain = _result(_values.plain_value, parameter, value)
            if plain is not _values._LEFT_TO_TYPER:
                made = _result(parameter.get_runtime_param().coerce, value, parameter, context)
                assert (parameter.name, plain, type(plain)) == (parameter.name, made, type(made))


def _result(convert, *arguments):
    """Return what a function returns, or the text of the error that it raises."""
    try:
        return convert(*arguments)
    except Exception as error:
        return str(error)


def test_scoring_to_json_needs_neither_pydantic_nor_rich(tmp_path):
    pl.DataFrame({"user_id": [1], "item_id": [10], "gain": [1]}).write_csv(tmp_path / "truth.csv")
    pl.DataFrame({"user_id": [1], "item_id": [10], "score": [1.0]}).write_csv(tmp_path / "run.csv")
    options = ["-m", "mrr", "--interval", "none", "--seed", "3", "--threads", "1", "--json"]
    script = (
        "import atexit, sys;"
        "atexit.register(lambda: print({'pydantic', 'rich.console'} & {*sys.modules}, file=sys.stderr));"
        f"sys.argv = ['recassay', 'score', 'truth.csv', 'run.csv', *{options}]; from recassay.cli import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "mrr" in done.stdout
    assert done.stderr.splitlines()[-1] == "set()"


def test_a_command_that_parses_again_converts_its_values_once():
    command = typer.main.get_command(recassay.cli.build_app(["list"])).commands["list"]
    for _ in range(2):
        command.make_context("list", ["metrics"])
        converted = [parameter.process_value for parameter in command.params]
    command.make_context("list", ["metrics"])
    assert [parameter.process_value for parameter in command.params] == converted
