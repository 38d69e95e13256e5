"""The pages of the reference that are made from the program: each module has ``pages()``, path to text."""
