"""Evaluation from the rank of every relevant item: one scoring pass, then any target-set design."""
