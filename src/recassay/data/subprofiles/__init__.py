"""Subprofiles: groups of similar items among the items a user likes, and the items close to each group."""

from recassay.data.subprofiles.mining import Miner, Subprofiles
from recassay.data.subprofiles.neighbours import nearest

__all__ = ["Miner", "Subprofiles", "nearest"]
