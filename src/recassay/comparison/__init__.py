"""Uncertainty: intervals for means, paired tests, corrections, effect sizes, and the comparison that joins them."""
