"""Statistics on arrays: intervals, resampling, significance tests, effect sizes, corrections and exact sums."""
