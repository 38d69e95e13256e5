"""Names of the things that recassay brings, read from its source files without importing them.

Completion in a shell must answer at once, and importing all metrics takes seconds. A test holds these names to those of
the registries.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

HOME = Path(__file__).parent.parent
OF_CLASS = re.compile(r'^    name(?:: ClassVar\[str\])? = "(.+)"$', re.MULTILINE)
OF_VALUE = re.compile(r'^    name="(.+)",$', re.MULTILINE)
WITHOUT_CUTOFF = re.compile(r'^    cutoff(?:: .+)? = "none"$', re.MULTILINE)
NO_MODELS = {"sequence", "adapters"}  # folders of models with registries of their own


def metric_names(cutoff: int = 10) -> list[str]:
    """Return the names of all metrics, with ``@cutoff`` added where a metric may have a cut-off.

    >>> [name for name in metric_names() if name[:2] in ("nd", "rp")]
    ['ndcg@10', 'rprec']
    """
    found = []
    for text in _texts("metrics"):
        base, *parts = re.split(OF_CLASS, text)
        for name, body in zip(parts[::2], parts[1::2], strict=True):
            own = body.partition("\nclass ")[0]
            uncut = WITHOUT_CUTOFF.search(own) or (WITHOUT_CUTOFF.search(base) and "cutoff" not in own)
            found.append(name if uncut else f"{name}@{cutoff}")
    return sorted(found)


def model_names() -> list[str]:
    """Return the names of the models that are fitted on a log.

    >>> "EASE" in model_names()
    True
    """
    return sorted(name for text in _texts("models", NO_MODELS) for name in OF_CLASS.findall(text))


def split_names() -> list[str]:
    """Return the names of the splits, the filters and the rules that make sequences.

    >>> "global_time" in split_names()
    True
    """
    return sorted(name for text in _texts("split") for name in OF_CLASS.findall(text))


def profile_names() -> list[str]:
    """Return the names of the profiles.

    >>> "recbole" in profile_names()
    True
    """
    return sorted(name for text in _texts("profiles") for name in OF_VALUE.findall(text))


def _texts(package: str, without: Collection[str] = ()) -> list[str]:
    """Return the source texts of the modules of a package; ``without`` names folders to leave out."""
    home = HOME / package
    paths = [path for path in sorted(home.rglob("*.py")) if path.relative_to(home).parts[0] not in without]
    return [path.read_text(encoding="utf-8") for path in paths]
