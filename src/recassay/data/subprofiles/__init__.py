"""The tastes within a taste: subsets of what a user liked, found with item neighbours, and the items close to each."""

from recassay.data.subprofiles.mining import Miner, Subprofiles
from recassay.data.subprofiles.neighbours import nearest

__all__ = ["Miner", "Subprofiles", "nearest"]
