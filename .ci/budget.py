"""Compare the size of the sources with the budget in ``.ci/budget.json``: it may only fall.

    python .ci/budget.py            end with status 1 if a number is above its budget
    python .ci/budget.py --write    store today's numbers; a commit that raises one says in its message what for

Numbers are statements without docstrings and modules of each package, and functions and files that two calls pass:
``recassay score`` of two users, and ``ra.score`` of two dicts.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

HERE = Path(__file__).parent
BUDGET, SOURCE = HERE / "budget.json", HERE.parent / "src" / "recassay"
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
NAMELESS = ("<module>", "<lambda>", "<genexpr>", "<listcomp>", "<setcomp>", "<dictcomp>")  # no functions of their own
TABLES = {"truth": "user,item\nann,x\nbob,y\n", "run": "user,item,score\nann,x,2\nann,y,1\nbob,y,1\n"}


def statements(file: Path) -> int:
    """Return the number of statements of a module, docstrings excluded."""
    nodes = list(ast.walk(ast.parse(file.read_text(encoding="utf-8"))))
    documented = sum(
        isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None for node in nodes
    )
    return sum(isinstance(node, ast.stmt) for node in nodes) - documented


def packages() -> dict[str, dict[str, int]]:
    """Return the statements and modules of each package of the sources, and of all."""
    found: dict[str, Counter[str]] = {"all": Counter()}
    for file in sorted(SOURCE.rglob("*.py")):
        part = file.relative_to(SOURCE).parts[0].removesuffix(".py")
        counts = Counter(statements=statements(file), modules=1)
        found.setdefault(part, Counter()).update(counts)
        found["all"].update(counts)
    return {name: dict(counts) for name, counts in found.items()}


def passed(call: Callable[[], Any]) -> dict[str, int]:
    """Return how many functions of recassay, and how many files, a second call of a function passes."""
    with contextlib.redirect_stdout(io.StringIO()):
        call()
        codes: set[CodeType] = set()

        def note(frame: FrameType, event: str, _: Any) -> None:
            if event == "call" and frame.f_code.co_filename.startswith(str(SOURCE)):
                codes.add(frame.f_code)

        sys.setprofile(note)
        try:
            call()
        finally:
            sys.setprofile(None)
    functions = {code for code in codes if code.co_name not in NAMELESS}
    return {"functions": len(functions), "files": len({code.co_filename for code in functions})}


def paths() -> dict[str, dict[str, int]]:
    """Return what the two main paths pass."""
    import recassay as ra
    from recassay.cli import build_app

    def command() -> None:
        with contextlib.suppress(SystemExit):
            build_app()(["score", str(folder / "truth"), str(folder / "run"), "-m", "ndcg@10"], prog_name="recassay")

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for table, text in TABLES.items():
            (folder / table).write_text(text)
        run, truth = {"ann": {"x": 2.0, "y": 1.0}, "bob": {"y": 1.0}}, {"ann": ["x"], "bob": ["y"]}
        return {"recassay score": passed(command), "ra.score": passed(lambda: ra.score(run, truth, "ndcg@10"))}


def main() -> int:
    """Compare today's numbers with the budget, or store them."""
    now = {**packages(), **paths()}
    if "--write" in sys.argv:
        BUDGET.write_text(json.dumps(now, indent=1) + "\n", encoding="utf-8")
        return 0
    budget = json.loads(BUDGET.read_text(encoding="utf-8"))
    over = [
        f"{name}: {number:,} {what}, {number - budget.get(name, {}).get(what, 0):,} above the budget"
        for name, numbers in now.items()
        for what, number in numbers.items()
        if number > budget.get(name, {}).get(what, 0)
    ]
    print(
        "\n".join(over)
        or f"{now['all']['statements']:,} statements in {now['all']['modules']:,} modules: within the budget"
    )
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
