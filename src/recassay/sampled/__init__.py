"""Sampled metrics: their values at every sample size, and estimates of full-ranking metrics from sampled ranks."""
