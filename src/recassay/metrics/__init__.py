"""Metrics: a folder for each family of metrics, with a file for each metric or a few related ones."""
