"""Models that learn event by event."""
