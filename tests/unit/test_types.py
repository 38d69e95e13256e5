"""The script that ``make lint`` gives to mypy, ``tests/typed/verbs.py``, calls each public verb."""

import ast
import inspect
from pathlib import Path

import recassay as ra

SCRIPT = Path(__file__).parents[1] / "typed" / "verbs.py"


def test_the_script_calls_every_verb():
    modules = {"ra": ra} | {f"ra.{name}": getattr(ra, name) for name in ("overall", "sampled", "sequences")}
    verbs = {
        f"{home}.{name}"
        for home, module in modules.items()
        for name in module.__all__
        if inspect.isfunction(getattr(module, name))
    }
    called = {ast.unparse(node.func) for node in ast.walk(ast.parse(SCRIPT.read_text())) if isinstance(node, ast.Call)}
    assert len(verbs) > 40
    assert verbs - called == set()
