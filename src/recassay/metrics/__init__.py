"""Metrics: a folder a family, a file a metric."""
