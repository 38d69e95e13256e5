"""Prequential evaluation of streams: each event is a query first, and then an event to learn from."""
