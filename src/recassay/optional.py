"""Libraries that few need: imported when they are asked for, and missed with the command that installs them."""

from __future__ import annotations

import importlib
from typing import Any

from recassay.errors import UsageError

# which extra brings a library
EXTRAS = {"pyspark": "spark", "implicit": "models", "pycrfsuite": "models", "torch": "neural", "resvg_py": "figures"}


def need(library: str, for_: str) -> Any:
    """The module of that name, or an error that says how to install what it belongs to.

    >>> need("math", for_="nothing").floor(2.5)
    2
    >>> need("no_such_library", for_="ALS")
    Traceback (most recent call last):
    recassay.errors.UsageError: [U112] ALS needs no_such_library, which is not installed.
      Try:   pip install no_such_library
    """
    try:
        return importlib.import_module(library)
    except ModuleNotFoundError as error:
        package = library.partition(".")[0]
        if error.name != package:
            raise  # it is there, and itself lacks something
        command = f"pip install 'recassay[{EXTRAS[package]}]'" if package in EXTRAS else f"pip install {package}"
        raise UsageError("U112", f"{for_} needs {package}, which is not installed", hint=command) from None
