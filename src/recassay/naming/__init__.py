"""Names that are written the same way everywhere, ``name(parameter=value)@k``, and registries of what they name."""
