"""Neighbourhood models: similar users and similar items."""
