"""Subprofiles: subsets of a user's liked items that are neighbours of each other, and the items close to each."""

from recassay.data.subprofiles.mining import Miner, Subprofiles
from recassay.data.subprofiles.neighbours import nearest

__all__ = ["Miner", "Subprofiles", "nearest"]
