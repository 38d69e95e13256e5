"""Stored results of resampling, so that a new system or metric in a study does not resample the others again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from recassay._version import __version__
from recassay.data.io import write_text
from recassay.stats.memo import Memo, digest_of, remembering

STATISTICS = Path("cache", "statistics.json")
VERSIONS = [__version__, np.__version__]  # results of other versions may differ


@contextmanager
def stored_statistics(folder: Path) -> Iterator[Memo]:
    """Keep results of resampling (bootstraps and tests) within a ``with`` block, and store those that it used.

    Yield the cache, which begins with the results that are stored in the folder. If the block raises, the stored
    results are all kept; otherwise those that it did not use are dropped.
    """
    known = _known(folder / STATISTICS)
    with remembering(known) as memo:
        kept = known
        try:
            yield memo
            kept = {}
        finally:
            if memo.used:
                (folder / STATISTICS).parent.mkdir(parents=True, exist_ok=True)
                results = json.dumps(dict(sorted((kept | memo.used).items())))
                about = {"versions": VERSIONS, "digest": digest_of(results), "results": results}
                write_text(json.dumps(about), folder / STATISTICS)


def _known(path: Path) -> dict[str, tuple[float, ...]]:
    """Return the stored results of resampling by key; none if the file is absent, damaged, or of another version."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        if document["versions"] != VERSIONS or document["digest"] != digest_of(document["results"]):
            return {}
        return {key: tuple(numbers) for key, numbers in json.loads(document["results"]).items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}
