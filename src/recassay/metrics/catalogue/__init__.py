"""Metrics of how often each item of the catalogue is recommended."""
