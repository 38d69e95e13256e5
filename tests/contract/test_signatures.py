"""Functions have at most ten parameters, so that a call can be read; the public verbs may have more keywords."""

import ast
from pathlib import Path

import recassay as ra

SOURCE = Path(ra.__file__).parent
MOST = 10
PUBLIC = {*ra.__all__, *ra.overall.__all__, *ra.sequences.__all__, *ra.sampled.__all__}
COMMANDS = "cli"  # every option of a command is a parameter of its function


def functions(tree):
    """Yield the functions of a module with the class that each is a method of, None for others."""
    for node in ast.walk(tree):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                yield child, node if isinstance(node, ast.ClassDef) else None


def n_parameters(function, owner):
    arguments = function.args
    count = len(arguments.posonlyargs) + len(arguments.args) + len(arguments.kwonlyargs)
    static = any(isinstance(one, ast.Name) and one.id == "staticmethod" for one in function.decorator_list)
    return count - (owner is not None and not static)


def is_kernel(function):
    return any("njit" in ast.unparse(one) for one in function.decorator_list)


def is_public_verb(function, owner):
    return owner is None and function.name in PUBLIC


def long_signatures():
    for path in sorted(SOURCE.rglob("*.py")):
        name = path.relative_to(SOURCE)
        if name.parts[0] == COMMANDS:
            continue
        for function, owner in functions(ast.parse(path.read_text(encoding="utf-8"))):
            if n_parameters(function, owner) > MOST and not is_kernel(function) and not is_public_verb(function, owner):
                yield f"{name}: {function.name}"


def test_only_kernels_commands_and_public_verbs_have_more_than_ten_parameters():
    assert list(long_signatures()) == []
