"""Accuracy corrected for the popularity of the items that were observed."""
