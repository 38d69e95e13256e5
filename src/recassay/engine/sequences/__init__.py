"""Generation and evaluation of sequences."""
