"""No module calls functions that round differently on another processor, but for those that say why."""

from __future__ import annotations

import ast
from pathlib import Path

import recassay

SOURCE = Path(recassay.__file__).parent
OF_NUMPY = {
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "logaddexp", "power", "float_power", "cbrt", "sin", "cos",
    "tan", "tanh", "arctan", "arctan2", "arcsin", "arccos", "sinh", "cosh", "hypot", "dot", "vdot", "inner", "matmul",
    "tensordot", "einsum", "linalg", "corrcoef", "cov", "convolve", "correlate", "polyfit",
}  # fmt: skip
OF_MATH = {"exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "pow", "lgamma", "gamma", "erf", "erfc", "cbrt"}
OF_GENERATORS = {
    "normal", "standard_normal", "lognormal", "exponential", "standard_exponential", "gamma", "standard_gamma", "beta",
    "binomial", "multinomial", "dirichlet", "poisson", "geometric", "zipf", "pareto", "laplace", "standard_t",
}  # fmt: skip

# A module that multiplies matrices of floats or calls SciPy, and why no result that is promised depends on it.
ALLOWED = {
    "data/io/archive.py": "SciPy's sparse matrices are stored and read, not computed with",
    "comparison/power.py": "numbers of users, from SciPy's noncentral t: a plan, not a result",
    "stats/": "tails of distributions from SciPy, which tests hold to 1e-9",
    "data/synthetic/power_law.py": "a least-squares fit, rounded to three digits",
    "engine/ranks/blocks.py": "products that show which rows are rounded alike here; scores keep their bits",
    "engine/ranks/task.py": "products of whole numbers, which are exact",
    "engine/ranks/standings.py": "scores of models are products; counts of candidates are whole numbers",
    "metrics/sequence/similarity.py": "SciPy's sparse matrices hold similarities and add in the order of rows",
    "models/": "models are fitted and score by products of matrices",
    "report/figures/scale.py": "ticks of an axis, rounded to a few digits",
    "sampled/": "estimators solve systems of equations; the documentation says how much they move",
    "split/sessions.py": "SciPy's sparse matrices hold whole numbers",
}
NEVER = ("models/incremental/", "models/baselines/popular.py", "models/baselines/random.py")


def modules():
    return sorted(path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py"))


def suspects(path):
    """Return the calls of a module that round as the processor does."""
    found = []
    for node in ast.walk(ast.parse((SOURCE / path).read_text(encoding="utf-8"))):
        where = f"line {getattr(node, 'lineno', 0)}"
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            found.append(f"{where}: a product of matrices")
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("scipy"):
            found.append(f"{where}: from {node.module}")
        if isinstance(node, ast.Import):
            found += [f"{where}: import {one.name}" for one in node.names if one.name.startswith("scipy")]
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if (node.value.id, node.attr) in {*(("np", one) for one in OF_NUMPY), *(("math", one) for one in OF_MATH)}:
                found.append(f"{where}: {node.value.id}.{node.attr}")
            if node.value.id in {"rng", "generator"} and node.attr in OF_GENERATORS:
                found.append(f"{where}: {node.value.id}.{node.attr}")
        if isinstance(node, ast.keyword) and node.arg in {"fastmath", "parallel"}:
            found.append(f"{where}: numba's {node.arg}")
    return found


def excused(path):
    return not path.startswith(NEVER) and any(path.startswith(one) for one in ALLOWED)


def test_a_module_calls_nothing_that_rounds_as_the_processor_does():
    for path in modules():
        found = suspects(path)
        assert excused(path) or not found, f"{path}: {found}; use recassay.portable, or say in ALLOWED why not"


def test_every_excuse_is_needed():
    for prefix in sorted(ALLOWED):
        assert any(suspects(path) for path in modules() if path.startswith(prefix))


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
    "testing/recommender.py",
}
REPLAYED = {"metrics/_kernels.py"}  # the sort of numba, which ranx uses: the same on every processor


def test_sorts_keep_the_order_of_ties():
    """NumPy's default sort leaves equal keys in an order that depends on the width of vector instructions."""
    found = {path: list(orders(path)) for path in modules()}
    assert {path for path, lines in found.items() if lines} <= DISTINCT | REPLAYED, found
