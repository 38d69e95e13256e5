"""Profiles: settings of our metrics that reproduce the numbers of other libraries on the same input.

There is a file for each library.
"""

from __future__ import annotations

from recassay.profiles.base import PROFILES, Profile

__all__ = ["PROFILES", "Profile"]
