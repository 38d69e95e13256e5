"""Adapters for score tables, functions, factor tables and models of other libraries."""
