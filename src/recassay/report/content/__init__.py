"""What tables and pages say, before any format: wording of numbers, tables of results, distributions."""
