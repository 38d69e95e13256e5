"""Plans: studies whose texts have been parsed into objects, and the lock files that record them."""
