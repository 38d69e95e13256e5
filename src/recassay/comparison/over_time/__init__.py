"""Comparisons of systems on a stream: windows, curves, paired tests and bounds."""
