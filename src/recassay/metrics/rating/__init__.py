"""Error of predicted ratings."""
