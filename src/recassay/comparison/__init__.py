"""Comparisons of systems: in pairs, over data sets, over time, by Sudden Death, and how many users they need."""
