"""The data types that recassay reads, computes with and writes."""
