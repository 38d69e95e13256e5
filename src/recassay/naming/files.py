"""Python files of a user: a model in a study file, or files with metrics and splits that a command loads."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from recassay.errors import UsageError


def load_file(path: str | Path, where: str = "") -> ModuleType:
    """Import a Python file and return its module, so that the registries know the classes that it defines.

    A file is imported once: a second call returns the same module. Raise U123 if there is no such file or if it fails;
    ``where`` says in the error where the file was named (default: its path).
    """
    path = Path(path)
    where = where or str(path)
    if not path.is_file():
        raise UsageError("U123", f"there is no file '{path}'", where=where, hint="write the path from where you are")
    name = "_recassay_file_" + hashlib.blake2b(str(path.resolve()).encode(), digest_size=8).hexdigest()
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UsageError("U123", f"'{path}' is not a Python file", where=where, hint="its name must end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # pickling looks its classes up there
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        what = f"{path} cannot be used: {type(error).__name__}: {error}"
        raise UsageError("U123", what, where=where, hint="run the file by itself to see where") from error
    return module
