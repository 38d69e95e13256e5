"""Decisions between systems from their scores: pairwise comparison, Sudden Death, and metrics that systems optimise."""
