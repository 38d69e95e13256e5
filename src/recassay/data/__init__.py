"""The nouns: what recassay reads, keeps and writes."""
