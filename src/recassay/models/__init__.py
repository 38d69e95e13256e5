"""Baselines every study should have beside its own systems."""
