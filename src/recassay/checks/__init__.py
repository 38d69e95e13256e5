"""Numbered checks: known problems of evaluations that a result may have, reported next to the numbers."""

from __future__ import annotations

from recassay.checks.base import CHECKS, Check, check, diagnose

__all__ = ["CHECKS", "Check", "check", "diagnose"]
