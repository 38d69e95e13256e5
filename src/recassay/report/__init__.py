"""Presentation of results: tables, figures, the report page, and folders of result files."""
