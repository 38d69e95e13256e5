"""Folders of results: writing, reading, running checks on them, and their report page."""
