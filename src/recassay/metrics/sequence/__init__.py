"""Metrics of generated sequences: what a system generated after a first item, against what really followed it."""
