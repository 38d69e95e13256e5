"""Studies: a file that names systems, data and metrics, and the folder of results.

config   the study file: schema, lines of errors, parameters, data sources
plan     the parsed study, its systems, and the settings to choose from
store    the folder: runs, standings, fitted models, exhibits, times
run      the dry run, the order of work, tuning, results per design, and the record of everything found
"""
