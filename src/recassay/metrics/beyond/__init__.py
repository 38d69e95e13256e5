"""Metrics beyond accuracy: novelty, popularity, surprise, diversity and calibration of lists."""
