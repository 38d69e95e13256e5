"""The fingerprint of the code that results depend on: a digest of each module, without its comments and docstrings."""

from __future__ import annotations

import ast
import functools
import hashlib
import io
import tokenize
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from recassay import models

ROOT = Path(__file__).resolve().parents[1]
# What conclusions from published tables depend on.
TABLES = (
    "comparison/across.py", "engine/finished", "portable", "reproduction/claims.py", "reproduction/over_time.py",
    "reproduction/sources.py", "rng.py", "stats",
)  # fmt: skip
# What a study of ranked lists depends on too; its models are named by its lock.
STUDIES = (
    "columnar", "comparison", "data", "designs", "engine/lists", "engine/ranks", "experiments", "metrics",
    "models/base", "protocols", "sampled", "split", "study/run",
)  # fmt: skip
# What studies with other protocols depend on too, by the protocol's name.
PROTOCOLS = {
    "prequential": ("drift", "engine/streams", "models/incremental"),
    "sequence": ("engine/sequences", "models/neural", "models/sequence"),
}


def fingerprint(parts: Iterable[str]) -> dict[str, str]:
    """Return the digest of each module in the given files and folders of the package, by the module's path."""
    files = {file for part in parts for file in _modules(ROOT / part)}
    return {file.relative_to(ROOT).as_posix(): digest(file.read_text(encoding="utf-8")) for file in sorted(files)}


def _modules(path: Path) -> Iterator[Path]:
    if path.suffix == ".py":
        yield path
    else:
        yield from path.rglob("*.py")


def model_folders(texts: Iterable[str]) -> list[str]:
    """Return the folders with the code of models, from their texts in a study: a model needs kernels or layers too.

    >>> model_folders(["ALS(factors=50)", "BiasedMF", "Popular"])
    ['models/baselines', 'models/factors']
    """
    names = {text.partition("(")[0].strip() for text in texts}
    modules = {getattr(models, name).__module__ for name in names if hasattr(models, name)}
    return sorted({"/".join(one.split(".")[1:-1]) for one in modules if one.startswith("recassay.")})


def study_modules(models: Iterable[str], protocols: Iterable[str]) -> list[str]:
    """Return the files and folders that studies with these models and protocols depend on.

    ``models`` are texts, and ``protocols`` names.

    >>> "models/incremental" in study_modules(["StreamPopular"], ["prequential"])
    True
    """
    of_protocols = [part for protocol in sorted(set(protocols)) for part in PROTOCOLS.get(protocol, ())]
    return [*STUDIES, *of_protocols, *model_folders(models)]


def changed(before: Mapping[str, str]) -> list[str]:
    """Return the modules of a stored fingerprint whose code is different now, or gone."""
    return [path for path, known in before.items() if _digest_now(path) != known]


def _digest_now(path: str) -> str:
    file = ROOT / path
    return digest(file.read_text(encoding="utf-8")) if file.is_file() else ""


@functools.cache  # one run asks twice for most modules
def digest(source: str) -> str:
    """Return a digest of Python source that comments, docstrings and blank lines do not change.

    >>> digest("x = 1  # one") == digest("x = 1")
    True
    """
    lines = source.splitlines(keepends=True)
    for start, end in sorted(_left_out(source), reverse=True):
        (first, begin), (last, stop) = start, end
        lines[first - 1 : last] = [lines[first - 1][:begin] + lines[last - 1][stop:]]
    text = "\n".join(stripped for line in lines if (stripped := line.rstrip()))
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def _left_out(source: str) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Yield the start and end (line, column) of every comment and docstring."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start, token.end
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.body:
            first = node.body[0]
            value = first.value if isinstance(first, ast.Expr) else None
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                yield (value.lineno, value.col_offset), (value.end_lineno or 0, value.end_col_offset or 0)
