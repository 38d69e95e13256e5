"""Content of tables and pages, before any format: wording of numbers, tables of results, distributions."""
