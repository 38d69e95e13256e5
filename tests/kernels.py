"""Compiled kernels outside the checkout, by their sources: a new clone with the same sources compiles nothing.

numba keeps the kernels of a module in ``__pycache__`` beside it. It compiles them again when that module changes, but
not when a module changes that it imports constants or kernels from. So the store has one archive for each module and
digest of all sources that it imports, and kernels of other digests are deleted before the tests.
"""

import ast
import functools
import hashlib
import os
import sys
import tarfile
import time
from importlib.metadata import version
from pathlib import Path

SOURCES = Path(__file__).parents[1] / "src"
STORE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "recassay" / "kernels"


@functools.cache
def imported(path):
    """Return the modules of recassay that a module imports by name, directly or not, and the module itself."""
    closure = {path}
    for node in ast.parse(path.read_bytes()).body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("recassay"):
            named = SOURCES.joinpath(*node.module.split("."))
            for other in (named, *(named / one.name for one in node.names)):
                if other.with_suffix(".py").exists() and other.with_suffix(".py") not in closure:
                    closure |= imported(other.with_suffix(".py"))
    return closure


@functools.cache
def modules():
    """Return each module with kernels, and its archive in the store."""
    archives = {}
    for path in sorted(SOURCES.rglob("*.py")):
        if b"@njit(" in path.read_bytes():
            digest = hashlib.sha256(f"{version('numba')} {sys.version_info[:2]}".encode())
            for other in sorted(imported(path)):
                digest.update(other.read_bytes())
            archives[path] = STORE / f"{path.stem}-{digest.hexdigest()[:16]}.tar"
    return archives


def kernels(path):
    """Return numba's files of a module."""
    return sorted(path.parent.glob(f"__pycache__/{path.stem}.*.nb[ic]"))


def restore():
    """Put the stored kernels beside the modules, and take away those of other sources."""
    for path, archive in modules().items():
        mark = path.parent / "__pycache__" / f"{path.stem}.kernels"  # names the archive that the kernels belong to
        if not mark.exists() or mark.read_text() != archive.stem:
            for file in kernels(path):
                file.unlink()
        if archive.exists() and not kernels(path):
            with tarfile.open(archive) as stored:
                stored.extractall(path.parent, filter="data")
            os.utime(archive)
        mark.parent.mkdir(exist_ok=True)
        mark.write_text(archive.stem)


def store():
    """Store the kernels of modules that have more of them than the store, and delete what nobody used for a month."""
    STORE.mkdir(parents=True, exist_ok=True)
    for archive in STORE.iterdir():
        if archive.stat().st_mtime < time.time() - 30 * 86_400:
            archive.unlink(missing_ok=True)
    for path, archive in modules().items():
        files, n_stored = kernels(path), 0
        if archive.exists():
            with tarfile.open(archive) as stored:
                n_stored = len(stored.getnames())
        if len(files) > n_stored:
            fresh = archive.with_suffix(f".{os.getpid()}")
            with tarfile.open(fresh, "w") as stored:
                for file in files:
                    stored.add(file, file.relative_to(path.parent))
            fresh.replace(archive)
