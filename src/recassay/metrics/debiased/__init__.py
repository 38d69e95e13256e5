"""Accuracy with the popularity of what was observed taken out again."""
