"""Events: their schema, and durations as text."""
