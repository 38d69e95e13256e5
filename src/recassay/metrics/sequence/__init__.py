"""Metrics of generated sequences: what a system let follow a first item, beside what really followed it."""
