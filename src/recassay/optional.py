"""Optional libraries: imported on first use, with an error that names the install command if one is missing."""

from __future__ import annotations

import importlib
from typing import Any

from recassay.errors import UsageError

EXTRAS = {  # library: extra that installs it
    "pyspark": "spark",
    "implicit": "models",
    "pycrfsuite": "models",
    "torch": "neural",
    "resvg_py": "figures",
    "mlflow": "mlflow",
    "deltalake": "lake",
    "pyiceberg": "lake",
    "redis": "live",
    "confluent_kafka": "live",
    "prometheus_client": "live",
    "starlette": "live",
    "uvicorn": "live",
}


def need(library: str, for_: str) -> Any:
    """Return an optional library, imported; raise an error with the install command if it is missing.

    ``for_`` names, in the error, the feature that needs it.

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
            raise  # the library is installed, but one of its own dependencies is missing
        what = f"{for_} needs {package}, which is not installed"
        raise UsageError("U112", what, hint=install_command(package)) from None


def install_command(library: str) -> str:
    """Return the command that installs an optional library, with the extra of recassay if there is one.

    >>> install_command("torch"), install_command("cornac")
    ("pip install 'recassay[neural]'", 'pip install cornac')
    """
    return f"pip install 'recassay[{EXTRAS[library]}]'" if library in EXTRAS else f"pip install {library}"
