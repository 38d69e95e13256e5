"""Reproductions of papers: their claims as data, what each is computed from, and the verdict on each.

paper     the file of a paper: sources, claims, tolerances, figures; the verdict on a claim from the rows of its query
sources   tables that a paper's claims are computed from: published tables, studies, and what follows from them
run       everything in order, and the small folder of results: verdicts, tables, figures, lock
"""
