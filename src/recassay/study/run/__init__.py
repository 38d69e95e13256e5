"""Runs of a study: ranked lists, generated sequences and streams, with tuning and dry runs."""
