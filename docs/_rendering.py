"""Fences as the site's Markdown reads them, and a check that every page was rendered as it was written.

The fences of these pages say more than a language: ``yaml studies/first.yaml`` shows that file, and ``python raises``
expects an error. The site's Markdown takes a language and options only, and reads anything else as ordinary text.
"""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

FENCE = re.compile(r"^```([^`\n]*)\n.*?^```$", re.MULTILINE | re.DOTALL)
OPENING = re.compile(r"^```(\w+) +(\S+)$", re.MULTILINE)
HEADING = re.compile(r"^#{1,6} +(.+?)#*$", re.MULTILINE)
LEFT_OVER = re.compile(r"^\s*(```|~~~|\||#{1,6} |[-*] |\d+\. )", re.MULTILINE)
WORDS = re.compile(r"[^\W_]+")
VOID = {"br", "col", "hr", "img", "input"}


def for_site(markdown: str) -> str:
    """Return a page whose fences have a language and, where they show a file, its path as a title.

    >>> print(for_site("```yaml studies/first.yaml\\nstudy: first\\n```"))
    ```yaml title="studies/first.yaml"
    study: first
    ```
    >>> print(for_site("```python raises\\n1 / 0\\n```"))
    ```python
    1 / 0
    ```
    """

    def fence(block: re.Match[str]) -> str:
        return OPENING.sub(lambda found: f"```{found[1]}{_title(found[2])}", block[0], count=1)

    return FENCE.sub(fence, markdown)


def _title(word: str) -> str:
    return f' title="{word}"' if "/" in word else ""


def problems(markdown: str, html: str) -> list[str]:
    """Return what of a page was not rendered as it was written: code blocks, headings, and marks left in the text."""
    page = _Rendered(html)
    found = []
    if (written := len(FENCE.findall(markdown))) != page.blocks:
        found.append(f"{written} code blocks are fenced and {page.blocks} rendered (fence code that is indented)")
    headings = [_plain(text) for text in HEADING.findall(FENCE.sub("", markdown))]
    if wrong := [text for text in page.headings if _plain(text) not in headings]:
        found.append(f"headings that the source does not have: {wrong}")
    if len(headings) != len(page.headings):
        found.append(f"{len(headings)} headings are written and {len(page.headings)} rendered")
    found += [f"left in the text: {mark!r}" for mark in dict.fromkeys(page.left_over)]
    return found


def _plain(heading: str) -> list[str]:
    return WORDS.findall(re.sub(r"\]\([^)]*\)", "]", heading))


class _Rendered(HTMLParser):
    """The code blocks and headings of a rendered page, and marks that are left in its paragraphs."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.blocks, self.headings, self.left_over = 0, list[str](), list[str]()
        self._open: list[str] = []
        self._paragraph = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Count blocks, and begin a heading or a paragraph."""
        if tag in VOID:
            return
        self._open.append("permalink" if ("class", "headerlink") in attrs else tag)
        if tag == "pre":
            self.blocks += 1
        elif tag == "p":
            self._paragraph = ""
        elif re.fullmatch("h[1-6]", tag):
            self.headings.append("")

    def handle_endtag(self, tag: str) -> None:
        """Look for marks in a paragraph that ends."""
        if tag not in VOID:
            self._open.pop()
        if tag == "p":
            self.left_over += [line.strip() for line in self._paragraph.splitlines() if LEFT_OVER.match(line)]

    def handle_data(self, data: str) -> None:
        """Collect the text of headings and paragraphs; code within a paragraph is no mark."""
        if self._open and re.fullmatch("h[1-6]", self._open[0]) and "permalink" not in self._open:
            self.headings[-1] += data
        elif "p" in self._open:
            self._paragraph += "code" if "code" in self._open else data


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Rewrite the fences of a page; MkDocs calls this before it renders."""
    return for_site(markdown)


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """End the build at a page that was not rendered as it was written; MkDocs calls this after it rendered."""
    if found := problems(page.markdown, html):
        from mkdocs.exceptions import PluginError

        raise PluginError(f"{page.file.src_uri}: {'; '.join(found)}")
    return html
