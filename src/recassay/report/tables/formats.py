"""The writers of result tables, one per format: terminal, Markdown, LaTeX and CSV."""

from __future__ import annotations

from recassay.report.tables.csv import to_csv
from recassay.report.tables.latex import to_latex
from recassay.report.tables.markdown import to_markdown
from recassay.report.tables.text import findings_table, text_table

__all__ = ["findings_table", "text_table", "to_csv", "to_latex", "to_markdown"]
