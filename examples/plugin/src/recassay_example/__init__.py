"""One metric, model, split, check, profile and file format that recassay finds once this package is installed."""
