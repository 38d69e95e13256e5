"""Engines run the work: here, on this machine's threads."""
