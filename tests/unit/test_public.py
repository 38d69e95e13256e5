"""What `import recassay` offers, and what it costs."""

import ast
import importlib
import inspect
import json
import pkgutil
import pydoc
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from types import ModuleType

import pytest

import recassay


def loaded_after(code):
    """Top-level modules that a fresh interpreter has loaded after some code."""
    tail = "\nimport sys, json\nprint(json.dumps(list(sys.modules)), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code + tail], capture_output=True, text=True, check=True)
    return {name.partition(".")[0] for name in json.loads(done.stderr.splitlines()[-1])}


HEAVY = {"numba", "polars", "scipy", "numpy", "pandas", "pyarrow", "llvmlite", "rich", "typer"}


def test_importing_the_package_imports_nothing_heavy():
    assert loaded_after("import recassay") & HEAVY == set()


@pytest.mark.parametrize("arguments", [["--help"], ["score", "--help"], ["--version"], ["list", "--help"]])
def test_help_imports_neither_numba_nor_polars_nor_numpy(arguments):
    code = (
        f"""
import contextlib, io, sys
sys.argv = ["recassay", *{arguments}]
from recassay.cli import main
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    main()
""".strip()
        + "\npass"
    )
    assert loaded_after(code) & {"numba", "polars", "scipy", "numpy", "pandas"} == set()


def test_a_mistake_in_an_option_is_told_before_anything_heavy_is_loaded():
    code = (
        """
import contextlib, sys
sys.argv = ["recassay", "score", "t.csv", "r.csv", "--table", "nonsense"]
from recassay.cli import main
with contextlib.suppress(SystemExit):
    main()
""".strip()
        + "\npass"
    )
    assert loaded_after(code) & {"numba", "polars", "scipy"} == set()


def test_a_command_does_not_collect_garbage_at_its_exit():
    code = (
        "import atexit, contextlib, gc, sys\n"
        "atexit.register(lambda: print(gc.get_freeze_count() > 0))\n"  # runs after what is registered later
        "sys.argv = ['recassay', '--version']\n"
        "from recassay.cli import main\n"
        "main()\n"
    )
    printed = subprocess.check_output([sys.executable, "-c", code], text=True)
    assert printed.splitlines()[-1] == "True"


def test_reading_a_table_does_not_need_scipy_stats_or_pandas():
    code = "import recassay as ra; ra.score({'m': {'a': ['x']}}, {'a': ['x']}, 'mrr')"
    full = subprocess.run(
        [sys.executable, "-c", code + "; import sys; print('scipy.stats' in sys.modules, 'pandas' in sys.modules)"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert full.stdout.split() == ["False", "False"]


def test_all_is_what_is_public():
    assert sorted(recassay.__all__) == recassay.__all__
    assert dir(recassay) == sorted(recassay.__all__)
    for name in recassay.__all__:
        assert getattr(recassay, name) is not None
    for name, value in vars(recassay).items():
        borrowed = isinstance(value, ModuleType) or value in (False, sys.modules["typing"].Any, ModuleType)
        borrowed |= name == "annotations"
        assert name.startswith("_") or name in recassay.__all__ or borrowed, name


def test_public_modules_list_what_is_public():
    modules = [getattr(recassay, name) for name in recassay.__all__ if name != "__version__"]
    modules = [module for module in modules if isinstance(module, ModuleType)]
    inner = [getattr(module, name) for module in modules for name in module.__all__]
    for module in (*modules, *(one for one in inner if isinstance(one, ModuleType))):
        assert dir(module) == sorted(module.__all__), module
        assert not {"REGISTRY", "annotations"} & set(dir(module)), module


def test_every_verb_has_a_signature_and_a_help_of_its_own():
    verbs = [value for name in recassay.__all__ if callable(value := getattr(recassay, name)) and name != "__version__"]
    assert [verb for verb in verbs if not (inspect.isfunction(verb) or inspect.isclass(verb))] == []
    assert list(inspect.signature(recassay.evaluate).parameters)[:3] == ["log", "models", "metrics"]
    assert pydoc.render_doc(recassay.evaluate).count("Fit models on a part of a log") == 1


def test_the_top_level_is_short():
    assert len(dir(recassay)) <= 60


def test_the_names_that_are_not_imported_yet_are_those_of_all():
    assert set(recassay._HOMES) == set(recassay.__all__) - {"__version__"}


def test_a_name_that_is_not_there():
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = recassay.nonsense


def test_every_public_thing_is_documented():
    for name in recassay.__all__:
        if name != "__version__":
            assert getattr(recassay, name).__doc__, name


def test_every_module_imports_and_says_what_it_is():
    for module in pkgutil.walk_packages(recassay.__path__, "recassay."):
        assert importlib.import_module(module.name).__doc__, module.name


def test_modules_stay_small():
    for path in Path(recassay.__file__).parent.rglob("*.py"):
        assert len(path.read_text().splitlines()) <= 400, path


def test_the_package_says_that_it_is_typed():
    assert (Path(recassay.__file__).parent / "py.typed").exists()


def test_a_public_class_name_means_one_class():
    """The same name for two classes makes a reader, and a search, stop at the wrong one."""
    found = defaultdict(list)
    for path in sorted(Path(recassay.__file__).parent.rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(path.name)
    assert len(found) > 500
    assert {name: files for name, files in found.items() if len(files) > 1} == {}
