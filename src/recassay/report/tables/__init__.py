"""Tables of results as text for terminals, Markdown, LaTeX and spreadsheets."""
