"""Accuracy of ranked lists: whether the relevant items are listed, and how high."""
