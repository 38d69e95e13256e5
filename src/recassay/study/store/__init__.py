"""The folder of a study: every stored result, and conversion of results to files and back."""
