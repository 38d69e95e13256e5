"""Reproductions of papers: their claims as data, what each is computed from, and the verdict on each.

paper     the file of a paper: sources, claims, tolerances, figures
sources   tables that a paper's claims are computed from: published tables, studies, and what follows from them
claims    the verdict on a claim, from the numbers that its query returns
results   the small folder of results: verdicts, tables, figures, lock
run       everything in order
page      the page of the gallery
"""
