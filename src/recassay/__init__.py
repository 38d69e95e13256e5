"""recassay judges recommender systems: exact metrics, named conventions, uncertainty, caveats."""

from __future__ import annotations

from recassay._version import __version__

__all__ = ["__version__"]
