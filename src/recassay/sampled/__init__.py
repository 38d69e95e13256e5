"""Sampled metrics: what they say at every sample size, and what can be learnt from sampled ranks alone."""
