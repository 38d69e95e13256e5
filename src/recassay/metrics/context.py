"""What a metric may know besides lists and truth: the training log and item features."""

from __future__ import annotations

from dataclasses import dataclass

from recassay.data.interactions import Interactions


@dataclass(frozen=True, eq=False)
class Context:
    """Data given beside the run and the truth; a metric that needs more than there is says so before work starts."""

    train: Interactions | None = None
    items: object | None = None

    @property
    def has(self) -> frozenset[str]:
        """Names of what was given, as metrics name their needs."""
        return frozenset(name for name in ("train", "items") if getattr(self, name) is not None)
