"""Beyond accuracy: novelty, popularity, surprise, diversity and calibration of lists."""
