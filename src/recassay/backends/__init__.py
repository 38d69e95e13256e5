"""Back ends, which do the work of the public functions: on this machine, from files larger than memory, or on Spark."""
