"""The navigation of the site is what ``index.md`` lists: its headings are the parts, its links the pages, under their texts."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

HEADING = re.compile(r"^## (.+)$")
LINK = re.compile(r"\[([^]]+)\]\(([\w/-]+\.md)\)")


def on_config(config: Any) -> Any:
    """Set the navigation; MkDocs calls this before it looks for pages."""
    parts: list[dict[str, list[dict[str, str]]]] = []
    for line in (Path(config.docs_dir) / "index.md").read_text(encoding="utf-8").splitlines():
        if found := HEADING.match(line):
            parts.append({found[1]: []})
        for text, page in LINK.findall(line):
            next(iter(parts[-1].values())).append({text[0].upper() + text[1:]: page})
    config.nav = [{"Home": "index.md"}, *parts]
    return config
