"""Baselines that every study should include: popularity, recency, random lists and Markov chains."""
