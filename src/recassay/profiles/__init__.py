"""What another library would print on the same input: a file a library, each a small table over our own metrics."""

from __future__ import annotations

from recassay.profiles.base import Profile, find, profiles

__all__ = ["Profile", "find", "profiles"]
