"""The parts of a study's page: its tables, its sentences, its figures, and the template they stand in."""
