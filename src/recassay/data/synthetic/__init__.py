"""Logs generated from a seed: with user tastes, with power-law popularity only, and with drift."""
