"""Evaluation engines for ranked lists, ranks under designs, streams and sequences, on the threads of this machine."""
