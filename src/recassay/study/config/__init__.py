"""Study files: the schema, YAML with line numbers, parameters and data sources."""
