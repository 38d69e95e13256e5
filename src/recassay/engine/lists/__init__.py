"""Evaluation of ranked lists from run files or models."""
