"""Studies: a file that names systems, data and metrics, and the folder of results.

config   the study file: schema, lines of errors, parameters, data sources
plan     the parsed study, its lock file, systems, and the tuning of settings
store    the folder: runs, standings, fitted models, exhibits, times
run      the dry run, the order of work, results per design, and the record of everything found
"""
