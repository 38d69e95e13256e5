"""Folders of results: writing and reading them, running checks on them, and their report page."""
