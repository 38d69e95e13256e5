"""Systems on streams: every event asks first and teaches then."""
