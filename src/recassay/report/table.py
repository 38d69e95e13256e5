"""The tables people read, by format: for terminals, Markdown, LaTeX and spreadsheets."""

from __future__ import annotations

from recassay.report.csv import to_csv
from recassay.report.latex import to_latex
from recassay.report.markdown import to_markdown
from recassay.report.text import findings_table, text_table

__all__ = ["findings_table", "text_table", "to_csv", "to_latex", "to_markdown"]
