"""The report page: its tables, verdicts, figures, study card and HTML template."""
