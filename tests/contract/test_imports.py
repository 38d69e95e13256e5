"""Imports between packages form no cycle, whatever kind of import they are.

A package is a folder; a module directly in ``recassay`` counts as a package of its own. Imports count at the top of a
module, inside functions, under ``TYPE_CHECKING`` and as a text handed to ``importlib.import_module``. Those under
``TYPE_CHECKING`` are left out inside one top-level package, where they name types of siblings.
"""

import ast
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import recassay

ROOT = Path(recassay.__file__).parent


class Import(NamedTuple):
    """An import of one module by another, and whether it is only for type checkers."""

    importer: str
    imported: str
    typing_only: bool


def modules(root=ROOT):
    """Return the files of all modules by dotted name."""
    found = {}
    for path in sorted(root.rglob("*.py")):
        parts = (root.name, *path.relative_to(root).with_suffix("").parts)
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def package_of(module, files):
    """Return the package of a module: its folder, or the module itself if it lies directly in the root."""
    parts = module.split(".")
    folder = files[module].name == "__init__.py"
    return module if folder or len(parts) == 2 else ".".join(parts[:-1])


def imports_of(module, tree, files):
    """Yield every import of the package that a module's syntax tree holds."""
    base = files[module].parent

    def targets(node):
        if isinstance(node, ast.Import):
            return [alias.name for alias in node.names]
        if isinstance(node, ast.ImportFrom):
            if node.level:
                above = base.parents[node.level - 2] if node.level > 1 else base
                prefix = ".".join((ROOT.name, *above.relative_to(ROOT).parts))
            else:
                prefix = ""
            home = ".".join(filter(None, (prefix, node.module)))
            return [f"{home}.{alias.name}" if f"{home}.{alias.name}" in files else home for alias in node.names]
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module") and node.args:
            argument = node.args[0]
            return [argument.value] if isinstance(argument, ast.Constant) else []
        return []

    def visit(node, typing_only):
        for child in ast.iter_child_nodes(node):
            inside = typing_only or (isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test))
            for name in targets(child):
                if name in files and name != module:
                    yield Import(module, name, inside)
            yield from visit(child, inside)

    yield from visit(tree, False)


def packages(files):
    """Return the packages that each package imports."""
    graph = defaultdict(set)
    for module, path in files.items():
        for found in imports_of(module, ast.parse(path.read_text(encoding="utf-8")), files):
            here, there = package_of(module, files), package_of(found.imported, files)
            siblings = here.split(".")[:2] == there.split(".")[:2]
            if here != there and not (found.typing_only and siblings):
                graph[here].add(there)
    return graph


def cycles(graph):
    """Return the groups of packages of which each reaches all others of its group (Tarjan 1972)."""
    number, lowest, stack, found = {}, {}, [], []

    def visit(node):
        number[node] = lowest[node] = len(number)
        stack.append(node)
        for other in sorted(graph.get(node, ())):
            if other not in number:
                visit(other)
            if other in stack:
                lowest[node] = min(lowest[node], lowest[other])
        if lowest[node] == number[node]:
            group = [stack.pop()]
            while group[-1] != node:
                group.append(stack.pop())
            if len(group) > 1:
                found.append(sorted(group))

    for node in sorted(graph):
        if node not in number:
            visit(node)
    return found


def test_packages_import_each_other_in_one_direction():
    files = modules()
    graph = packages(files)
    assert cycles(graph) == []
    assert not any("recassay" in imported for imported in graph.values()), "the front door imports, and is not imported"


def test_nothing_below_the_verbs_imports_a_back_end():
    graph = packages(modules())
    allowed = ("recassay.api", "recassay.backends", "recassay.cli", "recassay.study")
    assert [
        package
        for package, imported in graph.items()
        if package != "recassay"
        and not package.startswith(allowed)
        and any(one.startswith("recassay.backends") for one in imported)
    ] == []


def test_only_the_spark_back_end_imports_pyspark():
    importers = {
        module
        for module, path in modules().items()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        for name in ([node.module or ""] if isinstance(node, ast.ImportFrom) else [])
        + ([alias.name for alias in node.names] if isinstance(node, ast.Import) else [])
        if name.partition(".")[0] == "pyspark"
    }
    assert {module.rpartition(".")[0] for module in importers} == {"recassay.backends.spark"}


def test_a_cycle_is_found_in_every_kind_of_import(tmp_path):
    texts = {
        "one/a.py": "def late():\n    import recassay.two.b",
        "two/b.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from recassay.three import c",
        "three/c.py": "import importlib\nimportlib.import_module('recassay.one.a')",
    }
    files = {f"recassay.{name[:-3].replace('/', '.')}": tmp_path / name for name in texts}
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text)
    assert cycles(packages(files)) == [["recassay.one", "recassay.three", "recassay.two"]]
