"""No module multiplies matrices of floats for a result that is promised, or sorts without keeping ties in order."""

from __future__ import annotations

import ast
from pathlib import Path

import recassay

SOURCE = Path(recassay.__file__).parent
PRODUCTS = {
    "dot", "vdot", "inner", "matmul", "tensordot", "einsum", "linalg", "corrcoef", "cov", "convolve", "correlate",
    "polyfit",
}  # fmt: skip

# A module that multiplies matrices of floats, and why no result that is promised depends on it.
ALLOWED = {
    "stats/": "sums of products of two columns, in a fixed order; products of whole numbers",
    "engine/ranks/blocks.py": "products that show which rows are rounded alike here; scores keep their bits",
    "engine/ranks/task.py": "products of whole numbers, which are exact",
    "engine/ranks/standings.py": "scores of models are products; counts of candidates are whole numbers",
    "models/": "models are fitted and score by products of matrices",
    "sampled/": "estimators solve systems of equations; the documentation says how much they move",
}
NEVER = ("models/incremental/",)


def modules():
    return sorted(path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py"))


def suspects(path):
    """Return the matrix products of a module, and the options of numba that change the order of additions."""
    found = []
    for node in ast.walk(ast.parse((SOURCE / path).read_text(encoding="utf-8"))):
        where = f"line {getattr(node, 'lineno', 0)}"
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            found.append(f"{where}: a product of matrices")
        if isinstance(node, ast.Attribute) and node.attr in PRODUCTS and ast.unparse(node.value) == "np":
            found.append(f"{where}: np.{node.attr}")
        if isinstance(node, ast.keyword) and node.arg in {"fastmath", "parallel"}:
            found.append(f"{where}: numba's {node.arg}")
    return found


def excused(path):
    return not path.startswith(NEVER) and any(path.startswith(one) for one in ALLOWED)


def test_modules_multiply_no_matrices_but_those_that_say_why():
    suspected = {path: found for path in modules() if (found := suspects(path))}
    assert not {path: found for path, found in suspected.items() if not excused(path)}
    assert not [prefix for prefix in ALLOWED if not any(path.startswith(prefix) for path in suspected)]


def orders(path):
    """Return sorts of a module that do not say that rows which tie keep their order."""
    for node in ast.walk(ast.parse((SOURCE / path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            stable = any(word.arg == "kind" for word in node.keywords)
            if node.func.attr in {"argsort", "argpartition"} and not stable:
                yield node.lineno


# Sorts of keys that are all different, or whose ties are put into order afterwards.
DISTINCT = {
    "columnar/layout.py",
    "columnar/order.py",
    "engine/sequences/predictors.py",
    "models/incremental/base.py",
    "testing.py",
}
REPLAYED = {"metrics/_kernels.py"}  # the sort of numba, which ranx uses: the same on every processor


def test_sorts_keep_the_order_of_ties():
    """NumPy's default sort leaves equal keys in an order that depends on the width of vector instructions."""
    found = {path: list(orders(path)) for path in modules()}
    assert {path for path, lines in found.items() if lines} <= DISTINCT | REPLAYED, found
